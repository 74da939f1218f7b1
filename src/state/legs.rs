//! What rules read of the legs that a call sets or a reply describes.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{History, OfferedLeg, Tour, TourEdit};
use crate::model::{Arguments, Words, is_unknown_word};

/// A declared feature of the legs at hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegFact {
    /// Name in rules: `context.legs.toll`.
    pub name: String,
    /// What it tells.
    pub function: LegFn,
}

/// A function over the legs at hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LegFn {
    /// A switch is on for any of them.
    Any {
        /// The member of a leg.
        field: String,
    },
    /// Some choice that the driver left open offers a leg with this word, and that leg is not at hand.
    Lacks {
        /// The member of a leg.
        field: String,
        /// The word in it.
        word: String,
    },
}

/// The features of the legs at hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LegFacts {
    /// Choices among several legs that the driver left open.
    pub open: i64,
    /// Legs of these choices that are not at hand.
    pub others: i64,
    /// The declared ones, in their order; none: a result does not say.
    pub facts: Vec<Option<bool>>,
}

/// A leg or several between the same two stops, of which some are at hand.
struct Choice<'a> {
    hand: Vec<OfferedLeg<'a>>,
    others: Vec<OfferedLeg<'a>>,
    open: bool,
}

/// Results that are looked at for a leg.
const RESULTS: usize = 64;

impl LegFacts {
    /// The features of the legs that a call sets.
    pub fn of_call(tour: &Tour, edit: &TourEdit, history: &History, arguments: &Arguments) -> Self {
        let mut choices = Vec::new();
        let heard = OnceCell::new();
        for argument in edit.legs.iter().filter_map(|leg| arguments.get(&leg.argument)) {
            let one = std::slice::from_ref(argument);
            let ids = argument.as_array().map_or(one, Vec::as_slice).iter().filter_map(Json::as_str);
            for (leg, others) in ids.filter_map(|id| tour.offered(history, id)) {
                choices.push(Choice::new(history, &heard, vec![leg], others));
            }
        }
        Self::of(tour, &choices)
    }

    /// The features of the legs that a reply describes: those that results of this turn offer and no call of
    /// this turn sets.
    pub fn of_reply(tour: &Tour, edits: &[(&TourEdit, &Arguments)], history: &History, reply: &Words) -> Self {
        let turn = history.turn();
        let offers = history.calls().iter().rev().take(RESULTS).take_while(|past| past.turn == turn);
        let mut groups: Vec<Vec<OfferedLeg<'_>>> = Vec::new();
        for payload in offers.filter_map(|past| past.payload()) {
            tour.choices(payload, &mut groups);
        }
        let mut choices: Vec<Choice<'_>> = Vec::new();
        if !groups.is_empty() {
            let (said, heard) = (Said::new(reply), OnceCell::new());
            for group in groups {
                let told = |leg: &&OfferedLeg<'_>| said.describes(tour, leg, &group);
                let (hand, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(|leg| told(&leg));
                let again = choices.iter().any(|c| c.hand.iter().any(|h| hand.iter().any(|leg| leg.said == h.said)));
                if !hand.is_empty() && !again && !group.iter().any(|leg| is_set(tour, edits, leg)) {
                    choices.push(Choice::new(history, &heard, hand, others));
                }
            }
        }
        Self::of(tour, &choices)
    }

    fn of(tour: &Tour, choices: &[Choice<'_>]) -> Self {
        let open = || choices.iter().filter(|choice| choice.open);
        let fact = |fact: &LegFact| match &fact.function {
            LegFn::Any { field } => any(choices.iter().flat_map(|c| &c.hand).map(|leg| leg.said.get(field))),
            LegFn::Lacks { field, word } => {
                let has = |leg: &OfferedLeg<'_>| leg.said.get(field).is_some_and(|said| holds(said, word));
                Some(open().any(|c| c.others.iter().any(has) && !c.hand.iter().any(has)))
            }
        };
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        Self {
            open: count(open().count()),
            others: count(open().map(|c| c.others.len()).sum()),
            facts: tour.facts.iter().map(fact).collect(),
        }
    }
}

impl<'a> Choice<'a> {
    fn new<'h>(
        history: &'h History,
        heard: &OnceCell<Heard<'h>>,
        hand: Vec<OfferedLeg<'a>>,
        others: Vec<OfferedLeg<'a>>,
    ) -> Self {
        let alone = hand.len() + others.len() < 2;
        let picked = |leg: &OfferedLeg<'_>| {
            let rest: Vec<&Json> = hand.iter().chain(&others).map(|l| l.said).filter(|s| *s != leg.said).collect();
            heard.get_or_init(|| Heard::new(history)).pick(leg.said, &rest)
        };
        let open = !alone && !hand.iter().any(picked);
        Self { hand, others, open }
    }
}

