//! What a history gained since it was last looked at, in a form that can be written down and taken in
//! again: a verdict's record carries it, so that the same draft can be judged on the same ground.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{CallRef, EffectModel, History, Now, NowField, Outcome, Side};
use crate::model::{Arguments, CallKey, ToolCall, Value};
use crate::tools::{Inventory, Kind, Removed};

/// How much of a history was written down already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    calls: usize,
    heard: usize,
    spoken: usize,
    forgotten: usize,
    /// Whether anything was written down at all.
    begun: bool,
}

/// Something that was said. Written down, the driver's words are an `utterance` and the assistant's a
/// `reply`: redaction goes by these names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    text: String,
    step: usize,
    calls: u32,
}

/// A call and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Made {
    id: String,
    tool: String,
    arguments: Arguments,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    step: usize,
    turn: u32,
    outcome: Became,
    /// Microseconds since boot at which the result arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// Microseconds by which fields of the result were older than it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ages: Vec<(String, u64)>,
}

/// A call that the driver agreed to, and the turn for which. The call stands there as such and not as the text of
/// its key: redaction goes by the names of arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Granted {
    tool: String,
    arguments: Arguments,
    turn: u32,
}

impl Granted {
    /// None where the key is no call's, which nothing could be done with again.
    fn of((key, turn): &(CallKey, u32)) -> Option<Self> {
        let (tool, arguments) = key.as_str().strip_suffix(')')?.split_once('(')?;
        Some(Self { tool: tool.to_owned(), arguments: serde_json::from_str(arguments).ok()?, turn: *turn })
    }

    fn key(&self) -> (CallKey, u32) {
        (ToolCall::new(&self.tool, self.arguments.clone()).key(), self.turn)
    }
}

/// An outcome as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Became {
    Pending,
    Done(Arc<Json>),
    Failed(String),
    Unknown(String),
}

/// What a history gained, and what it holds that has no past: place, time, leave and what is lacking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ground {
    /// Whether this is all of it: what was gathered before is to be dropped.
    pub whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    now: Vec<(NowField, Json)>,
    side: Side,
    removed: Vec<String>,
    steps: usize,
    grants: Vec<Granted>,
    deaf: bool,
    /// Microseconds since boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty", with = "heard")]
    heard: Vec<Words>,
    #[serde(skip_serializing_if = "Vec::is_empty", with = "spoken")]
    spoken: Vec<Words>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Made>,
    /// After how many calls the car was forgotten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forgotten: Vec<u32>,
}

