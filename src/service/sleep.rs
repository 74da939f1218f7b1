//! The machine falls asleep and wakes: what is pending dies before it, not in the morning.
//!
//! logind says both, and waits with the sleep for whoever holds a delay lock; without it, the service
//! notices afterwards that the clock which counts sleep ran ahead.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::StreamExt;
use zbus::Connection;
use zbus::wire::OwnedFd;

use super::Bus;
use super::harness::Harness;
use crate::state::SystemClock;

/// Pause between two looks whether the machine slept.
const LOOK: Duration = Duration::from_millis(500);

/// How much further the clock that counts sleep may run between two looks before the machine has slept.
const NAP: Duration = Duration::from_millis(100);

#[zbus::proxy(
    interface = "org.freedesktop.login1.Manager",
    default_service = "org.freedesktop.login1",
    default_path = "/org/freedesktop/login1"
)]
trait Logind {
    /// A lock that delays a sleep for as long as the descriptor is open.
    fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::Result<OwnedFd>;

    /// The machine is about to sleep (`start`), or woke.
    #[zbus(signal)]
    fn prepare_for_sleep(&self, start: bool) -> zbus::Result<()>;
}

/// Follows logind on the bus where it is: the system's, or that of a test. Ends with the connection.
pub(super) async fn follow(harness: Arc<Harness>, own: Connection, watch: Watch) -> zbus::Result<()> {
    let connection = match harness.config.service.bus {
        Bus::System | Bus::Address(_) => own,
        Bus::Session => match Connection::system().await {
            Ok(system) => system,
            Err(error) => {
                tracing::info!(%error, "there is no system bus; sleep is noticed after waking");
                return Ok(());
            }
        },
    };
    let logind = LogindProxy::new(&connection).await?;
    let mut sleeps = logind.receive_prepare_for_sleep().await?;
    let mut owners = logind.inner().receive_owner_changed().await?;
    let mut lock = delay(&logind).await;
    loop {
        tokio::select! {
            signal = sleeps.next() => {
                let Some(signal) = signal else { return Ok(()) };
                if signal.args()?.start {
                    harness.falls_asleep("logind");
                    // The machine may sleep from here on.
                    drop(lock.take());
                } else {
                    // This sleep is known.
                    watch.look(SystemClock.asleep(), true);
                    harness.wakes("logind");
                    lock = delay(&logind).await;
                }
            }
            owner = owners.next() => match owner {
                Some(Some(_)) => lock = delay(&logind).await,
                // Whoever put the car to sleep cannot wake it any more.
                Some(None) => {
                    lock = None;
                    if harness.car.is_asleep() {
                        harness.wakes("logind is gone");
                    }
                }
                None => return Ok(()),
            },
        }
    }
}

/// Asks for time before the machine sleeps. That nobody gives it is no failure: there may be no logind.
async fn delay(logind: &LogindProxy<'_>) -> Option<OwnedFd> {
    let why = "what is under way in the car is ended first";
    match logind.inhibit("sleep", "obligatod", why, "delay").await {
        Ok(lock) => {
            tracing::info!("logind waits for the car before the machine sleeps");
            Some(lock)
        }
        Err(error) => {
            tracing::info!(%error, "logind does not wait for the car; sleep is noticed when it is said, or after waking");
            None
        }
    }
}

/// Notices that the machine slept where nobody said so before.
pub(super) async fn notice(harness: Arc<Harness>, watch: Watch) {
    let mut tick = interval(LOOK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        match watch.look(SystemClock.asleep(), harness.car.is_asleep()) {
            None => {}
            Some(Noticed::Slept) => {
                harness.falls_asleep("the clock");
                harness.wakes("the clock");
            }
            Some(Noticed::Woke) => harness.wakes("the clock"),
        }
    }
}

/// How long the machine had slept when anybody last looked.
#[derive(Debug, Clone)]
pub(super) struct Watch(Arc<Mutex<Duration>>);

/// What a look shows.
#[derive(Debug, PartialEq, Eq)]
enum Noticed {
    /// It slept, and nobody had said that it would.
    Slept,
    /// It slept as was said, and runs again.
    Woke,
}

impl Watch {
    /// From now on.
    pub(super) fn start() -> Self {
        Self::at(SystemClock.asleep())
    }

    fn at(slept: Duration) -> Self {
        Self(Arc::new(Mutex::new(slept)))
    }

    fn look(&self, slept: Duration, told: bool) -> Option<Noticed> {
        let known = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), slept);
        (slept.saturating_sub(known) > NAP).then_some(if told { Noticed::Woke } else { Noticed::Slept })
    }
}

impl Harness {
    /// The machine is about to sleep.
    pub(super) fn falls_asleep(&self, who: &str) {
        self.car.sleep();
        self.sessions.all().iter().for_each(|session| session.slept());
        tracing::info!(who, "the machine falls asleep; what was under way is over");
    }

    /// The machine woke.
    pub(super) fn wakes(&self, who: &str) {
        self.car.wake();
        tracing::info!(who, "the machine woke");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_ran_ahead_since_the_last_look_says_that_the_machine_slept() {
        let watch = Watch::at(Duration::from_secs(60));
        let hour = Duration::from_secs(3_600);
        assert_eq!(watch.look(Duration::from_secs(60), false), None);
        assert_eq!(watch.look(Duration::from_secs(60) + NAP, false), None, "clocks are not read at once");
        assert_eq!(watch.look(hour, false), Some(Noticed::Slept));
        assert_eq!(watch.look(hour, false), None);
        assert_eq!(watch.look(2 * hour, true), Some(Noticed::Woke), "logind may be too late, or gone");
    }
}
