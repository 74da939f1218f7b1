//! The car: whoever carries out calls and answers reads.
//!
//! Only `execute` calls a vehicle with a write, and only with what `verify` cleared.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::model::ToolCall;

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

/// A boxed answer in the making.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A car, simulated or real.
pub trait Vehicle: Send + Sync {
    /// Carries out a write or answers a read. The caller bounds the time.
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a>;

    /// Counts everything that may make a verdict stale: it changes whenever a value changes that no
    /// call of ours changed, on suspend and on resume.
    fn epoch(&self) -> u64;
}
