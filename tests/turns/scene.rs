//! A session with a script for a student and the simulated car.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use obligato::model::{Draft, Limits, VerdictReport};
use obligato::policy::HardLimits;
use obligato::state::{Clock, SystemClock};
use obligato::student::{Answer, Cancel, Prompt, Student, StudentError, Usage};
use obligato::turn::{Config, Event, Heard, Models, Session, Situation, TurnReport};
use obligato::vehicle::{Scenario, Sim, SimHandle};
use obligato::verify::SessionId;
use serde_json::{Value as Json, json};

use super::support::cabin;

/// Drafts one after another, and counts how often it was asked.
struct Script {
    drafts: VecDeque<Draft>,
    asked: Arc<Mutex<u32>>,
}

impl Student for Script {
    fn draft(&mut self, _: &Prompt<'_>) -> Result<Answer, StudentError> {
        *self.asked.lock().unwrap() += 1;
        let draft = self.drafts.pop_front().ok_or(StudentError::ScriptEnd(0))?;
        Ok(Answer { draft, usage: Usage { prompt_tokens: 10, generated_tokens: 5, wall: Duration::from_millis(1) } })
    }

    fn name(&self) -> &str {
        "scripted"
    }
}

/// What may happen to the car from outside when something happens in a turn.
type World = Box<dyn FnMut(&Event, &SimHandle)>;

/// A running session.
pub struct Scene {
    session: Session,
    models: Models,
    runtime: tokio::runtime::Runtime,
    asked: Arc<Mutex<u32>>,
    /// The car.
    pub car: SimHandle,
    /// Everything that happened.
    pub events: Vec<Event>,
    /// Stops or ends the turn.
    pub cancel: Cancel,
    /// What the rest of the world does to the car when something happens in a turn.
    pub world: World,
}

impl Scene {
    /// A session on the cabin with the state file's start.
    pub fn new(drafts: &[Json]) -> Self {
        Self::with(drafts, Config::default())
    }

    /// The same under another configuration.
    pub fn with(drafts: &[Json], config: Config) -> Self {
        let policy = cabin();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin/vehicle-state.toml");
        let text = std::fs::read_to_string(file).unwrap();
        let scenario = Scenario::parse(&text, &policy.inventory, &policy.model).unwrap();
        let situation = scenario.situation();
        let sim = Sim::new(policy.inventory.clone(), policy.model.clone(), scenario, Arc::new(SystemClock));
        let car = sim.handle();
        let limits =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/hard-limits.toml")).unwrap();
        let limits = HardLimits::parse(&limits).unwrap();
        let id = SessionId::from("1");
        let mut session = Session::new(id, Arc::new(policy.clone()), Arc::new(limits), config, Arc::new(sim));
        session.set_system(&situation);
        let asked = Arc::new(Mutex::new(0));
        let drafts =
            drafts.iter().map(|d| Draft::from_bytes(d.to_string().as_bytes(), &Limits::default()).unwrap()).collect();
        let student = Box::new(Script { drafts, asked: asked.clone() });
        Self {
            session,
            models: Models { student, escalation: None },
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap(),
            asked,
            car,
            events: Vec::new(),
            cancel: Cancel::default(),
            world: Box::new(|_, _| {}),
        }
    }

    /// One turn.
    pub fn says(&mut self, text: &str) -> TurnReport {
        self.hears(&Heard::text(text))
    }

    /// Place and time that run on by a clock, instead of those of the system message.
    pub fn situate(&mut self, given: &str, clock: Arc<dyn Clock>) {
        let situation = Situation::given(given, clock.as_ref());
        self.session.set_clock(clock);
        self.session.set_situation(situation);
    }

    /// Another clock.
    pub fn clock(&mut self, clock: Arc<dyn Clock>) {
        self.session.set_clock(clock);
    }

    /// Words of the driver, for an assistant with its own model.
    pub fn heard(&mut self, text: &str) {
        self.session.heard(&Heard::text(text));
    }

    /// Words of that assistant.
    pub fn spoken(&mut self, text: &str) {
        self.session.spoken(text);
    }

    /// A draft of that assistant, to be carried out.
    pub fn execute(&mut self, draft: &Json) -> VerdictReport {
        let draft = Draft::from_bytes(draft.to_string().as_bytes(), &Limits::default()).unwrap();
        let events = &mut self.events;
        self.session.execute(&draft, self.runtime.handle(), &self.cancel, &mut |event| events.push(event))
    }

    /// One turn, with what the recogniser reports.
    pub fn hears(&mut self, heard: &Heard) -> TurnReport {
        let (events, world, car) = (&mut self.events, &mut self.world, &self.car);
        let mut listen = |event: Event| {
            world(&event, car);
            events.push(event);
        };
        self.session.turn(&mut self.models, self.runtime.handle(), heard, &self.cancel, &mut listen)
    }

    /// How often the model was asked.
    pub fn model_calls(&self) -> u32 {
        *self.asked.lock().unwrap()
    }

    /// Writes that reached the car, in order, as `tool {args}`.
    pub fn writes(&self) -> Vec<String> {
        let policy = cabin();
        let made = self.events.iter().filter_map(|e| match e {
            Event::Executed { call, .. } if policy.inventory.get(&call.tool).is_some_and(|t| t.is_write()) => {
                Some(super::support::words(call))
            }
            _ => None,
        });
        made.collect()
    }
}

/// A draft of calls.
pub fn calls(list: &[(&str, Json)]) -> Json {
    let calls: Vec<Json> = list
        .iter()
        .enumerate()
        .map(|(at, (tool, arguments))| json!({"id": format!("s{at}"), "function": {"name": tool, "arguments": arguments.to_string()}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// A draft that speaks.
pub fn reply(text: &str) -> Json {
    json!({"role": "assistant", "content": text})
}
