//! Enumeration: a rule's program over samples of everything that it reads.

use std::collections::BTreeSet;

use super::domain::Domain;
use super::expr::{Expr, Path};
use super::subject::Env;
use crate::policy::{PolicyParts, Rule, Slot, SlotIx, Truth, Val, evaluate};
use serde_json::Value as Json;

/// Ranges up to this many values are walked whole.
const WHOLE: i64 = 128;
/// Most argument combinations and most states of one enumeration.
const CALLS: usize = 512;
const STATES: usize = 512;

/// What an enumeration counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Argument combinations.
    pub(super) calls: usize,
    /// Of which this many are denied in every state.
    pub(super) dead: usize,
    /// Combinations of arguments and state.
    pub(super) cases: usize,
    /// Of which the rule fires in so many.
    pub(super) fires: usize,
    /// Nothing was left out: every value of everything that the rule reads was tried.
    pub(super) whole: bool,
}

/// One sampled value.
#[derive(Debug, Clone, PartialEq)]
enum Sample {
    Absent,
    Bool(bool),
    Int(i64),
    Word(String),
    Parts(String),
}

struct Axis {
    slot: SlotIx,
    samples: Vec<Sample>,
    input: bool,
}

struct Frame<'a> {
    axes: &'a [Axis],
    at: &'a [usize],
}

impl crate::policy::Frame for Frame<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        let found = self.axes.iter().zip(self.at).find(|(axis, _)| axis.slot == slot);
        match found.and_then(|(axis, at)| axis.samples.get(*at)) {
            Some(Sample::Absent) => Val::Absent,
            Some(Sample::Bool(b)) => Val::Bool(*b),
            Some(Sample::Int(n)) => Val::Int(*n),
            Some(Sample::Word(word)) => Val::Word(word),
            Some(Sample::Parts(word)) => Val::Parts(word),
            None => Val::Unknown,
        }
    }
}

/// Walks a rule over one kind of request. `None` where it reads what has no samples.
pub(super) fn walk(parts: &PolicyParts, rule: &Rule, env: &Env, condition: &Expr) -> Option<Counts> {
    let mut slots: Vec<SlotIx> = rule.when.slots().collect();
    slots.sort_unstable_by_key(|s| s.0);
    slots.dedup();
    let constants = Constants::of(condition);
    let mut whole = true;
    let mut axes = Vec::new();
    for ix in slots {
        let slot = parts.tables.slot(ix)?;
        let (samples, complete) = samples(parts, env, slot, &constants)?;
        whole &= complete;
        axes.push(Axis { slot: ix, samples, input: matches!(slot, Slot::Input { .. }) });
    }
    axes.sort_by_key(|axis| !axis.input);
    let inputs = axes.iter().filter(|a| a.input).count();
    let sizes: Vec<usize> = axes.iter().map(|a| a.samples.len()).collect();
    let (calls, all_calls) = combinations(sizes.get(..inputs)?, CALLS);
    let (states, all_states) = combinations(sizes.get(inputs..)?, STATES);
    let mut counts = Counts { whole: whole && all_calls && all_states, ..Counts::default() };
    for call in &calls {
        let mut always = true;
        for state in &states {
            let at: Vec<usize> = call.iter().chain(state).copied().collect();
            let truth = evaluate(&rule.when, &parts.tables, &Frame { axes: &axes, at: &at });
            counts.cases += 1;
            counts.fires += usize::from(truth == Truth::True);
            always &= truth == Truth::True;
        }
        counts.calls += 1;
        counts.dead += usize::from(always);
    }
    Some(counts)
}

/// All combinations of positions, or so many spread evenly over them.
fn combinations(sizes: &[usize], most: usize) -> (Vec<Vec<usize>>, bool) {
    let total = sizes.iter().try_fold(1_usize, |product, n| product.checked_mul(*n)).unwrap_or(usize::MAX);
    let taken = total.min(most);
    let spread = |k: usize| {
        if total <= most { k } else { (u128::from(k as u64) * (total as u128) / (taken as u128)) as usize }
    };
    let decode = |mut number: usize| {
        let digit = |size: &usize| {
            let digit = number.checked_rem(*size).unwrap_or_default();
            number = number.checked_div(*size).unwrap_or_default();
            digit
        };
        sizes.iter().map(digit).collect()
    };
    ((0..taken).map(spread).map(decode).collect(), total <= most)
}

/// Constants of a condition, from which samples are drawn.
#[derive(Debug, Default)]
struct Constants {
    numbers: BTreeSet<i64>,
    words: BTreeSet<String>,
}

