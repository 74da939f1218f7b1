//! Tools that other services on the bus carry out (design §8).
//!
//! A provider registers tools of the policy's inventory and answers their calls until it leaves the
//! bus, gives them back or loses the name that allowed it to register. From that moment on its tools
//! are not served: every session counts them as removed, and what it was still asked for ends with an
//! unknown outcome. Calls go to the connection that registered, never to a name that somebody else
//! may have taken over, each of them once.
//!
//! ```text
//! provider ── Register(o object, a(sss) tools) ─▶ Providers ◀─ call, serves, epoch ── Routes
//!    ▲                                               │
//!    └── org.obligato.Provider1.Call(s tool, s arguments, s call, t expiry) → (s status, s result)
//! ```
//!
//! A tool that was ever provided, or that the configuration reserves, is left to providers for good:
//! no simulated car takes over what a real service began ([`Others`]).

mod ask;
mod register;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use super::{Answer, Pending, Vehicle};
use crate::model::{ToolCall, ToolName};
use crate::policy::Policy;
use crate::state::{Clock, Side};

pub use ask::{PROVIDER_INTERFACE, RESULT_BYTES};
pub use register::{Applicant, Offered, Rejected};

use ask::Line;

/// The registered providers, as a part of the car.
pub struct Providers {
    policy: RwLock<Arc<Policy>>,
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
    /// Counts what happened to registrations, and wakes whoever announces it.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Table {
    /// Tools that are left to providers.
    reserved: BTreeSet<ToolName>,
    by_tool: BTreeMap<ToolName, Arc<Registration>>,
}

/// One provider with its tools.
struct Registration {
    line: Line,
    /// Under which names of the configuration it may register; none: by its user.
    names: Vec<String>,
    ended: watch::Sender<bool>,
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").field("provided", &self.provided()).finish_non_exhaustive()
    }
}

impl Providers {
    /// Nobody yet. `reserved` tools are carried out by providers only.
    pub fn new(policy: Arc<Policy>, reserved: impl IntoIterator<Item = ToolName>, clock: Arc<dyn Clock>) -> Self {
        let table = Mutex::new(Table { reserved: reserved.into_iter().collect(), by_tool: BTreeMap::new() });
        Self { policy: RwLock::new(policy), clock, table, changes: watch::Sender::new(0) }
    }

    /// Goes on under another policy. Who registered a tool that is another one now was accepted for what it
    /// no longer is: all that it registered is withdrawn, and it may register anew.
    pub fn adopt(&self, policy: Arc<Policy>) {
        let old = std::mem::replace(&mut *self.policy.write().unwrap_or_else(PoisonError::into_inner), policy.clone());
        let same = |tool: &ToolName| {
            let (old, new) = (old.inventory.get(tool.as_str()), policy.inventory.get(tool.as_str()));
            old.zip(new).is_some_and(|(old, new)| (old.kind, &old.schema) == (new.kind, &new.schema))
        };
        let owners: BTreeSet<String> = {
            let table = self.table();
            let stale = table.by_tool.iter().filter(|(tool, _)| !same(tool));
            stale.map(|(_, registration)| registration.line.owner().to_owned()).collect()
        };
        owners.iter().for_each(|owner| drop(self.withdraw(owner)));
    }

    /// The policy whose tools are provided.
    fn policy(&self) -> Arc<Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each provided tool with who provides it: the first name by which it may, else its connection.
    pub fn provided(&self) -> Vec<(String, String)> {
        let who = |r: &Registration| r.names.first().map_or_else(|| r.line.owner().to_owned(), Clone::clone);
        self.table().by_tool.iter().map(|(tool, registration)| (tool.to_string(), who(registration))).collect()
    }

    /// Tools that are left to providers and that nobody provides.
    pub fn absent(&self) -> Vec<String> {
        let table = self.table();
        table.reserved.iter().filter(|t| !table.by_tool.contains_key(*t)).map(ToString::to_string).collect()
    }

    /// Whether a tool is left to providers.
    pub fn reserves(&self, tool: &str) -> bool {
        self.table().reserved.contains(tool)
    }

    /// Tells of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A connection left the bus, or gives its tools back; whether it had any.
    pub fn withdraw(&self, owner: &str) -> bool {
        self.end(|registration| registration.line.owner() == owner)
    }

    /// A connection lost a name; what it registered under that name is withdrawn.
    pub fn lost_name(&self, owner: &str, name: &str) -> bool {
        self.end(|r| r.line.owner() == owner && r.names.iter().any(|held| held == name))
    }

    /// Something that a provider answers was changed by other hands: what was concluded from it is stale.
    /// Whether the connection provides anything.
    pub fn changed_by_others(&self, owner: &str) -> bool {
        let known = self.table().by_tool.values().any(|r| r.line.owner() == owner);
        if known {
            self.changes.send_modify(|count| *count = count.wrapping_add(1));
        }
        known
    }

    fn end(&self, which: impl Fn(&Registration) -> bool) -> bool {
        let mut table = self.table();
        let before = table.by_tool.len();
        table.by_tool.retain(|_, registration| {
            let goes = which(registration);
            if goes {
                registration.ended.send_replace(true);
            }
            !goes
        });
        let changed = table.by_tool.len() != before;
        drop(table);
        if changed {
            self.changes.send_modify(|count| *count = count.wrapping_add(1));
        }
        changed
    }

    /// Every change of the table is whole, so a panic elsewhere leaves nothing half done in it.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vehicle for Providers {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        let found = self.table().by_tool.get(&call.tool).cloned();
        Box::pin(async move {
            let policy = self.policy();
            let tool = policy.inventory.get(call.tool.as_str());
            let (Some(registration), Some(tool)) = (found, tool) else {
                return Answer::Failed(format!("nobody on the bus carries out `{}` at the moment", call.tool));
            };
            registration.line.ask(tool, call, deadline, self.clock.as_ref(), registration.ended.subscribe()).await
        })
    }

    fn serves(&self, tool: &str) -> bool {
        self.table().by_tool.contains_key(tool)
    }

    fn epoch(&self) -> u64 {
        *self.changes.borrow()
    }
}

/// A part of the car that leaves to providers what is theirs, whether they are there or not.
pub struct Others {
    vehicle: Arc<dyn Vehicle>,
    providers: Arc<Providers>,
}

impl Others {
    /// A part of the car beside the providers.
    pub fn new(vehicle: Arc<dyn Vehicle>, providers: Arc<Providers>) -> Self {
        Self { vehicle, providers }
    }
}

impl Vehicle for Others {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        self.vehicle.call(call, deadline)
    }

    fn serves(&self, tool: &str) -> bool {
        !self.providers.reserves(tool) && self.vehicle.serves(tool)
    }

    fn age(&self, read: &str, field: &str) -> Option<Duration> {
        self.vehicle.age(read, field)
    }

    fn side(&self) -> Option<Side> {
        self.vehicle.side()
    }

    fn epoch(&self) -> u64 {
        self.vehicle.epoch()
    }
}
