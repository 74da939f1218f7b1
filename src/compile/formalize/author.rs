//! Whoever writes and judges rules: a language model, or answers that one gave before.

use serde::{Deserialize, Serialize};

/// Tokens that one answer may take.
pub const ANSWER_TOKENS: u32 = 1024;
/// Largest answer that is looked at, in bytes: several times what [`ANSWER_TOKENS`] come to.
pub(super) const ANSWER_BYTES: usize = 16 * 1024;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Rules for a sentence.
    Generate,
    /// A verdict on rules, by the rubric.
    Judge,
    /// A case that proves the verdict wrong.
    Verify,
}

impl Task {
    /// The name in answer files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Judge => "judge",
            Self::Verify => "verify",
        }
    }

    /// Sampling temperature: paper 2 draws its judge at 0.3 and its verifier at 0.1; rules are taken at the mode.
    pub fn temperature(self) -> f32 {
        match self {
            Self::Generate => 0.0,
            Self::Judge => 0.3,
            Self::Verify => 0.1,
        }
    }
}

/// One request to an author.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask<'a> {
    /// What for.
    pub task: Task,
    /// The line on which the sentence begins.
    pub line: usize,
    /// The sentence.
    pub sentence: &'a str,
    /// The round, from 1.
    pub round: u32,
    /// What the author is told to do.
    pub system: &'a str,
    /// What it works on: JSON, so that nothing in it can end its place.
    pub user: String,
}

/// Why an author gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorError {
    /// It cannot be reached or broke down: nothing can be formalised with it.
    #[error("{0}")]
    Unavailable(String),
    /// It did not come to an end.
    #[error("the answer did not end within {ANSWER_TOKENS} tokens; answer with the JSON object alone")]
    Endless,
}

/// Writes and judges rules.
pub trait Author {
    /// Its name, for reports.
    fn name(&self) -> String;

    /// One answer, as text.
    ///
    /// # Errors
    /// [`AuthorError::Endless`] counts as an answer that is no good; anything else ends the work.
    fn answer(&mut self, ask: &Ask<'_>) -> Result<String, AuthorError>;
}
