//! One car for several sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::watch;

use super::ServiceError;
use crate::model::ToolCall;
use crate::policy::Policy;
use crate::state::Side;
use crate::vehicle::{Answer, Cause, Pending, Trouble, Vehicle};

/// Sets a car up for a policy: which tools it serves by which signals stands in the policy's effect model.
pub(super) type Build = Box<dyn Fn(&Arc<Policy>) -> Result<Built, ServiceError> + Send + Sync>;

/// A car that was set up.
pub(super) struct Built {
    /// All of it.
    pub(super) vehicle: Arc<dyn Vehicle>,
    /// What of it carries calls out itself, without providers; none: that is only simulated.
    pub(super) itself: Option<Arc<dyn Vehicle>>,
    /// Place and time that a simulated car starts with.
    pub(super) situation: String,
}

/// The car, and how often any session wrote to it.
#[derive(Clone)]
pub(super) struct Car {
    shared: Arc<Shared>,
}

struct Shared {
    build: Build,
    /// The car, and the tools and effect model that it is set up for.
    fitted: RwLock<Fitted>,
    writes: AtomicU64,
    sleep: watch::Sender<Sleep>,
}

/// Whether the machine sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sleep {
    /// From shortly before it sleeps until it woke.
    asleep: bool,
    /// How often it fell asleep.
    times: u64,
    /// How often it fell asleep or woke.
    turns: u64,
}

/// A car that is set up for what a digest stands for.
#[derive(Clone)]
pub(super) struct Fitted {
    ground: [u8; 32],
    vehicle: Arc<dyn Vehicle>,
    itself: Option<Arc<dyn Vehicle>>,
}

impl Fitted {
    /// The car itself.
    pub(super) fn vehicle(&self) -> &Arc<dyn Vehicle> {
        &self.vehicle
    }
}

impl Car {
    /// A car that is set up for a policy, and the place and time that it starts with.
    pub(super) fn new(build: Build, policy: &Arc<Policy>) -> Result<(Self, String), ServiceError> {
        let Built { vehicle, itself, situation } = build(policy)?;
        let fitted = RwLock::new(Fitted { ground: policy.ground_digest(), vehicle, itself });
        Ok((
            Self {
                shared: Arc::new(Shared { build, fitted, writes: AtomicU64::new(0), sleep: watch::Sender::default() }),
            },
            situation,
        ))
    }

    /// The car as it is to be under a policy: this one where tools and effect model are the same, else one
    /// that is set up anew and takes its place only through [`Car::refit`].
    pub(super) fn fitted_for(&self, policy: &Policy) -> Result<Fitted, ServiceError> {
        let (now, ground) = (self.fitted(), policy.ground_digest());
        if now.ground == ground {
            return Ok(now);
        }
        let Built { vehicle, itself, .. } = (self.shared.build)(&Arc::new(policy.clone()))?;
        Ok(Fitted { ground, vehicle, itself })
    }

    /// Puts a car in the place of the one before it. Between turns only: no call is under way.
    pub(super) fn refit(&self, fitted: Fitted) {
        *self.shared.fitted.write().unwrap_or_else(PoisonError::into_inner) = fitted;
    }

    /// Whether a real car carries a tool out itself, without any provider.
    pub(super) fn serves_itself(&self, tool: &str) -> bool {
        self.fitted().itself.is_some_and(|car| car.serves(tool))
    }

    /// The machine is about to sleep, whatever the car is made of: what is under way ends, nothing begins
    /// until it woke, and verdicts and every leave that was given before are void.
    pub(super) fn sleep(&self) {
        self.turn(true);
    }

    /// The machine woke: what was heard of the car before is old.
    pub(super) fn wake(&self) {
        self.turn(false);
    }

    /// Whether the car counts as asleep.
    pub(super) fn is_asleep(&self) -> bool {
        self.shared.sleep.borrow().asleep
    }

    fn turn(&self, asleep: bool) {
        self.shared.sleep.send_modify(|sleep| {
            sleep.times += u64::from(asleep && !sleep.asleep);
            sleep.turns += 1;
            sleep.asleep = asleep;
        });
        self.fitted().vehicle.slept();
    }

    /// A call, for as long as the machine is awake.
    async fn awake(&self, writes: bool, call: Pending<'_>) -> Answer {
        let mut sleep = self.shared.sleep.subscribe();
        if sleep.borrow_and_update().asleep {
            return Answer::Trouble(Trouble::untouched(Cause::Suspended, "the machine is about to sleep"));
        }
        tokio::select! {
            biased;
            _ = sleep.changed() => {
                let why = "the machine slept before it answered";
                let trouble = if writes { Trouble::open } else { Trouble::untouched };
                Answer::Trouble(trouble(Cause::Suspended, why))
            }
            answer = call => answer,
        }
    }

    /// What sleep adds to the epoch of whatever the car is made of.
    fn turns(&self) -> u64 {
        self.shared.sleep.borrow().turns
    }

    fn fitted(&self) -> Fitted {
        self.shared.fitted.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The car itself, whichever it is set up as: for whoever only looks at it.
    pub(super) fn whole(&self) -> Arc<dyn Vehicle> {
        Arc::new(Whole(self.clone()))
    }

    /// The car as one session sees it: what another session writes is a change by other hands, which
    /// makes this session's verdicts stale and its picture of the car old.
    pub(super) fn seat(&self, policy: Arc<Policy>) -> Arc<dyn Vehicle> {
        let own = AtomicU64::new(self.shared.writes.load(Ordering::Acquire));
        Arc::new(Seat { vehicle: self.fitted().vehicle, car: self.clone(), policy, own })
    }
}

struct Whole(Car);

impl Vehicle for Whole {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        Box::pin(async move {
            let vehicle = self.0.fitted().vehicle;
            self.0.awake(true, vehicle.call(call, deadline)).await
        })
    }

    fn epoch(&self) -> u64 {
        self.0.fitted().vehicle.epoch().wrapping_add(self.0.turns())
    }

    fn sleeps(&self) -> u64 {
        self.0.fitted().vehicle.sleeps().wrapping_add(self.0.shared.sleep.borrow().times)
    }
}

struct Seat {
    car: Car,
    /// The car as it is set up for this seat's policy.
    vehicle: Arc<dyn Vehicle>,
    policy: Arc<Policy>,
    /// Writes of this session, and those made before it was opened.
    own: AtomicU64,
}

impl Vehicle for Seat {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        // A tool that nobody knows is taken for a write.
        let writes = self.policy.inventory.get(call.tool.as_str()).is_none_or(|tool| tool.is_write());
        if writes {
            self.own.fetch_add(1, Ordering::AcqRel);
            self.car.shared.writes.fetch_add(1, Ordering::AcqRel);
        }
        Box::pin(self.car.awake(writes, self.vehicle.call(call, deadline)))
    }

    fn serves(&self, tool: &str) -> bool {
        self.vehicle.serves(tool)
    }

    fn age(&self, read: &str, field: &str) -> Option<Duration> {
        self.vehicle.age(read, field)
    }

    fn side(&self) -> Option<Side> {
        self.vehicle.side()
    }

    fn place(&self) -> Option<Json> {
        self.vehicle.place()
    }

    fn epoch(&self) -> u64 {
        let others = self.car.shared.writes.load(Ordering::Acquire).wrapping_sub(self.own.load(Ordering::Acquire));
        self.vehicle.epoch().wrapping_add(others).wrapping_add(self.car.turns())
    }

    fn sleeps(&self) -> u64 {
        self.vehicle.sleeps().wrapping_add(self.car.shared.sleep.borrow().times)
    }
}
