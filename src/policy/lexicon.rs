//! All phrases of a policy in one index: what a text says, found in one pass over its words.
//!
//! Three sources meet here: the phrase tables of the languages, the verbs and nouns of the tools,
//! and the names of the car's parts. Roles match words exactly; verbs, nouns and names also in
//! their inflected forms (`windows`, `closing`), because a policy author writes the base form.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::beginnings::Beginnings;
use super::{PhraseRole, Phrases, Reading};
use crate::model::{Found, Words};
use crate::state::{AttrIx, EffectModel};
use crate::tools::{Inventory, ToolIx};

/// What a phrase stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A role of its language.
    Role(PhraseRole),
    /// A number.
    Number(i64),
    /// A word that schemas use, by its position among all of them.
    Value(u32),
    /// What a tool acts on or reads.
    Noun(ToolIx),
    /// What a tool does.
    Verb(ToolIx),
}

/// Words that a `*` may stand for.
const GAP: usize = 3;
/// The language of phrases that belong to none, such as words out of tool names.
pub(super) const NEUTRAL: u8 = u8::MAX;

/// A phrase in the index.
#[derive(Debug, Clone)]
pub(super) struct Phrase {
    parts: Box<[Part]>,
    pub(super) language: u8,
    /// The roles among the meanings, as a set.
    pub(super) roles: u64,
    pub(super) meanings: Box<[Meaning]>,
    /// How many of its parts are words.
    pub(super) fixed: usize,
    /// Whether it has a `*`.
    pub(super) gapped: bool,
    /// Whether it is a noun of some tool.
    pub(super) is_noun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Word(u32),
    Stem(u32),
    Gap,
}

/// The index.
#[derive(Debug, Clone, Default)]
pub struct Lexicon {
    /// Tells this index from every other of the process; 0 is the empty one.
    number: u64,
    words: FxHashMap<Box<str>, u32>,
    stems: FxHashMap<Box<str>, u32>,
    /// How words and stems begin.
    beginnings: Beginnings,
    /// Phrases by their first word or stem.
    by_word: Vec<Vec<u32>>,
    by_stem: Vec<Vec<u32>>,
    phrases: Vec<Phrase>,
    languages: Vec<String>,
    values: FxHashMap<Box<str>, u32>,
}

/// A word of a text as the index knows it.
#[derive(Clone, Copy)]
struct Known {
    word: Option<u32>,
    stem: Option<u32>,
}

