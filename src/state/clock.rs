//! The clock by which ages, deadlines and journal entries are measured.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// A source of time. Injectable, so that a test can let an hour pass.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Time since boot, suspend included (`CLOCK_BOOTTIME`): a value that was read before a night in
    /// the garage is old in the morning, although the machine did not run (design §7).
    fn since_boot(&self) -> Duration;

    /// Time since 1970 in UTC. It may jump and is unset until the head unit has learnt it, so no
    /// decision rests on it; journals carry it for people.
    fn unix(&self) -> Duration;
}

/// The clocks of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn since_boot(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // Both parts of a boot time are non-negative by definition of the clock.
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    fn unix(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}

impl SystemClock {
    /// How long the machine has slept since boot: what the clock that counts sleep is ahead of the one
    /// that does not. They cannot be read at once: a process that is held up in between would see a sleep
    /// that never was, so the least of several readings counts.
    pub fn asleep(&self) -> Duration {
        let part = |n: i64| u64::try_from(n).unwrap_or_default();
        let ahead = || {
            let running = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let running = Duration::from_secs(part(running.tv_sec)) + Duration::from_nanos(part(running.tv_nsec));
            self.since_boot().saturating_sub(running)
        };
        (0..READINGS).map(|_| ahead()).min().unwrap_or_default()
    }
}

/// Readings of two clocks of which one is not held up in the middle.
const READINGS: usize = 5;

/// A clock that moves only when it is told to.
#[derive(Debug, Default)]
pub struct ManualClock {
    elapsed: Mutex<Duration>,
}

impl ManualClock {
    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let mut elapsed = self.elapsed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *elapsed = elapsed.saturating_add(by);
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn since_boot(&self) -> Duration {
        self.elapsed()
    }

    fn unix(&self) -> Duration {
        self.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_never_runs_backwards() {
        let first = SystemClock.since_boot();
        assert!(first > Duration::ZERO);
        assert!(SystemClock.since_boot() >= first);
    }
}
