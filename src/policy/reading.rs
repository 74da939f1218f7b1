//! A text as a policy understands it.

use std::sync::Arc;

use super::PhraseRole;
use super::lexicon::{Lexicon, Meaning, NEUTRAL, Phrase};
use crate::model::{Found, Words, word_number};
use crate::tools::ToolIx;

/// A phrase found in a text.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'p> {
    /// Its first word.
    pub start: usize,
    /// The word after its last.
    pub end: usize,
    phrase: &'p Phrase,
    at: u32,
}

impl<'p> Hit<'p> {
    pub(super) fn new(lexicon: &'p Lexicon, start: usize, end: usize, at: u32) -> Option<Self> {
        Some(Self { start, end, phrase: lexicon.phrase(at)?, at })
    }

    fn position(&self) -> (u32, u32, u32) {
        let short = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (short(self.start), short(self.end), self.at)
    }

    /// Whether it has a role.
    pub fn is(&self, role: PhraseRole) -> bool {
        self.phrase.roles & role.bit() != 0
    }

    /// The tools whose noun it is.
    pub fn nouns(&self) -> impl Iterator<Item = ToolIx> + use<'p> {
        self.phrase.meanings.iter().filter_map(|m| if let Meaning::Noun(tool) = m { Some(*tool) } else { None })
    }

    /// The tools whose verb it is.
    pub fn verbs(&self) -> impl Iterator<Item = ToolIx> + use<'p> {
        self.phrase.meanings.iter().filter_map(|m| if let Meaning::Verb(tool) = m { Some(*tool) } else { None })
    }

    /// Whether it is a noun of that tool.
    pub fn names(&self, tool: ToolIx) -> bool {
        self.means(Meaning::Noun(tool))
    }

    /// Whether it stands for something.
    pub fn means(&self, meaning: Meaning) -> bool {
        self.phrase.meanings.contains(&meaning)
    }

    /// How strongly it is meant: more words say more, and closer together.
    pub fn weight(&self) -> (usize, std::cmp::Reverse<usize>) {
        (self.phrase.fixed, std::cmp::Reverse(self.end - self.start))
    }

    /// The number it stands for.
    pub fn number(&self) -> Option<i64> {
        self.phrase.meanings.iter().find_map(|m| if let Meaning::Number(n) = m { Some(*n) } else { None })
    }

    /// The word of schemas that it stands for in its language.
    pub fn value(&self) -> Option<Meaning> {
        self.phrase.meanings.iter().find(|m| matches!(m, Meaning::Value(_))).copied()
    }

    fn language(&self) -> u8 {
        self.phrase.language
    }

    /// Whether another hit of the same sort says more about the same words: `not a problem` is no
    /// `not`, and a `window defrost` is no `window`.
    fn outdone_by(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.phrase, other.phrase);
        let longer =
            other.start <= self.start && self.end <= other.end && other.end - other.start > self.end - self.start;
        let numbers = self.number().is_some() && other.number().is_some();
        let same_sort = (mine.roles != 0 && theirs.roles != 0) || (mine.is_noun && theirs.is_noun) || numbers;
        let same_language = theirs.language == mine.language || theirs.language == NEUTRAL || mine.language == NEUTRAL;
        longer && same_sort && !theirs.gapped && same_language
    }
}

/// A text and the phrases in it, in the order of their first words.
#[derive(Debug, Clone)]
pub struct Reading<'p> {
    words: Arc<Words>,
    hits: Vec<Hit<'p>>,
    language: Option<u8>,
}

impl<'p> Reading<'p> {
    pub(super) fn new(lexicon: &'p Lexicon, words: Arc<Words>, found: &Found) -> Self {
        let whole = |(start, end, at): &(u32, u32, u32)| Hit::new(lexicon, *start as usize, *end as usize, *at);
        let mut hits = Vec::with_capacity(found.phrases.len());
        hits.extend(found.phrases.iter().filter_map(whole));
        Self { words, hits, language: found.language }
    }

    /// The words.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// All hits.
    pub fn hits(&self) -> &[Hit<'p>] {
        &self.hits
    }

    /// The language of the text by its position in the policy, if one stands out.
    pub fn language(&self) -> Option<u8> {
        self.language
    }

