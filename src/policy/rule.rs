//! One compiled rule.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CallTemplate, Program, TextTemplate};
use crate::model::RuleId;
use crate::state::{AttrIx, EntityIx};
use crate::tools::ToolIx;

/// Position of a rule in its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleIx(pub u16);

/// The seven kinds of paper 1, §2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleKind {
    /// Something must hold before the call.
    Precondition,
    /// The call needs companions.
    AutoAction,
    /// The driver must agree.
    Confirmation,
    /// It must not happen.
    Prohibition,
    /// The driver must be told.
    Disclosure,
    /// Arguments are limited.
    Constraint,
    /// Among alternatives one is due.
    Selection,
}

impl RuleKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Precondition,
        Self::AutoAction,
        Self::Confirmation,
        Self::Prohibition,
        Self::Disclosure,
        Self::Constraint,
        Self::Selection,
    ];

    /// The name in `@kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Precondition => "precondition",
            Self::AutoAction => "auto-action",
            Self::Confirmation => "confirmation",
            Self::Prohibition => "prohibition",
            Self::Disclosure => "disclosure",
            Self::Constraint => "constraint",
            Self::Selection => "selection",
        }
    }

    /// The kind of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == name)
    }
}

impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What makes a rule look at a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    /// A call of one of these tools.
    Calls(Vec<ToolIx>),
    /// A spoken reply.
    Reply,
}

/// One rule: a forbid with what resolves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Identifier.
    pub id: RuleId,
    /// Kind.
    pub kind: RuleKind,
    /// Where the policy says so: `policy.md:101`.
    pub source: Arc<str>,
    /// The sentence that stands there.
    pub sentence: Arc<str>,
    /// What makes it look.
    pub trigger: Trigger,
    /// The entity whose items it is evaluated for.
    pub entity: EntityIx,
    /// The top-level conjuncts that read only the call's own arguments: the rule is active only
    /// where they hold (design §3, *guard*).
    pub guard: Program,
    /// The whole condition.
    pub when: Program,
    /// Attributes that the condition reads at the end of the draft.
    pub reads_after: Vec<AttrIx>,
    /// Calls that satisfy it.
    pub remedy: Vec<CallTemplate>,
    /// The read that answers its observations.
    pub read: Option<CallTemplate>,
    /// What to ask.
    pub consent: Option<TextTemplate>,
    /// What to say.
    pub disclose: Option<TextTemplate>,
    /// Words any of which says it.
    pub said: Vec<String>,
    /// Calls to make when a companion failed.
    pub on_failure: Vec<CallTemplate>,
    /// How old an observation may be that the condition rests on; an older one counts as unknown and is
    /// read again. None: any age. Recorded conversations have no clock and are not judged on it.
    pub fresh: Option<Duration>,
    /// A hint for the critic instead of an executable consequence.
    pub advise: Option<String>,
    /// Judge and record, but do not act.
    pub shadow: bool,
}
