//! The one thread that owns the models.
//!
//! All turns and all drafts to execute go through it one by one. That is not only what the model
//! needs: between the check of a call and its execution no other session can move the car.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::ServiceError;
use super::readiness::Readiness;
use super::work::{Job, Task, Told, Work};
use crate::student::StudentError;
use crate::turn::{Models, Session};

/// Loads the models; runs on a thread of its own.
pub(super) type Load = Box<dyn FnOnce() -> Result<Models, StudentError> + Send>;

/// Access to the worker.
#[derive(Clone)]
pub(super) struct Worker {
    work: mpsc::Sender<Work>,
    begun: watch::Receiver<Option<Instant>>,
}

impl Worker {
    /// Starts the worker and, where there are models to load, the thread that loads them.
    pub(super) fn start(
        load: Option<Load>,
        runtime: Handle,
        readiness: Arc<watch::Sender<Readiness>>,
    ) -> Result<(Self, thread::JoinHandle<()>), ServiceError> {
        let (work, queue) = mpsc::channel();
        let (busy, begun) = watch::channel(None);
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let handle =
            named("worker").spawn(move || run(&queue, &runtime, &readiness, &busy)).map_err(ServiceError::Threads)?;
        if let Some(load) = load {
            let loaded = work.clone();
            named("load-model")
                .spawn(move || {
                    // The worker is gone only when the service is.
                    let _ = loaded.send(Work::Models(load()));
                })
                .map_err(ServiceError::Threads)?;
        }
        Ok((Self { work, begun }, handle))
    }

    /// Hands work over; false when the worker has ended.
    pub(super) fn give(&self, work: Work) -> bool {
        self.work.send(work).is_ok()
    }

    /// How long the current job has been running.
    pub(super) fn running_for(&self) -> Option<Duration> {
        self.begun.borrow().map(|at| at.elapsed())
    }

    /// Waits until no job is running.
    pub(super) async fn idle(&self) {
        // An error means that the worker has ended, which is idle enough.
        let _ = self.begun.clone().wait_for(Option::is_none).await;
    }
}

fn run(
    queue: &mpsc::Receiver<Work>,
    runtime: &Handle,
    readiness: &watch::Sender<Readiness>,
    busy: &watch::Sender<Option<Instant>>,
) {
    let mut models = None;
    while let Ok(work) = queue.recv() {
        match work {
            Work::Models(loaded) => models = settle(loaded, readiness),
            Work::Job(job) => {
                busy.send_replace(Some(Instant::now()));
                carry_out(job, models.as_mut(), runtime);
                busy.send_replace(None);
            }
            Work::Stop => break,
        }
    }
}

/// Takes in what became of the models.
fn settle(loaded: Result<Models, StudentError>, readiness: &watch::Sender<Readiness>) -> Option<Models> {
    let (models, next) = match loaded {
        Ok(models) => {
            let student = models.student.name().to_owned();
            tracing::info!(student, "the model is ready");
            (Some(models), Readiness::Ready { student })
        }
        Err(error) => {
            tracing::error!(%error, "there is no model; drafts of others are still verified");
            (None, Readiness::NoModel { reason: error.to_string() })
        }
    };
    readiness.send_if_modified(|now| {
        let starting = *now == Readiness::Starting;
        if starting {
            *now = next;
        }
        starting
    });
    models
}

fn carry_out(job: Job, models: Option<&mut Models>, runtime: &Handle) {
    if !job.session.begin(job.turn) {
        // Where the cancel came before the begin, the end was told by whoever cancelled; this one is
        // for a cancel in between, and a second end is ignored.
        let _ = job.told.send(Told::cancelled());
        return;
    }
    let _ = job.told.send(Told::Begun);
    let ended = catch_unwind(AssertUnwindSafe(|| attempt(&job, models, runtime)));
    let told = ended.unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let what = what.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        tracing::error!(session = job.session.path.as_str(), turn = job.turn, what, "a turn broke down");
        Told::Broke(format!("the turn broke down, nothing more of it is carried out: {what}"))
    });
    let _ = job.told.send(told);
}

