//! How often something may happen: often for a moment, seldom for long.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much may happen at once.
const BURST: u32 = 10;
/// How long it takes until once more.
const EVERY: Duration = Duration::from_secs(1);

/// A pace for each user.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When all of a user's burst is free again.
    free_at: Mutex<BTreeMap<u32, Instant>>,
}

impl Pace {
    /// Takes one turn of a user at a moment; the error is how long there is none.
    pub(super) fn take(&self, user: u32, now: Instant) -> Result<(), Duration> {
        let mut all = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, free| *free > now);
        let free = all.get(&user).copied().unwrap_or(now) + EVERY;
        let wait = free.saturating_duration_since(now).saturating_sub(EVERY * BURST);
        if !wait.is_zero() {
            return Err(wait);
        }
        all.insert(user, free);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_one_a_second_and_others_are_not_slowed_down() {
        let (pace, start) = (Pace::default(), Instant::now());
        let taken = |user, at: Duration| (0..100).take_while(|_| pace.take(user, start + at).is_ok()).count();
        assert_eq!(taken(1, Duration::ZERO), 10);
        assert_eq!(taken(2, Duration::ZERO), 10);
        assert_eq!(pace.take(1, start), Err(EVERY));
        assert_eq!(taken(1, Duration::from_secs(3)), 3);
        assert_eq!(taken(1, Duration::from_secs(60)), 10);
    }
}
