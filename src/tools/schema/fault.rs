//! Why a schema cannot be read, and why a value is not valid.

use std::fmt::Display;

use serde_json::Value as Json;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A word that this reader does not know the meaning of, where passing it over would let values through.
    #[error("{place}: `{word}` is not understood; {instead}")]
    Unknown {
        /// Where, as a JSON pointer.
        place: String,
        /// The word.
        word: String,
        /// What to write in its place.
        instead: &'static str,
    },
    /// A clause is not of the form that its word asks for.
    #[error("{place}: `{word}` must be {wanted}")]
    Form {
        /// Where, as a JSON pointer.
        place: String,
        /// The word.
        word: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A subschema is neither an object nor a truth value.
    #[error("{place}: a schema must be an object or a truth value")]
    Schema {
        /// Where, as a JSON pointer.
        place: String,
    },
    /// A regular expression that cannot be used.
    #[error("{place}: the pattern `{pattern}` cannot be used: {why}; write it without what is named")]
    Pattern {
        /// Where, as a JSON pointer.
        place: String,
        /// The pattern.
        pattern: String,
        /// What is wrong.
        why: String,
    },
    /// A reference that leads nowhere in this document.
    #[error("{place}: `$ref` to `{target}` leads nowhere in this schema; put what it means under `$defs`")]
    Reference {
        /// Where, as a JSON pointer.
        place: String,
        /// The target.
        target: String,
    },
    /// A subschema that asks for itself of the same value: no judgement would end.
    #[error("a schema refers to itself without going into a member or an item; one of the references must go")]
    Endless,
}

/// One thing wrong with a value.
#[derive(Debug)]
pub struct Violation<'a> {
    /// Where in the value, as a dotted path; empty for the value as a whole.
    pub path: String,
    /// What stands there.
    pub found: &'a Json,
    /// Which kind of clause it breaks.
    pub why: Why,
    pub(super) what: What,
}

/// Kinds of clauses that callers tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A member is missing.
    Missing,
    /// Members that the schema does not name.
    Unexpected,
    /// Any other clause.
    Clause,
}

/// How a violation is said.
#[derive(Debug)]
pub(super) enum What {
    /// A sentence of its own.
    Sentence(String),
    /// A sentence about the value.
    OfValue(String),
}

impl Violation<'_> {
    /// The violation in words, with the value itself.
    pub fn sentence(&self) -> String {
        self.about(&self.found)
    }

    /// The violation in words, with `value` in place of what was found.
    pub fn about(&self, value: &dyn Display) -> String {
        match &self.what {
            What::Sentence(sentence) => sentence.clone(),
            What::OfValue(is) => format!("{value} {is}"),
        }
    }
}