fn is_set(tour: &Tour, edits: &[(&TourEdit, &Arguments)], leg: &OfferedLeg<'_>) -> bool {
    let Some(id) = leg.said.get(&tour.id) else { return false };
    let names = |value: &Json| value == id || value.as_array().is_some_and(|ids| ids.contains(id));
    edits.iter().any(|(edit, arguments)| edit.legs.iter().filter_map(|l| arguments.get(&l.argument)).any(names))
}

/// On as soon as one is on, off when all are known to be off.
fn any<'j>(switches: impl Iterator<Item = Option<&'j Json>>) -> Option<bool> {
    let mut all_known = true;
    for switch in switches {
        match switch {
            Some(Json::Bool(true)) => return Some(true),
            Some(Json::Bool(false)) => {}
            _ => all_known = false,
        }
    }
    all_known.then_some(false)
}

fn holds(said: &Json, word: &str) -> bool {
    said == word || said.as_array().is_some_and(|items| items.iter().any(|item| item == word))
}

/// A reply, ready to be looked through.
struct Said<'a> {
    spaced: &'a str,
    /// Numbers of at least three digits, with half of their last digit's step: shorter ones are counts,
    /// minutes and levels too.
    numbers: Vec<(f64, f64)>,
}

impl<'a> Said<'a> {
    fn new(words: &'a Words) -> Self {
        let number = |word: &str| {
            let value: f64 = word.replace(',', ".").parse().ok()?;
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let fraction = word.split_once(['.', ',']).map_or(0, |(_, after)| after.len());
            (digits >= 3).then_some((value, 0.5 * 10_f64.powi(-i32::try_from(fraction).ok()?) + 1e-9))
        };
        let numbers = words.iter().filter_map(|(_, word)| number(word)).collect();
        Self { spaced: words.spaced(), numbers }
    }

    /// Whether the reply says what tells a leg: every part of a text, or a number that no other leg of
    /// the choice rounds to.
    fn describes(&self, tour: &Tour, leg: &OfferedLeg<'_>, choice: &[OfferedLeg<'_>]) -> bool {
        tour.told.iter().any(|field| match leg.said.get(field) {
            Some(Json::String(text)) if !is_unknown_word(text) => {
                text.split(',').all(|part| self.spaced.contains(Words::new(part).spaced()))
            }
            Some(Json::Number(number)) => self.numbers.iter().any(|(value, step)| {
                let near = |n: Option<f64>| n.is_some_and(|n| (n - value).abs() <= *step);
                let others = choice.iter().filter(|o| o.said != leg.said);
                near(number.as_f64()) && !others.into_iter().any(|o| near(o.said.get(field).and_then(Json::as_f64)))
            }),
            _ => false,
        })
    }
}

impl Tour {
    /// What the result that first named a leg says of it, else the latest result that describes it; with
    /// its alternatives.
    fn offered<'a>(&self, history: &'a History, id: &str) -> Option<(OfferedLeg<'a>, Vec<OfferedLeg<'a>>)> {
        let first = history.identifiers().get(id).and_then(|seen| history.call(seen.call?));
        let find = |past: &'a super::PastCall| self.find(past.payload()?, id);
        first.and_then(find).or_else(|| history.calls().iter().rev().take(RESULTS).find_map(find))
    }
}

