//! Whether something said names an argument of a call.

use std::cell::OnceCell;

use serde_json::Value as Json;

use super::numbers::{self, Number};
use crate::model::Words;
use crate::policy::{Hit, Meaning, PhraseRole, Policy, Reading};
use crate::state::{History, ItemArgument, ItemRef, Owners, is_address, is_mail, is_phone, same};
use crate::tools::{Param, ParamType, ToolIx};

/// Letters by which a plural is longer, at most: what is longer still is another word, as `Sitzheizung` is no `Sitz`.
const ENDING: usize = 2;
/// Names and values of owners that are looked at for one argument: as much as a gate may take.
const OWNERS: usize = 200_000;

/// An utterance, or the sentences of it that are about a call.
#[derive(Debug)]
pub struct Said<'a, 'p> {
    reading: &'a Reading<'p>,
    /// Sentences that count; none: all of them.
    focus: Option<Vec<u16>>,
    /// The utterance as it was written, with its quotation marks.
    written: Option<&'a str>,
    segments: OnceCell<Vec<(usize, usize)>>,
}

impl<'a, 'p> Said<'a, 'p> {
    /// The whole utterance.
    pub fn new(reading: &'a Reading<'p>) -> Self {
        Self { reading, focus: None, written: None, segments: OnceCell::new() }
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

    /// The same with its writing, which tells where a quotation begins and ends.
    #[must_use]
    pub fn written(self, text: &'a str) -> Self {
        Self { written: Some(text), ..self }
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

    /// All words, each with a space before and after.
    fn spaced(&self) -> &str {
        self.reading.words().spaced()
    }

    /// Whether a text stands in it as a whole: a quotation, or from the beginning of a clause to the end
    /// of one. A part of a sentence is another text: `sell the house` is not `do not sell the house`.
    fn holds_text(&self, param: &Param, text: &str) -> bool {
        let wanted = Words::new(text);
        let spaced = wanted.spaced();
        if spaced.trim().is_empty() || !self.spaced().contains(spaced) {
            return false;
        }
        let quotations = self.written.map(quotations).unwrap_or_default();
        if quotations.iter().any(|q| q == spaced) {
            return true;
        }
        if quotations.iter().any(|q| q.contains(spaced)) {
            return false;
        }
        let words = self.reading.words();
        let wanted: Vec<&str> = wanted.iter().map(|(_, t)| t).collect();
        // `The message I am late` says which text begins there.
        let is_named_after = |param: &Param, word: &str| {
            let name = param.name.to_lowercase();
            name == word || name.split('_').any(|part| part.len() >= 4 && part == word)
        };
        (0..words.len()).any(|at| {
            let end = at + wanted.len();
            let edge = |left: usize, right: usize| match (words.get(left), words.get(right)) {
                (Some(l), Some(r)) if l.quoted && r.quoted => false,
                (Some(l), Some(r)) => l.clause != r.clause || l.quoted != r.quoted,
                _ => true,
            };
            (at..end).map(|i| words.text(i)).eq(wanted.iter().copied())
                && (at == 0 || edge(at - 1, at) || is_named_after(param, words.text(at - 1)))
                && edge(end - 1, end)
        })
    }

    /// Whether it speaks of an argument at all, so that another value there is another call.
    pub fn speaks_of(&self, policy: &Policy, tool: ToolIx, param: &Param, value: &Json) -> bool {
        match value {
            Json::Bool(_) => self.switch().is_some(),
            Json::Number(_) => !self.candidates(policy, tool, param).is_empty() || self.affirms(PhraseRole::Most),
            Json::String(text) if param.members().contains(text) => {
                param.members().iter().any(|m| self.says(policy, m))
            }
            Json::String(text) if !is_address(text) => self.written.is_some_and(|t| !quotations(t).is_empty()),
            Json::String(_) | Json::Array(_) => self.words().any(is_mail),
            _ => false,
        }
    }

    /// Whether it names an argument's value.
    pub fn names(&self, policy: &Policy, history: &History, tool: ToolIx, param: &Param, value: &Json) -> bool {
        match value {
            // In the schema's own words: `on false`, `percentage 50`.
            Json::Bool(_) if self.spells(param, &(!value.as_bool().unwrap_or_default()).into()) => false,
            Json::Bool(on) => self.spells(param, value) || self.switch() == Some(*on),
            Json::Number(n) => n.as_f64().is_some_and(|n| self.names_number(policy, tool, param, n)),
            Json::String(text) if param.members().contains(text) => self.names_member(policy, tool, param, text),
            Json::String(text) if is_address(text) => self.names_owners(history, &[text]),
            Json::String(text) => self.names_text(history, param, text),
            Json::Array(items) => {
                let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
                match texts.filter(|t| t.iter().any(|t| is_address(t))) {
                    Some(addresses) => self.names_owners(history, &addresses),
                    None => items.iter().all(|item| self.names(policy, history, tool, param, item)),
                }
            }
            Json::Object(map) => {
                let ParamType::Object(params) = &param.kind else { return false };
                map.iter().all(|(name, value)| {
                    params.iter().find(|p| p.name == *name).is_some_and(|p| self.names(policy, history, tool, p, value))
                })
            }
            Json::Null => true,
        }
    }

    /// Whether an argument is spelled out as the schema has it, name and value.
    fn spells(&self, param: &Param, value: &Json) -> bool {
        self.spaced().contains(Words::new(&format!("{} {value}", param.name)).spaced())
    }

    /// On or off where it is said beyond doubt: by a phrase of its own (`turn off`), or by the one word
    /// alone without its opposite. A lone `on` is mostly a preposition.
    pub fn switched(&self) -> Option<bool> {
        let strongest = |role| self.hits().filter(|h| h.is(role)).map(|h| h.weight().0).max();
        match (strongest(PhraseRole::On), strongest(PhraseRole::Off)) {
            (Some(on), None) if on > 1 => Some(true),
            (None | Some(1), Some(off)) if off > 1 => Some(false),
            (None, Some(_)) => Some(false),
            _ => None,
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

    /// The numbers that may be meant for an argument.
    fn candidates(&self, policy: &Policy, tool: ToolIx, param: &Param) -> Vec<Number> {
        let counted = |n: &Number| self.reading.words().get(n.at).is_some_and(|w| self.counts(w.sentence));
        numbers::candidates(policy, self.reading, tool, &param.name, counted)
    }

    fn names_number(&self, policy: &Policy, tool: ToolIx, param: &Param, wanted: f64) -> bool {
        let is = |n: f64| (n - wanted).abs() < 1e-9;
        let said = self.candidates(policy, tool, param);
        // `50 or 100` names neither, and of two numbers for one argument nobody can tell which is meant.
        if !said.is_empty() {
            return said.iter().all(|n| is(n.value));
        }
        (param.maximum.is_some_and(is) && self.affirms(PhraseRole::Most))
            || (param.minimum.is_some_and(is) && self.affirms(PhraseRole::Least))
    }

    fn names_member(&self, policy: &Policy, tool: ToolIx, param: &Param, member: &str) -> bool {
        let item = policy.model.tool(tool).and_then(|e| e.item.as_ref()).filter(|i| i.argument == param.name);
        let Some(item) = item else { return self.says(policy, member) };
        let all = |m: &str| item.resolve(m) == Some(ItemRef::All);
        let singles = || param.members().iter().filter(|m| !all(m));
        if all(member) {
            return self.has(PhraseRole::All)
                || (self.is_plural(policy, tool, item) && singles().all(|m| !self.says(policy, m)));
        }
        // The most exact name counts: `passenger rear` is not `passenger`.
        let narrower =
            |m: &&String| parts(m).len() > parts(member).len() && parts(member).iter().all(|p| parts(m).contains(p));
        !self.has(PhraseRole::All)
            && self
                .places(policy, member)
                .iter()
                .any(|place| !singles().filter(narrower).any(|m| self.places(policy, m).contains(place)))
    }

    /// Whether the items are spoken of in the plural: in a longer form than any that is declared in the
    /// singular.
    fn is_plural(&self, policy: &Policy, tool: ToolIx, item: &ItemArgument) -> bool {
        let entity = policy.model.entity(item.entity);
        let own = policy.model.tool(tool).into_iter().flat_map(|e| e.nouns.values()).flatten();
        let declared: Vec<String> =
            own.chain(entity.into_iter().flat_map(|e| e.names.values()).flatten()).map(|n| n.to_lowercase()).collect();
        self.hits().filter(|h| h.means(Meaning::Noun(tool))).any(|h| {
            let word = self.reading.words().text(h.end - 1);
            let longer = |d: &String| {
                let last = d.rsplit(' ').next().unwrap_or(d);
                word.strip_prefix(last).is_some_and(|ending| (1..=ENDING).contains(&ending.len()))
            };
            !declared.iter().any(|d| d.rsplit(' ').next() == Some(word)) && declared.iter().any(longer)
                || declared.iter().any(|d| d.as_str() == word && declared.iter().any(|s| longer(s) && s != d))
        })
    }

    /// Whether every part of a schema's word is said together, in the schema's spelling or the
    /// language's own.
    fn says(&self, policy: &Policy, member: &str) -> bool {
        !self.places(policy, member).is_empty()
    }

    /// The stretches of words in which every part of a schema's word is said.
    fn places(&self, policy: &Policy, member: &str) -> Vec<(usize, usize)> {
        let at = |part: &String| -> Vec<usize> {
            let meaning = policy.lexicon().value(part);
            let spelled =
                self.reading.words().iter().enumerate().filter(|(_, (w, t))| self.counts(w.sentence) && t == part);
            let meant = self.hits().filter(|h| meaning.is_some_and(|m| h.means(m)));
            spelled.map(|(at, _)| at).chain(meant.map(|h| h.start)).collect()
        };
        let mut said: Vec<Vec<usize>> = Vec::new();
        for part in &parts(member) {
            let here = at(part);
            if here.is_empty() {
                return Vec::new(); // most members are not said at all
            }
            said.push(here);
        }
        let within = |range: &&(usize, usize)| said.iter().all(|p| p.iter().any(|at| (range.0..range.1).contains(at)));
        let segments = self.segments.get_or_init(|| self.split());
        segments.iter().filter(|range| !said.is_empty() && within(range)).copied().collect()
    }

    /// Stretches of words from one comma, `and` or `or` to the next.
    fn split(&self) -> Vec<(usize, usize)> {
        let words = self.reading.words();
        let joining = self.hits().filter(|h| h.is(PhraseRole::And) || h.is(PhraseRole::Or));
        let joining: Vec<_> = joining.map(|h| h.start..h.end).collect();
        let joins = |at: usize| joining.iter().any(|range| range.contains(&at));
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (at, (word, _)) in words.iter().enumerate() {
            let same_clause = at > 0 && words.get(at - 1).is_some_and(|w| w.clause == word.clause);
            match found.last_mut().filter(|_| same_clause && !joins(at)) {
                Some(segment) => segment.1 = at + 1,
                None => found.push((at, at + 1)),
            }
        }
        found
    }

    /// Whether it names a text: one that a result showed by itself may stand anywhere, any other only as
    /// a whole.
    fn names_text(&self, history: &History, param: &Param, text: &str) -> bool {
        let shown = history.identifiers().get(text).is_some();
        if shown && self.spaced().contains(Words::new(text).spaced()) {
            return true;
        }
        self.holds_text(param, text)
    }

    /// Whether it names the owners of these addresses, numbers or identifiers and nobody else. What is
    /// written out decides; else full names do.
    fn names_owners(&self, history: &History, values: &[&str]) -> bool {
        if values.is_empty() {
            return false;
        }
        let is_one_of = |v: &str| values.iter().any(|w| same(v, w));
        let literal: Vec<&str> = self.words().filter(|w| is_mail(w)).collect();
        let mails = values.iter().all(|v| is_mail(v));
        if mails && !literal.is_empty() {
            return literal.iter().all(|l| is_one_of(l)) && values.iter().all(|v| literal.iter().any(|l| same(l, v)));
        }
        if let [number] = values
            && is_phone(number)
        {
            let spoken = numbers::phones(self.reading);
            if !spoken.is_empty() {
                return spoken.iter().any(|s| same(s, number));
            }
        }
        let spaced = self.spaced();
        if values.iter().all(|v| spaced.contains(Words::new(v).spaced())) {
            return true;
        }
        let mut left = OWNERS;
        let spend = |steps: usize| {
            left = left.checked_sub(steps).ok_or(())?;
            Ok::<(), ()>(())
        };
        // In a crowd that nobody can look through nobody is named.
        let Ok(owners) = Owners::seen(history, spend) else { return false };
        let named = values.iter().all(|v| owners.named(v, spaced));
        named && values.first().is_some_and(|like| owners.meant(like, spaced).iter().all(|v| is_one_of(v)))
    }
}

/// The words that a schema's word joins, lower-case.
fn parts(member: &str) -> Vec<String> {
    member.split(['_', ':', ' ', '-']).filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}

/// What stands between quotation marks, over line breaks too, as words with a space before and after.
/// An apostrophe inside a word is none.
fn quotations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, n)| *n);
        let closes = match open {
            Some(('\'' | '‘', _)) => matches!(c, '\'' | '’') && !next.is_alphanumeric(),
            Some(_) => matches!(c, '"' | '”' | '“' | '»'),
            None => false,
        };
        let opens = match c {
            '"' | '“' | '„' | '«' => true,
            '\'' | '‘' => !before.is_alphanumeric() && next.is_alphanumeric(),
            _ => false,
        };
        match open {
            Some((_, start)) if closes => {
                found.push(Words::new(text.get(start..at).unwrap_or_default()).spaced().to_owned());
                open = None;
            }
            None if opens => open = Some((c, at + c.len_utf8())),
            _ => {}
        }
        before = c;
    }
    found
}
