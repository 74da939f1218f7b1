//! The student: whoever drafts. It may only propose (paper 1, §2.1).

mod example;
pub mod form;
pub mod grammar;
mod ground;
#[cfg(feature = "llama")]
pub mod llama;
#[cfg(feature = "remote")]
mod offer;
#[cfg(feature = "llama")]
mod prompt;
#[cfg(feature = "remote")]
mod remote;
mod retrieve;
mod scripted;

pub use example::{Example, load as examples};
pub use ground::{Branch, Ground, Grounded, Grounding, Slot};
#[cfg(feature = "llama")]
pub use llama::{Llama, LlamaConfig, Settings, Speeds, Template, speeds};
#[cfg(feature = "remote")]
pub use remote::{Remote, RemoteConfig};
pub use retrieve::Retriever;
pub use scripted::Scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use crate::model::{Draft, Finding, Message};
use crate::tools::{Inventory, Removed};

/// How identifiers of calls that a local student drafts begin, so that they are told apart from the
/// harness's own.
#[cfg(feature = "llama")]
const CALL_PREFIX: &str = "student_";

/// What a student is asked.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// Every tool of the policy.
    pub inventory: &'a Inventory,
    /// What this car lacks of it.
    pub removed: &'a Removed,
    /// The conversation so far, system message first.
    pub conversation: &'a [Message],
    /// The draft that was objected to and why, when this is a revision.
    pub objection: Option<Objection<'a>>,
    /// What may be drafted.
    pub offer: Offer<'a>,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f32,
    /// Seed, so that a vote differs from the next and a run can be repeated.
    pub seed: u32,
    /// Tokens that may be generated.
    pub max_tokens: u32,
    /// Set from outside to stop.
    pub cancel: &'a Cancel,
}

/// What a local student may draft at all. A remote one writes what it likes.
#[derive(Debug, Clone, Copy)]
pub enum Offer<'a> {
    /// Any call that the schemas allow.
    All,
    /// Calls of the tools that the request's words suggest, with any values of their schemas.
    Related,
    /// Calls of those tools with values that the conversation gives or implies.
    Grounded(Grounding<'a>),
    /// A spoken reply alone.
    Reply,
}

/// Why the last draft was not cleared.
#[derive(Debug, Clone, Copy)]
pub struct Objection<'a> {
    /// That draft.
    pub draft: &'a Draft,
    /// What stands against it.
    pub findings: &'a [Finding],
}

/// What a student answered and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The draft.
    pub draft: Draft,
    /// Cost.
    pub usage: Usage,
}

/// Cost of one model call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt that were computed (a restored prefix costs nothing).
    pub prompt_tokens: u32,
    /// Tokens generated.
    pub generated_tokens: u32,
    /// Wall time.
    pub wall: Duration,
}

/// A flag that stops a turn and its model call from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

/// Nothing new begins.
const ENDING: u8 = 1;
/// Nothing at all is done any more.
const STOPPED: u8 = 2;

impl Cancel {
    /// Asks to stop at once: the driver said so, and what moves may be what he means.
    pub fn cancel(&self) {
        self.0.fetch_max(STOPPED, Ordering::Relaxed);
    }

    /// Asks to end: nobody waits any more. What the policy owes for what was done already is still done.
    pub fn end(&self) {
        self.0.fetch_max(ENDING, Ordering::Relaxed);
    }

    /// Whether it was asked to stop or to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENDING
    }

    /// Whether it was asked to stop at once.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= STOPPED
    }
}

/// Why there is no draft.
#[derive(Debug, thiserror::Error)]
pub enum StudentError {
    /// The model file is missing or is no model.
    #[error("the model `{path}` cannot be loaded: {why}")]
    Model {
        /// Its path.
        path: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// The prompt does not fit.
    #[error("the conversation takes {found} tokens, more than the {limit} of the model's context; start a new session")]
    Context {
        /// Tokens found.
        found: usize,
        /// The cap.
        limit: usize,
    },
    /// It never stopped.
    #[error("the model wrote {0} tokens without finishing its draft; nothing of it is used")]
    Endless(u32),
    /// The answer is no draft.
    #[error("the model's answer is not a draft: {0}")]
    Unreadable(String),
    /// The server cannot be reached or refused.
    #[error("the model server gave no answer: {0}")]
    Remote(String),
    /// The script is used up.
    #[error("the script has no draft left after {0}; add one to the file")]
    ScriptEnd(usize),
    /// The script cannot be read.
    #[error("the script `{path}` cannot be read: {why}")]
    Script {
        /// Its path.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The turn was cancelled.
    #[error("the turn was cancelled while the model was drafting")]
    Cancelled,
}

impl StudentError {
    /// The occasion of the phrase tables on which it is spoken: what a driver can make of it. The error itself goes to
    /// the log and the journal.
    pub fn occasion(&self) -> &'static str {
        match self {
            Self::Model { .. } => "no-draft-model",
            Self::Context { .. } => "no-draft-context",
            Self::Endless(_) | Self::Cancelled => "no-draft-endless",
            Self::Unreadable(_) => "no-draft-unreadable",
            Self::Remote(_) => "no-draft-remote",
            Self::ScriptEnd(_) | Self::Script { .. } => "no-draft-script",
        }
    }
}

/// Whoever drafts.
pub trait Student: Send {
    /// One draft.
    ///
    /// # Errors
    /// [`StudentError`]; nothing is executed then.
    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError>;

    /// Makes ready what every draft over this inventory begins with. Not needed: the first draft does it too.
    ///
    /// # Errors
    /// [`StudentError`] when the model breaks down or is told to stop.
    fn prepare(&mut self, _inventory: &Inventory, _cancel: &Cancel) -> Result<(), StudentError> {
        Ok(())
    }

    /// Several drafts of the same prompt, one a seed; the first at temperature 0. Where the model can, they are
    /// generated together.
    ///
    /// # Errors
    /// [`StudentError`]; nothing is executed then.
    fn drafts(&mut self, prompt: &Prompt<'_>, seeds: &[u32]) -> Result<Vec<Answer>, StudentError> {
        let each = |(at, seed): (usize, &u32)| {
            let temperature = if at == 0 { 0.0 } else { prompt.temperature };
            self.draft(&Prompt { temperature, seed: *seed, ..*prompt })
        };
        seeds.iter().enumerate().map(each).collect()
    }

    /// Whether this student can be held to what is offered: it then drafts no value that nobody gave, and what it
    /// leaves out nobody knows.
    fn keeps_to_offer(&self) -> bool {
        false
    }

    /// What this model has computed for rulings of the critic since it was last asked.
    fn take_ruled(&mut self) -> Usage {
        Usage::default()
    }

    /// The same model as a critic, where it can be one: the loaded weights serve both.
    fn as_judge(&mut self) -> Option<&mut dyn crate::critic::Judge> {
        None
    }

    /// Name for journals and progress: `llama:gemma-3-270m`, `scripted`, `remote:name`.
    fn name(&self) -> &str;
}
