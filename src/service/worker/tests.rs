//! The worker with students that break down or wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use zbus::names::OwnedUniqueName;

use super::*;
use crate::policy::{HardLimits, Policy, PolicyParts};
use crate::service::Refusal;
use crate::service::config::ServiceConfig;
use crate::service::open::{Holder, OpenSession};
use crate::service::sessions::Sessions;
use crate::state::SystemClock;
use crate::student::{Answer, Prompt, Student};
use crate::turn::{Config, Done, Heard};
use crate::vehicle::{Scenario, Sim};
use crate::verify::SessionId;

/// A student that breaks down when it is told to, else waits for its turn to be cancelled.
struct Fragile {
    breaks: Arc<Mutex<Receiver<bool>>>,
}

impl Student for Fragile {
    fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
        assert!(!self.breaks.lock().unwrap_or_else(PoisonError::into_inner).recv().unwrap(), "out of memory");
        while !prompt.cancel.is_cancelled() {
            thread::yield_now();
        }
        Err(StudentError::Cancelled)
    }

    fn name(&self) -> &str {
        "fragile"
    }
}

fn listener() -> OwnedUniqueName {
    OwnedUniqueName::try_from(":1.7").unwrap()
}

struct Rig {
    runtime: Runtime,
    worker: Worker,
    readiness: Arc<watch::Sender<Readiness>>,
    sessions: Sessions,
    student: Sender<bool>,
}

fn rig() -> Rig {
    let runtime = Runtime::new().unwrap();
    let readiness = Arc::new(watch::Sender::new(Readiness::Starting));
    let (student, breaks) = channel();
    let breaks = Arc::new(Mutex::new(breaks));
    let load: Load =
        Arc::new(move |_| Ok(Models { student: Box::new(Fragile { breaks: breaks.clone() }), escalation: None }));
    let (worker, _) = Worker::start(Some(load), runtime.handle().clone(), readiness.clone()).unwrap();
    let sessions = Sessions::new(&ServiceConfig::default());
    let rig = Rig { runtime, worker, readiness, sessions, student };
    rig.ready();
    rig
}

impl Rig {
    fn ready(&self) {
        let mut readiness = self.readiness.subscribe();
        self.runtime.block_on(readiness.wait_for(|r| r.accepts_turns().is_ok())).map(drop).unwrap();
    }

    fn open(&self) -> Arc<OpenSession> {
        let holder = Holder::Connection(OwnedUniqueName::try_from(":1.7").unwrap());
        let make = |path: &str| {
            let policy = Arc::new(Policy::new(PolicyParts::default(), Default::default()).unwrap());
            let sim =
                Sim::new(policy.inventory.clone(), policy.model.clone(), Scenario::default(), Arc::new(SystemClock));
            Session::new(
                SessionId::from(path),
                policy,
                Arc::new(HardLimits::default()),
                Config::default(),
                Arc::new(sim),
            )
        };
        self.sessions.open(holder, 0, make).unwrap()
    }

    fn say(&self, session: &Arc<OpenSession>) -> (u32, UnboundedReceiver<Told>) {
        let (tell, told) = unbounded_channel();
        let (turn, cancel) = session.claim(tell.clone(), listener()).unwrap();
        let task = Task::Turn(Heard::text("close the windows"), 0);
        let job = Job { session: session.clone(), turn, cancel, task, told: tell };
        assert!(self.worker.give(Work::Job(job)));
        (turn, told)
    }

    /// What ends the turn.
    fn end(&self, mut told: UnboundedReceiver<Told>) -> Told {
        self.runtime.block_on(async {
            while let Some(told) = told.recv().await {
                if !matches!(told, Told::Begun | Told::Event(_)) {
                    return told;
                }
            }
            panic!("the turn did not end")
        })
    }
}

