//! What a check has to say about a draft.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ToolCall;

/// Name of a gate, the same in code, JSON, D-Bus and documentation.
pub type GateName = &'static str;

/// Identifier of a rule, from its `@id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleId(Arc<str>);

impl RuleId {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RuleId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How certain a finding is and who settles it (design §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Certain: the draft must change.
    Hard,
    /// Certain, and the harness settles it itself: a computed call, a read, a question, a sentence.
    Owed,
    /// Uncertain: the critic confirms or discards it; unconfirmed it never changes the verdict.
    Advisory,
}

/// One observed fact that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence(pub String);

/// What one check says of a draft.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The gate that found it.
    pub gate: GateName,
    /// Its certainty.
    pub tier: Tier,
    /// The rule behind it, if one.
    pub rule: Option<RuleId>,
    /// Where the policy says so: `policy.md:101`.
    pub source: Option<Arc<str>>,
    /// What is wrong, with the evidence, in one sentence for a person and for the student.
    pub because: String,
    /// Calls that resolve it, ready to execute.
    pub remedy: Vec<ToolCall>,
    /// Index of the draft's call that it is about.
    pub call: Option<usize>,
    /// What the driver should hear when the draft cannot be saved.
    pub say: Option<String>,
    /// Whether no other draft can do what was asked: the verdict is then a refusal at once, without
    /// asking the student to try again.
    pub fatal: bool,
    /// Whether `say` is a question, and a yes to it settles the finding for the call it is about.
    pub consent: bool,
}

impl Finding {
    /// A finding without rule or remedy.
    pub fn new(gate: GateName, tier: Tier, because: impl Into<String>) -> Self {
        Self {
            gate,
            tier,
            rule: None,
            source: None,
            because: because.into(),
            remedy: Vec::new(),
            call: None,
            say: None,
            fatal: false,
            consent: false,
        }
    }

    /// Names the draft's call it is about.
    #[must_use]
    pub fn at(mut self, call: usize) -> Self {
        self.call = Some(call);
        self
    }

    /// Adds calls that resolve it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Vec<ToolCall>) -> Self {
        self.remedy = remedy;
        self
    }

    /// Adds what the driver should hear.
    #[must_use]
    pub fn saying(mut self, say: impl Into<String>) -> Self {
        self.say = Some(say.into());
        self
    }

    /// Says that no other draft can do what was asked, and what the driver hears of it.
    #[must_use]
    pub fn refusing(mut self, say: impl Into<String>) -> Self {
        self.fatal = true;
        self.saying(say)
    }

    /// Names the question whose yes settles it for the call it is about.
    #[must_use]
    pub fn settled_by_yes(mut self, question: impl Into<String>) -> Self {
        self.consent = true;
        self.saying(question)
    }

    /// Names the rule and its sentence.
    #[must_use]
    pub fn by(mut self, rule: &RuleId, source: &Arc<str>) -> Self {
        self.rule = Some(rule.clone());
        self.source = Some(source.clone());
        self
    }
}
