//! Carrying out the first call of a clearance.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::confirm;
use crate::model::{Draft, PolicyHash, ReadBack, ToolCall};
use crate::obligations::{Outdated, outdated};
use crate::policy::{HardLimits, Policy};
use crate::state::{CallRef, Clock, History, Outcome};
use crate::vehicle::{Answer, Cause, Due, Part, Vehicle, grace};
use crate::verify::{Binding, Cleared, SessionId};

/// Time a call may take where its tool declares none.
const DEADLINE: Duration = Duration::from_secs(5);

/// How much longer than the vehicle itself we wait for it: it keeps to its own deadline and can tell what
/// the matter is, where we can only say that nobody answered.
const SLACK: Duration = Duration::from_millis(100);

/// What must still hold when a call is carried out.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// The session that executes.
    pub session: &'a SessionId,
    /// The policy in force.
    pub policy: &'a Policy,
    /// The limits of the image beneath it.
    pub limits: &'a HardLimits,
    /// When the clearance was given, as time since boot.
    pub cleared_at: Duration,
    /// Time since boot, suspend included (`CLOCK_BOOTTIME`).
    pub now: Duration,
    /// The clock of deadlines; it runs on while the machine sleeps.
    pub clock: &'a dyn Clock,
    /// How long a clearance holds: a call that could not be started in time is never delivered later.
    pub valid_for: Duration,
}

/// Why a clearance no longer holds. Nothing was executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// Given to another session.
    #[error("the clearance was given to session {given}, not to {executing}")]
    Session {
        /// Whose it is.
        given: SessionId,
        /// Who wants to use it.
        executing: SessionId,
    },
    /// Given under another policy.
    #[error("the policy changed from {given} to {now} since the clearance was given")]
    Policy {
        /// Under which.
        given: PolicyHash,
        /// What holds now.
        now: PolicyHash,
    },
    /// The car changed.
    #[error("the car changed since the clearance was given (epoch {given}, now {now})")]
    Epoch {
        /// Then.
        given: u64,
        /// Now.
        now: u64,
    },
    /// Too old.
    #[error("the clearance is {age:?} old and held for {limit:?} only")]
    Expired {
        /// Its age.
        age: Duration,
        /// How long it held.
        limit: Duration,
    },
    /// What it was judged on is too old.
    #[error("{} is {:?} old, and rule {} needs it no older than {:?}", .0.field, .0.age, .0.rule, .0.limit)]
    Outdated(Outdated),
    /// A hard limit does not allow it any more, or what it reads has grown too old.
    #[error("the hard limit `{0}` has to be judged anew")]
    Limit(String),
    /// Nothing to do.
    #[error("the clearance holds no call")]
    Empty,
}

/// One call carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// The call.
    pub call: ToolCall,
    /// Its place in the history.
    pub reference: CallRef,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was not done, where the vehicle can tell.
    pub cause: Option<Cause>,
    /// What became of its fields, where it was not done as asked and somebody can tell.
    pub parts: Vec<Part>,
    /// What was read back.
    pub read_back: Vec<ReadBack>,
    /// The calls that are left: to be verified anew before anything more is done.
    pub rest: Draft,
    /// Wall time, the read-back included.
    pub took: Duration,
}

