//! Whether something said names an argument of a call.

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::model::Words;
use crate::policy::{Hit, PhraseRole, Policy, Reading};
use crate::state::{History, ItemRef};
use crate::tools::{Param, ParamType, ToolIx};

/// An utterance, or the sentences of it that are about a call.
#[derive(Debug)]
pub struct Said<'a, 'p> {
    reading: &'a Reading<'p>,
    /// Sentences that count; none: all of them.
    focus: Option<Vec<u16>>,
    spaced: OnceCell<String>,
}

impl<'a, 'p> Said<'a, 'p> {
    /// The whole utterance.
    pub fn new(reading: &'a Reading<'p>) -> Self {
        Self { reading, focus: None, spaced: OnceCell::new() }
    }

    /// Only these sentences of it.
    pub fn only(reading: &'a Reading<'p>, focus: Vec<u16>) -> Self {
        Self { focus: Some(focus), ..Self::new(reading) }
    }

    /// The sentences that name what a tool acts on; where none does, those that name nothing else.
    pub fn about(reading: &'a Reading<'p>, tool: ToolIx) -> Self {
        let sentences = |named: bool| -> Vec<u16> {
            let here = |s: u16| reading.nouns().filter(move |h| reading.sentence(h) == s);
            let all = 0..reading.words().sentences();
            all.filter(|s| if named { here(*s).any(|h| h.names(tool)) } else { here(*s).next().is_none() }).collect()
        };
        let naming = sentences(true);
        Self::only(reading, if naming.is_empty() { sentences(false) } else { naming })
    }

    fn counts(&self, sentence: u16) -> bool {
        self.focus.as_ref().is_none_or(|f| f.contains(&sentence))
    }

