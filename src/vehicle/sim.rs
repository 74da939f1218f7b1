//! The embedded simulated car.
//!
//! Its state is what its reads answer. A write changes it as the policy's effect model says, and as the
//! edits of its state file say where the model leaves that to the car: no code knows any tool. It can be
//! told to fail, stall or ignore calls ([`Fault`]), its switches can be pressed by somebody else ([`SimHandle::set`]), and it knows when it was brought
//! into an unsafe state ([`SimHandle::violations`]).

mod car;
mod edit;
mod effect;
mod fault;
mod handle;
mod scenario;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use self::car::Car;
use self::edit::{Derive, Edit};
use self::effect::Physics;
use self::fault::Faults;
use super::{Answer, Cause, Invariant, Pending, Trouble, Vehicle, Violation};
use crate::model::ToolCall;
use crate::state::{Clock, EffectModel};
use crate::tools::Inventory;

pub use fault::{Fault, FaultMode};
pub use handle::{Delivered, SimHandle};
pub use scenario::{Scenario, ScenarioError};

/// How many writes and violations are remembered: a demo runs for days.
const REMEMBERED: usize = 1_000;

/// A simulated car.
#[derive(Debug)]
pub struct Sim {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inventory: Inventory,
    model: EffectModel,
    edits: Vec<Edit>,
    derived: Vec<Derive>,
    invariants: Vec<Invariant>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    suspended: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    car: Car,
    faults: Faults,
    epoch: u64,
    sleeps: u64,
    /// Calls that nobody got an answer to and that take effect when their time has come.
    late: Vec<(Duration, ToolCall)>,
    delivered: VecDeque<Delivered>,
    violations: VecDeque<Violation>,
}

impl Sim {
    /// A car with the tools and effects of a policy, in the state of a scenario.
    pub fn new(inventory: Inventory, model: EffectModel, scenario: Scenario, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            car: scenario.car,
            faults: Faults::new(scenario.faults),
            epoch: 0,
            sleeps: 0,
            late: Vec::new(),
            delivered: VecDeque::new(),
            violations: VecDeque::new(),
        };
        let (suspended, _) = watch::channel(false);
        Self {
            shared: Arc::new(Shared {
                inventory,
                model,
                edits: scenario.edits,
                derived: scenario.derived,
                invariants: scenario.invariants,
                clock,
                state: Mutex::new(state),
                suspended,
            }),
        }
    }

    /// What the rest of the world holds of it.
    pub fn handle(&self) -> SimHandle {
        SimHandle { shared: self.shared.clone() }
    }
}

impl Vehicle for Sim {
    fn call<'a>(&'a self, call: &'a ToolCall, _deadline: Duration) -> Pending<'a> {
        Box::pin(async move {
            let mut suspended = self.shared.suspended.subscribe();
            if *suspended.borrow() {
                return Answer::Trouble(Trouble::untouched(Cause::Suspended, "the car is suspended"));
            }
            if let Some(answer) = self.shared.perform(call) {
                return answer;
            }
            // It never answers; that the car falls asleep is noticed all the same.
            let _ = suspended.wait_for(|asleep| *asleep).await;
            Answer::Trouble(Trouble::open(Cause::Suspended, "the car was suspended before it answered"))
        })
    }

    fn epoch(&self) -> u64 {
        self.shared.state().epoch
    }

    fn sleeps(&self) -> u64 {
        self.shared.state().sleeps
    }
}

impl Shared {
    fn physics(&self) -> Physics<'_> {
        Physics { inventory: &self.inventory, model: &self.model, edits: &self.edits, derived: &self.derived }
    }

    /// The state as it is now: late calls whose time has come have taken effect. They change what
    /// nobody was told of, so whatever was concluded before is stale.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.since_boot();
        while let Some(at) = state.late.iter().position(|(due, _)| *due <= now) {
            let (_, call) = state.late.swap_remove(at);
            if let Ok(effect) = self.physics().effect(&state.car, &call) {
                self.commit(&mut state, &call, effect.after);
                state.epoch += 1;
            }
        }
        state
    }

    /// Carries a call out; none when it is never answered.
    fn perform(&self, call: &ToolCall) -> Option<Answer> {
        let mut state = self.state();
        let fault = state.faults.strike(&call.tool);
        let effect = match (self.physics().effect(&state.car, call), &fault) {
            (_, Some(FaultMode::Fail { why })) => Err(why.clone()),
            (effect, _) => effect,
        };
        let writes = self.inventory.get(call.tool.as_str()).is_some_and(|t| t.is_write());
        let effective = effect.is_ok() && !matches!(fault, Some(FaultMode::Stall | FaultMode::Ignore));
        if writes {
            tracing::debug!(tool = call.tool.as_str(), effective, "the simulated car was told");
            remember(&mut state.delivered, Delivered { call: call.clone(), effective });
        }
        match fault {
            Some(FaultMode::Stall) => return None,
            Some(FaultMode::Late { after_ms }) => {
                let due = self.clock.since_boot().saturating_add(Duration::from_millis(after_ms));
                state.late.push((due, call.clone()));
                return None;
            }
            Some(FaultMode::Fail { .. } | FaultMode::Ignore) | None => {}
        }
        Some(match effect {
            Err(why) => Answer::Failed(why),
            Ok(effect) => {
                if effective {
                    self.commit(&mut state, call, effect.after);
                }
                Answer::Done(Arc::new(effect.payload))
            }
        })
    }

    /// Puts the car into a new state and judges what the call did. A state that was unsafe before is
    /// not the call's doing.
    fn commit(&self, state: &mut State, call: &ToolCall, after: Option<Car>) {
        let Some(after) = after else { return };
        for invariant in self.invariants.iter().filter(|i| !i.settled) {
            if invariant.violated(|f| after.get(f)) && !invariant.violated(|f| state.car.get(f)) {
                let violation = Violation { invariant: invariant.name.clone(), call: call.clone() };
                remember(&mut state.violations, violation);
            }
        }
        state.car = after;
    }
}

fn remember<T>(log: &mut VecDeque<T>, item: T) {
    if log.len() == REMEMBERED {
        log.pop_front();
    }
    log.push_back(item);
}

#[cfg(test)]
mod tests;
