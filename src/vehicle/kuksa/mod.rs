//! A real car: calls are carried out on COVESA VSS signals through the Eclipse KUKSA databroker.
//!
//! The broker takes an order and says OK before anybody carried it out; only what is published on the
//! signal itself says that it was done. So every field of the policy's mapping is subscribed to, a write
//! is an order and a wait for the published value, and a read is answered from the subscription. Nothing
//! is ever published: that would change what the car says of itself.
//!
//! One task follows the broker. It checks the mapping against the broker's metadata, subscribes, asks
//! twice a second whether the broker still answers, and starts over when it is lost.

mod actuate;
mod cache;
mod convert;
mod fit;
mod follow;
mod link;
mod plan;
mod proto;
mod raw;
mod read;
mod settings;
mod survey;
mod token;
mod units;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use self::cache::Cache;
use self::link::Link;
use super::{Answer, Cause, Pending, Trouble, Vehicle};
use crate::model::ToolCall;
use crate::policy::Policy;
use crate::state::{Clock, Side, SystemClock};

pub use fit::{Fit, Row};
pub use link::CallError;
pub use settings::{KuksaError, Settings};
pub use survey::{Field, Survey};

/// A car behind a databroker.
#[derive(Debug)]
pub struct Kuksa {
    policy: Arc<Policy>,
    cache: Arc<Cache>,
    link: Link,
    task: AbortHandle,
}

impl Kuksa {
    /// Starts to follow a broker on a runtime. It need not be there yet: until it is, calls say so.
    ///
    /// # Errors
    /// [`KuksaError`] when the settings cannot work, or the policy maps no signals.
    pub fn open(settings: &Settings, policy: Arc<Policy>, runtime: &Handle) -> Result<Self, KuksaError> {
        Self::open_by(settings, policy, runtime, Arc::new(SystemClock))
    }

    /// The same by another clock, so that a test can let a night pass.
    ///
    /// # Errors
    /// As of [`Kuksa::open`].
    pub fn open_by(
        settings: &Settings,
        policy: Arc<Policy>,
        runtime: &Handle,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KuksaError> {
        if policy.model.vss.is_none() {
            return Err(KuksaError::NoMapping(policy.id.clone()));
        }
        let _runtime = runtime.enter();
        let link = Link::open(settings)?;
        let cache = Arc::new(Cache::new(plan::promised(&policy), clock));
        let task = runtime.spawn(follow::follow(cache.clone(), link.clone(), policy.clone())).abort_handle();
        Ok(Self { policy, cache, link, task })
    }

    /// Waits until the broker was reached and its values are there.
    ///
    /// # Errors
    /// Why it is not there in time.
    pub async fn ready(&self, limit: Duration) -> Result<(), Trouble> {
        let mut changes = self.cache.changes();
        let there = async {
            while self.cache.plan().is_err() {
                let _ = changes.changed().await;
            }
        };
        let _ = tokio::time::timeout(limit, there).await;
        self.cache.plan().map(drop)
    }

    /// How the policy's mapping fits the broker, what does not fit first; empty until it was reached.
    pub fn table(&self) -> Vec<Row> {
        self.cache.state().plan.as_ref().map(plan::table).unwrap_or_default()
    }
}

impl Drop for Kuksa {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Vehicle for Kuksa {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        Box::pin(async move {
            let tool = self.policy.inventory.position(call.tool.as_str()).filter(|_| self.serves(call.tool.as_str()));
            let Some(tool) = tool else {
                let detail = format!("this car has no signals for `{}`", call.tool);
                return Answer::Trouble(Trouble::untouched(Cause::NoSignal, detail));
            };
            match self.policy.inventory.at(tool).is_some_and(|t| t.is_write()) {
                true => self.write(tool, call, deadline).await,
                false => self.read(tool, deadline).await,
            }
        })
    }

    fn serves(&self, tool: &str) -> bool {
        self.cache.serves(tool)
    }

    fn age(&self, read: &str, field: &str) -> Option<Duration> {
        self.field_age(read, field)
    }

    fn side(&self) -> Option<Side> {
        self.cache.state().plan.as_ref()?.side
    }

    fn place(&self) -> Option<Json> {
        self.location()
    }

    fn epoch(&self) -> u64 {
        self.cache.epoch()
    }

    fn slept(&self) {
        self.cache.slept();
    }

    fn sleeps(&self) -> u64 {
        self.cache.times_slept()
    }
}