    /// Hits of a role.
    pub fn role(&self, role: PhraseRole) -> impl Iterator<Item = &Hit<'p>> {
        self.hits.iter().filter(move |h| h.is(role))
    }

    /// Whether the text has a role anywhere.
    pub fn has(&self, role: PhraseRole) -> bool {
        self.role(role).next().is_some()
    }

    /// Hits that are nouns of some tool.
    pub fn nouns(&self) -> impl Iterator<Item = &Hit<'p>> {
        self.hits.iter().filter(|h| h.phrase.is_noun)
    }

    /// Whether the text names what a tool acts on.
    pub fn names(&self, tool: ToolIx) -> bool {
        self.hits.iter().any(|h| h.names(tool))
    }

    /// Whether the text says what a tool does.
    pub fn does(&self, tool: ToolIx) -> bool {
        self.hits.iter().any(|h| h.means(Meaning::Verb(tool)))
    }

    /// Every clause with its words, in order.
    pub fn clauses(&self) -> Vec<(u16, String)> {
        let mut all: Vec<(u16, String)> = Vec::new();
        for (word, text) in self.words.iter() {
            match all.last_mut().filter(|(clause, _)| *clause == word.clause) {
                Some((_, words)) => {
                    words.push(' ');
                    words.push_str(text);
                }
                None => all.push((word.clause, text.to_owned())),
            }
        }
        all
    }

    /// The clause a hit begins in.
    pub fn clause(&self, hit: &Hit<'_>) -> u16 {
        self.words.get(hit.start).map_or(0, |w| w.clause)
    }

    /// The sentence a hit begins in.
    pub fn sentence(&self, hit: &Hit<'_>) -> u16 {
        self.words.get(hit.start).map_or(0, |w| w.sentence)
    }

    /// Whether a hit stands between quotation marks.
    pub fn quoted(&self, hit: &Hit<'_>) -> bool {
        self.words.get(hit.start).is_some_and(|w| w.quoted)
    }

    /// Whether a clause has a role.
    pub fn clause_has(&self, clause: u16, role: PhraseRole) -> bool {
        self.role(role).any(|h| self.clause(h) == clause)
    }

    /// Whether a sentence has a role.
    pub fn sentence_has(&self, sentence: u16, role: PhraseRole) -> bool {
        self.role(role).any(|h| self.sentence(h) == sentence)
    }

    /// Every number in the text with the position of its word: digits and number words. Half of something said
    /// right after a number is a part of it: `21 and a half`.
    pub fn numbers(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let is_half = |h: &&Hit<'_>| h.number() == Some(HALF) && h.end - h.start > 1 && self.counts_before(h.start);
        let halves: Vec<usize> = self.hits.iter().filter(is_half).map(|h| h.start).collect();
        let digits = self.words.iter().enumerate().filter_map(|(at, (_, w))| Some((at, 1, word_number(w)?)));
        let words = self.hits.iter().filter_map(|h| Some((h.start, h.end - h.start, h.number()? as f64)));
        let all: Vec<(usize, usize, f64)> = digits.chain(words).collect();
        let whole = move |(at, length, n): (usize, usize, f64)| {
            let half = if halves.contains(&(at + length)) { 0.5 } else { 0.0 };
            (!halves.contains(&at)).then_some((at, n + half))
        };
        all.into_iter().filter_map(whole)
    }

    /// Whether the word before a position ends a number.
    fn counts_before(&self, at: usize) -> bool {
        let ends = |h: &&Hit<'_>| h.end == at && h.number().is_some();
        at > 0 && (word_number(self.words.text(at - 1)).is_some() || self.hits.iter().any(|h| ends(&h)))
    }
}

/// Of all phrases in a text, in the order of their first words, those of its own language that no
/// longer one outdoes.
pub(super) fn standing(mut hits: Vec<Hit<'_>>, languages: usize, words: &Words) -> Found {
    let language = spoken(&hits, languages);
    keep_language(&mut hits, words, language);
    // Only a phrase of several words covers another.
    let long: Vec<Hit<'_>> = hits.iter().copied().filter(|h| h.end - h.start > 1).collect();
    let last = |h: &Hit<'_>| (!is_outdone(&long, h)).then(|| h.position());
    Found { phrases: hits.iter().filter_map(last).collect(), language }
}

/// The language that most phrases are of; none when two are level.
fn spoken(hits: &[Hit<'_>], languages: usize) -> Option<u8> {
    let mut score = vec![0_usize; languages];
    for hit in hits {
        if let Some(slot) = score.get_mut(usize::from(hit.language())) {
            *slot += hit.end - hit.start;
        }
    }
    let best = score.iter().copied().max().filter(|best| *best > 0)?;
    let mut leaders = (0_u8..).zip(&score).filter(|(_, s)| **s == best).map(|(at, _)| at);
    leaders.next().filter(|_| leaders.next().is_none())
}

/// Drops what other languages see in the text, except in a clause where its own sees nothing:
/// drivers mix.
fn keep_language(hits: &mut Vec<Hit<'_>>, words: &Words, language: Option<u8>) {
    let Some(language) = language else { return };
    if hits.iter().all(|h| h.language() == language || h.language() == NEUTRAL) {
        return;
    }
    let clause = |hit: &Hit<'_>| words.get(hit.start).map_or(0, |w| w.clause);
    let own: Vec<u16> = hits.iter().filter(|h| h.language() == language).map(clause).collect();
    hits.retain(|h| h.language() == language || h.language() == NEUTRAL || own.binary_search(&clause(h)).is_err());
}

fn is_outdone(long: &[Hit<'_>], hit: &Hit<'_>) -> bool {
    // They are sorted by their first word: only neighbours can cover one another.
    let first = long.partition_point(|o| o.start + LONGEST <= hit.start);
    let near = long.get(first..).unwrap_or_default().iter().take_while(|o| o.start <= hit.start);
    near.into_iter().any(|other| hit.outdone_by(other))
}

/// What tables say that half of a percentage is.
const HALF: i64 = 50;
/// No phrase without a gap is longer, in words.
const LONGEST: usize = 10;
