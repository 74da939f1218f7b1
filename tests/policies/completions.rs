//! Three-valued answers (design §3): each true or false that a program gives while something is unknown is its
//! answer on every completion of the unknowns.
//!
//! A rule is tried with the values that its own condition can tell apart, in every combination where these are
//! few, and with every choice of what is hidden.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use obligato::compile::{SetSource, compile};
use obligato::policy::{Frame, Op, PolicyParts, Rule, Slot, SlotIx, Trigger, Truth, Val, evaluate};
use obligato::state::Literal;
use serde_json::Value as Json;

use crate::world::{Pool, Random, Request, Value};

/// Combinations of values, and of what is hidden, up to which a rule is walked whole.
const WHOLE: usize = 1 << 17;
/// Combinations that are drawn for a rule that is not.
const DRAWN: usize = 20_000;

/// A rule's own slots with a value each; none: it is absent.
struct Assigned<'a> {
    slots: &'a [(SlotIx, Vec<Option<Value>>)],
    at: Vec<usize>,
    /// Bits of the slots that are hidden.
    hidden: usize,
}

impl Frame for Assigned<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        let position = self.slots.iter().position(|(s, _)| *s == slot).unwrap();
        if self.hidden >> position & 1 == 1 {
            return Val::Unknown;
        }
        self.slots[position].1[self.at[position]].as_ref().map_or(Val::Absent, Value::val)
    }
}

fn hideable(slot: &Slot) -> bool {
    !matches!(slot, Slot::Input { .. } | Slot::Addressed | Slot::Draft(_) | Slot::Reply(_))
}