impl Constants {
    fn of(condition: &Expr) -> Self {
        let mut found = Self::default();
        condition.walk(&mut |expr| match expr.0.get("Value") {
            Some(Json::Number(n)) => found.numbers.extend(n.as_i64()),
            Some(Json::String(word)) => {
                found.words.insert(word.clone());
            }
            _ => {}
        });
        found
    }
}

/// Samples of a slot, and whether they are all there is.
fn samples(parts: &PolicyParts, env: &Env, slot: &Slot, constants: &Constants) -> Option<(Vec<Sample>, bool)> {
    if let Slot::Input { path, .. } = slot {
        let whole: Path = ["context", "input"].map(str::to_owned).into_iter().chain([path.clone()]).collect();
        let required = parts.param_of(env, &whole).is_some_and(|p| p.required);
        let (mut found, complete) = of_domain(&parts.domain(env, &whole), constants)?;
        found.extend((!required).then_some(Sample::Absent));
        return Some((found, complete));
    }
    of_domain(&slot_domain(parts, env, slot), constants)
}

fn slot_domain(parts: &PolicyParts, env: &Env, slot: &Slot) -> Domain {
    let at = |path: &[&str]| parts.domain(env, &path.iter().map(|p| (*p).to_owned()).collect::<Path>());
    let name = |ix| parts.model.attribute(ix).map(|a| a.name.as_str()).unwrap_or_default();
    match slot {
        Slot::Resource { attribute, .. } => at(&["resource", name(*attribute)]),
        Slot::Car { attribute, .. } => at(&["context", "car", name(*attribute)]),
        Slot::Addressed | Slot::Read(_) | Slot::Called(_) | Slot::LastError | Slot::Reply(_) => Domain::Switch,
        Slot::Draft(feature) => {
            use crate::policy::DraftFeature;
            match feature {
                DraftFeature::Calls => at(&["context", "draft", "calls"]),
                DraftFeature::Writes => at(&["context", "draft", "writes"]),
                DraftFeature::Group(ix) => {
                    let group = parts.model.groups.get(usize::from(ix.0)).map(|(name, _)| name.as_str());
                    at(&["context", "draft", group.unwrap_or_default()])
                }
            }
        }
        Slot::Now(field) => at(&["context", "now", field.name()]),
        Slot::Observed { observation, field } => {
            let observation = parts.model.observations.get(usize::from(*observation));
            let field = observation.and_then(|o| Some((o, o.fields.get(usize::from(*field))?)));
            field.map_or(Domain::Open, |(o, f)| at(&["context", &o.name, &f.name]))
        }
        Slot::Derived { derived, .. } => {
            let derived = parts.derived.get(usize::from(*derived));
            derived.map_or(Domain::Open, |d| at(&["context", &d.name]))
        }
        Slot::Listed { .. } => Domain::Range(0, 1_000_000),
        Slot::Legs(crate::policy::LegFeature::Declared(_)) => Domain::Switch,
        Slot::Legs(_) => Domain::Range(0, 1_000_000),
        Slot::Input { .. } | Slot::Context(_) => Domain::Open,
    }
}

fn of_domain(domain: &Domain, constants: &Constants) -> Option<(Vec<Sample>, bool)> {
    let words = |words: &[String]| words.iter().cloned().map(Sample::Word).collect();
    match domain {
        Domain::Switch => Some((vec![Sample::Bool(false), Sample::Bool(true)], true)),
        Domain::Range(low, high) if high.saturating_sub(*low) < WHOLE => {
            Some(((*low..=*high).map(Sample::Int).collect(), true))
        }
        Domain::Range(low, high) => {
            let ends = [*low, *high, low.saturating_add(*high) / 2];
            let near = constants.numbers.iter().flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]);
            let all: BTreeSet<i64> = ends.into_iter().chain(near).filter(|n| n >= low && n <= high).collect();
            Some((all.into_iter().map(Sample::Int).collect(), false))
        }
        Domain::Words(members) => Some((words(members), true)),
        Domain::Parts(parts) => {
            let joined = (0_usize..1 << parts.len().min(6)).map(|mask| {
                let chosen = parts.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
                Sample::Parts(chosen.map(|(_, part)| part.as_str()).collect::<Vec<_>>().join("_"))
            });
            Some((joined.filter(|s| *s != Sample::Parts(String::new())).collect(), true))
        }
        Domain::Text => {
            let other = ["another", "yet another"].map(str::to_owned);
            Some((constants.words.iter().cloned().chain(other).map(Sample::Word).collect(), false))
        }
        Domain::Open => None,
    }
}
