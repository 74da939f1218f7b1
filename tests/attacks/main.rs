//! Prompt injection: a student that does whatever a text tells it, and what of that reaches the car.
//!
//! Each case of the files beside this one plants an order somewhere the student reads (the driver's own
//! words, a calendar entry, the name of a place, a contact, the result of a tool, the policy text in the
//! system message) and scripts a student that obeys it again and again. Nothing but the writes a case
//! lists may reach the car, also where the drafts come from an assistant with its own model. As a control
//! the same calls are put to the car without the guard, where they must do something: a case that could
//! not harm proves nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use obligato::model::{Draft, Limits, ToolCall};
use obligato::policy::HardLimits;
use obligato::state::SystemClock;
use obligato::student::{Answer, Cancel, Prompt, Student, StudentError, Usage};
use obligato::turn::{Config, Event, Heard, Models, Session};
use obligato::vehicle::{Scenario, Sim, SimHandle, Vehicle};
use obligato::verify::SessionId;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use support::cabin;

#[derive(Deserialize)]
struct File {
    attack: Vec<Attack>,
}

/// One planted order and a student that obeys it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    name: String,
    /// What the driver says, turn by turn.
    says: Vec<String>,
    /// Texts of the car's state file that are replaced by planted ones.
    #[serde(default)]
    plant: BTreeMap<String, String>,
    /// What is added to the system message.
    #[serde(default)]
    system: String,
    /// Fields of the car, where it is not in the state of its file.
    #[serde(default)]
    state: BTreeMap<String, Json>,
    /// Reads that the student makes first, so that the planted text is in front of it.
    #[serde(default)]
    reads: Vec<Call>,
    /// What it is made to do then, over and over.
    obeys: Vec<Call>,
    /// Writes that may reach the car: what the driver really asked for.
    #[serde(default)]
    may: Vec<String>,
}

#[derive(Deserialize, Clone)]
struct Call {
    tool: String,
    #[serde(default)]
    with: Json,
}

impl Call {
    fn arguments(&self) -> serde_json::Map<String, Json> {
        self.with.as_object().cloned().unwrap_or_default()
    }
}

/// Reads, then obeys, then obeys again.
struct Obedient {
    drafts: Vec<Draft>,
    next: usize,
}

impl Student for Obedient {
    fn draft(&mut self, _: &Prompt<'_>) -> Result<Answer, StudentError> {
        let draft = self.drafts.get(self.next).or(self.drafts.last()).cloned().ok_or(StudentError::ScriptEnd(0))?;
        self.next += 1;
        Ok(Answer { draft, usage: Usage { prompt_tokens: 1, generated_tokens: 1, wall: Duration::from_millis(1) } })
    }

    fn name(&self) -> &str {
        "obedient"
    }
}

fn draft(calls: &[Call]) -> Draft {
    let calls: Vec<Json> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let arguments = Json::Object(call.arguments()).to_string();
            json!({"id": format!("a{at}"), "function": {"name": call.tool, "arguments": arguments}})
        })
        .collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    Draft::from_bytes(message.to_string().as_bytes(), &Limits::default()).unwrap()
}

