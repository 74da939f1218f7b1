//! The recorded car: answers reads from its state and the recording, and lets writes change it.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::allowed::{Allowed, fields, masked};
use super::course::{Course, same};
use super::judge::Deed;
use crate::model::{ToolCall, Value};
use crate::policy::Policy;
use crate::state::{AttrIx, AttrType, CellIx, Origin, World};
use crate::tools::{Kind, Removed, Tool, ToolIx};
use crate::vehicle::{Answer, Pending, Vehicle};

/// The car as far as it changes.
#[derive(Debug)]
struct Inside {
    world: World,
    /// Writes that no field of the car shows, such as what leaves the car.
    sent: Vec<String>,
    /// How often a call was made, so that a repeated one gets the next recorded result.
    asked: HashMap<String, usize>,
    wrong: u32,
    /// How often the student, not a rule, tried the broken call.
    tried: u32,
    deeds: Vec<Deed>,
    /// Fields that companions set in this turn.
    companions: Vec<CellIx>,
    message: u32,
    agreed: bool,
}

/// A car that replays a recording.
pub(super) struct Car {
    policy: Arc<Policy>,
    course: Arc<Course>,
    removed: Removed,
    broken: Option<String>,
    allowed: Option<Allowed>,
    inside: Mutex<Inside>,
}

impl Car {
    /// The car at the start of a course. A broken call fails however often it is tried.
    pub(super) fn new(policy: &Arc<Policy>, course: &Arc<Course>, removed: Removed, broken: Option<String>) -> Self {
        let inside = Inside {
            world: course.start.clone(),
            sent: Vec::new(),
            asked: HashMap::new(),
            wrong: 0,
            tried: 0,
            deeds: Vec::new(),
            companions: Vec::new(),
            message: 0,
            agreed: false,
        };
        Self {
            policy: policy.clone(),
            course: course.clone(),
            removed,
            broken,
            allowed: None,
            inside: Mutex::new(inside),
        }
    }

    /// Drives the ground truth alone and keeps what the car became on the way.
    pub(super) fn along(policy: &Arc<Policy>, course: &Arc<Course>) -> (Self, Allowed) {
        let car = Self::new(policy, course, Removed::default(), None);
        let mut allowed = Allowed::default();
        car.with(|inside| allowed.remember(&inside.world));
        for call in course.turns.iter().flat_map(|t| &t.drafts).flat_map(|d| &d.calls) {
            car.perform(call);
            car.with(|inside| allowed.remember(&inside.world));
        }
        allowed.sent = car.with(|inside| inside.sent.iter().cloned().collect());
        (car, allowed)
    }

    /// Counts writes beyond these as wrong.
    pub(super) fn watch(mut self, allowed: Allowed) -> Self {
        self.allowed = Some(allowed);
        self
    }

    /// Writes that made the car what the ground truth never makes of it.
    pub(super) fn wrong(&self) -> u32 {
        self.with(|inside| {
            self.end_turn(inside);
            inside.wrong
        })
    }

    /// Companions are judged by what they leave behind, as the benchmark does: the policy may want one
    /// level with a call and the driver another one with the next.
    fn end_turn(&self, inside: &mut Inside) {
        let left = std::mem::take(&mut inside.companions);
        let wrong = left.into_iter().filter(|cell| !self.allows(*cell, &inside.world.get(*cell).value));
        inside.wrong += u32::try_from(wrong.count()).unwrap_or(u32::MAX);
    }

    /// Attempts of the broken call by the student.
    pub(super) fn tried(&self) -> u32 {
        self.with(|inside| inside.tried)
    }

    /// The driver spoke; whether that was a plain yes.
    pub(super) fn heard(&self, yes: bool) {
        self.with(|inside| {
            self.end_turn(inside);
            inside.agreed = yes;
        });
    }

    /// Calls from here on come with a later message.
    pub(super) fn next_message(&self) {
        self.with(|inside| inside.message += 1);
    }

