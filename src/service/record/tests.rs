use super::counts::Tally;
use super::undone::Watch;
use super::*;
use crate::journal::{Action, Changed, Kind};
use crate::model::{Arguments, ToolCall, Value};
use crate::policy::testing::kitchen;
use crate::state::SystemClock;
use crate::vehicle::{Scenario, Sim};
use serde_json::json;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Keeps what it is told.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Entry>>);

impl Sink for Kept {
    fn note(&self, note: Note) {
        if let Note::Entry(entry) = note {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
    }

    fn losses(&self) -> u64 {
        0
    }
}

impl Kept {
    fn undone(&self) -> Vec<String> {
        let entries = self.0.lock().unwrap();
        let told = entries.iter().filter(|e| e.kind == Kind::Undone).map(|e| {
            let text = |name: &str| e.body[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} -> {} -> {} by {} for {}",
                text("field"),
                text("before"),
                text("ours"),
                text("now"),
                text("how"),
                text("rule")
            )
        });
        told.collect()
    }
}

fn add(counts: &mut Tally, name: &str) -> u64 {
    super::counts::add(counts, name);
    counts[name]
}

/// A call of ours that set the hood.
fn acted(before: i64, ours: i64, by: Option<&str>) -> Action {
    let policy = Arc::new(kitchen());
    let hood =
        policy.model.attributes().find(|(_, a)| a.name == "hood").map(|(ix, _)| policy.model.cell(ix, 0).unwrap());
    let arguments = Arguments::from_iter([("level".to_owned(), json!(ours))]);
    let call = ToolCall { by: by.map(Into::into), ..ToolCall::new("set_hood_speed", arguments) };
    let changed = vec![Changed { cell: hood.unwrap(), before: Value::Int(before), ours: Value::Int(ours) }];
    Action { place: Place::new("1", 1), policy, call, changed }
}

/// A kitchen whose hood runs at a level, and a watch over it.
fn watch(level: i64) -> (crate::vehicle::SimHandle, Arc<Kept>, Watch) {
    let policy = kitchen();
    let state = format!("[get_hood_state]\nhood_level = {level}\n");
    let scenario = Scenario::parse(&state, &policy.inventory, &policy.model).unwrap();
    let sim = Sim::new(policy.inventory.clone(), policy.model, scenario, Arc::new(SystemClock));
    let (handle, kept) = (sim.handle(), Arc::new(Kept::default()));
    (handle, kept.clone(), Watch::new(Arc::new(sim), kept))
}

#[tokio::test]
async fn a_switch_that_is_pressed_within_a_minute_undoes_what_a_rule_did() {
    let (kitchen, kept, mut watch) = watch(4);
    let start = Instant::now();
    watch.acted(acted(0, 4, Some("fumes")), start);
    watch.look(start).await;
    assert_eq!(kept.undone(), [""; 0], "nothing changed");
    kitchen.set("get_hood_state.hood_level", 3).unwrap();
    watch.look(start + Duration::from_secs(20)).await;
    assert_eq!(kept.undone(), [""; 0], "a quarter of the way is a correction");
    kitchen.set("get_hood_state.hood_level", 0).unwrap();
    watch.look(start + Duration::from_secs(30)).await;
    assert_eq!(kept.undone(), ["hood_level 0 -> 4 -> 0 by hands for fumes"]);
    kitchen.set("get_hood_state.hood_level", 1).unwrap();
    watch.look(start + Duration::from_secs(40)).await;
    assert_eq!(kept.undone().len(), 1, "it is counted once");
}

#[tokio::test]
async fn what_changes_after_a_minute_is_no_undoing() {
    let (kitchen, kept, mut watch) = watch(4);
    let start = Instant::now();
    watch.acted(acted(0, 4, Some("fumes")), start);
    kitchen.set("get_hood_state.hood_level", 0).unwrap();
    watch.look(start + Duration::from_secs(61)).await;
    assert_eq!(kept.undone(), [""; 0]);
}

#[tokio::test]
async fn a_request_undoes_and_a_rule_does_not() {
    let (_, kept, mut watch) = watch(4);
    let start = Instant::now();
    watch.acted(acted(0, 4, Some("fumes")), start);
    watch.acted(acted(4, 1, Some("quiet")), start);
    assert_eq!(kept.undone(), [""; 0], "one rule overruled another");
    watch.acted(acted(1, 4, None), start + Duration::from_secs(5));
    assert_eq!(kept.undone(), ["hood_level 4 -> 1 -> 4 by request for quiet"]);
    watch.acted(acted(4, 5, None), start + Duration::from_secs(6));
    assert_eq!(kept.undone().len(), 1, "further in the same direction is no undoing");
}

#[test]
fn names_beyond_measure_are_counted_together() {
    let mut tally = Tally::new();
    (0..10_000).for_each(|n| super::counts::add(&mut tally, &format!("rule {n}")));
    assert!(tally.len() <= 2_049 && tally.values().sum::<u64>() == 10_000, "{}", tally.len());
    assert_eq!(add(&mut tally, "rule 1"), 2);
}

#[test]
fn a_flood_of_large_notes_is_dropped_and_counted_and_keeps_nobody_waiting() {
    let (queue, work) = sync_channel(WAITING);
    let (counts, standing) = (watch::channel(Counts::default()).1, watch::channel(Standing::Off).1);
    let (waiting, lost, redact) = (Arc::default(), Arc::default(), Vec::new());
    let recorder = Recorder { queue, waiting, lost, counts, standing, folder: None, redact };
    for _ in 0..100 {
        recorder.note(Note::Entry(Entry::reply(Place::new("1", 1), &"x".repeat(1 << 20))));
    }
    assert_eq!(work.try_iter().count(), 7, "eight MiB with what each takes besides");
    assert_eq!(recorder.losses(), 93);
}
