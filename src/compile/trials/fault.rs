//! What can be wrong with a policy test.

use super::result::ResultFault;
use crate::compile::names::Near;
use crate::compile::templates::SyntaxError;

/// What can be wrong with a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TestFault {
    /// A call that cannot be read.
    #[error("`{text}` is no call: {why}")]
    Syntax {
        /// The text.
        text: String,
        /// What is wrong.
        why: SyntaxError,
    },
    /// A call with a hole.
    #[error("`{0}` has a hole; a test says every value")]
    Hole(String),
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
    /// A field of `now` that the policy cannot read anywhere.
    #[error("`vehicle.toml` does not say where `now.{0}` stands in a system message; declare it under `[now]`")]
    Now(&'static str),
    /// No draft.
    #[error("it has neither `calls` nor `reply`, so there is no draft to judge")]
    NoDraft,
    /// An entry of the history that is none.
    #[error(
        "an entry of `history` is one of `driver`, `assistant`, `call` with `result`, `call` with `failed`; this is none"
    )]
    Entry,
    /// Readings of a tool that needs arguments.
    #[error(
        "`{0}` needs arguments, so its result belongs into `history` as `{{ call = \"{0}(…)\", result = {{ … }} }}`"
    )]
    Observed(String),
    /// A result that the tool cannot give.
    #[error("`{tool}` {fault}")]
    Result {
        /// The tool.
        tool: String,
        /// What is wrong.
        fault: ResultFault,
    },
    /// A call that the car cannot have carried out, or that nobody can owe.
    #[error("`{text}` is {what}, and the car takes no such call: {why}")]
    Call {
        /// The call.
        text: String,
        /// Where it stands.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A time that no clock shows.
    #[error("`now.{field}` is {value}; it lies between {low} and {high}")]
    Time {
        /// The field.
        field: &'static str,
        /// What it is.
        value: String,
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// A day that no calendar has.
    #[error("`now`: {0}; correct the date")]
    Day(String),
    /// Two tests with one name.
    #[error("line {0} has a test of the same name; a name is unique")]
    Duplicate(usize),
}