impl Lexicon {
    /// Indexes the phrases of a policy.
    pub fn new(tables: &[Phrases], model: &EffectModel, inventory: &Inventory) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut lexicon =
            Self { number, languages: tables.iter().map(|t| t.language.clone()).collect(), ..Self::default() };
        for (table, language) in tables.iter().zip(0_u8..) {
            for (role, phrases) in &table.roles {
                phrases.iter().for_each(|p| lexicon.add(p, false, language, Meaning::Role(*role)));
            }
            for (word, number) in &table.numbers {
                lexicon.add(word, false, language, Meaning::Number(*number));
            }
            for (value, phrases) in &table.values {
                let next = u32::try_from(lexicon.values.len()).unwrap_or(u32::MAX);
                let value = *lexicon.values.entry(value.as_str().into()).or_insert(next);
                phrases.iter().for_each(|p| lexicon.add(p, false, language, Meaning::Value(value)));
            }
        }
        for (tool, ix) in inventory.iter().zip((0_u16..).map(ToolIx)) {
            for (language, verbs) in model.tool(ix).iter().flat_map(|e| &e.verbs) {
                let language = lexicon.position(language);
                verbs.iter().for_each(|v| lexicon.add(v, true, language, Meaning::Verb(ix)));
            }
            let nouns = nouns(model, ix);
            let undeclared = nouns.is_empty();
            for (language, noun) in nouns {
                let language = lexicon.position(language);
                lexicon.add(noun, true, language, Meaning::Noun(ix));
            }
            // A tool's own name names it, and so do the words of it that do not say what is done; the
            // first one does where nobody declared how people call it.
            let name = tool.name.as_str();
            lexicon.add(name, true, NEUTRAL, Meaning::Noun(ix));
            let words = name.split('_').skip(usize::from(undeclared)).filter(|w| !is_doing(tables, w));
            let words: Vec<&str> = words.collect();
            for named in std::iter::once(ix).chain(readers(model, ix)) {
                lexicon.add(&words.join(" "), true, NEUTRAL, Meaning::Noun(named));
            }
        }
        lexicon
    }

    /// Reads a text.
    pub fn read(&self, words: Arc<Words>) -> Reading<'_> {
        Arc::clone(&words).found(self.number, || self.find(&words), |found| Reading::new(self, words.clone(), found))
    }

    /// Every phrase of a text's own language that no longer one outdoes.
    fn find(&self, words: &Words) -> Found {
        let known: Vec<Known> = words.iter().map(|(_, w)| self.known(w)).collect();
        let mut hits = Vec::with_capacity(known.len());
        // No phrase reaches from one sentence into the next.
        let mut end = 0;
        for (start, at) in known.iter().enumerate() {
            if start >= end {
                let sentence = words.get(start).map(|w| w.sentence);
                end = start + words.iter().skip(start).take_while(|(w, _)| Some(w.sentence) == sentence).count();
            }
            let by_word = at.word.and_then(|w| self.by_word.get(w as usize));
            let by_stem = at.stem.and_then(|s| self.by_stem.get(s as usize));
            for phrase in by_word.into_iter().chain(by_stem).flatten() {
                let Some(parts) = self.phrases.get(*phrase as usize).map(|p| p.parts.as_ref()) else { continue };
                if let Some(length) = known.get(start..end).and_then(|rest| matched(parts, rest)) {
                    hits.extend(super::reading::Hit::new(self, start, start + length, *phrase));
                }
            }
        }
        super::reading::standing(hits, self.languages(), words)
    }

    /// The code of a language by its position.
    pub fn language(&self, position: u8) -> Option<&str> {
        self.languages.get(usize::from(position)).map(String::as_str)
    }

    /// The meaning of a word that schemas use, if a language has words of its own for it.
    pub fn value(&self, word: &str) -> Option<Meaning> {
        self.values.get(word).map(|v| Meaning::Value(*v))
    }

    pub(super) fn phrase(&self, at: u32) -> Option<&Phrase> {
        self.phrases.get(at as usize)
    }

    pub(super) fn languages(&self) -> usize {
        self.languages.len()
    }

    fn position(&self, code: &str) -> u8 {
        self.languages.iter().position(|l| l == code).and_then(|at| u8::try_from(at).ok()).unwrap_or(NEUTRAL)
    }

    fn known(&self, text: &str) -> Known {
        // A stem keeps three letters of a word of more.
        if !self.beginnings.may_hold(text) {
            return Known { word: None, stem: None };
        }
        let stem = shortened(text).find_map(|short| self.stems.get(short).copied());
        Known { word: self.words.get(text).copied(), stem }
    }

    fn add(&mut self, phrase: &str, inflected: bool, language: u8, meaning: Meaning) {
        // Tables are checked when they are read; names out of `vehicle.toml` are split here.
        let mut parts: Vec<Part> = Vec::new();
        for piece in phrase.split_whitespace() {
            if piece == "*" {
                parts.push(Part::Gap);
                continue;
            }
            for (_, word) in Words::new(piece).iter() {
                self.beginnings.add(if inflected { stem(word) } else { word });
                parts.push(if inflected {
                    Part::Stem(intern(&mut self.stems, &mut self.by_stem, stem(word)))
                } else {
                    Part::Word(intern(&mut self.words, &mut self.by_word, word))
                });
            }
        }
        let Some(first) = parts.first().copied() else { return };
        // A service keeps this for as long as it runs: nothing here has room that it does not use, nor leaves holes.
        let list = match first {
            Part::Word(w) => self.by_word.get_mut(w as usize),
            Part::Stem(s) => self.by_stem.get_mut(s as usize),
            Part::Gap => None,
        };
        let Some(list) = list else { return };
        let phrases = &self.phrases;
        let is_this =
            |at: &u32| phrases.get(*at as usize).is_some_and(|p| p.language == language && *p.parts == *parts);
        let at = match list.iter().copied().find(is_this) {
            Some(at) => at,
            None => {
                let at = u32::try_from(self.phrases.len()).unwrap_or(u32::MAX);
                list.push(at);
                let gapped = parts.contains(&Part::Gap);
                let fixed = parts.iter().filter(|p| **p != Part::Gap).count();
                let (parts, meanings) = (parts.into_boxed_slice(), Box::default());
                self.phrases.push(Phrase { fixed, parts, language, roles: 0, meanings, gapped, is_noun: false });
                at
            }
        };
        if let Some(phrase) = self.phrases.get_mut(at as usize).filter(|p| !p.meanings.contains(&meaning)) {
            let mut meanings = std::mem::take(&mut phrase.meanings).into_vec();
            meanings.reserve_exact(1);
            meanings.push(meaning);
            phrase.meanings = meanings.into_boxed_slice();
            match meaning {
                Meaning::Role(role) => phrase.roles |= role.bit(),
                Meaning::Noun(_) => phrase.is_noun = true,
                Meaning::Number(_) | Meaning::Value(_) | Meaning::Verb(_) => {}
            }
        }
    }
}

