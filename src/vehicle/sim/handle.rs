//! The simulated car seen from outside the guard.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Fault, ScenarioError, Shared};
use crate::model::ToolCall;
use crate::vehicle::Violation;

/// The rest of the world: whoever presses switches in the car, breaks its actuators, turns the key and
/// looks at what came of it.
#[derive(Debug, Clone)]
pub struct SimHandle {
    pub(super) shared: Arc<Shared>,
}

/// A write that reached the car.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered {
    /// The call.
    pub call: ToolCall,
    /// Whether it takes effect, now or late.
    pub effective: bool,
}

impl SimHandle {
    /// A field by `read tool.path`.
    pub fn get(&self, field: &str) -> Option<Json> {
        self.shared.state().car.get(field).cloned()
    }

    /// Every field that a read without arguments returns, by `read tool.path`.
    pub fn fields(&self) -> BTreeMap<String, Json> {
        self.shared.state().car.fields()
    }

    /// Somebody else changes a field: the driver presses the switch, the car gathers speed.
    ///
    /// # Errors
    /// [`ScenarioError::Field`] when the car has no such field.
    pub fn set(&self, field: &str, value: impl Into<Json>) -> Result<(), ScenarioError> {
        let mut state = self.shared.state();
        if state.car.get(field).is_none() {
            return Err(ScenarioError::Field { part: "a change".to_owned(), field: field.to_owned() });
        }
        state.car.set_field(field, &value.into());
        self.shared.derived.iter().for_each(|derive| derive.settle(&mut state.car));
        state.epoch += 1;
        Ok(())
    }

    /// Breaks something.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().faults.add(fault);
    }

    /// Puts the car to sleep: calls that wait for an answer end at once, later ones are refused.
    pub fn suspend(&self) {
        let mut state = self.shared.state();
        (state.epoch, state.sleeps) = (state.epoch + 1, state.sleeps + 1);
        drop(state);
        self.shared.suspended.send_replace(true);
    }

    /// Wakes the car.
    pub fn resume(&self) {
        self.shared.state().epoch += 1;
        self.shared.suspended.send_replace(false);
    }

    /// The latest writes that reached the car, oldest first.
    pub fn delivered(&self) -> Vec<Delivered> {
        self.shared.state().delivered.iter().cloned().collect()
    }

    /// Names of the invariants for a car at rest that are broken as it is: judged between turns, when companions
    /// have followed what they belong to.
    pub fn unsettled(&self) -> Vec<String> {
        let state = self.shared.state();
        let broken = self.shared.invariants.iter().filter(|i| i.settled && i.violated(|f| state.car.get(f)));
        broken.map(|i| i.name.clone()).collect()
    }

    /// The latest writes that brought the car into an unsafe state, oldest first.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.state().violations.iter().cloned().collect()
    }
}
