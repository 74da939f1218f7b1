//! Reads, answered from the subscription.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::Kuksa;
use super::convert::decode;
use super::plan::{Field, Plan};
use super::raw::Raw;
use crate::model::Value;
use crate::policy::Policy;
use crate::tools::ToolIx;
use crate::vehicle::{Answer, Cause, Trouble};

/// Age from which a measured signal is asked for anew: a car sends its speed many times a second, so
/// silence of this length says that something else is the matter.
const NEW: Duration = Duration::from_millis(500);

/// Age from which a place is none any more: by then a car on a motorway is beyond the kilometre that a place
/// stands for, and a receiver that has a fix tells it every second.
const PLACE: Duration = Duration::from_secs(30);

impl Kuksa {
    pub(super) async fn read(&self, tool: ToolIx, deadline: Duration) -> Answer {
        let plan = match self.cache.plan() {
            Ok(plan) => plan,
            Err(trouble) => return Answer::Trouble(trouble),
        };
        let fields: Vec<&Field> = plan.fields.values().filter(|f| self.reads(f, tool)).collect();
        if fields.is_empty() {
            return Answer::Trouble(Trouble::untouched(Cause::NoSignal, "this car has no signal for it"));
        }
        let old = self.old(&plan, &fields);
        if !old.is_empty() {
            let paths: Vec<&str> = old.iter().filter_map(|at| Some(plan.watched.get(*at)?.path.as_str())).collect();
            let since = self.cache.news();
            match self.link.values(&paths, deadline).await {
                Ok(points) => self.cache.refresh(&plan, &old, &points, since),
                Err(error) => return Answer::Trouble(Trouble::untouched(error.cause, error.to_string())),
            }
        }
        let state = self.cache.state();
        // Positions are those of the plan: under another one they are other signals.
        if !state.is_under(&plan) {
            let why = "the broker was lost while it was asked";
            return Answer::Trouble(Trouble::untouched(Cause::Unreachable, why));
        }
        let mut payload = Map::new();
        for field in fields {
            let value = value(&self.policy, &plan, field, |at| state.samples.get(at)?.raw.clone());
            let resolution = self.policy.model.attribute(field.attribute).map(|a| a.resolution).unwrap_or_default();
            if let Some(name) = self.policy.model.field_name(field.cell) {
                payload.insert(name, value.to_json(resolution));
            }
        }
        Answer::Done(Arc::new(Json::Object(payload)))
    }

    /// Age of a field of a read, that of its oldest signal. A value that is switched holds until somebody
    /// switches it, so it is as old as the broker's last sign of life; a measured one as its measurement.
    /// What was measured nobody knows when is older than any rule admits.
    pub(super) fn field_age(&self, read: &str, name: &str) -> Option<Duration> {
        let tool = self.policy.inventory.position(read)?;
        let plan = self.cache.plan().ok()?;
        let named = |f: &&Field| self.reads(f, tool) && self.policy.model.field_name(f.cell).as_deref() == Some(name);
        let field = plan.fields.values().find(named)?;
        let (now, state) = (self.cache.now(), self.cache.state());
        let ages = field.signals.iter().filter(|at| plan.watched.get(**at).is_some_and(|w| w.sampled));
        ages.map(|at| state.samples.get(*at).and_then(|s| s.at).map_or(Duration::MAX, |at| now.saturating_sub(at)))
            .max()
    }

    /// Where the car is: a geo URI (RFC 5870) of two decimals, about a kilometre, so that what was read for a
    /// place holds for a while. None while the broker is not believed, and where the car has no fix, one of too long
    /// ago, or one that nobody knows when it had it. Nothing is asked for: that is done twice a second.
    pub(super) fn location(&self) -> Option<Json> {
        let plan = self.cache.plan().ok()?;
        let (latitude, longitude) = plan.location?;
        let (now, state) = (self.cache.now(), self.cache.state());
        let degrees = |at: usize, most: f64| {
            let sample = state.samples.get(at).filter(|s| s.at.is_some_and(|at| now.saturating_sub(at) <= PLACE))?;
            match sample.raw {
                Some(Raw::Number(n)) if n.abs() <= most => Some(n),
                _ => None,
            }
        };
        let (latitude, longitude) = (degrees(latitude, 90.0)?, degrees(longitude, 180.0)?);
        // No `-0.00`: one place has one name.
        let round = |n: f64| (n * 100.0).round() / 100.0 + 0.0;
        let id = format!("geo:{:.2},{:.2}", round(latitude), round(longitude));
        Some(json!({"id": id, "latitude": latitude, "longitude": longitude}))
    }

    fn reads(&self, field: &Field, tool: ToolIx) -> bool {
        self.policy.model.attribute(field.attribute).is_some_and(|a| a.read == Some(tool))
    }

    /// Measured signals of these fields that were not heard of lately.
    fn old(&self, plan: &Plan, fields: &[&Field]) -> Vec<usize> {
        let (now, state) = (self.cache.now(), self.cache.state());
        let is_old = |at: &usize| {
            let taken = state.samples.get(*at).and_then(|s| s.at);
            plan.watched.get(*at).is_some_and(|w| w.sampled) && taken.is_none_or(|at| now.saturating_sub(at) > NEW)
        };
        let mut old: Vec<usize> = fields.iter().flat_map(|f| &f.signals).copied().filter(is_old).collect();
        old.sort_unstable();
        old.dedup();
        old
    }
}

/// The value of a field: that of all its signals, where they agree.
pub(super) fn value(policy: &Policy, plan: &Plan, field: &Field, raw: impl Fn(usize) -> Option<Raw>) -> Value {
    let model = &policy.model;
    let Some((attribute, signal)) = model.attribute(field.attribute).zip(model.signal(field.attribute)) else {
        return Value::Unknown;
    };
    let mut values = field
        .signals
        .iter()
        .filter(|at| **at < plan.watched.len())
        .map(|at| raw(*at).map_or(Value::Unknown, |raw| decode(attribute, signal, &raw)));
    let Some(first) = values.next() else { return Value::Unknown };
    if values.all(|other| other == first) { first } else { Value::Unknown }
}
