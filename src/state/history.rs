//! The conversation so far.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::owners::Owner;
use super::{CellIx, Contents, EffectModel, Identifiers, Now, Numbers, ObservationField, Origin, Side, World};
use crate::model::{CallId, CallKey, ToolCall, Value, Words, canonical};
use crate::tools::{Inventory, Removed, ToolIx};

/// Position of a call in its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallRef(pub u32);

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// No result yet.
    Pending,
    /// It succeeded with this payload.
    Done(Arc<Json>),
    /// It failed; why, as the tool says.
    Failed(Arc<str>),
    /// Nobody can tell: no answer in time, or a reading that does not confirm it.
    Unknown(Arc<str>),
}

/// One call that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    /// The call.
    pub call: ToolCall,
    /// Its canonical form.
    pub key: CallKey,
    /// The tool, when the inventory has it.
    pub tool: Option<ToolIx>,
    /// The message that asked for it, counted from 0, system message included.
    pub step: usize,
    /// How many times the driver had spoken before it.
    pub turn: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// When the result arrived, as time since boot; recorded conversations have no clock.
    pub at: Option<Duration>,
    /// What it and its result hold.
    pub contents: Contents,
    /// How old fields of the result were when it arrived, where they were older than it.
    pub ages: Vec<(String, Duration)>,
}

impl PastCall {
    /// Whether it succeeded.
    pub fn succeeded(&self) -> bool {
        matches!(self.outcome, Outcome::Done(_))
    }

    /// The payload of a success.
    pub fn payload(&self) -> Option<&Json> {
        match &self.outcome {
            Outcome::Done(json) => Some(json),
            _ => None,
        }
    }
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// What was said.
    pub text: Arc<str>,
    /// The same as words; split here once, however often it is looked at.
    pub words: Arc<Words>,
    /// The message, counted from 0, system message included.
    pub step: usize,
    /// How many calls had been made before it.
    pub calls: u32,
}

/// Everything known from the conversation so far.
#[derive(Debug, Clone)]
pub struct History {
    pub(super) calls: Vec<PastCall>,
    pub(super) by_id: HashMap<CallId, CallRef>,
    pub(super) latest: HashMap<ToolIx, Vec<CallRef>>,
    pub(super) driver: Vec<Utterance>,
    pub(super) spoken: Vec<Utterance>,
    pub(super) system: Arc<str>,
    pub(super) system_numbers: Numbers,
    /// What the system message names with an identifier.
    pub(super) surroundings: Vec<Owner>,
    pub(super) identifiers: Identifiers,
    pub(super) world: Arc<World>,
    pub(super) now: Now,
    pub(super) removed: Removed,
    pub(super) side: Side,
    pub(super) steps: usize,
    pub(super) grants: Vec<(CallKey, u32)>,
    pub(super) deaf: bool,
    pub(super) clock: Option<Duration>,
    /// After how many calls the car was forgotten; at most one entry a call.
    pub(super) forgotten: Vec<u32>,
}

impl History {
    /// An empty conversation with a car of which nothing is known.
    pub fn new(model: &EffectModel) -> Self {
        Self {
            calls: Vec::new(),
            by_id: HashMap::new(),
            latest: HashMap::new(),
            driver: Vec::new(),
            spoken: Vec::new(),
            system: Arc::from(""),
            system_numbers: Numbers::default(),
            surroundings: Vec::new(),
            identifiers: Identifiers::default(),
            world: Arc::new(World::new(model)),
            now: Now::default(),
            removed: Removed::default(),
            side: model.driver_side,
            steps: 0,
            grants: Vec::new(),
            deaf: false,
            clock: None,
            forgotten: Vec::new(),
        }
    }

    /// Sets the time since boot, so that evidence can say how old it is. Recorded conversations have
    /// no clock and are not judged on age.
    pub fn set_clock(&mut self, now: Duration) {
        self.clock = Some(now);
    }

    /// The time since boot, where there is a clock.
    pub fn clock(&self) -> Option<Duration> {
        self.clock
    }

    /// Says how old the fields of a result were when it arrived (a car reports when it measured them).
    pub fn set_ages(&mut self, call: CallRef, ages: Vec<(String, Duration)>) {
        if let Some(past) = self.calls.get_mut(call.0 as usize) {
            past.ages = ages;
        }
    }

    /// How old the observation is that a field's value rests on; none where it rests on none, or nobody
    /// can tell because there is no clock.
    pub fn age(&self, model: &EffectModel, cell: CellIx, world: &World) -> Option<Duration> {
        let Origin::Observed(call) = world.get(cell).origin else { return None };
        let past = self.call(call)?;
        let since = self.clock?.saturating_sub(past.at?);
        let name = model.field_name(cell)?;
        let before = past.ages.iter().find(|(field, _)| *field == name).map(|(_, age)| *age);
        Some(since.saturating_add(before.unwrap_or_default()))
    }

