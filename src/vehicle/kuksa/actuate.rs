//! Writes: order, then believe nothing but the published value.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Kuksa;
use super::cache::{Health, Sample};
use super::convert::{decode, encode, is_other_side};
use super::fit::takes;
use super::link::{CallError, frozen};
use super::plan::{Plan, path_on};
use super::proto;
use super::raw::Raw;
use crate::model::{ToolCall, Value};
use crate::state::{AttrIx, CellIx, Side};
use crate::tools::ToolIx;
use crate::vehicle::{Answer, Cause, Due, Part, Trouble, grace};

/// How long a value that was there before the order must stay there to count as what was ordered, but at
/// most half of the deadline. Whoever is moving it away publishes something else by then (position
/// encoders do so ten times a second); the broker itself keeps no target that could be asked for.
const STILL: Duration = Duration::from_millis(250);

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
    /// When it was ordered, as time since boot.
    at: Duration,
    /// What the broker said to the order; none until it did.
    ordered: Option<Result<(), CallError>>,
    /// Why nobody knows whether a value that was there before is still there.
    unheard: Option<CallError>,
}

/// What is sent for a target.
type Order = (String, proto::Value);

impl Kuksa {
    pub(super) async fn write(&self, tool: ToolIx, call: &ToolCall, deadline: Duration) -> Answer {
        let due = Due::within(self.cache.clock(), deadline);
        let mut sleeps = self.cache.sleeps();
        let plan = match self.cache.plan() {
            Ok(plan) => plan,
            Err(trouble) => return Answer::Trouble(trouble),
        };
        let (mut targets, orders) = match self.targets(&plan, tool, call) {
            Ok(targets) => targets,
            Err(trouble) => return Answer::Trouble(trouble),
        };
        let Some(_claim) = self.cache.claim(&plan, targets.iter().map(|t| t.signal).collect()) else {
            return Answer::Trouble(lost());
        };
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
        plan: &Arc<Plan>,
        tool: ToolIx,
        call: &ToolCall,
    ) -> Result<(Vec<Target>, Vec<Option<Order>>), Trouble> {
        let model = &self.policy.model;
        let side = self.side_for(plan, tool, call)?;
        let (now, state) = (self.cache.now(), self.cache.state());
        if !state.is_under(plan) {
            return Err(lost());
        }
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
                    at: now,
                    ordered: stays.then_some(Ok(())),
                    unheard: None,
                });
            }
        }
        Ok((targets, orders))
    }

    /// The side that a call is carried out for. Where the car should say it and does not, what depends on it is
    /// refused: the policy's own is that of another car.
    fn side_for(&self, plan: &Plan, tool: ToolIx, call: &ToolCall) -> Result<Side, Trouble> {
        let model = &self.policy.model;
        if let Some(side) = plan.assumed(model) {
            return Ok(side);
        }
        let written = |side| model.writes(tool, &call.arguments, side);
        let depends = |cell: CellIx| {
            let (attribute, item) = model.owner(cell)?;
            let paths = model.signal(attribute)?.items.get(usize::from(item))?;
            Some(paths.iter().any(|path| path_on(path, None).is_none()))
        };
        let left = written(Side::Left);
        if left != written(Side::Right) || left.iter().any(|w| depends(w.cell) == Some(true)) {
            let why = "the car does not say on which side the driver sits, and the call depends on it";
            return Err(Trouble::untouched(Cause::Side, why));
        }
        Ok(model.driver_side)
    }

    /// Sends the orders and waits until the signals say what was ordered; whether that was late.
    async fn carry(
        &self,
        plan: &Arc<Plan>,
        targets: &mut [Target],
        orders: Vec<Option<Order>>,
        due: Due<'_>,
        deadline: Duration,
    ) -> bool {
        let mut changes = self.cache.changes();
        if due.bound(self.send(targets, orders, due)).await.is_none() {
            let unanswered = targets.iter_mut().filter(|t| t.ordered.is_none());
            unanswered.for_each(|t| t.ordered = Some(Err(frozen("the order".to_owned(), deadline))));
        }
        let still = Due::within(self.cache.clock(), STILL.min(deadline / 2));
        let pause = (still, STILL.min(deadline / 4));
        // What was not taken never arrives; the rest is still waited for.
        if due.bound(self.arrive(plan, targets, pause, &mut changes)).await.is_some() {
            // A machine that slept meanwhile hears late of what its timers think was in time.
            return due.is_over();
        }
        // Whatever arrives from here on is late.
        due.and(grace(deadline)).bound(self.arrive(plan, targets, pause, &mut changes)).await;
        true
    }

    /// Waits until every order has arrived. What said so before it was ordered counts once it has stayed so
    /// for a while, and the broker, asked again, still says so: no news is none of a broker that froze. It is
    /// asked as well where a value came after the order and was published before it, or nobody knows when: a
    /// broker that froze keeps news, and delivers them late. `pause` is that while, and the time that the broker
    /// has to answer.
    async fn arrive(
        &self,
        plan: &Arc<Plan>,
        targets: &mut [Target],
        pause: (Due<'_>, Duration),
        changes: &mut watch::Receiver<()>,
    ) {
        let (still, answer) = pause;
        loop {
            while !self.has_arrived(plan, targets) {
                // The sender lives as long as we do.
                let _ = changes.changed().await;
            }
            let doubtful: Vec<usize> = self.standing(plan, targets, |s, t| s.at.is_none_or(|at| at < t.at));
            let unmoved: Vec<usize> = self.standing(plan, targets, |s, t| s.changed <= t.news);
            if doubtful.is_empty() && unmoved.is_empty() {
                return;
            }
            if !unmoved.is_empty() {
                let stays = async {
                    while self.has_arrived(plan, targets) {
                        let _ = changes.changed().await;
                    }
                };
                if still.bound(stays).await.is_some() {
                    continue;
                }
            }
            let doubtful: BTreeSet<usize> = doubtful.into_iter().chain(unmoved).collect();
            let signals: Vec<usize> = doubtful.iter().filter_map(|at| Some(targets.get(*at)?.signal)).collect();
            let paths: Vec<&str> = signals.iter().filter_map(|at| Some(plan.watched.get(*at)?.path.as_str())).collect();
            let since = self.cache.news();
            match self.link.values(&paths, answer).await {
                Ok(points) => self.cache.refresh(plan, &signals, &points, since),
                Err(error) => {
                    for at in doubtful {
                        if let Some(target) = targets.get_mut(at) {
                            target.unheard = Some(error.clone());
                        }
                    }
                }
            }
            if self.has_arrived(plan, targets) {
                return;
            }
        }
    }

    /// Positions of the targets whose order was taken and of whose values something holds.
    fn standing(&self, plan: &Arc<Plan>, targets: &[Target], holds: impl Fn(&Sample, &Target) -> bool) -> Vec<usize> {
        let state = self.cache.state();
        if !state.is_under(plan) {
            return Vec::new();
        }
        let stands = |t: &Target| {
            let sample = state.samples.get(t.signal);
            matches!(t.ordered, Some(Ok(()))) && sample.is_some_and(|s| s.news > 0 && holds(s, t))
        };
        targets.iter().zip(0..).filter(|(t, _)| stands(t)).map(|(_, at)| at).collect()
    }

    async fn send(&self, targets: &mut [Target], orders: Vec<Option<Order>>, due: Due<'_>) {
        if let ([target], [order]) = (&mut *targets, orders.as_slice()) {
            if let Some((path, value)) = order {
                target.ordered = Some(self.link.actuate(path, value.clone(), due.left()).await);
            }
            return;
        }
        let mut sent = JoinSet::new();
        for (at, (path, value)) in orders.into_iter().enumerate().filter_map(|(at, order)| Some((at, order?))) {
            let (link, left) = (self.link.clone(), due.left());
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

    /// Whether nothing more is to be waited for: every order that was taken reads as ordered, or the broker
    /// is gone and nothing will be heard any more.
    fn has_arrived(&self, plan: &Arc<Plan>, targets: &[Target]) -> bool {
        let state = self.cache.state();
        if !state.is_under(plan) {
            return true;
        }
        if matches!(&state.health, Health::Lost(cause, _) if *cause != Cause::Frozen) {
            return true;
        }
        targets.iter().all(|t| {
            matches!(t.ordered, Some(Err(_))) || self.says(t, state.samples.get(t.signal).and_then(|s| s.raw.as_ref()))
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
        Answer::Trouble(Trouble { cause, untouched, detail, parts: self.parts(plan, targets, &troubles) })
    }

    /// What became of each field; one of several signals counts where all of them agree.
    fn parts(&self, plan: &Arc<Plan>, targets: &[Target], troubles: &[Option<Trouble>]) -> Vec<Part> {
        let state = self.cache.state();
        let heard = state.is_under(plan) && state.health == Health::Alive;
        let mut parts: Vec<Part> = Vec::new();
        for (target, trouble) in targets.iter().zip(troubles) {
            let raw = state.samples.get(target.signal).and_then(|s| s.raw.as_ref()).filter(|_| heard);
            let found = raw.map_or(Value::Unknown, |raw| self.value(target, raw));
            let done = trouble.is_none();
            match parts.iter_mut().find(|part| part.cell == target.cell) {
                Some(part) => {
                    part.done &= done;
                    if part.found != found {
                        part.found = Value::Unknown;
                    }
                }
                None => parts.push(Part { cell: target.cell, found, done }),
            }
        }
        parts
    }

    /// Whether a signal says what was ordered.
    fn says(&self, target: &Target, found: Option<&Raw>) -> bool {
        found.is_some_and(|raw| self.value(target, raw) == target.wanted)
    }

    fn value(&self, target: &Target, raw: &Raw) -> Value {
        let model = &self.policy.model;
        let mapped = model.attribute(target.attribute).zip(model.signal(target.attribute));
        mapped.map_or(Value::Unknown, |(attribute, signal)| decode(attribute, signal, raw))
    }

    /// What went wrong with one signal; none where it says what was ordered.
    fn trouble(&self, plan: &Arc<Plan>, target: &Target) -> Option<Trouble> {
        let name = self.name(target);
        if let Some(Err(error)) = &target.ordered {
            let detail = format!("{name}: {error}");
            return Some(Trouble { untouched: error.untouched, ..Trouble::open(error.cause, detail) });
        }
        if let Some(error) = &target.unheard {
            return Some(Trouble::open(error.cause, format!("{name} was not heard of any more: {error}")));
        }
        let state = self.cache.state();
        let same = state.is_under(plan);
        let sample = state.samples.get(target.signal).cloned().unwrap_or_default();
        if same && self.says(target, sample.raw.as_ref()) {
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

/// The broker was lost between a look at its signals and the next.
fn lost() -> Trouble {
    Trouble::untouched(Cause::Unreachable, "the broker was lost before anything was ordered")
}