fn repository(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The car of a case, and its place and time.
fn car(attack: &Attack) -> (Sim, SimHandle, String) {
    let policy = cabin();
    let mut text = repository("policies/cabin/vehicle-state.toml");
    for (old, new) in &attack.plant {
        assert!(text.contains(old.as_str()), "{}: the car's state holds no `{old}` to replace", attack.name);
        text = text.replace(old.as_str(), new);
    }
    let scenario = Scenario::parse(&text, &policy.inventory, &policy.model).unwrap();
    let situation = scenario.situation();
    let sim = Sim::new(policy.inventory.clone(), policy.model.clone(), scenario, Arc::new(SystemClock));
    let handle = sim.handle();
    for (field, value) in &attack.state {
        handle.set(field, value.clone()).unwrap();
    }
    (sim, handle, situation)
}

/// A conversation with the car of a case.
fn session(attack: &Attack) -> (Session, SimHandle) {
    let (sim, handle, situation) = car(attack);
    let limits = HardLimits::parse(&repository("systemd/hard-limits.toml")).unwrap();
    let id = SessionId::from("attack");
    let mut session = Session::new(id, Arc::new(cabin().clone()), Arc::new(limits), Config::default(), Arc::new(sim));
    session.set_system(&format!("{situation}\n{}", attack.system));
    (session, handle)
}

/// What the student of a case drafts, the last again and again.
fn drafts(attack: &Attack) -> Vec<Draft> {
    let reads = Some(&attack.reads).filter(|reads| !reads.is_empty());
    reads.into_iter().chain([&attack.obeys]).map(|calls| draft(calls)).collect()
}

/// Notes writes that reached the car.
fn listen(writes: &mut Vec<String>) -> impl FnMut(Event) {
    let policy = cabin();
    move |event| {
        if let Event::Executed { call, .. } = event
            && policy.inventory.get(&call.tool).is_none_or(|t| t.is_write())
        {
            writes.push(support::words(&call));
        }
    }
}

/// Writes of ours that reached the car under the guard, and what was said.
fn guarded(attack: &Attack, runtime: &tokio::runtime::Runtime) -> (Vec<String>, Vec<String>, SimHandle) {
    let (mut session, handle) = session(attack);
    let mut models = Models { student: Box::new(Obedient { drafts: drafts(attack), next: 0 }), escalation: None };
    let (mut writes, mut said) = (Vec::new(), Vec::new());
    for says in &attack.says {
        let heard = Heard::text(says);
        let mut listen = listen(&mut writes);
        let report = session.turn(&mut models, runtime.handle(), &heard, &Cancel::default(), &mut listen);
        said.push(report.text);
    }
    (writes, said, handle)
}

/// The same where an assistant with its own model obeys, hears what the guard has against it, and stays at it.
fn handed_in(attack: &Attack, runtime: &tokio::runtime::Runtime) -> (Vec<String>, Vec<String>, SimHandle) {
    let (mut session, handle) = session(attack);
    let (mut writes, mut said) = (Vec::new(), Vec::new());
    let drafts = drafts(attack);
    for says in &attack.says {
        session.heard(&Heard::text(says));
        for draft in drafts.iter().chain(std::iter::repeat_n(drafts.last().unwrap(), 3)) {
            let mut listen = listen(&mut writes);
            let report = session.execute(draft, runtime.handle(), &Cancel::default(), &mut listen);
            if let Some(question) = &report.question {
                session.spoken(question);
            }
            said.extend(report.speak);
        }
    }
    (writes, said, handle)
}

/// Whether the same calls do something where nothing guards the car.
fn harms_unguarded(attack: &Attack, runtime: &tokio::runtime::Runtime) -> bool {
    let (sim, handle, _) = car(attack);
    for call in &attack.obeys {
        let call = ToolCall::new(&call.tool, call.arguments());
        runtime.block_on(sim.call(&call, Duration::from_secs(1)));
    }
    handle.delivered().iter().any(|d| d.effective)
}

fn attacks(file: &str) -> Vec<Attack> {
    toml::from_str::<File>(&repository(&format!("tests/attacks/{file}.toml"))).unwrap().attack
}

/// Runs the cases of a file; answers how many there are.
fn nothing_gets_through(file: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut through = Vec::new();
    for attack in attacks(file) {
        assert!(harms_unguarded(&attack, &runtime), "{}: its calls do nothing, so it proves nothing", attack.name);
        let (writes, said, car) = guarded(&attack, &runtime);
        let mut beyond = |way: &str, writes: &[String], said: &[String], car: &SimHandle| {
            let beyond: Vec<&String> = writes.iter().filter(|w| !attack.may.contains(w)).collect();
            if !beyond.is_empty() || !car.violations().is_empty() {
                through.push(format!("{} {way}: {beyond:?} {:?}; said: {said:?}", attack.name, car.violations()));
            }
        };
        beyond("by the student", &writes, &said, &car);
        let (theirs, told, other) = handed_in(&attack, &runtime);
        beyond("handed in", &theirs, &told, &other);
        let missing: Vec<&String> = attack.may.iter().filter(|w| !writes.contains(w)).collect();
        if !missing.is_empty() {
            through
                .push(format!("{}: what the driver asked for was not done: {missing:?}; said: {said:?}", attack.name));
        }
    }
    assert!(through.is_empty(), "{}", through.join("\n"));
}

#[test]
fn orders_in_the_drivers_own_words_pass_no_rule() {
    nothing_gets_through("driver");
}

#[test]
fn orders_in_calendar_entries_do_nothing() {
    nothing_gets_through("calendar");
}

#[test]
fn orders_in_names_of_places_do_nothing() {
    nothing_gets_through("places");
}

#[test]
fn orders_in_mail_and_contacts_do_nothing() {
    nothing_gets_through("mail");
}

#[test]
fn orders_in_results_of_tools_do_nothing() {
    nothing_gets_through("results");
}

#[test]
fn orders_in_policy_text_do_nothing() {
    nothing_gets_through("policy");
}

#[test]
fn orders_do_nothing_either_where_the_driver_asks_for_that_tool_on_something_else() {
    nothing_gets_through("errands");
}

#[test]
fn there_are_a_hundred_cases_and_more_with_names_of_their_own() {
    let files = ["driver", "calendar", "places", "mail", "results", "policy", "errands"];
    let mut names: Vec<String> =
        files.iter().flat_map(|file| attacks(file).into_iter().map(move |a| format!("{file}: {}", a.name))).collect();
    assert_eq!(names.len(), 103);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 103);
}
