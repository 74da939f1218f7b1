//! Whether a text gives a value, and for what.

use crate::policy::{Hit, PhraseRole, Policy, Reading};
use crate::state::{AttrIx, SetFrom};
use crate::tools::{ParamType, ToolIx};

/// A number that a call wants to set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The tool.
    pub tool: ToolIx,
    /// The number, in natural units.
    pub value: f64,
    /// The smallest that the parameter takes.
    pub minimum: Option<f64>,
    /// The largest that it takes.
    pub maximum: Option<f64>,
}

/// What a text says about a wanted number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// It gives the number, for this tool or for nothing in particular.
    Here,
    /// It gives the number, for another tool only.
    Elsewhere(ToolIx),
    /// It does not give it.
    Nowhere,
}

/// How far around a number its subject is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// In the same clause, between one `and` and the next: how people speak.
    Segment,
    /// In the same sentence: how preferences are written down.
    Sentence,
}

/// What a text says about a wanted number: as digits, in words, or as the most or the least that can
/// be set. A number belongs to what is named around it.
pub(super) fn said(policy: &Policy, reading: &Reading<'_>, wanted: &Wanted, scope: Scope) -> Said {
    let mut elsewhere = Said::Nowhere;
    for at in positions(reading, wanted) {
        let around = match scope {
            Scope::Segment => segment(reading, at),
            Scope::Sentence => sentence(reading, at),
        };
        match bound(policy, reading, around, wanted.tool) {
            Some(other) => elsewhere = Said::Elsewhere(other),
            None => return Said::Here,
        }
    }
    elsewhere
}

fn positions(reading: &Reading<'_>, wanted: &Wanted) -> Vec<usize> {
    // A number within `by two levels` is a step, no value.
    let is_step = |at: usize| reading.role(PhraseRole::Relative).any(|h| h.start < at && at < h.end);
    let stated = numbers(reading).into_iter().filter(|(at, n)| same(*n, wanted.value) && !is_step(*at));
    let mut found: Vec<usize> = stated.map(|(at, _)| at).collect();
    let extreme = |bound: Option<f64>| bound.is_some_and(|b| same(b, wanted.value));
    if extreme(wanted.maximum) {
        found.extend(reading.role(PhraseRole::Most).map(|h| h.start));
    }
    if extreme(wanted.minimum) {
        let least = |h: &&Hit<'_>| [PhraseRole::Least, PhraseRole::Off, PhraseRole::Remove].iter().any(|r| h.is(*r));
        found.extend(reading.hits().iter().filter(least).map(|h| h.start));
    }
    found
}

/// Every number of a text with the position of its word, composed ones (`twenty two`) included.
pub fn numbers(reading: &Reading<'_>) -> Vec<(usize, f64)> {
    let mut found: Vec<(usize, f64)> = reading.numbers().collect();
    let composed: Vec<(usize, f64)> = found
        .iter()
        .filter(|(_, tens)| (20.0..100.0).contains(tens) && same(tens % 10.0, 0.0))
        .filter_map(|(at, tens)| {
            let (_, units) = found.iter().find(|(next, n)| *next == at + 1 && (1.0..10.0).contains(n))?;
            Some((*at, tens + units))
        })
        .collect();
    found.extend(composed);
    found
}

/// Whether two numbers are the same, in any resolution that a parameter has.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

/// The other tool that words were said for, when they name that one and not this.
fn bound(policy: &Policy, reading: &Reading<'_>, (start, end): (usize, usize), tool: ToolIx) -> Option<ToolIx> {
    let mut other = None;
    for hit in reading.nouns().filter(|h| (start..end).contains(&h.start)) {
        let meant = subjects(policy, hit);
        if meant.contains(&tool) {
            return None;
        }
        other = other.or_else(|| meant.into_iter().find(|t| takes_number(policy, *t)));
    }
    other
}

/// Tools that a noun stands for. One that only names a reading (`seat heating level`) stands for what
/// sets it.
pub(super) fn subjects(policy: &Policy, noun: &Hit<'_>) -> Vec<ToolIx> {
    let mut meant: Vec<ToolIx> = noun.nouns().collect();
    if meant.iter().any(|t| policy.inventory.at(*t).is_some_and(|t| t.is_write())) {
        return meant;
    }
    let reads = |ix: &AttrIx| policy.model.attribute(*ix).and_then(|a| a.read).is_some_and(|r| meant.contains(&r));
    let writers: Vec<ToolIx> = (0_u16..)
        .map(ToolIx)
        .zip(&policy.model.tools)
        .filter(|(_, effect)| effect.sets.iter().any(|set| reads(&set.attribute)))
        .map(|(ix, _)| ix)
        .collect();
    meant.extend(writers);
    meant
}

/// Whether a text names what a tool acts on, itself or by its reading.
pub(super) fn names(policy: &Policy, reading: &Reading<'_>, tool: ToolIx) -> bool {
    reading.nouns().any(|noun| subjects(policy, noun).contains(&tool))
}

