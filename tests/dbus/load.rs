//! A mixed load of well-behaved clients, with and without a hostile one beside them.
//!
//! Each client holds a session of its own and judges drafts, has them carried out and starts turns of the
//! scripted student, one after the other. Windows alternate, so that whatever else the machine does falls on all of
//! them alike: without the hostile client, with it, and with it busy at a service that does next to nothing, which
//! shows what it costs the others whatever the guard does.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tokio::time::sleep;
use zbus::Variant;

use super::rig::{Client, Ear, Rig, Setup, calls, root};

#[path = "hostile_client.rs"]
mod hostile_client;
#[path = "sink.rs"]
mod sink;

use hostile_client::{GUARD, NOBODY, OTHER};

/// Clients that behave, so that the hostile one is the eighth.
const CLIENTS: usize = 7;
/// What a client does in one session before it opens another one, as an assistant does between two talks.
const STEPS: u64 = 30;
/// The time in which a client does nothing after each step.
const THINKING: Duration = Duration::from_millis(20);
/// How long it takes until what a hostile client had under way has come to its end.
const REST: Duration = Duration::from_secs(1);
/// The tool whose calls are counted, in the car and by the clients.
const TOOL: &str = "set_fan_speed";

/// How long to drive.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Before anything is measured.
    pub(crate) warm_up: Duration,
    /// Length of one window.
    pub(crate) window: Duration,
    /// Rounds of one window each: without the hostile client, with it, with it busy elsewhere.
    pub(crate) rounds: usize,
}

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Times of steps without and with the hostile client, and with it busy elsewhere, sorted, in microseconds, by kind
    /// of step.
    pub(crate) calm: HashMap<&'static str, Vec<u64>>,
    pub(crate) beset: HashMap<&'static str, Vec<u64>>,
    pub(crate) elsewhere: HashMap<&'static str, Vec<u64>>,
    /// Executions that clients were told of.
    pub(crate) acknowledged: u64,
    /// Calls that reached the simulated car.
    pub(crate) actuated: u64,
    /// Resident memory after the warm-up and after each round, in KiB, at rest: all of it, and what no file
    /// backs.
    pub(crate) resident: Vec<(u64, u64)>,
    /// What the hostile client did.
    pub(crate) hostilities: u64,
}