#[test]
fn a_turn_that_breaks_down_costs_its_session_and_not_the_worker() {
    let rig = rig();
    let (broken, whole) = (rig.open(), rig.open());
    let (turn, told) = rig.say(&broken);
    rig.student.send(true).unwrap();
    assert!(matches!(rig.end(told), Told::Broke(why) if why.contains("out of memory")));
    broken.finish(turn);
    assert_eq!(broken.between_turns(|_| ()), Err(Refusal::broken()));

    rig.ready();
    let (turn, told) = rig.say(&whole);
    rig.student.send(false).unwrap();
    whole.cancel(turn).unwrap();
    assert!(matches!(rig.end(told), Told::Replied(report) if report.done == Done::Cancelled));
}

#[test]
fn a_turn_that_is_cancelled_while_it_waits_ends_before_the_one_that_runs() {
    let rig = rig();
    let (first, second) = (rig.open(), rig.open());
    let (running, told_first) = rig.say(&first);
    rig.student.send(false).unwrap();
    let (waiting, told_second) = rig.say(&second);
    second.cancel(waiting).unwrap();
    assert!(matches!(rig.end(told_second), Told::Replied(report) if report.done == Done::Cancelled));
    assert!(first.busy());
    first.cancel(running).unwrap();
    assert!(matches!(rig.end(told_first), Told::Replied(report) if report.done == Done::Cancelled));
}

#[test]
fn a_session_has_one_turn_at_a_time_and_answers_at_once_meanwhile() {
    let rig = rig();
    let session = rig.open();
    let (turn, told) = rig.say(&session);
    let (tell, _) = unbounded_channel();
    assert!(matches!(session.claim(tell, listener()), Err(Refusal::Busy(_))));
    assert!(matches!(session.between_turns(|_| ()), Err(Refusal::Busy(_))));
    assert!(matches!(session.cancel(turn + 1), Err(Refusal::NoTurn(_))));
    rig.student.send(false).unwrap();
    session.close();
    assert!(matches!(rig.end(told), Told::Replied(report) if report.done == Done::Cancelled));
    session.finish(turn);
    let (tell, _) = unbounded_channel();
    assert!(matches!(session.claim(tell, listener()), Err(Refusal::NoSession(_))));
}

#[test]
fn a_model_that_cannot_be_loaded_is_named_and_turns_are_refused() {
    let runtime = Runtime::new().unwrap();
    let readiness = Arc::new(watch::Sender::new(Readiness::Starting));
    let load: Load = Arc::new(|_| {
        Err(StudentError::Model { path: "m.gguf".to_owned(), why: "it is truncated; fetch it again".to_owned() })
    });
    let _worker = Worker::start(Some(load), runtime.handle().clone(), readiness.clone()).unwrap();
    let settled = runtime
        .block_on(async { readiness.subscribe().wait_for(|r| *r != Readiness::Starting).await.unwrap().clone() });
    let Err(Refusal::NoModel(why)) = settled.accepts_turns() else { panic!("{settled:?}") };
    assert!(why.contains("`m.gguf`") && why.contains("truncated"), "{why}");
    assert_eq!(settled.accepts_work(), Ok(()));
}

#[test]
fn a_worker_that_stops_waits_for_the_model_that_is_still_being_made_ready() {
    let runtime = Runtime::new().unwrap();
    let readiness = Arc::new(watch::Sender::new(Readiness::Starting));
    let (begun, has_begun) = channel();
    let ended = Arc::new(AtomicBool::new(false));
    let end = ended.clone();
    let load: Load = Arc::new(move |stop| {
        begun.send(()).unwrap();
        while !stop.is_cancelled() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(50));
        end.store(true, Ordering::SeqCst);
        Err(StudentError::Cancelled)
    });
    let (worker, thread) = Worker::start(Some(load), runtime.handle().clone(), readiness).unwrap();
    has_begun.recv().unwrap();
    worker.stop_loading();
    assert!(worker.give(Work::Stop));
    thread.join().unwrap();
    assert!(ended.load(Ordering::SeqCst));
}
