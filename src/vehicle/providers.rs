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
//! A tool that the configuration reserves is left to providers for good, and in a simulated car one that was ever
//! provided: it does not take over what a real service began ([`Others`]). What a real car carries out itself is
//! provided only by whom the configuration names it for.
//!
//! A call that is given up unanswered keeps its place among the replies that the bus lets our connection wait for,
//! so whoever leaves a few of them is put out until it answered or left (`unanswered`).

mod ask;
mod register;
mod unanswered;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::watch;

use super::{Answer, Cause, Pending, Trouble, Vehicle};
use crate::model::{ToolCall, ToolName};
use crate::policy::Policy;
use crate::state::{Clock, Side};

pub use ask::{PROVIDER_INTERFACE, PROVIDER_PATH, RESULT_BYTES};
pub use register::{Applicant, Offered, Rejected};

use ask::Line;
use unanswered::{Desk, Table};

/// The registered providers, as a part of the car.
pub struct Providers {
    policy: RwLock<Arc<Policy>>,
    clock: Arc<dyn Clock>,
    desk: Arc<Desk>,
}

/// One provider with its tools.
struct Registration {
    line: Line,
    /// The user behind its connection.
    user: u32,
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
        let desk = Arc::new(Desk::new(reserved.into_iter().collect()));
        Self { policy: RwLock::new(policy), clock, desk }
    }

    /// Goes on under another policy. Who registered a tool that is another one now was accepted for what it
    /// no longer is: all that it registered is withdrawn, and it may register anew.
    pub fn adopt(&self, policy: Arc<Policy>) {
        // Held to the end: a registration is accepted under the one policy or the other, and never in between.
        let mut current = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, policy.clone());
        let same = |tool: &ToolName| {
            let (old, new) = (old.inventory.get(tool.as_str()), policy.inventory.get(tool.as_str()));
            old.zip(new).is_some_and(|(old, new)| (old.kind, &old.schema) == (new.kind, &new.schema))
        };
        let owners: BTreeSet<String> = {
            let table = self.table();
            let stale = table.by_tool.iter().filter(|(tool, _)| !same(tool));
            stale.map(|(_, registration)| registration.line.owner().to_owned()).collect()
        };
        for owner in owners {
            self.withdraw(&owner);
        }
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
        let left: BTreeSet<&ToolName> = table.reserved.iter().chain(&table.once).collect();
        left.into_iter().filter(|t| !table.by_tool.contains_key(*t)).map(ToString::to_string).collect()
    }

    /// Whether a tool is left to providers, in a car that is simulated or in a real one.
    fn reserves(&self, tool: &str, simulated: bool) -> bool {
        let table = self.table();
        table.reserved.contains(tool) || (simulated && table.once.contains(tool))
    }

    /// Tells of every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.desk.changes.subscribe()
    }

    /// A connection left the bus, or gives its tools back; whether it had any.
    pub fn withdraw(&self, owner: &str) -> bool {
        self.desk.end(|registration| registration.line.owner() == owner)
    }

    /// A connection lost a name; what it registered under that name is withdrawn.
    pub fn lost_name(&self, owner: &str, name: &str) -> bool {
        self.desk.end(|r| r.line.owner() == owner && r.names.iter().any(|held| held == name))
    }

    /// Something that a provider answers was changed by other hands: what was concluded from it is stale.
    /// Whether the connection provides anything.
    pub fn changed_by_others(&self, owner: &str) -> bool {
        let known = self.table().by_tool.values().any(|r| r.line.owner() == owner);
        if known {
            self.desk.tell();
        }
        known
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.desk.table()
    }
}

impl Vehicle for Providers {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        let found = self.table().by_tool.get(&call.tool).cloned();
        Box::pin(async move {
            let policy = self.policy();
            let tool = policy.inventory.get(call.tool.as_str());
            let (Some(registration), Some(tool)) = (found, tool) else {
                let why = format!("nobody on the bus carries out `{}` at the moment", call.tool);
                return Answer::Trouble(Trouble::untouched(Cause::NoProvider, why));
            };
            let waiting = self.desk.wait_for(&registration);
            let ended = registration.ended.subscribe();
            registration.line.ask(tool, call, deadline, self.clock.as_ref(), ended, waiting).await
        })
    }

    fn serves(&self, tool: &str) -> bool {
        self.table().by_tool.contains_key(tool)
    }

    fn epoch(&self) -> u64 {
        *self.desk.changes.borrow()
    }
}

/// A part of the car that leaves to providers what is theirs, whether they are there or not.
pub struct Others {
    vehicle: Arc<dyn Vehicle>,
    providers: Arc<Providers>,
    simulated: bool,
}

impl Others {
    /// A part of the car beside the providers. What a `simulated` one pretends, a provider takes over for good.
    pub fn new(vehicle: Arc<dyn Vehicle>, providers: Arc<Providers>, simulated: bool) -> Self {
        Self { vehicle, providers, simulated }
    }
}

impl Vehicle for Others {
    fn call<'a>(&'a self, call: &'a ToolCall, deadline: Duration) -> Pending<'a> {
        self.vehicle.call(call, deadline)
    }