    fn hits(&self) -> impl Iterator<Item = &Hit<'p>> {
        self.reading.hits().iter().filter(|h| self.counts(self.reading.sentence(h)))
    }

    fn has(&self, role: PhraseRole) -> bool {
        self.hits().any(|h| h.is(role))
    }

    /// Whether a clause has a role and does not deny it.
    fn affirms(&self, role: PhraseRole) -> bool {
        self.hits().any(|h| h.is(role) && !self.reading.clause_has(self.reading.clause(h), PhraseRole::Negation))
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.reading.words().iter().filter(|(w, _)| self.counts(w.sentence)).map(|(_, text)| text)
    }

    /// The numbers that count, digits and number words.
    pub fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let sentence = |at: usize| self.reading.words().get(at).map_or(0, |w| w.sentence);
        self.reading.numbers().filter(move |(at, _)| self.counts(sentence(*at))).map(|(_, n)| n)
    }

    /// Whether a text stands in it word for word, whatever its punctuation and markup.
    fn contains(&self, text: &str) -> bool {
        let spaced = Words::new(text).spaced();
        !spaced.trim().is_empty() && self.spaced.get_or_init(|| self.reading.words().spaced()).contains(&spaced)
    }

    /// Whether it speaks of an argument at all, so that another value there is another call.
    pub fn speaks_of(&self, policy: &Policy, param: &Param, value: &Json) -> bool {
        match value {
            Json::Bool(_) => self.switch().is_some(),
            Json::Number(_) => self.numbers().next().is_some() || self.affirms(PhraseRole::Most),
            Json::String(text) if param.members().contains(text) => {
                param.members().iter().any(|m| self.says(policy, m))
            }
            _ => false,
        }
    }

    /// Whether it names an argument's value.
    pub fn names(&self, policy: &Policy, history: &History, tool: ToolIx, param: &Param, value: &Json) -> bool {
        match value {
            Json::Bool(on) => self.switch() == Some(*on),
            Json::Number(n) => n.as_f64().is_some_and(|n| self.names_number(param, n)),
            Json::String(text) if param.members().contains(text) => self.names_member(policy, tool, param, text),
            Json::String(text) => self.contains(text) || self.resolves(history, text),
            Json::Array(items) => items.iter().all(|item| self.names(policy, history, tool, param, item)),
            Json::Object(map) => {
                let ParamType::Object(params) = &param.kind else { return false };
                map.iter().all(|(name, value)| {
                    params.iter().find(|p| p.name == *name).is_some_and(|p| self.names(policy, history, tool, p, value))
                })
            }
            Json::Null => true,
        }
    }

    /// On or off, whichever is said more strongly; none where neither or both are.
    fn switch(&self) -> Option<bool> {
        let strongest = |role| self.hits().filter(|h| h.is(role)).map(Hit::weight).max();
        let (on, off) = (strongest(PhraseRole::On), strongest(PhraseRole::Off));
        match on.cmp(&off) {
            std::cmp::Ordering::Greater => Some(true),
            std::cmp::Ordering::Less => Some(false),
            std::cmp::Ordering::Equal => None,
        }
    }

    fn names_number(&self, param: &Param, wanted: f64) -> bool {
        let is = |n: f64| (n - wanted).abs() < 1e-9;
        // `50 or 100` names neither: a yes to it picks none.
        let alternatives = self.has(PhraseRole::Or) && self.numbers().any(|n| !is(n)) && {
            let joined = |at: usize| self.reading.role(PhraseRole::Or).any(|h| at + 3 >= h.start && at <= h.end + 2);
            self.reading.numbers().any(|(at, n)| is(n) && joined(at))
        };
        (self.numbers().any(is) && !alternatives)
            || (param.maximum.is_some_and(is) && self.affirms(PhraseRole::Most))
            || (param.minimum.is_some_and(is) && self.affirms(PhraseRole::Least))
    }

    fn names_member(&self, policy: &Policy, tool: ToolIx, param: &Param, member: &str) -> bool {
        let item = policy.model.tool(tool).and_then(|e| e.item.as_ref()).filter(|i| i.argument == param.name);
        if item.and_then(|i| i.resolve(member)) == Some(ItemRef::All) {
            let single = param.members().iter().filter(|m| item.and_then(|i| i.resolve(m)) != Some(ItemRef::All));
            return self.has(PhraseRole::All) || single.into_iter().all(|m| !self.says(policy, m));
        }
        self.says(policy, member)
    }

    /// Whether every part of a schema's word is said, in the schema's spelling or the language's own.
    fn says(&self, policy: &Policy, member: &str) -> bool {
        member.split(['_', ':', ' ', '-']).filter(|part| !part.is_empty()).all(|part| {
            let part = part.to_lowercase();
            self.words().any(|w| w == part)
                || policy.lexicon.value(&part).is_some_and(|meaning| self.hits().any(|h| h.means(meaning)))
        })
    }

    /// Whether it names what an opaque value stands for: a past result holds the value beside a name
    /// that is said here.
    fn resolves(&self, history: &History, value: &str) -> bool {
        let Some(seen) = history.identifiers().get(value) else { return false };
        let Some(payload) = seen.call.and_then(|c| history.call(c)).and_then(|c| c.payload()) else { return false };
        owner(payload, value, 0).is_some_and(|object| self.says_a_string_of(object, value, 0))
    }

    fn says_a_string_of(&self, json: &Json, value: &str, depth: usize) -> bool {
        match json {
            Json::String(text) => {
                text != value
                    && text.len() <= 128
                    && text.chars().filter(|c| c.is_alphabetic()).count() >= 3
                    && self.contains(text)
            }
            Json::Object(map) if depth < 3 => map.values().any(|v| self.says_a_string_of(v, value, depth + 1)),
            _ => false,
        }
    }
}

/// The innermost object of a result that has a value among its members or as the name of a member.
fn owner<'a>(json: &'a Json, value: &str, depth: usize) -> Option<&'a Json> {
    if depth > 8 {
        return None;
    }
    match json {
        Json::Object(map) => {
            if let Some(named) = map.get(value) {
                return Some(named);
            }
            let inner = map.values().find_map(|v| owner(v, value, depth + 1));
            inner.or_else(|| map.values().any(|v| v.as_str() == Some(value)).then_some(json))
        }
        Json::Array(items) => items.iter().find_map(|item| owner(item, value, depth + 1)),
        _ => None,
    }
}