/// How people call what a tool acts on or reads, each name with its language: its own nouns, the
/// names of the parts it reaches, and for a read the nouns of the writes that set what it reads.
fn nouns(model: &EffectModel, tool: ToolIx) -> Vec<(&str, &str)> {
    let read: Vec<AttrIx> = model.attributes().filter(|(_, a)| a.read == Some(tool)).map(|(ix, _)| ix).collect();
    let effect = model.tool(tool);
    let written = effect.iter().flat_map(|e| e.attributes());
    let reached = written.chain(read.iter().copied()).filter_map(|a| model.attribute(a)).map(|a| a.entity);
    let mut entities: Vec<_> = reached.chain(effect.and_then(|e| e.item.as_ref()).map(|i| i.entity)).collect();
    entities.sort_unstable();
    entities.dedup();
    let parts = entities.into_iter().filter_map(|e| model.entity(e)).flat_map(|e| &e.names);
    let writers = model.tools.iter().filter(|e| e.attributes().any(|a| read.contains(&a))).flat_map(|e| &e.nouns);
    let all = effect.iter().flat_map(|e| &e.nouns).chain(writers).chain(parts);
    all.flat_map(|(language, names)| names.iter().map(|n| (language.as_str(), n.as_str()))).collect()
}

/// The reads of what a write sets.
fn readers(model: &EffectModel, tool: ToolIx) -> impl Iterator<Item = ToolIx> + '_ {
    model.tool(tool).into_iter().flat_map(|e| e.attributes()).filter_map(|a| model.attribute(a)?.read)
}

/// Whether a word of a tool's name says what is done rather than what it is done to.
pub(super) fn is_doing(tables: &[Phrases], word: &str) -> bool {
    let roles = [PhraseRole::Change, PhraseRole::Remove, PhraseRole::Look, PhraseRole::Current, PhraseRole::Common];
    tables.iter().any(|t| roles.iter().any(|r| t.role(*r).iter().any(|p| p == word)))
}

fn intern(ids: &mut FxHashMap<Box<str>, u32>, lists: &mut Vec<Vec<u32>>, word: &str) -> u32 {
    if let Some(id) = ids.get(word) {
        return *id;
    }
    let id = u32::try_from(lists.len()).unwrap_or(u32::MAX);
    ids.insert(word.into(), id);
    lists.push(Vec::new());
    id
}

/// The part of a word that its inflected forms share: a final `s`, then a final vowel letter go where
/// enough stays.
fn stem(word: &str) -> &str {
    let enough = |s: &&str| s.chars().count() >= 3;
    let singular = word.strip_suffix('s').filter(enough).unwrap_or(word);
    singular.strip_suffix(['e', 'y']).filter(enough).unwrap_or(singular)
}

/// A word and what is left of it without its last letters: one for a short stem, up to three for a long one.
fn shortened(word: &str) -> impl Iterator<Item = &str> {
    // Most words are ASCII, where letters are bytes and need not be looked for.
    let ascii = word.is_ascii();
    let letters = if ascii { word.len() } else { word.chars().count() };
    let deepest = if letters > 4 { (letters - 4).min(3) } else { usize::from(letters == 4) };
    (0..=deepest).filter_map(move |cut| match cut {
        0 => Some(word),
        _ if ascii => word.get(..letters - cut),
        _ => word.char_indices().rev().nth(cut - 1).and_then(|(at, _)| word.get(..at)),
    })
}

