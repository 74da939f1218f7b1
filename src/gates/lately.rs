//! What one side said lately, read as far as a gate looks.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::policy::{Lexicon, Reading};
use crate::state::Utterance;

/// Messages of each side that gates look at: what was said a dozen turns ago is not what this draft is
/// for, and a long drive must not make a check slow.
pub(super) const MESSAGES: usize = 12;

/// Room for the readings of one side, latest first; each is made when the first gate comes to it.
#[derive(Debug, Default)]
pub(super) struct Readings<'a> {
    places: [OnceCell<Reading<'a>>; MESSAGES],
    /// Whether some gate has paid for reading all of them.
    pub(super) paid: Cell<bool>,
}

/// What one side said lately, latest first.
#[derive(Debug, Clone, Copy)]
pub struct Lately<'s, 'a> {
    readings: &'s Readings<'a>,
    said: &'a [Utterance],
    lexicon: &'a Lexicon,
}

impl<'s, 'a> Lately<'s, 'a> {
    pub(super) fn new(readings: &'s Readings<'a>, said: &'a [Utterance], lexicon: &'a Lexicon) -> Self {
        Self { readings, said, lexicon }
    }

    /// Words of all these messages.
    pub(super) fn words(self) -> usize {
        self.said.iter().rev().take(MESSAGES).map(|said| said.words.len()).sum()
    }

    /// The messages one by one: most questions are answered by the latest.
    pub fn iter(self) -> impl Iterator<Item = &'s Reading<'a>> {
        let read = move |(said, place): (&'a Utterance, &'s OnceCell<Reading<'a>>)| {
            place.get_or_init(|| self.lexicon.read(Arc::clone(&said.words)))
        };
        self.said.iter().rev().zip(&self.readings.places).map(read)
    }
}
