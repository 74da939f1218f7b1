//! The car: whoever carries out calls and answers reads.
//!
//! Only `execute` calls a vehicle with a write, and only with what `verify` cleared. [`Sim`] is the
//! embedded car of the demo and of tests; it judges what was done to it by [`Invariant`]s of its own.
//! `kuksa` carries calls out on the signals of a real one.

mod due;
mod invariants;
#[cfg(feature = "kuksa")]
pub mod kuksa;
mod providers;
mod routes;
mod sim;
#[cfg(test)]
pub(crate) mod testcar;
mod trouble;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::model::ToolCall;
use crate::state::{Outcome, Side};

pub use due::Due;
pub use invariants::{Bound, Invariant, Violation};
pub use providers::{Applicant, Offered, Others, PROVIDER_INTERFACE, PROVIDER_PATH, Providers, RESULT_BYTES, Rejected};
pub use routes::Routes;
pub use sim::{Delivered, Fault, FaultMode, Scenario, ScenarioError, Sim, SimHandle};
pub use trouble::{Cause, Part, Trouble};

/// Most time after its deadline in which a vehicle may still say that a call arrived late.
const GRACE: Duration = Duration::from_millis(500);

/// How long after its deadline a call is listened for: what arrives then is late and not missing.
pub fn grace(deadline: Duration) -> Duration {
    GRACE.min(deadline / 2)
}

/// What became of one call, as far as the vehicle can tell (design §7).
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It succeeded; for a read, what was read.
    Done(Arc<Json>),
    /// It was refused or failed, and the car is as it was.
    Failed(String),
    /// Nobody can tell whether it took effect.
    Unknown(String),
    /// It was not done, for a cause that has a sentence of its own.
    Trouble(Trouble),
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done(payload) => Self::Done(payload),
            Answer::Failed(why) => Self::Failed(why.into()),
            Answer::Unknown(why) => Self::Unknown(why.into()),
            Answer::Trouble(Trouble { untouched: true, detail, .. }) => Self::Failed(detail.into()),
            Answer::Trouble(Trouble { detail, .. }) => Self::Unknown(detail.into()),
        }
    }
}

/// A boxed answer in the making.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A car, simulated or real.
pub trait Vehicle: Send + Sync {
    /// Carries out a write or answers a read. The vehicle keeps to the deadline, and may take the
    /// [`grace`] after it to tell a late effect from none; the caller waits no longer than that.
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a>;

    /// Whether this car, as it is at this moment, has somebody who carries out calls of a tool. That it
    /// changes is a change of the epoch.
    fn serves(&self, _tool: &str) -> bool {
        true
    }

    /// How old the value is that `field` of a read's answer has at this moment; none where reading is
    /// what makes it new.
    fn age(&self, _read: &str, _field: &str) -> Option<Duration> {
        None
    }

    /// On which side the driver sits, where the car itself says so.
    fn side(&self) -> Option<Side> {
        None
    }

    /// Where the car is, as an object with an `id` by which tools know the place; none where nobody can tell.
    fn place(&self) -> Option<Json> {
        None
    }

    /// Counts everything that may make a verdict stale: it changes whenever a value changes that no
    /// call of ours changed, on suspend and on resume.
    fn epoch(&self) -> u64;

    /// Tells that the machine is about to sleep, or woke: what was heard of the car before is old, and
    /// what is under way is over.
    fn slept(&self) {}

    /// How often the machine slept: whoever was given leave before has it no longer.
    fn sleeps(&self) -> u64 {
        0
    }
}
