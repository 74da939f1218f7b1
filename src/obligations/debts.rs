//! What the engine finds, as data.

use std::sync::Arc;

use super::consent::Consent;
use crate::model::{Draft, ToolCall, Words};
use crate::policy::RuleIx;
use crate::state::{CallRef, CellIx, World};

/// A companion that the policy demands.
#[derive(Debug, Clone, PartialEq)]
pub struct Debt {
    /// The rule.
    pub rule: RuleIx,
    /// The draft's call that triggers it; none when an earlier call of ours still does.
    pub call: Option<usize>,
    /// The calls that satisfy it, collapsed to the collective value where every item owes it.
    pub remedy: Vec<ToolCall>,
    /// The observed facts it rests on, one sentence.
    pub because: String,
    /// How it is settled.
    pub settled: Settled,
    /// Whether it is held because it would overwrite what the driver asked for: a yes then settles
    /// the debt without its remedy.
    pub overwrites: bool,
}

/// How a debt is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The remedy was inserted into the amended draft.
    Inserted,
    /// The remedy needs the driver's yes first: trigger and companions are held together.
    Held,
    /// Left to the student (`apply = "none"`).
    Open,
}

/// A read that must come first.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadDebt {
    /// The rule that needs it.
    pub rule: RuleIx,
    /// The draft's call that triggers the rule.
    pub call: Option<usize>,
    /// The read.
    pub read: ToolCall,
    /// Which field is not known, one sentence.
    pub because: String,
}

/// A yes that must come first.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsentDebt {
    /// The rule; none when the tool itself is marked and no rule speaks of it.
    pub rule: Option<RuleIx>,
    /// The draft's call that needs it.
    pub call: usize,
    /// What to ask, rendered from the real arguments.
    pub question: String,
    /// The observed facts it rests on, one sentence.
    pub because: String,
    /// The latest call whose result made it necessary: a yes must follow that.
    pub since: Option<CallRef>,
    /// What the driver's last words are to the call, judged once for all gates.
    pub answer: Consent,
}

/// Something that must not happen and that no call repairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Breach {
    /// The rule.
    pub rule: RuleIx,
    /// The draft's call.
    pub call: Option<usize>,
    /// Why, with the observed facts.
    pub because: String,
    /// Whether it rests on a field that stayed unknown after it was read: denied for safety.
    pub unknown: bool,
}

/// Demands that cannot all be met.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The draft's call that raises them.
    pub call: Option<usize>,
    /// The rules, each with its clause.
    pub rules: Vec<RuleIx>,
    /// Why, with both clauses.
    pub because: String,
    /// The tool that this car lacks, when that is why.
    pub lacking: Option<crate::model::ToolName>,
}

/// A call that changes what the policy exempts and nobody asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Excess {
    /// The rule whose remedy it overshoots.
    pub rule: RuleIx,
    /// The draft's call.
    pub call: usize,
    /// The calls that would have been enough.
    pub instead: Vec<ToolCall>,
    /// Why, with the observed facts.
    pub because: String,
}

/// A sentence that the driver must hear.
#[derive(Debug, Clone, PartialEq)]
pub struct Disclosure {
    /// The rule.
    pub rule: RuleIx,
    /// The sentence, rendered.
    pub sentence: String,
    /// Why, with the observed facts.
    pub because: String,
}

/// A hint for the critic.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// The rule.
    pub rule: RuleIx,
    /// The draft's call.
    pub call: Option<usize>,
    /// The hint.
    pub text: String,
}

/// An item that an obligation skipped because its field stayed unknown: the reply must say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The rule.
    pub rule: RuleIx,
    /// The field, as results spell it.
    pub field: Arc<str>,
    /// The cell.
    pub cell: CellIx,
}

/// Everything the policy says about a draft.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Owed {
    /// The draft with every remedy in its place; equal to the draft when nothing was inserted.
    pub amended: Draft,
    /// The words of the draft where it is a reply, split once for all gates.
    pub reply: Option<Arc<Words>>,
    /// Whether calls were inserted, removed or replaced.
    pub changed: bool,
    /// The car after the amended draft.
    pub after: Arc<World>,
    /// The car before each call of the amended draft.
    pub before: Vec<Arc<World>>,
    /// Companions.
    pub debts: Vec<Debt>,
    /// Reads.
    pub reads: Vec<ReadDebt>,
    /// Yeses.
    pub consents: Vec<ConsentDebt>,
    /// Prohibitions and preconditions broken.
    pub breaches: Vec<Breach>,
    /// Unsatisfiable demands.
    pub conflicts: Vec<Conflict>,
    /// Excess calls.
    pub excess: Vec<Excess>,
    /// Sentences due in the next reply.
    pub disclosures: Vec<Disclosure>,
    /// Hints for the critic.
    pub hints: Vec<Hint>,
    /// Items skipped for want of knowledge.
    pub unread: Vec<Unread>,
}
