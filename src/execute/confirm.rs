//! Reading back what a write should have changed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::carry::{ages, perform};
use crate::model::{CallId, ReadBack, ToolCall, Value};
use crate::policy::Policy;
use crate::state::{CellIx, History, Outcome, World};
use crate::tools::ToolIx;
use crate::vehicle::{Cause, Due, Part, Vehicle};

/// Pause between two readings while a window is still moving.
const POLL: Duration = Duration::from_millis(50);

/// Least time for a reading: a write that has used up its own is still read once.
const READING: Duration = Duration::from_millis(250);

/// One reading.
#[derive(Debug)]
struct Reading {
    call: ToolCall,
    payload: Arc<Json>,
    ages: Vec<(String, Duration)>,
}

/// What the readings after a write said.
#[derive(Debug, Default)]
pub(super) struct Confirmation {
    pub(super) fields: Vec<ReadBack>,
    pub(super) parts: Vec<Part>,
    readings: Vec<Reading>,
    /// Every field reads as ordered or as before.
    unchanged: bool,
    /// Some field reads as ordered and not as before.
    moved: bool,
    missing: Option<String>,
}

impl Confirmation {
    /// The outcome in the light of the readings, and why it is another one than claimed: a write is done
    /// only when the car says so. That nothing has moved by its deadline is no failure: whoever took the order may
    /// have it in a queue, and carry it out later.
    pub(super) fn judge(&self, claimed: Outcome) -> (Outcome, Option<Cause>) {
        if let Some(why) = &self.missing {
            return (Outcome::Unknown(format!("it could not be read back: {why}").into()), Some(Cause::Unread));
        }
        let wrong: Vec<String> = self
            .fields
            .iter()
            .filter(|f| !f.confirmed)
            .map(|f| format!("{} reads {}, not {}", f.field, f.read, f.wanted))
            .collect();
        match (wrong.is_empty(), self.unchanged, self.moved) {
            (true, ..) => (claimed, None),
            (false, true, false) => {
                let why = format!("nothing changed: {}", wrong.join(", "));
                (Outcome::Unknown(why.into()), Some(Cause::Ignored))
            }
            (false, _, true) => (Outcome::Unknown(wrong.join(", ").into()), Some(Cause::Partial)),
            (false, false, false) => (Outcome::Unknown(wrong.join(", ").into()), Some(Cause::OtherValue)),
        }
    }

    /// Takes the readings into the history as observations of their own.
    pub(super) fn settle(&self, policy: &Policy, history: &mut History, now: Duration) {
        for Reading { call, payload, ages } in &self.readings {
            let reference = history.called(&policy.inventory, call.clone());
            history.settle(&policy.model, &policy.inventory, reference, Outcome::Done(payload.clone()), Some(now));
            history.set_ages(reference, ages.clone());
        }
    }
}

/// Reads the written fields until they agree or the time is up.
pub(super) async fn confirm(
    policy: &Policy,
    vehicle: &dyn Vehicle,
    history: &History,
    before: &World,
    call: &ToolCall,
    due: Due<'_>,
) -> Confirmation {
    let Some(tool) = policy.inventory.position(call.tool.as_str()) else { return Confirmation::default() };
    let wanted: Vec<(CellIx, Value, ToolIx)> = policy
        .model
        .writes(tool, &call.arguments, history.side())
        .into_iter()
        .filter(|w| w.value.is_known())
        .filter_map(|w| {
            let (attribute, _) = policy.model.owner(w.cell)?;
            Some((w.cell, w.value, policy.model.attribute(attribute)?.read?))
        })
        .filter(|(_, _, read)| !policy.inventory.at(*read).is_none_or(|t| history.removed().tool(t.name.as_str())))
        .collect();
    loop {
        let confirmation = once(policy, vehicle, before, &wanted, due).await;
        let agreed = confirmation.missing.is_none() && confirmation.fields.iter().all(|f| f.confirmed);
        if agreed || due.left() <= POLL {
            return confirmation;
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn once(
    policy: &Policy,
    vehicle: &dyn Vehicle,
    before: &World,
    wanted: &[(CellIx, Value, ToolIx)],
    due: Due<'_>,
) -> Confirmation {
    let mut confirmation = Confirmation { unchanged: true, ..Confirmation::default() };
    let mut world = World::new(&policy.model);
    let mut reads: Vec<ToolIx> = wanted.iter().map(|(_, _, read)| *read).collect();
    reads.sort_unstable();
    reads.dedup();
    for read in reads {
        let Some(declared) = policy.inventory.at(read) else { continue };
        let mut call = ToolCall::new(declared.name.as_str(), Default::default());
        call.id = CallId::of_read_back(&declared.name);
        match perform(vehicle, due.clock(), &call, due.left().max(READING)).await.outcome {
            Outcome::Done(payload) => {
                world.observe_payload(&policy.model, read, &payload);
                let ages = ages(vehicle, call.tool.as_str(), &payload);
                confirmation.readings.push(Reading { call, payload, ages });
            }
            Outcome::Failed(why) | Outcome::Unknown(why) => confirmation.missing = Some(why.to_string()),
            Outcome::Pending => {}
        }
    }
    for (cell, value, _) in wanted {
        let read = &world.get(*cell).value;
        let resolution = policy
            .model
            .owner(*cell)
            .and_then(|(a, _)| policy.model.attribute(a))
            .map(|a| a.resolution)
            .unwrap_or_default();
        let was = &before.get(*cell).value;
        // Unknown before and after is no sign that nothing moved.
        confirmation.unchanged &= read.is_known() && (read == value || read == was);
        confirmation.moved |= read == value && was.is_known() && was != value;
        confirmation.parts.push(Part { cell: *cell, found: read.clone(), done: read == value });
        confirmation.fields.push(ReadBack {
            field: policy.model.field_name(*cell).unwrap_or_default(),
            wanted: value.display(resolution),
            read: read.display(resolution),
            confirmed: read == value,
        });
    }
    confirmation
}
