//! What the driver was heard to say before anybody can take it in.
//!
//! A turn holds the conversation for seconds, and words that come meanwhile wait, or are refused. What they mean for a
//! yes that was given before must not wait: whoever reports words marks it here at once, and a turn looks before each
//! call.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words are numbered in the order in which they were reported, from 1.
#[derive(Debug, Default)]
pub struct Overheard {
    latest: AtomicU64,
    lost: AtomicU64,
}

impl Overheard {
    /// Words were reported. No yes and no question of before holds any more.
    pub fn reported(&self, number: u64) {
        self.latest.fetch_max(number, Ordering::SeqCst);
    }

    /// Words were reported and are never taken in: nobody knows whether they were a no.
    pub fn lost(&self, number: u64) {
        self.lost.fetch_max(number, Ordering::SeqCst);
        self.reported(number);
    }

    /// The number of the latest words; 0 before the first.
    pub(super) fn latest(&self) -> u64 {
        self.latest.load(Ordering::SeqCst)
    }

    /// The number of the latest words that are never taken in; 0 where there are none.
    fn latest_lost(&self) -> u64 {
        self.lost.load(Ordering::SeqCst)
    }
}

impl super::Session {
    /// Where words are marked that cannot be taken in at once.
    pub fn overheard(&self) -> std::sync::Arc<Overheard> {
        self.overheard.clone()
    }

    /// The words that are taken in next have this number.
    pub fn take_up(&mut self, number: u64) {
        self.taking = number;
        self.words = self.words.max(number);
    }

    /// Whether something was heard after the words that are being taken in, which therefore agree to nothing.
    pub(super) fn is_outdated(&self) -> bool {
        self.overheard.latest() > self.taking
    }

    /// Whether something was heard that this conversation does not know of yet.
    pub(super) fn is_overtaken(&self) -> bool {
        self.overheard.latest() > self.words || self.overheard.latest_lost() > self.lost
    }

    /// Lets every yes go when something was heard since, and the question that waits when it is never taken in.
    pub(super) fn mind_what_was_heard(&mut self) {
        let (lost, latest) = (self.overheard.latest_lost(), self.overheard.latest());
        if lost > self.lost {
            self.lost = lost;
            self.let_go();
        }
        if latest > self.words {
            self.words = latest;
            self.history.revoke_grants();
            self.history.let_words_agree(false);
        }
    }

    /// No question waits any more, and nothing counts as agreed to.
    pub(super) fn let_go(&mut self) {
        self.pending = None;
        self.spoken_under = None;
        self.history.revoke_grants();
        self.history.let_words_agree(false);
    }
}