/// Messages of the driver that may pick a leg.
const SAID: usize = 6;

/// Whether the driver's latest words pick a leg among its alternatives: by a text that only some of
/// them carry (`fastest`, a road's name), or by what a switch says that differs (`toll`).
pub fn is_picked(history: &History, own: &Json, others: &[&Json]) -> bool {
    Heard::new(history).pick(own, others)
}

/// What tells a leg from others, in words.
#[derive(Debug, PartialEq)]
struct Mark {
    /// Words between spaces; a switch's name without the space behind, so that its plural counts.
    text: String,
    /// What the switch says; true for a text.
    on: bool,
}

/// The driver's latest words.
struct Heard<'h> {
    words: Vec<&'h Words>,
    /// For each letter that begins a word of theirs, the letters that follow it.
    beginnings: [u32; 26],
}

/// The place of a letter in the alphabet.
fn letter(byte: Option<&u8>) -> Option<usize> {
    byte.filter(|b| b.is_ascii_alphabetic()).map(|b| usize::from(b.to_ascii_lowercase() - b'a'))
}

impl<'h> Heard<'h> {
    fn new(history: &'h History) -> Self {
        let words: Vec<_> = history.driver().iter().rev().take(SAID).map(|said| said.words.as_ref()).collect();
        let mut beginnings = [0; 26];
        for (_, word) in words.iter().flat_map(|words| words.iter()) {
            let bytes = word.as_bytes();
            if let Some(seen) = letter(bytes.first()).and_then(|first| beginnings.get_mut(first)) {
                *seen |= letter(bytes.get(1)).map_or(0, |second| 1 << second);
            }
        }
        Self { words, beginnings }
    }

    /// Whether they pick a leg among its alternatives.
    fn pick(&self, own: &Json, others: &[&Json]) -> bool {
        // What all of them share tells none from another.
        let differs = |name: &str| others.iter().any(|other| other.get(name) != own.get(name));
        let (own, others): (_, Vec<Vec<Mark>>) =
            (self.marks(own, differs), others.iter().map(|other| self.marks(other, differs)).collect());
        let all = || own.iter().chain(others.iter().flatten());
        all().any(|mark| !own.contains(mark) || others.iter().any(|other| !other.contains(mark)))
    }

    /// What the driver named of a leg: texts, each part of a list by itself, and names of switches.
    fn marks(&self, said: &Json, asked: impl Fn(&str) -> bool) -> Vec<Mark> {
        let mut found = Vec::new();
        let Json::Object(members) = said else { return found };
        for (name, value) in members {
            match value {
                Json::String(text) if text.split(',').any(|part| self.may_begin(part)) && asked(name) => {
                    found.extend(text.split(',').filter_map(|part| self.mark(part)));
                }
                Json::Array(items) if asked(name) => {
                    found.extend(items.iter().filter_map(Json::as_str).filter_map(|text| self.mark(text)));
                }
                Json::Bool(on) => {
                    let last = name.rsplit('_').next().unwrap_or(name);
                    if self.may_begin(last) && asked(name) {
                        found.push(Mark { text: format!(" {}", last.to_lowercase()), on: *on });
                    }
                }
                _ => {}
            }
        }
        found.retain(|mark| mark.text.len() > 3 && self.words.iter().any(|words| words.spaced().contains(&mark.text)));
        found
    }

    /// A text as words, unless the driver said no word that begins as it does: most are not said, and
    /// splitting them is most of the work.
    fn mark(&self, text: &str) -> Option<Mark> {
        self.may_begin(text).then(|| Mark { text: Words::new(text).into_spaced(), on: true })
    }

    /// Whether the driver said a word that begins with the first two letters of a text; yes where they are
    /// none of the alphabet's.
    fn may_begin(&self, text: &str) -> bool {
        let bytes = text.trim_start().as_bytes();
        match (letter(bytes.first()), letter(bytes.get(1))) {
            (Some(first), Some(second)) => self.beginnings.get(first).is_some_and(|seen| seen & (1 << second) != 0),
            _ => true,
        }
    }
}
