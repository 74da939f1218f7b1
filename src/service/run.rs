//! From a configuration to a running service, and to its end.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use zbus::Connection;
use zbus::fdo::{NameOwnerChangedStream, RequestNameFlags};

use super::car::Car;
use super::config::Config;
use super::door::Door;
use super::doorman::Doorman;
use super::harness::{Harness, MakeSession};
use super::in_force::InForce;
use super::manager::{Manager, announce};
use super::offers::Offers;
use super::policy::{PolicyObject, announce as announce_policy};
use super::providers::{self, ProvidersObject};
use super::readiness::Readiness;
use super::record::{self, JournalObject, Recorder};
use super::sessions::Sessions;
use super::supervise::{Signals, feed_watchdog, notify};
use super::tidy::{expire, follow_clients, names};
use super::updates::Updates;
use super::work::Work;
use super::worker::{Load, Worker};
use super::{BUS_NAME, ROOT_PATH, ServiceError, log, parts, sleep};
use crate::vehicle::Providers;

/// Threads of the runtime: one may wait for the bus while the other answers. Turns have their own.
const THREADS: usize = 2;

/// Time that turns and models have to end, from the signal on: with [`LAST`] inside `TimeoutStopSec=15`.
const END: Duration = Duration::from_secs(12);

/// Time that work beside the turns has to end, once the service has.
const LAST: Duration = Duration::from_secs(2);

/// Runs the service until it is told to stop.
///
/// # Errors
/// [`ServiceError`] when it cannot start.
pub fn run(config: Config) -> Result<(), ServiceError> {
    log::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("bus")
        .enable_all()
        .build()
        .map_err(ServiceError::Threads)?;
    let parts = match parts::load(&config, runtime.handle()) {
        Ok(parts) => parts,
        Err(error) => {
            runtime.shutdown_timeout(LAST);
            return Err(error);
        }
    };
    // Nobody waits for this: a check that comes first gathers what it needs itself.
    let policy = parts.in_force.get();
    drop(runtime.spawn_blocking(move || policy.warm()));
    let served = runtime.block_on(serve(config, parts));
    // A thread that waits for a disk which hangs would wait for ever.
    runtime.shutdown_timeout(LAST);
    served
}

/// What a configuration names, loaded.
pub(super) struct Parts {
    /// The policy in force.
    pub(super) in_force: Arc<InForce>,
    /// The car.
    pub(super) car: Car,
    /// Updates of the policy; none: this image takes none.
    pub(super) updates: Option<Arc<Updates>>,
    /// Makes the conversation of a new session.
    pub(super) make_session: MakeSession,
    /// Makes or finds what sessions offer.
    pub(super) offers: Arc<Offers>,
    /// Who carries out tools on the bus.
    pub(super) providers: Arc<Providers>,
    /// Records what happens.
    pub(super) recorder: Arc<Recorder>,
    /// Loads the models; none: there will be no model.
    pub(super) load: Option<Load>,
}

