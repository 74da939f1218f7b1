//! A session: one conversation with one car under one policy.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::ledger::Ledger;
use super::overheard::Overheard;
use super::run::Run;
use super::witness::Witness;
use super::{Config, Events, Heard, Situation, TurnReport};
use crate::journal::Entry;
use crate::model::{Draft, Message, PolicyHash, Role, ToolCall, VerdictReport};
use crate::policy::{HardLimits, Offer, Policy};
use crate::state::{Clock, History, Now, Side, SystemClock};
use crate::student::{Cancel, Student};
use crate::tools::Removed;
use crate::vehicle::Vehicle;
use crate::verify::{Binding, Checked, SessionId, Step, report};

/// The models of a service: one at a time drafts, for whichever session has the turn.
pub struct Models {
    /// Drafts, and serves as critic where it can.
    pub student: Box<dyn Student>,
    /// Drafts once when the student could not mend its draft.
    pub escalation: Option<Box<dyn Student>>,
}

/// A question that waits for the driver's answer. It dies with the next thing the driver says.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// The question.
    pub(super) question: String,
    /// The exact calls that a yes covers.
    pub(super) bound: Vec<ToolCall>,
    /// The policy under which it was asked.
    pub(super) policy: PolicyHash,
    /// The state of the car in which it was asked.
    pub(super) epoch: u64,
    /// The message after which it was to be asked, counted from 0.
    pub(super) step: usize,
}

/// One conversation.
pub struct Session {
    pub(super) id: SessionId,
    pub(super) policy: Arc<Policy>,
    pub(super) limits: Arc<HardLimits>,
    pub(super) config: Config,
    pub(super) vehicle: Arc<dyn Vehicle>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) history: History,
    pub(super) conversation: Vec<Message>,
    pub(super) pending: Option<Pending>,
    pub(super) ledger: Ledger,
    /// Whether a draft to the driver's latest words was sent back to an assistant with its own model.
    pub(super) sent_back: bool,
    /// The policy, and the state of the car, under which the driver was last spoken to.
    pub(super) spoken_under: Option<(PolicyHash, u64)>,
    /// The epoch of the car that the history knows.
    pub(super) epoch: u64,
    /// How often the machine had slept when anything was last said or agreed to.
    pub(super) sleeps: u64,
    /// What was heard and perhaps not taken in.
    pub(super) overheard: Arc<Overheard>,
    /// The number of the latest words that are known here.
    pub(super) words: u64,
    /// The number of the words that were taken in last; the largest where nobody numbers them.
    pub(super) taking: u64,
    /// The number of the latest words that were lost and are known to be.
    pub(super) lost: u64,
    /// What the session itself added to the policy.
    pub(super) offers: Vec<Offer>,
    /// What this car lacks of the inventory for good.
    lacks: Removed,
    /// What is given of place and time; none: they stand in the system message, and stay.
    pub(super) situation: Option<Arc<Situation>>,
    pub(super) witness: Witness,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("policy", &self.policy.hash).finish_non_exhaustive()
    }
}

impl Session {
    /// A new conversation.
    pub fn new(
        id: SessionId,
        policy: Arc<Policy>,
        limits: Arc<HardLimits>,
        config: Config,
        vehicle: Arc<dyn Vehicle>,
    ) -> Self {
        let history = History::new(&policy.model);
        let (epoch, sleeps) = (vehicle.epoch(), vehicle.sleeps());
        let mut session = Self {
            id,
            policy,
            limits,
            config,
            vehicle,
            clock: Arc::new(SystemClock),
            history,
            conversation: Vec::new(),
            pending: None,
            ledger: Ledger::default(),
            sent_back: false,
            spoken_under: None,
            epoch,
            sleeps,
            overheard: Arc::default(),
            words: 0,
            taking: u64::MAX,
            lost: 0,
            offers: Vec::new(),
            lacks: Removed::default(),
            situation: None,
            witness: Witness::default(),
        };
        session.take_stock();
        session
    }

    /// Replaces the clock, so that a test can let time pass.
    pub fn set_clock(&mut self, clock: Arc<dyn Clock>) {
        self.clock = clock;
    }

