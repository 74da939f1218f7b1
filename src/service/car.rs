//! One car for several sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::model::ToolCall;
use crate::policy::Policy;
use crate::vehicle::{Pending, Vehicle};

/// The car, and how often any session wrote to it.
#[derive(Clone)]
pub(super) struct Car {
    vehicle: Arc<dyn Vehicle>,
    writes: Arc<AtomicU64>,
}

impl Car {
    pub(super) fn new(vehicle: Arc<dyn Vehicle>) -> Self {
        Self { vehicle, writes: Arc::default() }
    }

    /// Whether something in it carries out calls of a tool at this moment.
    pub(super) fn serves(&self, tool: &str) -> bool {
        self.vehicle.serves(tool)
    }

    /// The car as one session sees it: what another session writes is a change by other hands, which
    /// makes this session's verdicts stale and its picture of the car old.
    pub(super) fn seat(&self, policy: Arc<Policy>) -> Arc<dyn Vehicle> {
        Arc::new(Seat { car: self.clone(), policy, own: AtomicU64::new(self.writes.load(Ordering::Acquire)) })
    }
}

struct Seat {
    car: Car,
    policy: Arc<Policy>,
    /// Writes of this session, and those made before it was opened.
    own: AtomicU64,
}

impl Vehicle for Seat {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        // A tool that nobody knows is taken for a write.
        if self.policy.inventory.get(call.tool.as_str()).is_none_or(|tool| tool.is_write()) {
            self.own.fetch_add(1, Ordering::AcqRel);
            self.car.writes.fetch_add(1, Ordering::AcqRel);
        }
        self.car.vehicle.call(call, deadline)
    }

    fn serves(&self, tool: &str) -> bool {
        self.car.vehicle.serves(tool)
    }

    fn epoch(&self) -> u64 {
        let others = self.car.writes.load(Ordering::Acquire).wrapping_sub(self.own.load(Ordering::Acquire));
        self.car.vehicle.epoch().wrapping_add(others)
    }
}