impl Figures {
    #[allow(dead_code, reason = "the long form looks at times")]
    /// A share of the steps took no longer than this, in microseconds; over all kinds where none is named.
    pub(crate) fn quantile(of: &HashMap<&'static str, Vec<u64>>, kind: Option<&str>, share: f64) -> u64 {
        let wanted = of.iter().filter(|(name, _)| kind.is_none_or(|kind| kind == **name));
        let mut all: Vec<u64> = wanted.flat_map(|(_, times)| times.iter().copied()).collect();
        all.sort_unstable();
        let at = (all.len() as f64 * share) as usize;
        all.get(at.min(all.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// 0: nothing is measured; one more than whom the hostile client is after.
    window: AtomicUsize,
    acknowledged: AtomicU64,
}

type Times = HashMap<(usize, &'static str), Vec<u64>>;

fn fan(level: u64) -> Json {
    calls(&[(TOOL, json!({"level": level}))])
}

/// How many calls of the counted tool a report says were done.
fn done(report: &str) -> u64 {
    let report: Json = serde_json::from_str(report).unwrap();
    let executed = report["executed"].as_array().unwrap().iter();
    executed.filter(|e| e["call"]["tool"] == TOOL && e["outcome"] == "done").count() as u64
}

async fn behave(rig: Arc<Rig>, number: u64, shared: Arc<Shared>) -> Times {
    let client = Client::new(rig.connect().await).await;
    let mut ear = Ear::of(&client);
    let (mut times, mut step) = (Times::new(), number);
    while !shared.stop.load(Ordering::Relaxed) {
        let session = client.open().await;
        for _ in 0..STEPS {
            if shared.stop.load(Ordering::Relaxed) {
                break;
            }
            step += 1;
            let level = 1 + (step + number) % 5;
            let (window, begun) = (shared.window.load(Ordering::Relaxed), Instant::now());
            let (kind, executed) = match step % 3 {
                0 => {
                    let report = session.verify(&fan(level).to_string()).await.unwrap();
                    assert!(report.contains("\"verdict\""), "{report}");
                    ("Verify", 0)
                }
                1 => {
                    let options = HashMap::from([("zone", Variant::from("driver"))]);
                    session.heard(&format!("Set the fan to {level}."), options).await.unwrap();
                    ("Execute", done(&session.execute(&fan(level).to_string()).await.unwrap()))
                }
                _ => {
                    let turn = *session.start("Set the fan to 3.").await.unwrap().response();
                    let signals = ear.turn(turn).await;
                    let done = signals.iter().filter(|s| s.name == "Outcome" && s.texts[1] == "done");
                    ("Start", done.filter(|s| s.texts[0].contains(TOOL)).count() as u64)
                }
            };
            let took = u64::try_from(begun.elapsed().as_micros()).unwrap();
            // A step that reaches over the end of its window belongs to none.
            if window > 0 && shared.window.load(Ordering::Relaxed) == window {
                times.entry((window, kind)).or_default().push(took);
            }
            shared.acknowledged.fetch_add(executed, Ordering::Relaxed);
            sleep(THINKING).await;
        }
        session.close().await.unwrap();
    }
    times
}

/// The environment that the unit gives the service.
pub(crate) fn environment() -> Vec<(String, String)> {
    let unit = fs::read_to_string(root().join("systemd/obligatod.service")).unwrap();
    let lines = unit.lines().filter_map(|line| line.strip_prefix("Environment="));
    let pairs = lines.flat_map(str::split_whitespace).filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Resident memory of a process in KiB: all of it, and what no file backs.
fn resident(process: u32) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (field("VmRSS:"), field("RssAnon:"))
}

/// Resident memory without what the hostile client has under way.
async fn at_rest(rig: &Rig, hostile: &AtomicUsize) -> (u64, u64) {
    hostile.store(NOBODY, Ordering::Relaxed);
    sleep(REST).await;
    resident(rig.process())
}

/// Drives.
pub(crate) async fn drive(plan: Plan) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let journal = format!("[journal]\nfolder = {:?}\nsegment_kib = 256\ntotal_mib = 4\n", folder.path());
    // All of them are of one user here, the hostile one too.
    let sessions = "[service]\nmax_sessions_per_user = 16\n";
    let mut setup = Setup::drafts(&[fan(3)]).endless().config(&journal).config(sessions).limited();
    setup = setup.variable("OBLIGATO_LOG", "warn,obligato::vehicle::sim=debug");
    for (name, value) in environment() {
        setup = setup.variable(&name, &value);
    }
    let rig = Arc::new(Rig::start(setup).await);
    rig.client().await;
    sink::serve(rig.address());
    let (shared, hostile) = (Arc::<Shared>::default(), Arc::<AtomicUsize>::default());
    let foe = thread::spawn({
        let (address, shared, hostile) = (rig.address().to_owned(), shared.clone(), hostile.clone());
        move || hostile_client::rage(&address, &hostile, &|| shared.stop.load(Ordering::Relaxed))
    });
    let clients: Vec<_> =
        (0..CLIENTS as u64).map(|number| tokio::spawn(behave(rig.clone(), number, shared.clone()))).collect();
    // Every kind of window is warmed up.
    for after in [NOBODY, GUARD, OTHER] {
        hostile.store(after, Ordering::Relaxed);
        sleep(plan.warm_up / 3).await;
    }
    let mut figures = Figures { resident: vec![at_rest(&rig, &hostile).await], ..Figures::default() };
    for _ in 0..plan.rounds {
        for after in [NOBODY, GUARD, OTHER] {
            shared.window.store(0, Ordering::Relaxed);
            hostile.store(after, Ordering::Relaxed);
            // What the hostile client had under way when it was told belongs to no window.
            sleep(plan.window / 10).await;
            shared.window.store(after + 1, Ordering::Relaxed);
            sleep(plan.window).await;
        }
        shared.window.store(0, Ordering::Relaxed);
        figures.resident.push(at_rest(&rig, &hostile).await);
    }
    shared.window.store(0, Ordering::Relaxed);
    shared.stop.store(true, Ordering::Relaxed);
    for client in clients {
        for ((window, kind), mut times) in client.await.unwrap() {
            let of = match window - 1 {
                NOBODY => &mut figures.calm,
                GUARD => &mut figures.beset,
                _ => &mut figures.elsewhere,
            };
            of.entry(kind).or_default().append(&mut times);
        }
    }
    figures.hostilities = tokio::task::spawn_blocking(move || foe.join().unwrap()).await.unwrap();
    figures.acknowledged = shared.acknowledged.load(Ordering::Relaxed);
    figures.actuated = rig.log().lines().filter(|l| l.contains("simulated car") && l.contains(TOOL)).count() as u64;
    figures
}
