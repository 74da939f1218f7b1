//! The service manager: readiness, watchdog, and the signals that end the service.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::interval;

use super::ServiceError;
use super::worker::Worker;

/// Tells the service manager; without one nothing happens.
pub(super) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager could not be notified");
    }
}

/// Signals that end the service.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens from now on: a signal that comes while the service is starting is not lost.
    pub(super) fn listen() -> Result<Self, ServiceError> {
        let listen = |kind| signal(kind).map_err(ServiceError::Threads);
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Keeps the watchdog calm while the service works: this task shows that the runtime does, and it
/// falls silent when one turn runs for longer than `longest`, which no budget allows.
pub(super) async fn feed_watchdog(worker: Worker, longest: Duration) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    let mut tick = interval(limit / 3);
    loop {
        tick.tick().await;
        match worker.running_for().filter(|running| *running > longest) {
            None => notify(&[NotifyState::Watchdog]),
            Some(running) => {
                tracing::error!(seconds = running.as_secs(), "a turn has outrun every budget; waiting for a restart");
            }
        }
    }
}
