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
use crate::student::{Cancel, StudentError};
use crate::turn::{Models, Session};

/// Loads the models, until it is told to stop; runs on a thread of its own, again after a turn broke down.
pub(super) type Load = Arc<dyn Fn(&Cancel) -> Result<Models, StudentError> + Send + Sync>;

/// Access to the worker.
#[derive(Clone)]
pub(super) struct Worker {
    work: mpsc::Sender<Work>,
    begun: watch::Receiver<Option<Instant>>,
    /// Ends the loading of models.
    stop: Cancel,
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
        let stop = Cancel::default();
        let (work_again, stop_loading) = (work.clone(), stop.clone());
        let mut bench =
            Bench { models: None, load, loader: None, stop: stop_loading, work: work_again, runtime, readiness };
        bench.load().map_err(ServiceError::Threads)?;
        let named = thread::Builder::new().name("worker".to_owned());
        let handle = named.spawn(move || bench.run(&queue, &busy)).map_err(ServiceError::Threads)?;
        Ok((Self { work, begun, stop }, handle))
    }

    /// Hands work over; false when the worker has ended.
    pub(super) fn give(&self, work: Work) -> bool {
        self.work.send(work).is_ok()
    }

    /// Ends the loading of models. The worker waits for that when it is told to stop, so that nothing of a model
    /// computes any more once its thread has ended.
    pub(super) fn stop_loading(&self) {
        self.stop.cancel();
    }

    /// How long the current job has been running.
    pub(super) fn running_for(&self) -> Option<Duration> {
        self.begun.borrow().map(|at| at.elapsed())
    }
}

/// What the worker works with.
struct Bench {
    models: Option<Models>,
    load: Option<Load>,
    loader: Option<thread::JoinHandle<()>>,
    stop: Cancel,
    work: mpsc::Sender<Work>,
    runtime: Handle,
    readiness: Arc<watch::Sender<Readiness>>,
}

impl Bench {
    fn run(mut self, queue: &mpsc::Receiver<Work>, busy: &watch::Sender<Option<Instant>>) {
        while let Ok(work) = queue.recv() {
            match work {
                Work::Models(loaded) => self.settle(loaded),
                Work::Job(job) => {
                    busy.send_replace(Some(Instant::now()));
                    self.carry_out(&job);
                    busy.send_replace(None);
                }
                Work::Between(work) => {
                    busy.send_replace(Some(Instant::now()));
                    if catch_unwind(AssertUnwindSafe(work)).is_err() {
                        tracing::error!("what was to be done between turns broke down");
                    }
                    busy.send_replace(None);
                }
                Work::Stop => break,
            }
        }
        // What it loads dies with it: nobody takes it in any more.
        if self.loader.take().is_some_and(|loader| loader.join().is_err()) {
            tracing::error!("the loader broke down");
        }
    }

    /// Starts loading the models, where there are any.
    fn load(&mut self) -> std::io::Result<()> {
        let Some(load) = self.load.clone() else { return Ok(()) };
        let (work, stop) = (self.work.clone(), self.stop.clone());
        let loader = thread::Builder::new().name("load-model".to_owned()).spawn(move || {
            let loaded = catch_unwind(AssertUnwindSafe(|| load(&stop))).unwrap_or_else(|panic| {
                let why = format!("the loader broke down: {}", words(panic.as_ref()));
                Err(StudentError::Model { path: String::new(), why })
            });
            // The worker is gone only when the service is.
            let _ = work.send(Work::Models(loaded));
        })?;
        self.loader = Some(loader);
        Ok(())
    }

    /// Takes in what became of the models.
    fn settle(&mut self, loaded: Result<Models, StudentError>) {
        match loaded {
            Ok(models) => {
                let student = models.student.name().to_owned();
                tracing::info!(student, "the model is ready");
                self.models = Some(models);
                self.announce(Readiness::Ready { student });
            }
            Err(StudentError::Cancelled) => tracing::info!("the model is no longer loaded: the service ends"),
            Err(error) => {
                tracing::error!(%error, "there is no model; drafts of others are still verified");
                self.announce(Readiness::NoModel { reason: error.to_string() });
            }
        }
    }

    /// A service that is stopping stays so.
    fn announce(&self, next: Readiness) {
        self.readiness.send_if_modified(|now| {
            let goes_on = *now != Readiness::Stopping;
            if goes_on {
                *now = next;
            }
            goes_on
        });
    }

    fn carry_out(&mut self, job: &Job) {
        if !job.session.begin(job.turn) {
            // Whoever cancelled it has told its end already; this one is for a cancel in between, and
            // nobody reads a second end.
            let _ = job.told.send(Told::cancelled());
            return;
        }
        let _ = job.told.send(Told::Begun);
        let models = self.models.as_mut();
        let ended = catch_unwind(AssertUnwindSafe(|| attempt(job, models, &self.runtime)));
        let told = ended.unwrap_or_else(|panic| {
            let what = words(panic.as_ref());
            tracing::error!(session = job.session.path.as_str(), turn = job.turn, what, "a turn broke down");
            self.renew();
            Told::Broke(format!("the turn broke down, nothing more of it is carried out: {what}"))
        });
        let _ = job.told.send(told);
    }

    /// A model in whose hands a turn broke down cannot be trusted: it is loaded anew.
    fn renew(&mut self) {
        if self.models.take().is_none() {
            return;
        }
        self.announce(Readiness::Starting);
        if let Err(error) = self.load() {
            self.announce(Readiness::NoModel { reason: format!("it cannot be loaded again: {error}") });
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let fixed = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    fixed.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn attempt(job: &Job, models: Option<&mut Models>, runtime: &Handle) -> Told {
    let mut conversation = match job.session.conversation() {
        Ok(conversation) => conversation,
        Err(refusal) => return Told::Broke(refusal.to_string()),
    };
    let conversation: &mut Session = &mut conversation;
    conversation.begin(job.turn);
    let mut events = |event| {
        // Nobody listens when the client is gone; the turn is being cancelled then.
        let _ = job.told.send(Told::Event(event));
    };
    match &job.task {
        Task::Turn(heard, number) => match models {
            Some(models) => {
                conversation.take_up(*number);
                Told::Replied(conversation.turn(models, runtime, heard, &job.cancel, &mut events))
            }
            None => Told::refused("The model is being loaded again. Please say that once more in a moment."),
        },
        Task::Draft(draft) => Told::Judged(conversation.execute(draft, runtime, &job.cancel, &mut events)),
    }
}

#[cfg(test)]
mod tests;
