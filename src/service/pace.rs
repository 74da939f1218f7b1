//! How often something may happen: often for a moment, seldom for long.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many keys are remembered before those are looked for whose burst is free again.
const REMEMBERED: usize = 64;

/// A pace for each of whatever is told apart by a key.
#[derive(Debug)]
pub(super) struct Pace<K> {
    /// How much may happen at once.
    burst: u32,
    /// How long it takes until once more.
    every: Duration,
    /// When all of a key's burst is free again.
    free_at: Mutex<BTreeMap<K, Instant>>,
}

impl<K: Ord> Pace<K> {
    /// So much at once, and once more whenever that time has passed.
    pub(super) fn new(burst: u32, every: Duration) -> Self {
        Self { burst, every, free_at: Mutex::default() }
    }

    /// Takes so many turns of a key at a moment; the error is how long there are none. What is more than a burst
    /// counts as one.
    pub(super) fn take<Q>(&self, key: &Q, turns: u32, now: Instant) -> Result<(), Duration>
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        self.book(key, turns, now, Duration::ZERO).map(drop)
    }

    /// The same for whoever can wait: how long that takes. Where it is more than `patience` no turn is taken, and the
    /// error is how long it would be.
    pub(super) fn book<Q>(&self, key: &Q, turns: u32, now: Instant, patience: Duration) -> Result<Duration, Duration>
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let mut all = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.retain(|_, free| *free > now);
        }
        let begin = all.get(key).copied().unwrap_or(now).max(now);
        let free = begin + self.every.saturating_mul(turns.min(self.burst));
        let wait = free.saturating_duration_since(now).saturating_sub(self.every.saturating_mul(self.burst));
        if wait > patience {
            return Err(wait);
        }
        match all.get_mut(key) {
            Some(at) => *at = free,
            None => drop(all.insert(key.to_owned(), free)),
        }
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(1);

    fn taken(pace: &Pace<u32>, user: u32, turns: u32, at: Instant) -> usize {
        (0..1_000).take_while(|_| pace.take(&user, turns, at).is_ok()).count()
    }

    #[test]
    fn a_burst_is_followed_by_one_a_second_and_others_are_not_slowed_down() {
        let (pace, start) = (Pace::new(10, EVERY), Instant::now());
        assert_eq!(taken(&pace, 1, 1, start), 10);
        assert_eq!(taken(&pace, 2, 1, start), 10);
        assert_eq!(pace.take(&1, 1, start), Err(EVERY));
        assert_eq!(taken(&pace, 1, 1, start + EVERY * 3), 3);
        assert_eq!(taken(&pace, 1, 1, start + EVERY * 60), 10);
    }

    #[test]
    fn whoever_can_wait_is_told_how_long_and_nobody_waits_for_ever() {
        let (pace, start) = (Pace::new(2, EVERY), Instant::now());
        let booked: Vec<_> = (0..6).map(|_| pace.book(&1, 1, start, EVERY * 2)).collect();
        let (at_once, full) = (Ok(Duration::ZERO), Err(EVERY * 3));
        assert_eq!(booked, [at_once, at_once, Ok(EVERY), Ok(EVERY * 2), full, full]);
        assert_eq!(pace.book(&1, 1, start + EVERY, EVERY * 2), Ok(EVERY * 2), "what was refused took no turn");
    }

    #[test]
    fn what_weighs_more_takes_more_turns_and_never_more_than_there_can_be() {
        let (pace, start) = (Pace::new(10, EVERY), Instant::now());
        assert_eq!(taken(&pace, 1, 4, start), 2);
        assert_eq!(taken(&pace, 2, 500, start), 1);
        assert_eq!(taken(&pace, 2, 500, start + EVERY * 10), 1);
    }

    #[test]
    fn a_crowd_that_has_gone_is_forgotten() {
        let (pace, start) = (Pace::new(10, EVERY), Instant::now());
        (0..10_000).for_each(|user| pace.take(&user, 1, start + EVERY * user).unwrap());
        assert!(pace.free_at.lock().unwrap().len() <= REMEMBERED);
    }
}
