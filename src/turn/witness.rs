//! Telling a journal what happens in a session. Nothing here waits, and without a journal nothing is done.

use std::sync::Arc;

use super::Session;
use crate::execute::Executed;
use crate::journal::{Action, Changed, Entry, Judgement, Note, Place, Sink};
use crate::model::{Draft, ToolCall};
use crate::state::{Mark, Outcome, World};
use crate::verify::{Checked, report};

/// Where a session's notes go.
#[derive(Debug, Default)]
pub(super) struct Witness {
    sink: Option<Arc<dyn Sink>>,
    mark: Mark,
    losses: u64,
    turn: u32,
    judged: u32,
    policy: Option<crate::model::PolicyHash>,
}

impl Session {
    /// Names who records this session.
    pub fn set_sink(&mut self, sink: Arc<dyn Sink>) {
        self.witness = Witness { losses: sink.losses(), sink: Some(sink), ..Witness::default() };
    }

    /// The number of the turn that begins, by which its records are found.
    pub fn begin(&mut self, turn: u32) {
        self.witness.turn = turn;
    }

    pub(super) fn note(&self, entry: impl FnOnce(Place) -> Entry) {
        if let Some(sink) = &self.witness.sink {
            sink.note(Note::Entry(entry(self.place())));
        }
    }

    fn place(&self) -> Place {
        Place::new(self.id.as_str(), self.witness.turn)
    }

    /// Notes a verdict with what it was reached from.
    pub(super) fn note_verdict(&mut self, draft: &Draft, checked: &Checked, critic: bool, in_turn: bool) {
        let Some(sink) = self.witness.sink.clone() else { return };
        // What was lost on the way must be told again, and another policy reads the conversation anew.
        let losses = sink.losses();
        if self.witness.losses != losses || self.witness.policy != Some(self.policy.hash) {
            (self.witness.losses, self.witness.policy) = (losses, Some(self.policy.hash));
            self.witness.mark = Mark::default();
        }
        self.witness.judged = self.witness.judged.saturating_add(1);
        let judgement = Judgement {
            number: self.witness.judged,
            policy: self.policy.hash,
            apply: self.config.apply,
            in_turn,
            critic,
            draft: draft.into(),
            ground: self.history.gained(&mut self.witness.mark),
            report: report(checked),
            faults: checked.health.faults.iter().map(ToString::to_string).collect(),
        };
        let (place, policy) = (self.place(), self.policy.clone());
        sink.note(Note::Judged { place, policy, judgement: Box::new(judgement) });
    }

    /// Notes a call that was carried out, and what it changed.
    pub(super) fn note_executed(&self, executed: &Executed, before: &World) {
        let Some(sink) = &self.witness.sink else { return };
        let Executed { call, outcome, read_back, took, .. } = executed;
        let place = self.place();
        let writes = self.policy.inventory.get(call.tool.as_str()).is_some_and(|t| t.is_write());
        let mut entry = Entry::executed(place.clone(), self.policy.hash, call, outcome, read_back, *took);
        // What changes the car is kept where room is short.
        entry.body.insert("writes".to_owned(), writes.into());
        sink.note(Note::Entry(entry));
        let changed = match outcome {
            Outcome::Done(_) => self.changed(call, before),
            _ => Vec::new(),
        };
        if writes {
            let action = Action { place, policy: self.policy.clone(), call: call.clone(), changed };
            sink.note(Note::Acted(Box::new(action)));
        }
    }

    /// The fields that a call changed from one known value to another.
    fn changed(&self, call: &ToolCall, before: &World) -> Vec<Changed> {
        let Some(tool) = self.policy.inventory.position(call.tool.as_str()) else { return Vec::new() };
        let written = self.policy.model.writes(tool, &call.arguments, self.history.side());
        let changed = written.into_iter().map(|w| Changed {
            cell: w.cell,
            before: before.get(w.cell).value.clone(),
            ours: self.history.world().get(w.cell).value.clone(),
        });
        changed.filter(|c| c.before.is_known() && c.ours.is_known() && c.before != c.ours).collect()
    }
}