    fn serves(&self, tool: &str) -> bool {
        !self.providers.reserves(tool, self.simulated) && self.vehicle.serves(tool)
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
        self.vehicle.epoch()
    }

    fn slept(&self) {
        self.vehicle.slept();
    }

    fn sleeps(&self) -> u64 {
        self.vehicle.sleeps()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::policy::testing;
    use crate::state::ManualClock;

    /// A bus with nobody on it, and its address.
    fn bus(folder: &std::path::Path) -> (Child, String) {
        bus_with(folder, "")
    }

    /// The same with a limit of its own.
    fn bus_with(folder: &std::path::Path, limit: &str) -> (Child, String) {
        let config = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dbus/bus.conf")).unwrap();
        let file = folder.join("bus.conf");
        std::fs::write(&file, config.replace("</busconfig>", &format!("{limit}</busconfig>"))).unwrap();
        let mut bus = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", file.display()))
            .arg(format!("--address=unix:path={}", folder.join("bus").display()))
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        (bus, address.trim().to_owned())
    }

    /// The kitchen, with a dishwasher that takes these programs.
    fn kitchen(programs: &str) -> Arc<Policy> {
        let mut parts = testing::parts();
        let tool = parts.inventory.iter_mut().find(|t| t.name.as_str() == "start_dishwasher").unwrap();
        tool.schema = format!(r#"{{"type":"object","properties":{{"program":{{"enum":{programs}}}}}}}"#);
        Arc::new(Policy::new(parts, crate::model::PolicyHash([programs.len() as u8; 32])).unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_registration_is_never_accepted_under_a_policy_that_is_gone_when_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let (mut bus, address) = bus(folder.path());
        let (few, more) = (kitchen(r#"["ECO"]"#), kitchen(r#"["ECO","QUICK_WASH"]"#));
        let providers = Arc::new(Providers::new(few.clone(), [], Arc::new(ManualClock::default())));
        let applicant = Applicant {
            connection: zbus::connection::Builder::address(address.as_str()).build().await.unwrap(),
            owner: zbus::names::OwnedUniqueName::try_from(":1.7").unwrap(),
            object: zbus::wire::OwnedObjectPath::try_from("/p").unwrap(),
            user: 7,
            names: Vec::new(),
            tools: None,
            named: Vec::new(),
        };
        // It takes what the first policy asks for, and not all that the second one does.
        let schema = few.inventory.get("start_dishwasher").unwrap().schema.to_string();
        let offered = [Offered { name: "start_dishwasher".into(), kind: "write".into(), schema }];
        let mut accepted = 0;
        for _ in 0..3_000 {
            providers.withdraw(":1.7");
            providers.adopt(few.clone());
            let start = Arc::new(Barrier::new(2));
            let racing = (providers.clone(), more.clone(), start.clone());
            let adopting = thread::spawn(move || {
                racing.2.wait();
                racing.0.adopt(racing.1);
            });
            start.wait();
            accepted += usize::from(providers.register(applicant.clone(), &offered, &|_| false).is_ok());
            adopting.join().unwrap();
            assert!(!providers.serves("start_dishwasher"), "it would be sent programs that it does not take");
        }
        println!("{accepted} of 3,000 came before the other policy");
        bus.kill().unwrap();
        bus.wait().unwrap();
    }

    /// The bus lets a connection wait for so many answers, and refuses to deliver more calls.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_call_that_the_bus_did_not_deliver_took_no_effect() {
        let folder = tempfile::tempdir().unwrap();
        let (mut bus, address) = bus_with(folder.path(), "<limit name=\"max_replies_per_connection\">1</limit>");
        let connect = async || zbus::connection::Builder::address(address.as_str()).build().await.unwrap();
        let (ours, silent) = (connect().await, connect().await);
        let policy = kitchen(r#"["ECO"]"#);
        let providers = Providers::new(policy.clone(), [], Arc::new(ManualClock::default()));
        let applicant = Applicant {
            connection: ours,
            owner: silent.unique_name().unwrap().clone(),
            object: zbus::wire::OwnedObjectPath::try_from("/p").unwrap(),
            user: 7,
            names: Vec::new(),
            tools: None,
            named: Vec::new(),
        };
        // It reads nothing, so it answers nothing.
        let _calls = zbus::MessageStream::from(&silent);
        let schema = policy.inventory.get("start_dishwasher").unwrap().schema.to_string();
        let offered = [Offered { name: "start_dishwasher".into(), kind: "write".into(), schema }];
        providers.register(applicant, &offered, &|_| false).unwrap();
        let call = ToolCall::new("start_dishwasher", Default::default());
        let limit = Duration::from_millis(200);
        assert!(tokio::time::timeout(limit, providers.call(&call, limit)).await.is_err(), "it does not answer");
        let answer = tokio::time::timeout(Duration::from_secs(30), providers.call(&call, limit)).await.unwrap();
        let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
        assert_eq!((trouble.cause, trouble.untouched), (Cause::NoProvider, true), "{}", trouble.detail);
        bus.kill().unwrap();
        bus.wait().unwrap();
    }
}