/// Gives the words of a list the member name by which they are redacted.
macro_rules! named {
    ($module:ident, $name:literal) => {
        mod $module {
            use super::Words;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            #[derive(Serialize, Deserialize)]
            struct Named {
                #[serde(rename = $name)]
                text: String,
                step: usize,
                calls: u32,
            }

            pub(super) fn serialize<S: Serializer>(words: &[Words], s: S) -> Result<S::Ok, S::Error> {
                let named = words.iter().map(|w| Named { text: w.text.clone(), step: w.step, calls: w.calls });
                named.collect::<Vec<_>>().serialize(s)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Words>, D::Error> {
                let named = Vec::<Named>::deserialize(d)?;
                Ok(named.into_iter().map(|n| Words { text: n.text, step: n.step, calls: n.calls }).collect())
            }
        }
    };
}
named!(heard, "utterance");
named!(spoken, "reply");

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl History {
    /// What this history gained since a mark, and moves the mark. A history that is shorter than the mark
    /// is another one, and given whole.
    pub fn gained(&self, mark: &mut Mark) -> Ground {
        let shrunk = self.calls.len() < mark.calls
            || self.driver.len() < mark.heard
            || self.spoken.len() < mark.spoken
            || self.forgotten.len() < mark.forgotten;
        if shrunk {
            *mark = Mark::default();
        }
        let whole = !mark.begun;
        let words = |u: &super::Utterance| Words { text: u.text.as_ref().into(), step: u.step, calls: u.calls };
        let now = |field: NowField| {
            let value = self.now.get(field);
            value.is_known().then(|| (field, value.to_json(Default::default())))
        };
        let ground = Ground {
            whole,
            system: whole.then(|| self.system.as_ref().into()),
            now: NowField::ALL.into_iter().filter_map(now).collect(),
            side: self.side,
            removed: self.removed.iter().map(str::to_owned).collect(),
            steps: self.steps,
            grants: self.grants.iter().filter_map(Granted::of).collect(),
            deaf: self.deaf,
            clock: self.clock.map(micros),
            heard: self.driver.iter().skip(mark.heard).map(words).collect(),
            spoken: self.spoken.iter().skip(mark.spoken).map(words).collect(),
            calls: self.calls.iter().skip(mark.calls).map(made).collect(),
            forgotten: self.forgotten.iter().skip(mark.forgotten).copied().collect(),
        };
        *mark = Mark {
            calls: self.calls.len(),
            heard: self.driver.len(),
            spoken: self.spoken.len(),
            forgotten: self.forgotten.len(),
            begun: true,
        };
        ground
    }

    /// Takes in what another history gained, call by call as it was taken in there.
    pub fn learn(&mut self, model: &EffectModel, inventory: &Inventory, ground: &Ground) {
        if ground.whole {
            *self = Self::new(model);
        }
        self.side = ground.side;
        if let Some(system) = &ground.system {
            self.set_system(model, system);
        }
        for words in &ground.heard {
            (self.steps, self.deaf) = (words.step, false);
            self.heard(&words.text);
            self.driver.last_mut().into_iter().for_each(|u| u.calls = words.calls);
        }
        for words in &ground.spoken {
            self.steps = words.step;
            self.said(&words.text);
            self.spoken.last_mut().into_iter().for_each(|u| u.calls = words.calls);
        }
        let mut forgets = ground.forgotten.iter().peekable();
        for made in &ground.calls {
            while forgets.next_if(|after| self.calls.len() >= **after as usize).is_some() {
                self.forget_car();
            }
            self.relive(model, inventory, made);
        }
        forgets.for_each(|_| self.forget_car());
        let mut now = Now::default();
        for (field, value) in &ground.now {
            now.set(*field, Value::from_json(value, Default::default()));
        }
        self.now = now;
        self.removed = Removed::from_iter(&ground.removed);
        self.steps = ground.steps;
        self.grants = ground.grants.iter().map(Granted::key).collect();
        self.deaf = ground.deaf;
        self.clock = ground.clock.map(Duration::from_micros);
    }

    fn relive(&mut self, model: &EffectModel, inventory: &Inventory, made: &Made) {
        self.steps = made.step;
        let call = ToolCall {
            id: made.id.as_str().into(),
            tool: made.tool.as_str().into(),
            arguments: made.arguments.clone().into(),
            by: made.by.as_deref().map(Into::into),
        };
        let reference = self.called(inventory, call);
        let writes = inventory.get(&made.tool).is_some_and(|tool| tool.kind == Kind::Write);
        let at = made.at.map(Duration::from_micros);
        if writes {
            // A write is entered as unknown before it is started.
            self.settle(model, inventory, reference, Outcome::Unknown(Arc::from("it was started")), at);
        }
        let outcome = match &made.outcome {
            Became::Pending => None,
            Became::Done(payload) => Some(Outcome::Done(payload.clone())),
            Became::Failed(why) => Some(Outcome::Failed(why.as_str().into())),
            Became::Unknown(why) => Some(Outcome::Unknown(why.as_str().into())),
        };
        if let Some(outcome) = outcome {
            self.settle(model, inventory, reference, outcome, at);
        }
        let ages = made.ages.iter().map(|(field, age)| (field.clone(), Duration::from_micros(*age))).collect();
        self.set_ages(reference, ages);
        let CallRef(at) = reference;
        self.calls.get_mut(at as usize).into_iter().for_each(|past| past.turn = made.turn);
    }
}

fn made(past: &super::PastCall) -> Made {
    Made {
        id: past.call.id.as_str().to_owned(),
        tool: past.call.tool.to_string(),
        arguments: Arguments::clone(&past.call.arguments),
        by: past.call.by.as_ref().map(ToString::to_string),
        step: past.step,
        turn: past.turn,
        outcome: match &past.outcome {
            Outcome::Pending => Became::Pending,
            Outcome::Done(payload) => Became::Done(payload.clone()),
            Outcome::Failed(why) => Became::Failed(why.as_ref().into()),
            Outcome::Unknown(why) => Became::Unknown(why.as_ref().into()),
        },
        at: past.at.map(micros),
        ages: past.ages.iter().map(|(field, age)| (field.clone(), micros(*age))).collect(),
    }
}