async fn serve(config: Config, parts: Parts) -> Result<(), ServiceError> {
    let mut signals = Signals::listen()?;
    let readiness = match &parts.load {
        Some(_) => Readiness::Starting,
        None => Readiness::NoModel { reason: "no student is configured".to_owned() },
    };
    let readiness = Arc::new(watch::Sender::new(readiness));
    let (worker, thread) = Worker::start(parts.load, Handle::current(), readiness.clone())?;
    let harness = Arc::new(Harness {
        sessions: Sessions::new(&config.service),
        in_force: parts.in_force,
        car: parts.car,
        updates: parts.updates,
        offers: parts.offers,
        providers: parts.providers,
        recorder: parts.recorder,
        worker,
        readiness,
        count: watch::Sender::new(0),
        turns: watch::Sender::new(0),
        make_session: parts.make_session,
        config,
    });
    let (connection, names, owners, doorman) = connect(&harness).await?;
    let longest = harness.config.turn.budget.wall() * 2 + Duration::from_secs(30);
    watched("the door", doorman.serve(connection.clone()));
    watched("announcements", announce(harness.clone(), connection.clone()));
    watched("the journal", record::announce(harness.recorder.clone(), connection.clone()));
    watched("the policy", announce_policy(harness.clone(), connection.clone()));
    watched("the list of providers", providers::announce(harness.clone(), connection.clone()));
    watched("the life of providers", providers::follow(harness.clone(), owners));
    watched("the list of clients", follow_clients(harness.clone(), connection.clone(), names));
    let watch = sleep::Watch::start();
    watched("the machine's sleep", sleep::follow(harness.clone(), connection.clone(), watch.clone()));
    tokio::spawn(sleep::notice(harness.clone(), watch));
    tokio::spawn(expire(harness.clone(), connection.clone()));
    tokio::spawn(feed_watchdog(harness.worker.clone(), longest));
    notify(&[NotifyState::Ready]);
    let policy = harness.in_force.get();
    tracing::info!(bus = %harness.config.service.bus, policy = policy.id, hash = %policy.hash, "serving");

    let signal = tokio::select! {
        signal = signals.next() => signal,
        () = connection.closed() => return Err(ServiceError::Lost(harness.config.service.bus.to_string())),
    };
    let until = Instant::now() + END;
    tracing::info!(signal, "stopping");
    harness.worker.stop_loading();
    notify(&[NotifyState::Stopping]);
    tokio::select! {
        () = drain(&harness) => {}
        signal = signals.next() => tracing::warn!(signal, "stopping at once"),
    }
    harness.worker.give(Work::Stop);
    let ended = tokio::task::spawn_blocking(move || thread.join());
    if connection.release_name(BUS_NAME).await.is_err() {
        tracing::debug!("the bus is gone already");
    }
    match timeout_at(until, ended).await {
        Ok(Ok(Ok(()))) => {}
        Ok(_) => tracing::error!("the worker broke down"),
        Err(_) => tracing::error!("a call or a model does not end; it dies with the process"),
    }
    harness.recorder.stop();
    Ok(())
}

/// Runs a task for as long as the service lives; that it ends early is an error worth knowing.
fn watched(what: &'static str, task: impl Future<Output = zbus::Result<()>> + Send + 'static) {
    tokio::spawn(async move {
        match task.await {
            Ok(()) => tracing::debug!(what, "is no longer followed"),
            Err(error) => tracing::error!(what, %error, "is no longer followed"),
        }
    });
}

/// Connects and serves; the name is taken last, so that whoever sees it finds everything in place.
async fn connect(
    harness: &Arc<Harness>,
) -> Result<(Connection, NameOwnerChangedStream, NameOwnerChangedStream, Doorman), ServiceError> {
    let bus = &harness.config.service.bus;
    let error = |source| ServiceError::Bus { bus: bus.to_string(), source };
    let (door, doorman) = Door::new(harness.clone());
    let connection = bus
        .guarded(door)
        .map_err(error)?
        .serve_at(ROOT_PATH, Manager::new(harness.clone()))
        .serve_at(ROOT_PATH, PolicyObject::new(harness.clone()))
        .serve_at(ROOT_PATH, ProvidersObject::new(harness.clone()))
        .serve_at(ROOT_PATH, JournalObject::new(harness.recorder.clone()))
        .build()
        .await
        .map_err(error)?;
    // Two streams: the end of a session may wait for its turn, the end of a provider may not.
    let clients = names(&connection).await.map_err(error)?;
    let owners = names(&connection).await.map_err(error)?;
    // The guard is not pushed aside by whoever comes later, and pushes nobody aside.
    let alone = RequestNameFlags::DO_NOT_QUEUE;
    connection.request_name_with_flags(BUS_NAME, alone).await.map_err(error)?;
    Ok((connection, clients, owners, doorman))
}

/// Lets the running turn end, then cancels what is left. Nothing new begins meanwhile.
async fn drain(harness: &Harness) {
    harness.readiness.send_replace(Readiness::Stopping);
    let limit = harness.config.service.drain();
    if timeout(limit, harness.quiet()).await.is_err() {
        tracing::warn!(seconds = limit.as_secs(), "a turn is still running and is cancelled");
    }
    harness.sessions.all().iter().for_each(|session| session.close());
    if timeout(Duration::from_secs(2), harness.quiet()).await.is_err() {
        tracing::error!("a turn does not stop; leaving without it");
    }
}
