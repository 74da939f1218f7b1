//! The car: whoever carries out calls and answers reads.
//!
//! Only `execute` calls a vehicle with a write, and only with what `verify` cleared. [`Sim`] is the
//! embedded car of the demo and of tests; it judges what was done to it by [`Invariant`]s of its own.

mod invariants;
mod providers;
mod routes;
mod sim;
#[cfg(test)]
pub(crate) mod testcar;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::model::ToolCall;
use crate::state::Outcome;

pub use invariants::{Bound, Invariant, Violation};
pub use providers::{Applicant, Offered, Others, PROVIDER_INTERFACE, Providers, RESULT_BYTES, Rejected};
pub use routes::Routes;
pub use sim::{Delivered, Fault, FaultMode, Scenario, ScenarioError, Sim, SimHandle};

/// What became of one call, as far as the vehicle can tell (design §7).
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It succeeded; for a read, what was read.
    Done(Arc<Json>),
    /// It was refused or failed, and the car is as it was.
    Failed(String),
    /// Nobody can tell whether it took effect.
    Unknown(String),
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done(payload) => Self::Done(payload),
            Answer::Failed(why) => Self::Failed(why.into()),
            Answer::Unknown(why) => Self::Unknown(why.into()),
        }
    }
}

/// A boxed answer in the making.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A car, simulated or real.
pub trait Vehicle: Send + Sync {
    /// Carries out a write or answers a read. The caller bounds the time.
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a>;

    /// Whether this car, as it is at this moment, has somebody who carries out calls of a tool. That it
    /// changes is a change of the epoch.
    fn serves(&self, _tool: &str) -> bool {
        true
    }

    /// Counts everything that may make a verdict stale: it changes whenever a value changes that no
    /// call of ours changed, on suspend and on resume.
    fn epoch(&self) -> u64;
}