/// Carries out the first call of a clearance, reads it back, and takes what became of it into the
/// history.
///
/// The call is entered into the history before it is started, a write with an unknown outcome: if
/// the turn is cut off in between, its fields are known to be unknown, and no call is unrecorded.
///
/// # Errors
/// [`Stale`] when the clearance no longer holds; nothing was executed then.
pub async fn carry_out(
    cleared: Cleared,
    conditions: &Conditions<'_>,
    vehicle: &dyn Vehicle,
    history: &mut History,
) -> Result<Executed, Stale> {
    let (mut rest, binding) = cleared.into_parts();
    fresh(&binding, conditions, vehicle)?;
    if rest.calls.is_empty() {
        return Err(Stale::Empty);
    }
    let policy = conditions.policy;
    if let Some(first) = rest.calls.first() {
        if history.clock().is_some() {
            history.set_clock(conditions.now);
        }
        if let Some(outdated) = outdated(policy, history, first) {
            return Err(Stale::Outdated(outdated));
        }
        let world = history.world();
        let age = |cell| history.age(&policy.model, cell, world);
        if let Some(broken) = conditions.limits.broken_at(&policy.model, world, first, &age) {
            return Err(Stale::Limit(broken.limit.name.clone()));
        }
    }
    let call = rest.calls.remove(0);
    let start = conditions.clock.since_boot();
    let took = || conditions.clock.since_boot().saturating_sub(start);
    let deadline = deadline(policy, &call);
    let due = Due::within(conditions.clock, deadline);
    let writes = policy.inventory.get(call.tool.as_str()).is_some_and(|t| t.is_write());
    let before = history.world().clone();
    let reference = history.called(&policy.inventory, call.clone());
    let settle = |history: &mut History, outcome: &Outcome| {
        let at = conditions.now.saturating_add(took());
        history.settle(&policy.model, &policy.inventory, reference, outcome.clone(), Some(at));
    };
    if writes {
        settle(history, &Outcome::Unknown(Arc::from("it was started and nothing was heard of it since")));
    }
    let Performed { mut outcome, mut cause, mut parts } = perform(vehicle, conditions.clock, &call, deadline).await;
    let mut read_back = Vec::new();
    // What the vehicle tells of single fields is read as well: only what was read is known and may be said.
    let told = matches!(cause, Some(Cause::Partial | Cause::OtherValue));
    if writes && (told || matches!(outcome, Outcome::Done(_))) {
        let due = if told { Due::within(conditions.clock, Duration::ZERO) } else { due };
        let confirmation = confirm::confirm(policy, vehicle, history, &before, &call, due).await;
        if !told {
            (outcome, cause) = confirmation.judge(outcome);
            parts = confirmation.parts.clone();
        }
        settle(history, &outcome);
        // Readings come last: what the car says of itself outranks what we expect of it.
        confirmation.settle(policy, history, conditions.now.saturating_add(took()));
        read_back = confirmation.fields;
    } else {
        settle(history, &outcome);
        if let Outcome::Done(payload) = &outcome {
            history.set_ages(reference, ages(vehicle, call.tool.as_str(), payload));
        }
    }
    Ok(Executed { call, reference, outcome, cause, parts, read_back, rest, took: took() })
}

/// Whether a clearance still holds.
fn fresh(binding: &Binding, conditions: &Conditions<'_>, vehicle: &dyn Vehicle) -> Result<(), Stale> {
    if binding.session != *conditions.session {
        return Err(Stale::Session { given: binding.session.clone(), executing: conditions.session.clone() });
    }
    if binding.policy != conditions.policy.hash {
        return Err(Stale::Policy { given: binding.policy, now: conditions.policy.hash });
    }
    let epoch = vehicle.epoch();
    if binding.epoch != epoch {
        return Err(Stale::Epoch { given: binding.epoch, now: epoch });
    }
    let age = conditions.now.saturating_sub(conditions.cleared_at);
    if age > conditions.valid_for {
        return Err(Stale::Expired { age, limit: conditions.valid_for });
    }
    Ok(())
}

/// How old the fields of a reading are.
pub(super) fn ages(vehicle: &dyn Vehicle, read: &str, payload: &Json) -> Vec<(String, Duration)> {
    let fields = payload.as_object().into_iter().flat_map(|map| map.keys());
    fields.filter_map(|field| Some((field.clone(), vehicle.age(read, field)?))).collect()
}

/// How long a tool may take.
pub(super) fn deadline(policy: &Policy, call: &ToolCall) -> Duration {
    policy
        .inventory
        .position(call.tool.as_str())
        .and_then(|t| policy.model.tool(t))
        .map(|e| Duration::from_millis(u64::from(e.deadline_ms)))
        .filter(|d| !d.is_zero())
        .unwrap_or(DEADLINE)
}

/// What a vehicle made of a call.
pub(super) struct Performed {
    pub(super) outcome: Outcome,
    pub(super) cause: Option<Cause>,
    pub(super) parts: Vec<Part>,
}

/// One call with its deadline: whoever does not answer in time has an unknown outcome, because the
/// call may still take effect.
pub(super) async fn perform(
    vehicle: &dyn Vehicle,
    clock: &dyn Clock,
    call: &ToolCall,
    deadline: Duration,
) -> Performed {
    let due = Due::within(clock, deadline + grace(deadline) + SLACK);
    match due.bound(vehicle.call(call, deadline)).await {
        Some(Answer::Trouble(trouble)) => {
            let (cause, parts) = (Some(trouble.cause), trouble.parts.clone());
            Performed { outcome: Answer::Trouble(trouble).into(), cause, parts }
        }
        Some(answer) => Performed { outcome: answer.into(), cause: None, parts: Vec::new() },
        None => {
            let outcome = Outcome::Unknown(Arc::from(format!("no answer within {} ms", deadline.as_millis())));
            Performed { outcome, cause: Some(Cause::Silent), parts: Vec::new() }
        }
    }
}
