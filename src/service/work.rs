//! What the worker is given and what it tells meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::open::OpenSession;
use crate::model::{Draft, VerdictReport};
use crate::student::{Cancel, StudentError};
use crate::turn::{Done, Event, Heard, Models, TurnReport};

/// One thing for the worker to do.
pub(super) enum Work {
    /// The models are there, or will not be.
    Models(Result<Models, StudentError>),
    /// Something for a session.
    Job(Job),
    /// Something that must not happen while a turn runs.
    Between(Box<dyn FnOnce() + Send>),
    /// Nothing more: end.
    Stop,
}

/// Something for a session.
pub(super) struct Job {
    /// The session, claimed for this turn.
    pub(super) session: Arc<OpenSession>,
    /// The turn.
    pub(super) turn: u32,
    /// Stops it.
    pub(super) cancel: Cancel,
    /// What to do.
    pub(super) task: Task,
    /// Where to tell.
    pub(super) told: UnboundedSender<Told>,
}

/// What to do for a session.
pub(super) enum Task {
    /// A whole turn of the local model, on words of that number.
    Turn(Heard, u64),
    /// A draft of an assistant with its own model.
    Draft(Draft),
}

/// What happens in a turn, in order; exactly one of the last three ends it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    /// The worker begins.
    Begun,
    /// Something happened.
    Event(Event),
    /// The turn is over.
    Replied(TurnReport),
    /// The draft is judged, and carried out where it was cleared.
    Judged(VerdictReport),
    /// The turn broke down; the session cannot be used again.
    Broke(String),
}

impl Told {
    /// The end of a turn that was cancelled before it began.
    pub(super) fn cancelled() -> Self {
        Self::at_once(Done::Cancelled, "")
    }

    /// The end of a turn that nobody can run.
    pub(super) fn refused(why: &str) -> Self {
        Self::at_once(Done::Refused, why)
    }

    fn at_once(done: Done, text: &str) -> Self {
        Self::Replied(TurnReport {
            done,
            text: text.to_owned(),
            model_calls: 0,
            tokens: 0,
            took: Duration::ZERO,
            harness: Duration::ZERO,
        })
    }
}
