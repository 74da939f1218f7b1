//! Writes: order, then believe nothing but the published value.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::Kuksa;
use super::cache::Health;
use super::convert::{decode, encode, is_other_side};
use super::fit::takes;
use super::link::CallError;
use super::plan::Plan;
use super::proto;
use super::raw::Raw;
use crate::model::{ToolCall, Value};
use crate::policy::Policy;
use crate::state::{AttrIx, CellIx, Side};
use crate::tools::ToolIx;
use crate::vehicle::{Answer, Cause, Trouble, grace};

/// One signal that a call sets.
#[derive(Debug)]
struct Target {
    cell: CellIx,
    attribute: AttrIx,
    signal: usize,
    wanted: Value,
    /// What it said before, and which news that was.
    was: Option<Raw>,
    news: u64,
    /// What the broker said to the order; none until it did.
    ordered: Option<Result<(), CallError>>,
}

/// What is sent for a target.
type Order = (String, proto::Value);

impl Kuksa {
    pub(super) async fn write(&self, tool: ToolIx, call: &ToolCall, deadline: Duration) -> Answer {
        let due = Instant::now() + deadline;
        let plan = match self.cache.plan() {
            Ok(plan) => plan,
            Err(trouble) => return Answer::Trouble(trouble),
        };
        let (mut targets, orders) = match self.targets(&plan, tool, call) {
            Ok(targets) => targets,
            Err(trouble) => return Answer::Trouble(trouble),
        };
        let _claim = self.cache.claim(&plan, targets.iter().map(|t| t.signal).collect());
        let mut sleeps = self.cache.sleeps();
        let carried = self.carry(&plan, &mut targets, orders, due, deadline);
        let late = tokio::select! {
            late = carried => late,
            // Whoever wakes up in another place wants to be asked anew.
            _ = sleeps.changed() => {
                return Answer::Trouble(Trouble::open(Cause::Suspended, "the machine slept before it was done"));
            }
        };
        self.judge(&plan, &targets, late)
    }

    /// What a call sets, checked before anything is sent.
    fn targets(
        &self,
        plan: &Plan,
        tool: ToolIx,
        call: &ToolCall,
    ) -> Result<(Vec<Target>, Vec<Option<Order>>), Trouble> {
        let model = &self.policy.model;
        let state = self.cache.state();
        let side: Side = state.side.unwrap_or(model.driver_side);
        let (mut targets, mut orders): (Vec<Target>, Vec<Option<Order>>) = (Vec::new(), Vec::new());
        for written in model.writes(tool, &call.arguments, side) {
            let name = model.field_name(written.cell).unwrap_or_default();
            let missing = || Trouble::untouched(Cause::NoSignal, format!("this car has no signal that sets {name}"));
            let field = plan.fields.get(&written.cell).filter(|f| f.writable).ok_or_else(missing)?;
            let (attribute, signal) =
                model.attribute(field.attribute).zip(model.signal(field.attribute)).ok_or_else(missing)?;
            let refused = |why: String| Trouble::untouched(Cause::OutOfRange, format!("{name}: {why}"));
            let raw = encode(attribute, signal, &written.value).map_err(refused)?;
            for at in &field.signals {
                let watched = plan.watched.get(*at).ok_or_else(missing)?;
                let value = raw.write(watched.data).filter(|_| takes(watched, &raw));
                let value = value.ok_or_else(|| refused(format!("{} does not take {raw}", watched.path)))?;
                let sample = state.samples.get(*at).cloned().unwrap_or_default();
                // A signal that stands for the opposite of what is switched off stays as it is.
                let stays = sample.raw.as_ref().is_some_and(|found| {
                    is_other_side(signal, found) && decode(attribute, signal, found) == written.value
                });
                orders.push((!stays).then(|| (watched.path.clone(), value)));
                targets.push(Target {
                    cell: written.cell,
                    attribute: field.attribute,
                    signal: *at,
                    wanted: written.value.clone(),
                    was: sample.raw,
                    news: sample.news,
                    ordered: stays.then_some(Ok(())),
                });
            }
        }
        Ok((targets, orders))
    }

    /// Sends the orders and waits until the signals say what was ordered; whether that was late.
    async fn carry(
        &self,
        plan: &Arc<Plan>,
        targets: &mut [Target],
        orders: Vec<Option<Order>>,
        due: Instant,
        deadline: Duration,
    ) -> bool {
        let mut changes = self.cache.changes();
        self.send(targets, orders, due).await;
        let arrived = async |until: Instant, changes: &mut watch::Receiver<()>| {
            let all = async {
                while !self.arrived(plan, targets) {
                    // The sender lives as long as we do.
                    let _ = changes.changed().await;
                }
            };
            timeout_at(until, all).await.is_ok()
        };
        // What was not taken never arrives; the rest is still waited for.
        if arrived(due, &mut changes).await {
            return false;
        }
        // Whatever arrives from here on is late.
        arrived(due + grace(deadline), &mut changes).await;
        true
    }

