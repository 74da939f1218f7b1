//! One recorded task: what the driver says, what the ground truth calls, and what the car answers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;

use super::super::{CliError, load};
use crate::model::{Draft, Limits, Message, Role, Value};
use crate::policy::Policy;
use crate::state::{History, World};

/// A task as the benchmark records it; fields beyond these are the recorder's own.
#[derive(Debug, Deserialize)]
struct Task {
    task_id: String,
    initial_state: Json,
}

/// The state that the ground truth ends in.
#[derive(Debug, Deserialize)]
struct States {
    task_id: String,
    #[serde(rename = "final")]
    end: Json,
}

/// The ground truth as it was carried out in the benchmark's own car.
#[derive(Debug, Deserialize)]
struct Replayed {
    id: String,
    task_id: String,
    variant: String,
    messages: Vec<Message>,
}

/// What the driver says, and the drafts of the ground truth that follow it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Turn {
    pub(super) driver: String,
    pub(super) drafts: Vec<Draft>,
}

/// One task with its ground truth.
#[derive(Debug)]
pub(super) struct Course {
    /// Name of the recording.
    pub(super) id: String,
    /// Name of the task.
    pub(super) task: String,
    /// Name of the variant: which reads the ground truth makes.
    pub(super) variant: String,
    /// System message.
    pub(super) system: String,
    /// The conversation.
    pub(super) turns: Vec<Turn>,
    /// Recorded payloads by canonical call, in the order in which they were given.
    pub(super) results: HashMap<String, Vec<Json>>,
    /// The car at the start, as recorded.
    pub(super) initial: Json,
    /// The car at the start.
    pub(super) start: World,
    /// The car at the end of the ground truth.
    pub(super) end: World,
    /// Every word of the recording that may be an identifier.
    pub(super) words: HashSet<String>,
    /// The recorded conversation, whose identifiers tell what identifiers look like.
    pub(super) history: History,
}

/// Reads the recordings and joins them by task.
pub(super) fn courses(policy: &Policy, tasks: &Path, states: &Path, replay: &Path) -> Result<Vec<Course>, CliError> {
    let tasks: BTreeMap<String, Json> =
        lines::<Task>(tasks)?.into_iter().map(|t| (t.task_id, t.initial_state)).collect();
    let ends: BTreeMap<String, Json> = lines::<States>(states)?.into_iter().map(|s| (s.task_id, s.end)).collect();
    let missing = |id: &str, what: &str| CliError::Unknown(format!("the recording `{id}` has no {what}"));
    let build = |replayed: Replayed| {
        let initial = tasks.get(&replayed.task_id).ok_or_else(|| missing(&replayed.id, "task in --tasks"))?;
        let end = ends.get(&replayed.task_id).ok_or_else(|| missing(&replayed.id, "final state in --states"))?;
        course(policy, replayed, initial, end)
    };
    lines::<Replayed>(replay)?.into_iter().map(build).collect()
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, CliError> {
    let text = load::text(path)?;
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| CliError::Transcript {
            path: path.display().to_string(),
            why: format!("line {}: {e}", at + 1),
        })
    };
    text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).map(read).collect()
}

fn course(policy: &Policy, replayed: Replayed, initial: &Json, end: &Json) -> Result<Course, CliError> {
    let unreadable = |why: String| CliError::Transcript { path: replayed.id.clone(), why };
    let caps = Limits::default();
    let mut history = History::new(&policy.model);
    let (mut system, mut turns) = (String::new(), Vec::<Turn>::new());
    for message in &replayed.messages {
        history.push(&policy.model, &policy.inventory, message, &caps).map_err(|e| unreadable(e.to_string()))?;
        let text = message.content.clone().unwrap_or_default();
        match message.role {
            Role::System => system = text,
            Role::User => turns.push(Turn { driver: text, drafts: Vec::new() }),
            Role::Assistant => {
                let draft = Draft::from_message(message, &caps).map_err(|e| unreadable(e.to_string()))?;
                turns.last_mut().ok_or_else(|| unreadable("the assistant speaks first".into()))?.drafts.push(draft);
            }
            Role::Tool => {}
        }
    }
    let mut results: HashMap<String, Vec<Json>> = HashMap::new();
    let mut words = HashSet::new();
    gather(initial, &mut words);
    for call in history.calls() {
        call.call.arguments.values().for_each(|a| gather(a, &mut words));
        if let Some(payload) = call.payload() {
            gather(payload, &mut words);
            results.entry(call.key.as_str().to_owned()).or_default().push(payload.clone());
        }
    }
    Ok(Course {
        id: replayed.id,
        task: replayed.task_id,
        variant: replayed.variant,
        system,
        turns,
        results,
        initial: initial.clone(),
        start: world(policy, initial),
        end: world(policy, end),
        words,
        history,
    })
}

/// A course from the messages of a conversation, with a car that starts and ends the same.
#[cfg(test)]
pub(super) fn recorded(policy: &Policy, messages: Json, car: &Json) -> Course {
    let replayed = serde_json::json!({"id": "test", "task_id": "test", "variant": "gt_gathered", "messages": messages});
    course(policy, serde_json::from_value(replayed).unwrap(), car, car).unwrap()
}

/// The car that a recorded state tells of.
fn world(policy: &Policy, state: &Json) -> World {
    let mut world = World::new(&policy.model);
    let mut reads: Vec<_> = policy.model.attributes.iter().filter_map(|a| a.read).collect();
    reads.sort_unstable();
    reads.dedup();
    reads.into_iter().for_each(|read| world.observe_payload(&policy.model, read, state));
    world
}

fn gather(json: &Json, words: &mut HashSet<String>) {
    match json {
        Json::String(word) => drop(words.insert(word.clone())),
        Json::Array(items) => items.iter().for_each(|i| gather(i, words)),
        Json::Object(map) => map.iter().for_each(|(name, value)| {
            words.insert(name.clone());
            gather(value, words);
        }),
        _ => {}
    }
}

/// Whether two fields hold the same; recorded states spell words in either case.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Str(a), Value::Str(b)) => a.eq_ignore_ascii_case(b) || opposite_spelling(a, b),
        _ => one == other,
    }
}

/// `CLOSE` and `closed` are one state: recordings hold the argument's word, readings the participle.
fn opposite_spelling(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    a.strip_prefix(&b).or_else(|| b.strip_prefix(&a)).is_some_and(|rest| rest == "d")
}
