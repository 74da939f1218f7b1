//! Deadlines that run on while the machine sleeps.

use std::time::Duration;

use crate::state::Clock;

/// Pause between two looks at the clock. Timers of the runtime stand still while the machine sleeps, so
/// this is the longest that a deadline which ran out in sleep goes unnoticed after waking.
const LOOK: Duration = Duration::from_millis(100);

/// A moment of `CLOCK_BOOTTIME`: an order of yesterday evening has run out in the morning, although
/// the machine did not run in between.
#[derive(Debug, Clone, Copy)]
pub struct Due<'c> {
    clock: &'c dyn Clock,
    at: Duration,
}

impl<'c> Due<'c> {
    /// So long from now.
    pub fn within(clock: &'c dyn Clock, limit: Duration) -> Self {
        Self { clock, at: clock.since_boot().saturating_add(limit) }
    }

    /// So much after this one.
    #[must_use]
    pub fn and(self, more: Duration) -> Self {
        Self { at: self.at.saturating_add(more), ..self }
    }

    /// The clock by which it passes.
    pub fn clock(&self) -> &'c dyn Clock {
        self.clock
    }

    /// The time that is left; zero when it has passed.
    pub fn left(&self) -> Duration {
        self.at.saturating_sub(self.clock.since_boot())
    }

    /// Whether it has passed.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Waits until it has passed.
    pub async fn passed(&self) {
        loop {
            match self.left() {
                Duration::ZERO => return,
                left => tokio::time::sleep(left.min(LOOK)).await,
            }
        }
    }

    /// What comes of some work, if it is ready before this moment has passed. Work that is ready when both
    /// are looked at counts: the runtime may have been late to look.
    pub async fn bound<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.passed() => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ManualClock;

    #[tokio::test]
    async fn a_night_in_the_garage_ends_what_timers_think_has_just_begun() {
        let clock = ManualClock::default();
        let due = Due::within(&clock, Duration::from_secs(3_600));
        let night = async {
            tokio::task::yield_now().await;
            clock.advance(Duration::from_secs(8 * 3_600));
        };
        let (ended, ()) = tokio::join!(due.bound(std::future::pending::<()>()), night);
        assert!(ended.is_none() && due.is_over());
    }

    #[tokio::test]
    async fn what_is_ready_counts_however_late_it_is_looked_at() {
        let clock = ManualClock::default();
        let due = Due::within(&clock, Duration::ZERO);
        assert_eq!(due.bound(async { 7 }).await, Some(7));
        assert_eq!(due.and(Duration::from_secs(2)).left(), Duration::from_secs(2));
    }
}
