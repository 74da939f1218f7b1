//! Where what happens is handed to for recording.

use std::fmt;
use std::sync::Arc;

use super::{Entry, Judgement, Place};
use crate::model::{RuleId, ToolCall, Value};
use crate::policy::Policy;
use crate::state::CellIx;

/// One field that a call of ours changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The field.
    pub cell: CellIx,
    /// What it held before.
    pub before: Value,
    /// What we made of it.
    pub ours: Value,
}

/// A call of ours that changed the car.
#[derive(Debug, Clone)]
pub struct Action {
    /// Session and turn.
    pub place: Place,
    /// The policy under which it was made.
    pub policy: Arc<Policy>,
    /// The call.
    pub call: ToolCall,
    /// What it changed; empty where it changed nothing that is known.
    pub changed: Vec<Changed>,
}

impl Action {
    /// The rule that demanded it; none: it was asked for.
    pub fn rule(&self) -> Option<&RuleId> {
        self.call.by.as_ref()
    }
}

/// Something to record.
#[derive(Debug, Clone)]
pub enum Note {
    /// A record as it will stand.
    Entry(Entry),
    /// A verdict.
    Judged {
        /// Session and turn.
        place: Place,
        /// The policy that judged.
        policy: Arc<Policy>,
        /// The verdict.
        judgement: Box<Judgement>,
    },
    /// A call of ours changed the car: nothing is written of it, but what becomes of it is watched.
    Acted(Box<Action>),
}

/// Whoever takes notes. It never makes the caller wait.
pub trait Sink: fmt::Debug + Send + Sync {
    /// Takes a note; one that there is no room for is dropped and counted.
    fn note(&self, note: Note);

    /// Changes whenever a note was dropped: whoever tells only what is new begins anew then.
    fn losses(&self) -> u64;
}
