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
use super::turns::{Models, Turns};
use super::work::{Job, Task, Told, Work};
use crate::student::StudentError;

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
    let mut turns = match job.session.lock_turns() {
        Ok(turns) => turns,
        Err(refusal) => return Told::Broke(refusal.to_string()),
    };
    let turns: &mut dyn Turns = turns.as_mut();
    let mut events = |event| {
        // Nobody listens when the client is gone; the turn is being cancelled then.
        let _ = job.told.send(Told::Event(event));
    };
    match &job.task {
        Task::Turn(heard) => match models {
            Some(models) => Told::Replied(turns.turn(models, runtime, heard, &job.cancel, &mut events)),
            None => Told::Broke("there is no model to draft with".to_owned()),
        },
        Task::Draft(draft) => Told::Judged(turns.execute(draft, runtime, &job.cancel, &mut events)),
    }
}