/// How many words a phrase takes from the beginning of a text, if it is there.
fn matched(parts: &[Part], text: &[Known]) -> Option<usize> {
    let Some((part, rest)) = parts.split_first() else { return Some(0) };
    match part {
        // Phrases are short and gaps few, so that this never goes deep.
        Part::Gap => (0..=GAP).find_map(|skip| Some(skip + matched(rest, text.get(skip..)?)?)),
        Part::Word(id) => {
            (text.first()?.word == Some(*id)).then(|| matched(rest, text.get(1..)?)).flatten().map(|n| n + 1)
        }
        Part::Stem(id) => {
            (text.first()?.stem == Some(*id)).then(|| matched(rest, text.get(1..)?)).flatten().map(|n| n + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::kitchen;

    fn read<'p>(policy: &'p crate::policy::Policy, text: &str) -> Reading<'p> {
        policy.lexicon().read(Arc::new(Words::new(text)))
    }

    #[test]
    fn nouns_match_in_their_inflected_forms_and_the_longest_wins() {
        let policy = kitchen();
        let tool = |name: &str| policy.inventory.position(name).unwrap();
        assert!(read(&policy, "close the doors").names(tool("move_door")));
        assert!(read(&policy, "the oven's temperature").names(tool("set_oven_temperature")));
        let both = read(&policy, "set the oven temperature");
        assert!(both.names(tool("set_oven_temperature")) && !both.names(tool("switch_oven")));
        assert!(!read(&policy, "doorbell").names(tool("move_door")));
    }

    #[test]
    fn a_read_is_called_by_what_it_reads_and_every_tool_by_its_name() {
        let policy = kitchen();
        let tool = |name: &str| policy.inventory.position(name).unwrap();
        assert!(read(&policy, "which door is open").names(tool("get_door_positions")));
        assert!(read(&policy, "how hot is the oven").names(tool("get_oven_state")));
        assert!(read(&policy, "load the recipe").names(tool("load_recipe")));
        assert!(read(&policy, "I'd like to call search_recipes").names(tool("search_recipes")));
        assert!(!read(&policy, "search for it").names(tool("search_recipes")));
    }

    #[test]
    fn a_longer_phrase_outdoes_what_it_holds() {
        let policy = kitchen();
        let reading = read(&policy, "Yes, that's not a problem.");
        assert!(reading.has(PhraseRole::Yes) && !reading.has(PhraseRole::No));
    }

    #[test]
    fn the_language_of_the_text_decides_what_a_word_means() {
        let policy = kitchen();
        // `an` switches on in German and is an article in English.
        let english = read(&policy, "Shall I make an exception for you and the oven?");
        assert!(!english.has(PhraseRole::On));
        assert!(read(&policy, "Soll ich den Ofen an machen?").has(PhraseRole::On));
        assert_eq!(english.language().and_then(|l| policy.lexicon().language(l)), Some("en"));
    }

    #[test]
    fn a_gap_stands_for_up_to_three_words() {
        let policy = kitchen();
        let on = |text: &str| read(&policy, text).role(PhraseRole::On).any(|h| h.weight().0 == 2);
        assert!(on("turn the big oven on") && !on("turn the very big old oven on"));
    }

    #[test]
    fn no_phrase_reaches_into_the_next_sentence() {
        let policy = kitchen();
        assert!(!read(&policy, "It needs a word from you. Want a drink?").has(PhraseRole::Proceed));
        assert!(read(&policy, "You want me to do it?").has(PhraseRole::Proceed));
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let policy = kitchen();
        let numbers = |text: &str| read(&policy, text).numbers().map(|(_, n)| n).collect::<Vec<_>>();
        assert_eq!(numbers("22,5 or 1,168 or half"), [22.5, 1168.0, 50.0]);
        assert_eq!(numbers("auf 22.5 und zur Hälfte"), [22.5, 50.0]);
    }
}