fn attempt(job: &Job, models: Option<&mut Models>, runtime: &Handle) -> Told {
    let mut conversation = match job.session.conversation() {
        Ok(conversation) => conversation,
        Err(refusal) => return Told::Broke(refusal.to_string()),
    };
    let conversation: &mut Session = &mut conversation;
    let mut events = |event| {
        // Nobody listens when the client is gone; the turn is being cancelled then.
        let _ = job.told.send(Told::Event(event));
    };
    match &job.task {
        Task::Turn(heard) => match models {
            Some(models) => Told::Replied(conversation.turn(models, runtime, heard, &job.cancel, &mut events)),
            None => Told::Broke("there is no model to draft with".to_owned()),
        },
        Task::Draft(draft) => Told::Judged(conversation.execute(draft, runtime, &job.cancel, &mut events)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

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
        breaks: Receiver<bool>,
    }

    impl Student for Fragile {
        fn draft(&mut self, prompt: &Prompt<'_>) -> Result<Answer, StudentError> {
            assert!(!self.breaks.recv().unwrap(), "out of memory");
            while !prompt.cancel.is_cancelled() {
                thread::yield_now();
            }
            Err(StudentError::Cancelled)
        }

        fn name(&self) -> &str {
            "fragile"
        }
    }

    struct Bench {
        runtime: Runtime,
        worker: Worker,
        readiness: Arc<watch::Sender<Readiness>>,
        sessions: Sessions,
        student: Sender<bool>,
    }

    fn bench() -> Bench {
        let runtime = Runtime::new().unwrap();
        let readiness = Arc::new(watch::Sender::new(Readiness::Starting));
        let (student, breaks) = channel();
        let load: Load =
            Box::new(move || Ok(Models { student: Box::new(Fragile { breaks }), escalation: None }));
        let (worker, _) = Worker::start(Some(load), runtime.handle().clone(), readiness.clone()).unwrap();
        let sessions = Sessions::new(&ServiceConfig::default());
        runtime.block_on(readiness.subscribe().wait_for(|r| r.accepts_turns().is_ok())).map(drop).unwrap();
        Bench { runtime, worker, readiness, sessions, student }
    }

    impl Bench {
        fn open(&self) -> Arc<OpenSession> {
            let holder = Holder::Connection(OwnedUniqueName::try_from(":1.7").unwrap());
            let make = |path: &str| {
                let policy = Arc::new(Policy::new(PolicyParts::default(), Default::default()).unwrap());
                let sim = Sim::new(
                    policy.inventory.clone(),
                    policy.model.clone(),
                    Scenario::default(),
                    Arc::new(SystemClock),
                );
                Session::new(
                    SessionId::from(path),
                    policy,
                    Arc::new(HardLimits::default()),
                    Config::default(),
                    Arc::new(sim),
                )
            };
            self.sessions.open(holder, make).unwrap()
        }

        fn say(&self, session: &Arc<OpenSession>) -> (u32, UnboundedReceiver<Told>) {
            let (tell, told) = unbounded_channel();
            let (turn, cancel) = session.claim(tell.clone()).unwrap();
            let task = Task::Turn(Heard::text("close the windows"));
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
        let bench = bench();
        let (broken, whole) = (bench.open(), bench.open());
        let (turn, told) = bench.say(&broken);
        bench.student.send(true).unwrap();
        assert!(matches!(bench.end(told), Told::Broke(why) if why.contains("out of memory")));
        broken.finish(turn);
        assert_eq!(broken.between_turns(|_| ()), Err(Refusal::broken()));

        let (turn, told) = bench.say(&whole);
        bench.student.send(false).unwrap();
        whole.cancel(turn).unwrap();
        assert!(matches!(bench.end(told), Told::Replied(report) if report.done == Done::Cancelled));
    }

    #[test]
    fn a_turn_that_is_cancelled_while_it_waits_ends_before_the_one_that_runs() {
        let bench = bench();
        let (first, second) = (bench.open(), bench.open());
        let (running, told_first) = bench.say(&first);
        bench.student.send(false).unwrap();
        let (waiting, told_second) = bench.say(&second);
        second.cancel(waiting).unwrap();
        assert!(matches!(bench.end(told_second), Told::Replied(report) if report.done == Done::Cancelled));
        assert!(first.busy());
        first.cancel(running).unwrap();
        assert!(matches!(bench.end(told_first), Told::Replied(report) if report.done == Done::Cancelled));
    }

    #[test]
    fn a_session_has_one_turn_at_a_time_and_answers_at_once_meanwhile() {
        let bench = bench();
        let session = bench.open();
        let (turn, told) = bench.say(&session);
        let (tell, _) = unbounded_channel();
        assert!(matches!(session.claim(tell), Err(Refusal::Busy(_))));
        assert!(matches!(session.between_turns(|_| ()), Err(Refusal::Busy(_))));
        assert!(matches!(session.cancel(turn + 1), Err(Refusal::NoTurn(_))));
        bench.student.send(false).unwrap();
        session.close();
        assert!(matches!(bench.end(told), Told::Replied(report) if report.done == Done::Cancelled));
        session.finish(turn);
        let (tell, _) = unbounded_channel();
        assert!(matches!(session.claim(tell), Err(Refusal::NoSession(_))));
    }

    #[test]
    fn a_model_that_cannot_be_loaded_is_named_and_turns_are_refused() {
        let runtime = Runtime::new().unwrap();
        let readiness = Arc::new(watch::Sender::new(Readiness::Starting));
        let load: Load = Box::new(|| {
            Err(StudentError::Model { path: "m.gguf".to_owned(), why: "it is truncated; fetch it again".to_owned() })
        });
        let _worker = Worker::start(Some(load), runtime.handle().clone(), readiness.clone()).unwrap();
        let settled = runtime.block_on(async {
            readiness.subscribe().wait_for(|r| *r != Readiness::Starting).await.unwrap().clone()
        });
        let Err(Refusal::NoModel(why)) = settled.accepts_turns() else { panic!("{settled:?}") };
        assert!(why.contains("`m.gguf`") && why.contains("truncated"), "{why}");
        assert_eq!(settled.accepts_work(), Ok(()));
    }
}
