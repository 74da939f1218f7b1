//! Which numbers of a text are meant for an argument: by unit and by nearness to the action.

use crate::policy::{Hit, Meaning, PhraseRole, Policy, Reading};
use crate::state::SetFrom;
use crate::tools::ToolIx;

/// A number that was said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    /// The position of its word.
    pub at: usize,
    /// Its value.
    pub value: f64,
}

/// Numbers of a text that may be meant for an argument of a tool. A number of another unit is not; of
/// several, those in the clause that names the action or its object are; of several there, the one that
/// is the goal (`from 20 to 50`). More than one value left: nobody can tell.
pub(super) fn candidates(
    policy: &Policy,
    reading: &Reading<'_>,
    tool: ToolIx,
    argument: &str,
    counted: impl Fn(&Number) -> bool,
) -> Vec<Number> {
    let own = unit(policy, tool, argument);
    let units: Vec<Meaning> = units(policy);
    let fits = |n: &Number| match unit_after(reading, n.at, &units) {
        Some(said) => own.is_none_or(|own| own == said),
        None => !is_clock(reading, n.at),
    };
    let mut left: Vec<Number> = all(reading).into_iter().filter(|n| counted(n) && fits(n)).collect();
    if own.is_some() {
        // `30 or 50 percent` says the unit of both.
        let shares = |n: &Number| reading.role(PhraseRole::Or).any(|h| h.start == n.at + 1);
        prefer(&mut left, |n| unit_after(reading, n.at, &units) == own || shares(n));
    }
    if is_several(&left) {
        let words = reading.words();
        let clause = |at: usize| words.get(at).map(|w| w.clause);
        let about = |h: &&Hit<'_>| h.names(tool) || h.means(Meaning::Verb(tool));
        let near: Vec<_> = reading.hits().iter().filter(about).map(|h| clause(h.start)).collect();
        prefer(&mut left, |n| near.contains(&clause(n.at)));
    }
    if is_several(&left) && !reading.has(PhraseRole::Or) {
        let goal = |n: &Number| reading.role(PhraseRole::Target).any(|h| h.end == n.at);
        prefer(&mut left, goal);
    }
    left
}

fn is_several(numbers: &[Number]) -> bool {
    numbers.windows(2).any(|pair| matches!(pair, [a, b] if (a.value - b.value).abs() > 1e-9))
}

/// Keeps the preferred ones, where there are any.
fn prefer(numbers: &mut Vec<Number>, preferred: impl Fn(&Number) -> bool) {
    if numbers.iter().any(&preferred) {
        numbers.retain(preferred);
    }
}

/// Every number with its position; `twenty two` is one.
fn all(reading: &Reading<'_>) -> Vec<Number> {
    let mut found: Vec<Number> = reading.numbers().map(|(at, value)| Number { at, value }).collect();
    found.sort_by_key(|n| n.at);
    let mut joined: Vec<Number> = Vec::new();
    for n in found {
        match joined.last_mut() {
            Some(tens)
                if tens.at + 1 == n.at
                    && (20.0..100.0).contains(&tens.value)
                    && tens.value % 10.0 == 0.0
                    && (1.0..10.0).contains(&n.value)
                    && reading.words().text(n.at).starts_with(char::is_alphabetic) =>
            {
                *tens = Number { at: n.at, value: tens.value + n.value };
            }
            Some(same) if same.at == n.at => {}
            _ => joined.push(n),
        }
    }
    joined
}

/// The unit of what an argument sets, as the phrase tables know it.
fn unit(policy: &Policy, tool: ToolIx, argument: &str) -> Option<Meaning> {
    let reads = |from: &SetFrom| matches!(from, SetFrom::Argument { name, .. } if name == argument);
    let set = policy.model.tool(tool)?.sets.iter().find(|s| reads(&s.from))?;
    policy.lexicon().value(&policy.model.attribute(set.attribute)?.unit)
}

/// Every unit that the phrase tables know: those that attributes have.
fn units(policy: &Policy) -> Vec<Meaning> {
    const OTHERS: [&str; 1] = ["minute"];
    let declared = policy.model.attributes().map(|(_, a)| a.unit.as_str());
    let mut units: Vec<Meaning> = Vec::new();
    for meaning in declared.chain(OTHERS).filter_map(|u| policy.lexicon().value(u)) {
        if !units.contains(&meaning) {
            units.push(meaning);
        }
    }
    units
}

fn unit_after(reading: &Reading<'_>, at: usize, units: &[Meaning]) -> Option<Meaning> {
    let next = reading.hits().iter().filter(|h| h.start == at + 1);
    // `km/h` is longer than `km`.
    let found = next.filter_map(|h| Some((h.end, units.iter().copied().find(|u| h.means(*u))?)));
    found.max_by_key(|(end, _)| *end).map(|(_, unit)| unit)
}

fn is_clock(reading: &Reading<'_>, at: usize) -> bool {
    let colon = reading.words().text(at).contains(':');
    colon || reading.role(PhraseRole::Clock).any(|h| h.start == at + 1)
}

/// The phone numbers of a text: runs of digits, written in one or in groups, at least five in all.
pub fn phones(reading: &Reading<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut run = String::new();
    let mut clause = None;
    for (word, text) in reading.words().iter() {
        let digits = text.chars().all(|c| c.is_ascii_digit());
        if !(digits && (clause == Some(word.clause) || run.is_empty())) {
            close(&mut run, &mut found);
        }
        if digits {
            run.push_str(text);
            clause = Some(word.clause);
        }
    }
    close(&mut run, &mut found);
    found
}

fn close(run: &mut String, found: &mut Vec<String>) {
    let number = std::mem::take(run);
    if number.len() >= 5 {
        found.push(number);
    }
}