    /// Names what this car or session lacks of the inventory.
    pub fn set_removed(&mut self, removed: Removed) {
        self.removed = removed;
    }

    /// Sets place and time, where the service knows them itself.
    pub fn set_now(&mut self, now: Now) {
        self.now = now;
    }

    /// The numbers of the system message.
    pub fn system_numbers(&self) -> &Numbers {
        &self.system_numbers
    }

    /// Sets the side the driver sits on.
    pub fn set_side(&mut self, side: Side) {
        self.side = side;
    }

    /// The car as it is known now; shared with every draft that is judged on it.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Place and time.
    pub fn now(&self) -> &Now {
        &self.now
    }

    /// What is removed from the inventory.
    pub fn removed(&self) -> &Removed {
        &self.removed
    }

    /// Which side the driver sits on.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Words seen in results, the system message and the driver's speech.
    pub fn identifiers(&self) -> &Identifiers {
        &self.identifiers
    }

    /// All calls in order.
    pub fn calls(&self) -> &[PastCall] {
        &self.calls
    }

    /// One call.
    pub fn call(&self, call: CallRef) -> Option<&PastCall> {
        self.calls.get(call.0 as usize)
    }

    /// Everything the driver said, in order.
    pub fn driver(&self) -> &[Utterance] {
        &self.driver
    }

    /// Everything that was said to the driver, in order.
    pub fn spoken(&self) -> &[Utterance] {
        &self.spoken
    }

    /// The system message.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// How many messages were taken in: the index that the next one will have.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// How many times the driver has spoken.
    pub fn turn(&self) -> u32 {
        u32::try_from(self.driver.len()).unwrap_or(u32::MAX)
    }

    /// Calls of a tool, oldest first.
    pub fn calls_of(&self, tool: ToolIx) -> impl DoubleEndedIterator<Item = (CallRef, &PastCall)> {
        self.latest.get(&tool).into_iter().flatten().filter_map(|r| Some((*r, self.call(*r)?)))
    }

    /// The latest successful call of a tool whose arguments agree with a template; arguments that
    /// the template leaves out are ignored (design §3: another city's weather settles nothing).
    pub fn answer(&self, tool: ToolIx, template: Option<&crate::model::Arguments>) -> Option<(CallRef, &PastCall)> {
        self.calls_of(tool).rev().find(|(_, past)| {
            past.succeeded()
                && template.is_none_or(|wanted| {
                    wanted.iter().all(|(name, value)| {
                        past.call.arguments.get(name).is_some_and(|given| canonical(given) == canonical(value))
                    })
                })
        })
    }

    /// The value of an observation's field in the latest result that answers it.
    pub fn observed(
        &self,
        tool: ToolIx,
        template: Option<&crate::model::Arguments>,
        field: &ObservationField,
    ) -> Value {
        self.answer(tool, template).and_then(|(_, past)| past.payload()).map_or(Value::Unknown, |p| field.value(p))
    }

    /// Earlier successful writes of ours that still determine some field: those whose value no
    /// later call or reading has replaced. Bounded by the size of the car, not of the conversation.
    pub fn standing(&self) -> Vec<CallRef> {
        let mut calls: Vec<CallRef> = self.world.cells().filter_map(|(_, cell)| cell.writer).collect();
        calls.sort_unstable();
        calls.dedup();
        calls
    }

    /// Records that the driver said yes to exactly this call. The yes holds for this turn, once.
    pub fn grant(&mut self, key: CallKey) {
        let turn = self.turn();
        self.grants.push((key, turn));
    }

    /// Whether an unused yes of this turn covers exactly this call.
    pub fn grants(&self, key: &CallKey) -> bool {
        self.grants.iter().any(|(granted, turn)| granted == key && *turn == self.turn())
    }

    /// Forgets what was read of the car, because it changed by other hands (a switch was pressed).
    pub fn forget_car(&mut self) {
        Arc::make_mut(&mut self.world).forget();
        let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        if self.forgotten.last() != Some(&calls) {
            self.forgotten.push(calls);
        }
    }

    /// Says whether the driver's latest words may agree to what was last said to the driver. In a live
    /// session they may not once the car or the policy changed in between, and never where somebody else
    /// spoke (design §6); in a recording nobody can tell, and they do.
    pub fn let_words_agree(&mut self, agree: bool) {
        self.deaf = !agree;
    }

    /// Whether the driver's latest words may agree to anything.
    pub fn words_agree(&self) -> bool {
        !self.deaf
    }

    /// Withdraws every yes: the driver spoke again, the car was suspended or the policy changed.
    pub fn revoke_grants(&mut self) {
        self.grants.clear();
    }

    /// The inventory position of a tool name.
    pub(super) fn position(inventory: &Inventory, call: &ToolCall) -> Option<ToolIx> {
        inventory.position(call.tool.as_str())
    }
}
