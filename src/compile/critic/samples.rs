//! Enumeration: a rule's program over samples of everything that it reads.

use std::collections::BTreeSet;

use super::domain::Domain;
use super::expr::{Expr, Path};
use super::own::Own;
use super::subject::Env;
use crate::model::Resolution;
use crate::policy::{PolicyParts, Rule, Slot, SlotIx, Truth, Val, When, evaluate};
use crate::state::{AttrType, Condition, Literal, Set, SetFrom};
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

struct Axis<'a> {
    slot: SlotIx,
    samples: Vec<Sample>,
    input: bool,
    /// How the call itself sets it, where that is asked for.
    own: Option<Own<'a>>,
}

struct Frame<'a> {
    parts: &'a PolicyParts,
    axes: &'a [Axis<'a>],
    at: &'a [usize],
}

impl crate::policy::Frame for Frame<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        let Some((axis, at)) = self.axes.iter().zip(self.at).find(|(axis, _)| axis.slot == slot) else {
            return Val::Unknown;
        };
        let own = axis.own.as_ref().and_then(|own| self.own(own));
        own.or_else(|| axis.samples.get(*at).map(value)).unwrap_or(Val::Unknown)
    }
}

impl Frame<'_> {
    /// What the call leaves in a field; none where it leaves the field alone.
    fn own<'s>(&'s self, own: &'s Own<'_>) -> Option<Val<'s>> {
        if own.by_item
            && !self.sampled().any(|(slot, sample)| *slot == Slot::Addressed && *sample == Sample::Bool(true))
        {
            return None;
        }
        let holds = |set: &&&Set| {
            let given = |c: &Condition| c.any_of.iter().any(|constant| self.is(&c.argument, constant));
            set.when.iter().all(given)
        };
        let set = own.sets.iter().rev().find(holds)?;
        Some(match &set.from {
            SetFrom::Constant(constant) => literal(constant, own).unwrap_or(Val::Unknown),
            SetFrom::Argument { name, map } => match self.input(name)?.0 {
                Sample::Absent => Val::Unknown,
                Sample::Word(word) => {
                    let word = map.iter().find(|(from, _)| from == word).map_or(word, |(_, to)| to);
                    if matches!(own.attribute.kind, AttrType::Parts(_)) { Val::Parts(word) } else { Val::Word(word) }
                }
                other => value(other),
            },
        })
    }

    /// Whether an argument has this value.
    fn is(&self, argument: &str, constant: &Literal) -> bool {
        let Some((sample, resolution)) = self.input(argument) else { return false };
        match (sample, super::effects::scaled(constant, resolution)) {
            (Sample::Bool(given), Some(Json::Bool(constant))) => *given == constant,
            (Sample::Int(given), Some(Json::Number(constant))) => constant.as_i64() == Some(*given),
            (Sample::Word(given), Some(Json::String(constant))) => *given == constant,
            _ => false,
        }
    }

    /// An argument, and in what steps it counts.
    fn input(&self, name: &str) -> Option<(&Sample, Resolution)> {
        self.sampled().find_map(|(slot, sample)| match slot {
            Slot::Input { path, resolution } if path == name => Some((sample, *resolution)),
            _ => None,
        })
    }

    fn sampled(&self) -> impl Iterator<Item = (&Slot, &Sample)> {
        let axes = self.axes.iter().zip(self.at);
        axes.filter_map(|(axis, at)| Some((self.parts.tables.slot(axis.slot)?, axis.samples.get(*at)?)))
    }
}

fn value(sample: &Sample) -> Val<'_> {
    match sample {
        Sample::Absent => Val::Absent,
        Sample::Bool(b) => Val::Bool(*b),
        Sample::Int(n) => Val::Int(*n),
        Sample::Word(word) => Val::Word(word),
        Sample::Parts(word) => Val::Parts(word),
    }
}

/// A constant of the effect model as a rule reads it.
fn literal<'l>(constant: &'l Literal, own: &Own<'_>) -> Option<Val<'l>> {
    Some(match constant {
        Literal::Bool(b) => Val::Bool(*b),
        Literal::Text(word) if matches!(own.attribute.kind, AttrType::Parts(_)) => Val::Parts(word),
        Literal::Text(word) => Val::Word(word),
        Literal::Int(_) | Literal::Number(_) => {
            Val::Int(super::effects::scaled(constant, own.attribute.resolution)?.as_i64()?)
        }
    })
}

/// What the call itself does to the field of a slot, where the walk tells it: the arguments that decide it are
/// sampled too.
fn caused<'a>(parts: &'a PolicyParts, env: &Env, slot: &Slot, read: &[&Slot]) -> Option<Own<'a>> {
    let (Slot::Resource { attribute, when: When::After } | Slot::Car { attribute, when: When::After }) = slot else {
        return None;
    };
    let own = parts.own(env, *attribute)?;
    let sampled = |name: &str| read.iter().any(|slot| matches!(slot, Slot::Input { path, .. } if path == name));
    let told = |set: &&Set| {
        let from = match &set.from {
            SetFrom::Argument { name, .. } => sampled(name),
            SetFrom::Constant(_) => true,
        };
        from && set.when.iter().all(|c| sampled(&c.argument))
    };
    (own.sets.iter().all(told) && (!own.by_item || read.contains(&&Slot::Addressed))).then_some(own)
}

/// Walks a rule over one kind of request. `None` where it reads what has no samples. With `as_made` the fields that
/// the call sets are as it set them.
pub(super) fn walk(parts: &PolicyParts, rule: &Rule, env: &Env, condition: &Expr, as_made: bool) -> Option<Counts> {
    let mut slots: Vec<SlotIx> = rule.when.slots().collect();
    slots.sort_unstable_by_key(|s| s.0);
    slots.dedup();
    let constants = Constants::of(condition);
    let mut whole = true;
    let mut axes = Vec::new();
    let read = slots.iter().map(|ix| parts.tables.slot(*ix)).collect::<Option<Vec<&Slot>>>()?;
    for (ix, slot) in slots.iter().zip(&read) {
        let own = caused(parts, env, slot, &read).filter(|_| as_made);
        let (samples, complete) = match &own {
            // The call alone decides it.
            Some(own) if !own.by_item && own.sets.iter().any(|s| s.when.is_empty()) => (vec![Sample::Absent], true),
            _ => samples(parts, env, slot, &constants)?,
        };
        whole &= complete;
        axes.push(Axis { slot: *ix, samples, input: matches!(slot, Slot::Input { .. }), own });
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
            let truth = evaluate(&rule.when, &parts.tables, &Frame { parts, axes: &axes, at: &at });
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