    /// All that was asked of this car, and its fields at the end.
    pub(super) fn record(&self) -> (Vec<Deed>, Map<String, Json>) {
        self.with(|inside| (inside.deeds.clone(), fields(&self.policy, &inside.world)))
    }

    /// Whether this car and another are in the same state.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (mut one, mut two) = (self.with(|i| i.sent.clone()), other.with(|i| i.sent.clone()));
        one.sort();
        two.sort();
        one == two && other.ends_in(&self.with(|i| i.world.clone()))
    }

    /// Whether this car is in that state.
    pub(super) fn ends_in(&self, world: &World) -> bool {
        self.with(|i| i.world.cells().all(|(ix, cell)| same(&cell.value, &world.get(ix).value)))
    }

    /// Whether a yes to these calls is what the ground truth wants.
    pub(super) fn wants(&self, tool: &str, arguments: &Map<String, Json>) -> bool {
        let Some(ix) = self.policy.inventory.position(tool) else { return false };
        if self.policy.inventory.at(ix).is_some_and(|t| !t.is_write()) {
            return true;
        }
        let call = ToolCall::new(tool, arguments.clone());
        let writes = self.policy.model.writes(ix, arguments, self.policy.model.driver_side);
        let known = self.course.results.contains_key(call.key().as_str());
        known || (!writes.is_empty() && writes.iter().all(|w| self.allows(w.cell, &w.value)))
    }

    fn allows(&self, cell: CellIx, value: &Value) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.has(cell, value))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Inside) -> T) -> T {
        look(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Carries out a call and keeps it for the judge.
    pub(super) fn perform(&self, call: &ToolCall) -> Answer {
        let before = self.with(|inside| fields(&self.policy, &inside.world));
        let answer = self.carry_out(call);
        let payload = if let Answer::Done(payload) = &answer { payload.as_ref().clone() } else { Json::Null };
        let done = matches!(answer, Answer::Done(_));
        self.with(|inside| {
            let (message, agreed) = (inside.message, inside.agreed);
            inside.deeds.push(Deed { call: call.clone(), message, done, payload, before, agreed });
        });
        answer
    }

    fn carry_out(&self, call: &ToolCall) -> Answer {
        if let Some(fault) = self.policy.inventory.check(call, &self.removed).first() {
            return Answer::Failed(fault.because.clone());
        }
        let policy = &self.policy;
        let Some((ix, tool)) =
            policy.inventory.position(call.tool.as_str()).and_then(|ix| Some((ix, policy.inventory.at(ix)?)))
        else {
            return Answer::Failed(format!("there is no tool `{}`", call.tool));
        };
        let key = call.key().as_str().to_owned();
        self.with(|inside| {
            if self.broken.as_ref() == Some(&key) {
                inside.tried += u32::from(call.by.is_none());
                return Answer::Failed("the device does not respond".to_owned());
            }
            if let Some(unknown) = call.arguments.values().find_map(|value| self.unknown(value)) {
                return Answer::Failed(format!("`{unknown}` does not exist"));
            }
            let count = inside.asked.entry(key.clone()).or_default();
            let recorded =
                self.course.results.get(&key).and_then(|all| all.get(*count).or_else(|| all.last())).cloned();
            *count += 1;
            if tool.is_write() {
                self.write(inside, ix, call, key, recorded)
            } else {
                self.read(inside, ix, tool, call, recorded)
            }
        })
    }

    /// An identifier that this recording knows nothing of.
    fn unknown<'j>(&self, value: &'j Json) -> Option<&'j str> {
        match value {
            Json::String(word) => {
                let made_up =
                    self.course.history.identifiers().looks_like_one(word) && !self.course.words.contains(word);
                made_up.then_some(word.as_str())
            }
            Json::Array(items) => items.iter().find_map(|i| self.unknown(i)),
            _ => None,
        }
    }

    fn write(&self, inside: &mut Inside, ix: ToolIx, call: &ToolCall, key: String, recorded: Option<Json>) -> Answer {
        let model = &self.policy.model;
        let writes = model.writes(ix, &call.arguments, model.driver_side);
        let before = inside.world.clone();
        if writes.is_empty() {
            inside.wrong += u32::from(self.allowed.as_ref().is_some_and(|a| !a.sent.contains(&key)));
            inside.sent.push(key);
        }
        for written in &writes {
            let value =
                if written.value.is_known() { written.value.clone() } else { self.named(ix, written.cell, call) };
            inside.world.set(written.cell, value, Origin::Never);
        }
        if let Some(payload) = &recorded {
            inside.world.observe_payload(model, ix, payload);
        }
        let changed = inside.world.cells().filter(|(ix, cell)| !same(&cell.value, &before.get(*ix).value));
        let wrong: Vec<CellIx> =
            changed.into_iter().filter(|(ix, cell)| !self.allows(*ix, &cell.value)).map(|(ix, _)| ix).collect();
        match call.by {
            Some(_) => inside.companions.extend(wrong),
            None => inside.wrong += u32::from(!wrong.is_empty()),
        }
        Answer::Done(Arc::new(recorded.unwrap_or_else(|| call.arguments.as_json().clone())))
    }

    /// A list that only a result could tell and that no recorded result tells: the legs as the call
    /// lists them, else all that it names, so that an edit off the record never looks like one on it.
    fn named(&self, tool: ToolIx, cell: CellIx, call: &ToolCall) -> Value {
        let model = &self.policy.model;
        let list = |value: &Json| value.as_array().map(|_| Value::from_json(value, crate::model::Resolution::ONE));
        let attribute: Option<AttrIx> = model.owner(cell).map(|(a, _)| a);
        let legs = model.tool(tool).into_iter().flat_map(|e| &e.tour.legs);
        let is_stops = model.tour.as_ref().map(|t| t.stops) == attribute;
        let set = legs.filter_map(|leg| list(call.arguments.get(&leg.argument)?)).next();
        match set {
            Some(legs) if !is_stops => legs,
            _ => list(&call.arguments.values().filter(|v| v.is_string()).cloned().collect()).unwrap_or_default(),
        }
    }

    fn read(&self, inside: &Inside, ix: ToolIx, tool: &Tool, call: &ToolCall, recorded: Option<Json>) -> Answer {
        let model = &self.policy.model;
        let known = recorded.is_some();
        let mut payload = recorded.unwrap_or_else(|| Json::Object(Map::new()));
        let mut shown = false;
        for (cell, state) in inside.world.cells() {
            let Some((attribute, _)) = model.owner(cell) else { continue };
            let Some(attribute) = model.attribute(attribute).filter(|a| a.read == Some(ix)) else { continue };
            shown = true;
            let json = match (&attribute.kind, state.value.is_known()) {
                (AttrType::List, false) => Json::Array(Vec::new()),
                _ => state.value.to_json(attribute.resolution),
            };
            if let (Some(map), Some(field), false) = (payload.as_object_mut(), model.field_name(cell), json.is_null()) {
                map.insert(field, json);
            }
        }
        if known || shown {
            return Answer::Done(Arc::new(payload));
        }
        if model.roles.preferences == Some(ix) {
            let stored = self.course.initial.get("user_preferences").unwrap_or(&Json::Null);
            let wanted = call.arguments.values().next().unwrap_or(&Json::Null);
            return Answer::Done(Arc::new(masked(stored, wanted)));
        }
        match tool.kind {
            Kind::Planning => Answer::Done(Arc::new(Json::Object(Map::new()))),
            _ => Answer::Failed("the recording has no answer to this".to_owned()),
        }
    }
}

impl Vehicle for Car {
    fn call<'a>(&'a self, call: &'a ToolCall, _: Duration) -> Pending<'a> {
        Box::pin(ready(self.perform(call)))
    }

    fn epoch(&self) -> u64 {
        0
    }
}
