//! What can be wrong with the account of a policy's sentences.

use crate::compile::names::Near;

/// One thing that keeps a policy from being accounted for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoverageFault {
    /// A sentence of which nothing is said.
    #[error(
        "nothing accounts for `{0}`; cite the line in the @source of a rule, or add a [[sentence]] to coverage.toml with `gates`, `advisory`, `undecidable` or `description`"
    )]
    Missing(String),
    /// An entry about a sentence that does not stand there.
    #[error("no sentence that begins on line {line} starts with `{begins}`; {remedy}")]
    Stale {
        /// The line that the entry names.
        line: usize,
        /// The beginning that it quotes.
        begins: String,
        /// Where the sentence is, or what to do.
        remedy: String,
    },
    /// Two entries about one sentence.
    #[error("line {0} is about the same sentence; say all of it in one entry")]
    Twice(usize),
    /// The quoted beginning fits several sentences.
    #[error("`{0}` begins more than one sentence of that line; quote more of it")]
    Ambiguous(String),
    /// A sentence that a rule executes is said to be none of a rule's.
    #[error("rule `{rule}` decides this sentence, so it is not {verdict}; use `rest` for what the rule leaves open")]
    Executable {
        /// The rule.
        rule: String,
        /// What the entry says.
        verdict: &'static str,
    },
    /// A gate guards a sentence that is said to demand nothing or to be out of reach.
    #[error("a sentence with `gates` is not {0}; use `rest` for what the gates leave open")]
    Guarded(&'static str),
    /// Only rules for the critic, and no reason why.
    #[error(
        "rule `{0}` only advises the critic; say in coverage.toml under `advisory` why this sentence cannot be executed"
    )]
    Unreasoned(String),
    /// A name that does not exist.
    #[error("there is no {what} `{name}`; {near}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// What was probably meant.
        near: Near,
    },
    /// A rule cites a line with several sentences.
    #[error(
        "rule `{rule}` cites line {line}, where {count} sentences begin; name the rule in the `rules` of the one it executes"
    )]
    Unassigned {
        /// The rule.
        rule: String,
        /// The line.
        line: usize,
        /// Sentences there.
        count: usize,
    },
    /// A rule cites a line on which no sentence begins.
    #[error("rule `{rule}` cites line {line}, where no sentence begins; cite the line of its sentence")]
    NoSentence {
        /// The rule.
        rule: String,
        /// The line.
        line: usize,
    },
    /// A rule cites a line that is already named there by its own `@source`.
    #[error("rule `{0}` cites this line already and it holds one sentence; leave the rule out of `rules`")]
    Derived(String),
    /// An entry gives two reasons.
    #[error("`advisory`, `undecidable` and `description` exclude each other; keep one")]
    Verdicts,
    /// An entry with a text that says nothing.
    #[error("`begins` or a reason is empty; write it out")]
    Empty,
    /// An entry that says nothing.
    #[error("the entry has neither `rules` nor `gates` nor a reason; complete it or delete it")]
    Nothing,
}