/// Values that a condition can tell apart at a slot: its own constants and what lies beside them.
fn choices(parts: &PolicyParts, rule: &Rule, slot: SlotIx, seen: &[Request<'_>]) -> Vec<Option<Value>> {
    let (mut numbers, mut words) = (vec![0], vec!["nothing".to_owned()]);
    let mut take = |literal: &Literal| match literal {
        Literal::Int(i) => numbers.extend([i - 1, *i, i + 1]),
        Literal::Text(text) => words.push(text.clone()),
        Literal::Bool(_) | Literal::Number(_) => {}
    };
    for op in &rule.when.ops {
        match op {
            Op::Constant(at) => take(&parts.tables.constants[usize::from(*at)]),
            Op::InSet(at) => parts.tables.sets[usize::from(*at)].iter().for_each(&mut take),
            Op::Like(at) => take(&Literal::Text(parts.tables.patterns[usize::from(*at)].join("x"))),
            _ => {}
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    words.dedup();
    let plain = |value: Json| Some(Value::Plain(value));
    let absent = seen.iter().any(|request| matches!(request.load(slot), Val::Absent));
    let sort = seen.iter().map(|request| request.load(slot)).find(|v| !matches!(v, Val::Absent)).unwrap();
    let lists = || (0..=words.len().min(3)).map(|n| words.iter().take(n));
    let mut values: Vec<Option<Value>> = match sort {
        Val::Bool(_) => vec![plain(false.into()), plain(true.into())],
        Val::Int(_) => numbers.iter().map(|n| plain((*n).into())).collect(),
        Val::Word(_) => words.iter().map(|w| plain(w.as_str().into())).collect(),
        Val::Parts(_) => lists()
            .map(|chosen| Some(Value::Parts(chosen.cloned().collect::<Vec<_>>().join("_"))))
            .chain([Some(Value::Parts(words.last().cloned().unwrap()))])
            .collect(),
        Val::List(_) => lists().map(|c| Some(Value::List(c.map(|w| Arc::from(w.as_str())).collect()))).collect(),
        _ => lists().map(|chosen| plain(chosen.map(String::as_str).collect())).collect(),
    };
    if absent {
        values.push(None);
    }
    values
}

/// How often a rule was asked, and whether that was every combination.
fn walk(parts: &PolicyParts, rule: &Rule, pool: &Pool, random: &mut Random) -> (usize, bool) {
    let tool = match &rule.trigger {
        Trigger::Calls(tools) => tools.first().copied(),
        Trigger::Reply => None,
    };
    let seen: Vec<Request<'_>> = (0..64).map(|_| Request::new(parts, pool, tool, rule.entity, random)).collect();
    let mut indices: Vec<SlotIx> = rule.when.slots().collect();
    indices.sort_unstable_by_key(|s| s.0);
    indices.dedup();
    let slots: Vec<(SlotIx, Vec<Option<Value>>)> =
        indices.into_iter().map(|slot| (slot, choices(parts, rule, slot, &seen))).collect();
    let hideable: Vec<usize> =
        (0..slots.len()).filter(|at| hideable(parts.tables.slot(slots[*at].0).unwrap())).collect();
    let masks: Vec<usize> = (0..1_usize << hideable.len())
        .map(|chosen| {
            hideable.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, at)| 1 << at).sum()
        })
        .collect();
    let total = slots.iter().try_fold(masks.len(), |n, (_, values)| n.checked_mul(values.len()));
    let whole = total.filter(|total| *total <= WHOLE);
    let mut truths: HashMap<Vec<usize>, Truth> = HashMap::new();
    let rounds = whole.unwrap_or(DRAWN);
    for round in 0..rounds {
        let mut rest = round;
        let mut next = |n: usize| {
            if whole.is_none() {
                return random.below(n);
            }
            let digit = rest % n;
            rest /= n;
            digit
        };
        let hidden = masks[next(masks.len())];
        let at: Vec<usize> = slots.iter().map(|(_, values)| next(values.len())).collect();
        let full = *truths.entry(at.clone()).or_insert_with(|| {
            evaluate(&rule.when, &parts.tables, &Assigned { slots: &slots, at: at.clone(), hidden: 0 })
        });
        let partly = evaluate(&rule.when, &parts.tables, &Assigned { slots: &slots, at, hidden });
        assert_ne!(full, Truth::Unknown, "{} is undecided with everything known", rule.id);
        if matches!(partly, Truth::True | Truth::False) {
            assert_eq!(partly, full, "{} decided with {hidden:b} hidden what a completion denies", rule.id);
        }
        if full == Truth::Error {
            assert_ne!(partly, Truth::True, "{}", rule.id);
        }
    }
    (rounds, whole.is_some())
}

fn hold(set: &SetSource, seed: u64) {
    let parts = compile(set).unwrap_or_else(|errors| panic!("{errors}")).parts;
    let pool = Pool::of(&parts);
    let mut random = Random(seed);
    let walked: Vec<(usize, bool)> = parts.rules.iter().map(|rule| walk(&parts, rule, &pool, &mut random)).collect();
    let whole = walked.iter().filter(|(_, whole)| *whole).count();
    let asked: usize = walked.iter().map(|(n, _)| n).sum();
    println!("{}: {whole} of {} rules in every combination, {asked} answers", parts.id, parts.rules.len());
    assert!(whole * 4 >= parts.rules.len() * 3, "most conditions are small enough to be walked whole");
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn kitchen_answers_hold_for_every_completion() {
    hold(&SetSource::read(&root("tests/policies/kitchen"), None, None).unwrap(), 11);
}

#[test]
fn cabin_answers_hold_for_every_completion() {
    hold(&SetSource::read(&root("policies/cabin"), None, None).unwrap(), 12);
}

#[test]
fn car_bench_answers_hold_for_every_completion() {
    let shared = root("../shared/carbench");
    if !shared.exists() {
        println!("skipped: ../shared/carbench is absent, so there is no prose and no inventory to compile with");
        return;
    }
    let (prose, tools) = (shared.join("policy.md"), shared.join("tools.json"));
    hold(&SetSource::read(&root("policies/car-bench"), Some(&prose), Some(&tools)).unwrap(), 13);
}