/// The words of the sentence around a position.
fn sentence(reading: &Reading<'_>, at: usize) -> (usize, usize) {
    let words = reading.words();
    let own = words.get(at).map(|w| w.sentence);
    let inside = |i: &usize| words.get(*i).map(|w| w.sentence) == own;
    let start = (0..=at).rev().take_while(inside).last().unwrap_or(at);
    (start, (at..words.len()).take_while(inside).last().map_or(at, |last| last + 1))
}

/// The words around a position, from one comma or `and` to the next.
pub fn segment(reading: &Reading<'_>, at: usize) -> (usize, usize) {
    let words = reading.words();
    let clause = words.get(at).map(|w| w.clause);
    let inside = |i: &usize| words.get(*i).map(|w| w.clause) == clause;
    let mut start = (0..=at).rev().take_while(inside).last().unwrap_or(at);
    let mut end = (at..words.len()).take_while(inside).last().map_or(at, |last| last + 1);
    for and in reading.role(PhraseRole::And) {
        if and.end <= at {
            start = start.max(and.end);
        } else if and.start > at {
            end = end.min(and.start);
        }
    }
    (start, end)
}

/// Whether a unit is said there that nothing else which can be set is measured in: `my side to 22 degrees`.
pub fn says_unit(policy: &Policy, reading: &Reading<'_>, (start, end): (usize, usize), tool: ToolIx) -> bool {
    let units = |ix: ToolIx| {
        let attributes = policy.model.tool(ix).into_iter().flat_map(|e| e.attributes());
        attributes.filter_map(|a| policy.model.attribute(a)).map(|a| a.unit.as_str()).filter(|u| !u.is_empty())
    };
    let said = |unit: &str| {
        let meaning = policy.lexicon().value(unit);
        let mut here = reading.hits().iter().filter(|h| (start..end).contains(&h.start));
        here.any(|h| meaning.is_some_and(|m| h.means(m)))
    };
    let mut others = (0_u16..).map(ToolIx).take(policy.model.tools.len()).filter(|t| *t != tool);
    units(tool).any(|unit| said(unit) && !others.any(|t| units(t).any(|u| u == unit)))
}

/// Whether a tool sets a field from a number.
fn takes_number(policy: &Policy, tool: ToolIx) -> bool {
    let Some(effect) = policy.model.tool(tool) else { return false };
    effect.sets.iter().any(|set| {
        let SetFrom::Argument { name, .. } = &set.from else { return false };
        policy.inventory.at(tool).and_then(|t| t.param(name)).is_some_and(|p| p.kind == ParamType::Number)
    })
}

/// A wish for more or less of what is now.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// By how much, where that was said.
    pub by: Vec<f64>,
    /// Whether it speaks of something else only, so that no more than its value can be meant.
    pub other: bool,
    /// Whether it is to be a small one.
    pub small: bool,
    /// Whether it is to be as something else is.
    pub like: bool,
}

/// The wishes of a text for more, less or the same that may be about a tool. A mere remark
/// (`it's a bit stuffy`) is none: a change is asked for, or the tool's subject or its unit is named.
pub(super) fn steps(policy: &Policy, reading: &Reading<'_>, tool: ToolIx) -> Vec<Step> {
    let mut found = Vec::new();
    for hit in reading.role(PhraseRole::Relative) {
        let (start, end) = segment(reading, hit.start);
        let inside = |h: &&Hit<'_>| (start..end).contains(&h.start);
        let asked = reading
            .hits()
            .iter()
            .filter(inside)
            .any(|h| h.is(PhraseRole::Change) || subjects(policy, h).contains(&tool));
        let asked = asked || says_unit(policy, reading, (start, end), tool);
        let several = reading.role(PhraseRole::Relative).filter(inside).count() > 1;
        let other = bound(policy, reading, (start, end), tool).is_some();
        if asked || several || other {
            let by = numbers(reading).into_iter().filter(|(at, _)| (start..end).contains(at)).map(|(_, n)| n).collect();
            let [small, like] =
                [PhraseRole::Small, PhraseRole::Likeness].map(|role| reading.role(role).any(|h| inside(&h)));
            found.push(Step { by, other, small, like });
        }
    }
    found
}

/// Whether a text says a member of an enumeration, or one of the parts that it joins.
pub(super) fn says_word(policy: &Policy, reading: &Reading<'_>, member: &str) -> bool {
    let member = member.to_lowercase();
    member.split('_').any(|part| {
        let listed = policy.lexicon().value(part);
        reading.words().iter().any(|(_, word)| word == part)
            || reading.hits().iter().any(|h| listed.is_some_and(|l| h.means(l)))
    })
}

/// Whether a tool sets what a person chooses: a number, a word, or which of several items.
pub(super) fn takes_choice(policy: &Policy, tool: ToolIx) -> bool {
    let Some(effect) = policy.model.tool(tool) else { return false };
    let choice = effect.sets.iter().any(|set| {
        let SetFrom::Argument { name, .. } = &set.from else { return false };
        let param = policy.inventory.at(tool).and_then(|t| t.param(name));
        param.is_some_and(|p| matches!(p.kind, ParamType::Number | ParamType::Enum(_)))
    });
    effect.preference.is_some() && (choice || effect.item.is_some())
}
