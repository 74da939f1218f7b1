//! Values that name something: identifiers, addresses, names that are looked up, topics.

use std::sync::Arc;

use serde_json::Value as Json;

use super::Slot;
use super::values::{Values, Weighed};
use crate::model::Words;
use crate::obligations::phones;
use crate::state::{is_mail, is_phone};
use crate::tools::{Param, ParamType};

/// Identifiers that are offered for one parameter, the latest first.
const IDENTIFIERS: usize = 24;
/// Words of a name that is looked up.
const NAME: usize = 3;
/// Names out of one sentence.
const NAMES: usize = 40;
/// Letters by which a word begins as the topic that it speaks of (`lighting` and `lights`).
const TOPIC: usize = 5;
/// Letters of a word that is a topic: `and` of `windows_and_roof` is none.
const SHORTEST_TOPIC: usize = 4;

/// A word of the driver's.
struct Own<'a> {
    text: &'a str,
    /// Written with a capital letter, and not because a sentence begins.
    capital: bool,
    /// No phrase of the policy.
    free: bool,
}

impl Values<'_> {
    /// A list of those members of an enumeration that are spoken of; any list where none is.
    pub(super) fn topics(&self, item: &ParamType) -> Vec<Weighed> {
        let ParamType::Enum(members) = item else { return vec![(Slot::Open, 0.0)] };
        let like = |word: &str, part: &str| {
            let common = word.chars().zip(part.chars()).take_while(|(a, b)| a == b).count();
            common >= TOPIC.min(part.chars().count())
        };
        let said = |member: &&String| {
            let heard = |part: String| self.reading.words().iter().any(|(_, word)| like(word, &part));
            member.split('_').filter(|part| part.len() >= SHORTEST_TOPIC).map(str::to_lowercase).any(heard)
        };
        let named: Vec<Json> = members.iter().filter(said).map(|m| Json::from(m.as_str())).collect();
        if named.is_empty() { vec![(Slot::Open, 0.0)] } else { vec![(Slot::Value(Json::from(named)), 0.0)] }
    }

    pub(super) fn identifiers(&self, param: &Param) -> Vec<Json> {
        let seen = self.history.identifiers();
        let mut words: Vec<(&str, Option<u32>, bool)> = seen
            .iter()
            .filter(|(word, _)| seen.looks_like_one(word))
            .map(|(word, seen)| (word, seen.call.map(|c| c.0), *seen.field == *param.name))
            .collect();
        // Those that stood in a field of that very name alone, where there are any.
        if words.iter().any(|(.., own)| *own) {
            words.retain(|(.., own)| *own);
        }
        words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        words.into_iter().take(IDENTIFIERS).map(|(word, ..)| Json::from(word)).collect()
    }

    pub(super) fn reaches_outside(&self) -> bool {
        self.policy.inventory.at(self.tool).is_some_and(|t| t.outward)
    }

    /// Whether a tool takes one thing alone.
    pub(super) fn only_reaches(&self) -> bool {
        self.policy.inventory.at(self.tool).is_some_and(|t| t.params.len() == 1)
    }

    /// Mail addresses that were said.
    pub(super) fn mails(&self) -> Vec<String> {
        self.reading.words().iter().map(|(_, w)| w).filter(|w| is_mail(w)).map(str::to_owned).collect()
    }

    /// Phone numbers and mail addresses that were said or shown.
    pub(super) fn addresses(&self) -> Vec<Json> {
        let mut found: Vec<String> = phones(self.reading);
        found.extend(self.mails());
        if found.is_empty() {
            let shown = self.history.identifiers().iter().map(|(word, _)| word);
            let mut shown: Vec<&str> = shown.filter(|w| is_mail(w) || is_phone(w)).collect();
            shown.sort_unstable();
            found.extend(shown.into_iter().take(IDENTIFIERS).map(str::to_owned));
        }
        found.into_iter().map(Json::from).collect()
    }

    /// Runs of the driver's own words that name nothing the policy knows: what is looked up is called as the
    /// driver calls it.
    pub(super) fn names(&self) -> Vec<Json> {
        let words = self.own_words();
        let any_capital = words.iter().any(|w| w.free && w.capital);
        let usable = |w: &Own<'_>| w.free && (!any_capital || w.capital);
        let mut found: Vec<Json> = Vec::new();
        for start in 0..words.len() {
            for length in 1..=NAME {
                let Some(run) = words.get(start..start + length) else { break };
                if !run.iter().all(usable) || found.len() >= NAMES {
                    break;
                }
                found.push(Json::from(run.iter().map(|w| w.text).collect::<Vec<_>>().join(" ")));
            }
        }
        found
    }

    /// Whether something is written as a name is, with a capital letter.
    pub(super) fn writes_a_name(&self) -> bool {
        self.own_words().iter().any(|w| w.free && w.capital)
    }

    /// The driver's latest words as they were written.
    fn own_words(&self) -> Vec<Own<'_>> {
        let Some(said) = self.history.driver().last() else { return Vec::new() };
        let words = said.text.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
        let words = words.map(|w| w.strip_suffix("'s").unwrap_or(w)).filter(|w| !w.is_empty());
        let known = |word: &str| {
            let reading = self.policy.lexicon().read(Arc::new(Words::new(word)));
            !reading.hits().is_empty()
        };
        let own = |(at, text): (usize, &'_ str)| (at > 0 && text.starts_with(char::is_uppercase), !known(text));
        let words: Vec<&str> = words.collect();
        let marks: Vec<(bool, bool)> = words.iter().copied().enumerate().map(own).collect();
        words.into_iter().zip(marks).map(|(text, (capital, free))| Own { text, capital, free }).collect()
    }
}

/// Whether a parameter takes an identifier: a part of its name says so (`waypoint_id_to_add`).
pub(super) fn takes_identifiers(param: &Param) -> bool {
    param.name.split('_').any(|part| part.trim_end_matches('s').eq_ignore_ascii_case("id"))
}
