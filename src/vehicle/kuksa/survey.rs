//! What a bench engineer asks of a broker: does the mapping fit, what does the car say.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::cache::{Cache, Health};
use super::follow::plan;
use super::link::Link;
use super::plan::{Plan, promised, table};
use super::read::value;
use super::settings::{KuksaError, Settings};
use super::{CallError, Row};
use crate::policy::Policy;
use crate::state::SystemClock;

/// A broker as it was found, without a car on it.
#[derive(Debug)]
pub struct Survey {
    policy: Arc<Policy>,
    link: Link,
    plan: Arc<Plan>,
    cache: Cache,
    /// Name and version of the broker.
    pub broker: String,
}

/// A field of the car, as its signals say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field {
    /// The field, as results spell it.
    pub field: String,
    /// Its value; null where the signals say nothing, or disagree.
    pub value: serde_json::Value,
    /// Its unit, may be empty.
    pub unit: String,
    /// Milliseconds since the oldest of its signals was stamped; none: never.
    pub age_ms: Option<u64>,
    /// Its signals with what they say.
    pub signals: Vec<(String, Option<String>)>,
}

impl Survey {
    /// Connects and reads the broker's metadata.
    ///
    /// # Errors
    /// [`KuksaError`] when the broker cannot be reached or asked.
    pub async fn take(settings: &Settings, policy: Arc<Policy>) -> Result<Self, KuksaError> {
        if policy.model.vss.is_none() {
            return Err(KuksaError::NoMapping(policy.id.clone()));
        }
        let link = Link::open(settings)?;
        let broker = link.about().await?;
        let plan = Arc::new(plan(&link, &policy).await?);
        let cache = Cache::new(promised(&policy), Arc::new(SystemClock));
        cache.connected(plan.clone());
        cache.set_health(Health::Alive);
        Ok(Self { policy, link, plan, cache, broker })
    }

    /// How the mapping fits, what does not fit first.
    pub fn table(&self) -> Vec<Row> {
        table(&self.plan)
    }

    /// The version of the specification that the mapping was written for.
    pub fn version(&self) -> &str {
        self.policy.model.vss.as_ref().map(|vss| vss.version.as_str()).unwrap_or_default()
    }

    /// Tools of the inventory that are not served on this broker, although the policy maps them.
    pub fn unserved(&self) -> Vec<String> {
        promised(&self.policy).into_iter().filter(|tool| !self.plan.served.contains(tool)).collect()
    }

    /// Tools that are served.
    pub fn served(&self) -> Vec<String> {
        self.plan.served.iter().cloned().collect()
    }

    /// Asks for the values of all mapped signals once.
    ///
    /// # Errors
    /// [`CallError`] when the broker does not answer.
    pub async fn read(&self) -> Result<Vec<Field>, CallError> {
        let paths: Vec<&str> = self.plan.watched.iter().map(|w| w.path.as_str()).collect();
        let since = self.cache.news();
        let points = self.link.values(&paths, Duration::from_secs(5)).await?;
        let all: Vec<usize> = (0..self.plan.watched.len()).collect();
        self.cache.refresh(&self.plan, &all, &points, since);
        Ok(self.fields())
    }

    /// Follows the signals: calls back with all fields whenever one of them says something.
    ///
    /// # Errors
    /// [`CallError`] when the subscription ends; never otherwise.
    pub async fn watch(&self, mut seen: impl FnMut(Vec<Field>) -> bool) -> Result<(), CallError> {
        let mut news = self.link.subscribe(self.plan.paths()).await?;
        loop {
            let message = super::follow::next(&mut news, None).await?;
            self.cache.take(message.entries);
            if !seen(self.fields()) {
                return Ok(());
            }
        }
    }

    fn fields(&self) -> Vec<Field> {
        let (now, state) = (self.cache.now(), self.cache.state());
        let model = &self.policy.model;
        let raw = |at: usize| state.samples.get(at)?.raw.clone();
        let told = |field: &super::plan::Field| {
            let attribute = model.attribute(field.attribute)?;
            let ages = field.signals.iter().map(|at| Some(now.saturating_sub(state.samples.get(*at)?.at?)));
            let signals = field
                .signals
                .iter()
                .filter_map(|at| Some((self.plan.watched.get(*at)?.path.clone(), raw(*at).map(|raw| raw.to_string()))));
            Some(Field {
                field: model.field_name(field.cell)?,
                value: value(&self.policy, &self.plan, field, raw).to_json(attribute.resolution),
                unit: attribute.unit.clone(),
                age_ms: ages.max().flatten().and_then(|age| u64::try_from(age.as_millis()).ok()),
                signals: signals.collect(),
            })
        };
        self.plan.fields.values().filter_map(told).collect()
    }
}