    /// Sets the system message: place, time and whatever the student should know.
    pub fn set_system(&mut self, text: &str) {
        self.history.set_system(&self.policy.model, text);
        let message =
            Message { role: Role::System, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None };
        match self.conversation.first_mut() {
            Some(first) if first.role == Role::System => *first = message,
            _ => self.conversation.insert(0, message),
        }
    }

    /// Sets place and time.
    pub fn set_now(&mut self, now: Now) {
        self.history.set_now(now);
    }

    /// Names what this car lacks of the inventory for good. What nobody in the car carries out at the
    /// moment counts as removed besides, for as long as that is so.
    pub fn set_removed(&mut self, removed: Removed) {
        self.lacks = removed;
        self.take_stock();
    }

    /// Sets the side the driver sits on.
    pub fn set_side(&mut self, side: Side) {
        self.history.set_side(side);
    }

    /// The session's identifier.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The conversation and the car as this session knows them.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The question that waits for an answer.
    pub fn pending(&self) -> Option<&str> {
        self.pending.as_ref().map(|p| p.question.as_str())
    }

    /// Runs one turn to its end on the calling thread. Vehicle calls are driven on `runtime`, which
    /// must not be the runtime this thread is a worker of.
    pub fn turn(
        &mut self,
        models: &mut Models,
        runtime: &Handle,
        heard: &Heard,
        cancel: &Cancel,
        events: &mut Events<'_>,
    ) -> TurnReport {
        Run::new(self, models, runtime, cancel, events).turn(heard)
    }

    /// Judges a draft of an assistant with its own model, without a critic and without executing.
    pub fn verify(&mut self, draft: &Draft) -> VerdictReport {
        self.look_around();
        self.refresh();
        let checked = self.check(draft);
        self.note_verdict(draft, &checked, false, false);
        report(&checked)
    }

    /// One verification step outside a turn.
    pub(super) fn check(&self, draft: &Draft) -> Checked {
        Step {
            policy: &self.policy,
            limits: &self.limits,
            history: &self.history,
            advice: self.config.apply,
            binding: self.binding(),
            critic: None,
            valve: None,
        }
        .check(draft)
    }

    /// What a clearance given now is bound to.
    pub(super) fn binding(&self) -> Binding {
        Binding { session: self.id.clone(), policy: self.policy.hash, epoch: self.epoch }
    }

    /// Takes in what was said to the driver, with what it was said under.
    pub(super) fn told(&mut self, text: &str) {
        self.note(|place| Entry::reply(place, text));
        self.history.said(text);
        self.history.end_step();
        self.policy.attend(&self.history);
        self.spoken_under = Some((self.policy.hash, self.vehicle.epoch()));
        self.conversation.push(super::run::message(Role::Assistant, text));
    }

    /// Whether neither the policy nor the car changed since the driver was last spoken to.
    pub(super) fn is_unchanged(&self) -> bool {
        self.spoken_under == Some((self.policy.hash, self.vehicle.epoch()))
    }

    /// Brings the history up to the car: what other hands changed must be read again, and whoever agreed to
    /// something before the machine slept wants to be asked anew (design §6).
    pub(super) fn refresh(&mut self) {
        self.history.set_clock(self.clock.since_boot());
        let sleeps = self.vehicle.sleeps();
        if sleeps != self.sleeps {
            self.sleeps = sleeps;
            self.let_go();
        }
        self.mind_what_was_heard();
        if let Some(side) = self.vehicle.side() {
            self.history.set_side(side);
        }
        let epoch = self.vehicle.epoch();
        if epoch != self.epoch {
            self.history.forget_car();
            self.epoch = epoch;
        }
        self.take_stock();
    }

    /// Looks which tools the car serves as it is.
    pub(super) fn take_stock(&mut self) {
        let mut removed = self.lacks.clone();
        let names = self.policy.inventory.iter().map(|tool| tool.name.as_str());
        names.filter(|name| !self.vehicle.serves(name)).for_each(|name| removed.insert(name));
        if removed != *self.history.removed() {
            self.history.set_removed(removed);
        }
    }
}
