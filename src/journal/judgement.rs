//! A verdict with everything that it was reached from: the record from which a turn is reproduced.

use serde::{Deserialize, Serialize};

use crate::model::{Arguments, Draft, Malformed, PolicyHash, ToolCall, VerdictReport};
use crate::policy::Advice;
use crate::state::Ground;

/// A draft as it is written down: every member that a check may look at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drafted {
    /// What would be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// What would be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<DraftedCall>,
    /// Calls without readable arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub malformed: Vec<DraftedFault>,
}

/// A call of a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DraftedCall {
    /// Identifier.
    pub id: String,
    /// Tool.
    pub tool: String,
    /// Arguments.
    pub arguments: Arguments,
    /// The rule that demanded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A call whose arguments could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftedFault {
    /// Identifier.
    pub id: String,
    /// Tool.
    pub tool: String,
    /// What is wrong with it.
    pub why: String,
}

impl From<&Draft> for Drafted {
    fn from(draft: &Draft) -> Self {
        let call = |c: &ToolCall| DraftedCall {
            id: c.id.as_str().to_owned(),
            tool: c.tool.to_string(),
            arguments: Arguments::clone(&c.arguments),
            by: c.by.as_ref().map(ToString::to_string),
        };
        let fault =
            |m: &Malformed| DraftedFault { id: m.id.as_str().to_owned(), tool: m.tool.clone(), why: m.why.clone() };
        Self {
            reply: draft.reply.clone(),
            calls: draft.calls.iter().map(call).collect(),
            malformed: draft.malformed.iter().map(fault).collect(),
        }
    }
}

impl From<&Drafted> for Draft {
    fn from(drafted: &Drafted) -> Self {
        let call = |c: &DraftedCall| ToolCall {
            id: c.id.as_str().into(),
            tool: c.tool.as_str().into(),
            arguments: c.arguments.clone().into(),
            by: c.by.as_deref().map(Into::into),
        };
        let fault = |m: &DraftedFault| Malformed { id: m.id.as_str().into(), tool: m.tool.clone(), why: m.why.clone() };
        Self {
            reply: drafted.reply.clone(),
            calls: drafted.calls.iter().map(call).collect(),
            malformed: drafted.malformed.iter().map(fault).collect(),
        }
    }
}

/// A verdict with everything that it was reached from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Which judgement of its session it is, counted from 1.
    pub number: u32,
    /// The policy that judged.
    #[serde(with = "digits")]
    pub policy: PolicyHash,
    /// Whether companions were inserted.
    pub apply: Advice,
    /// Whether the draft belongs to a turn, in which nothing advisory is raised twice.
    pub in_turn: bool,
    /// Whether a critic ruled on advisory candidates.
    pub critic: bool,
    /// The draft.
    pub draft: Drafted,
    /// What the conversation gained since the judgement before it.
    pub ground: Ground,
    /// The verdict.
    pub report: VerdictReport,
    /// Checks that broke down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// A policy hash as hexadecimal digits.
mod digits {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::model::PolicyHash;

    pub(super) fn serialize<S: Serializer>(hash: &PolicyHash, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(hash)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<PolicyHash, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}
