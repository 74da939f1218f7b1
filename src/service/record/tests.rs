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