    async fn send(&self, targets: &mut [Target], orders: Vec<Option<Order>>, due: Instant) {
        let left = || due.saturating_duration_since(Instant::now());
        if let ([target], [order]) = (&mut *targets, orders.as_slice()) {
            if let Some((path, value)) = order {
                target.ordered = Some(self.link.actuate(path, value.clone(), left()).await);
            }
            return;
        }
        let mut sent = JoinSet::new();
        for (at, (path, value)) in orders.into_iter().enumerate().filter_map(|(at, order)| Some((at, order?))) {
            let (link, left) = (self.link.clone(), left());
            sent.spawn(async move { (at, link.actuate(&path, value, left).await) });
        }
        while let Some(done) = sent.join_next().await {
            if let Ok((at, answer)) = done
                && let Some(target) = targets.get_mut(at)
            {
                target.ordered = Some(answer);
            }
        }
    }

    /// Whether nothing more is to be waited for: every order that was taken has arrived, or the broker
    /// is gone and nothing will be heard any more.
    fn arrived(&self, plan: &Arc<Plan>, targets: &[Target]) -> bool {
        let state = self.cache.state();
        if !state.plan.as_ref().is_some_and(|current| Arc::ptr_eq(current, plan)) {
            return true;
        }
        if matches!(&state.health, Health::Lost(cause, _) if *cause != Cause::Frozen) {
            return true;
        }
        targets.iter().all(|t| {
            matches!(t.ordered, Some(Err(_)))
                || reads(&self.policy, t, state.samples.get(t.signal).and_then(|s| s.raw.as_ref()))
        })
    }

    fn judge(&self, plan: &Arc<Plan>, targets: &[Target], late: bool) -> Answer {
        let troubles: Vec<Option<Trouble>> = targets.iter().map(|t| self.trouble(plan, t)).collect();
        let failed: Vec<&Trouble> = troubles.iter().flatten().collect();
        let Some(first) = failed.first() else {
            if late {
                let detail = "it arrived after its deadline";
                return Answer::Trouble(Trouble::open(Cause::Late, detail));
            }
            return Answer::Done(Arc::new(self.payload(targets)));
        };
        let mut details: Vec<String> = Vec::new();
        for (target, trouble) in targets.iter().zip(&troubles) {
            let detail = match trouble {
                Some(trouble) => trouble.detail.clone(),
                None => format!("{} is {}", self.name(target), self.shown(target, &target.wanted)),
            };
            if !details.contains(&detail) {
                details.push(detail);
            }
        }
        let detail = details.join("; ");
        let untouched = failed.len() == targets.len() && failed.iter().all(|t| t.untouched);
        let cause = if failed.len() < targets.len() { Cause::Partial } else { first.cause };
        Answer::Trouble(Trouble { cause, untouched, detail })
    }

    /// What went wrong with one signal; none where it says what was ordered.
    fn trouble(&self, plan: &Arc<Plan>, target: &Target) -> Option<Trouble> {
        let name = self.name(target);
        if let Some(Err(error)) = &target.ordered {
            return Some(Trouble {
                cause: error.cause,
                untouched: error.untouched,
                detail: format!("{name}: {error}"),
            });
        }
        let state = self.cache.state();
        let same = state.plan.as_ref().is_some_and(|current| Arc::ptr_eq(current, plan));
        let sample = state.samples.get(target.signal).cloned().unwrap_or_default();
        if same && reads(&self.policy, target, sample.raw.as_ref()) {
            return None;
        }
        if let Health::Lost(cause, why) = &state.health {
            return Some(Trouble::open(*cause, format!("{name}: {why}")));
        }
        if !same {
            let why = "the broker was lost before it was heard of";
            return Some(Trouble::open(Cause::Unreachable, format!("{name}: {why}")));
        }
        let wanted = self.shown(target, &target.wanted);
        if sample.news == target.news || sample.raw == target.was {
            // The order may still be in a queue: what has not moved yet may move later.
            return Some(Trouble::open(Cause::Ignored, format!("{name} did not change to {wanted}")));
        }
        let found = sample.raw.map_or_else(|| "unknown".to_owned(), |raw| raw.to_string());
        Some(Trouble::open(Cause::OtherValue, format!("{name} was set to {wanted} and is {found}")))
    }

    fn name(&self, target: &Target) -> String {
        self.policy.model.field_name(target.cell).unwrap_or_default()
    }

    fn shown(&self, target: &Target, value: &Value) -> String {
        value.display(self.policy.model.attribute(target.attribute).map(|a| a.resolution).unwrap_or_default())
    }

    /// What was set, as a result says it.
    fn payload(&self, targets: &[Target]) -> Json {
        let field = |t: &Target| {
            let resolution = self.policy.model.attribute(t.attribute)?.resolution;
            Some((self.policy.model.field_name(t.cell)?, t.wanted.to_json(resolution)))
        };
        Json::Object(targets.iter().filter_map(field).collect::<Map<String, Json>>())
    }
}

/// Whether a signal says what was ordered.
fn reads(policy: &Policy, target: &Target, found: Option<&Raw>) -> bool {
    let model = &policy.model;
    let Some((attribute, signal)) = model.attribute(target.attribute).zip(model.signal(target.attribute)) else {
        return false;
    };
    found.is_some_and(|raw| decode(attribute, signal, raw) == target.wanted)
}
