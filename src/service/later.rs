//! Calls that come in later than they came.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Calls that are held; another one is turned away.
const MOST: usize = 256;
/// Bytes of a call that is held: it has a header and no more than a word for a body.
const SMALL: usize = 1024;

/// Whole messages by the time at which they are due, in the order in which they came where that is the same.
#[derive(Debug, Default)]
pub(super) struct Later {
    held: BTreeMap<(Instant, u64), Vec<u8>>,
    count: u64,
}

impl Later {
    /// Whether a message of so many bytes can be held.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        self.held.len() < MOST && bytes <= SMALL
    }

    /// Holds a message.
    pub(super) fn hold(&mut self, message: Vec<u8>, wait: Duration) {
        self.count += 1;
        self.held.insert((Instant::now() + wait, self.count), message);
    }

    /// A message that is due.
    pub(super) fn due(&mut self) -> Option<Vec<u8>> {
        let first = self.held.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.held.first_key_value().map(|((at, _), _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_comes_in_the_order_of_its_time_and_not_before() {
        let mut later = Later::default();
        for (message, seconds) in [(b"third", 3_600), (b"first", 0), (b"secon", 0)] {
            later.hold(message.to_vec(), Duration::from_secs(seconds));
        }
        assert_eq!(later.due().unwrap(), b"first");
        assert_eq!(later.due().unwrap(), b"secon");
        assert_eq!(later.due(), None);
        assert!(later.next().is_some_and(|at| at > Instant::now()));
    }

    #[test]
    fn neither_many_messages_nor_a_large_one_are_held() {
        let mut later = Later::default();
        assert!(!later.takes(SMALL + 1));
        while later.takes(SMALL) {
            later.hold(Vec::new(), Duration::from_secs(1));
        }
        assert_eq!(later.held.len(), MOST);
    }
}
