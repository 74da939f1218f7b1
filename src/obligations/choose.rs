//! Several values demanded for one field: which one satisfies everybody.

use super::demand::{Demand, each_rule};
use super::plan::{Plan, Planned};
use crate::model::Value;
use crate::policy::{Policy, RuleIx, Truth, evaluate};
use crate::state::{CellIx, History};

/// Rivals for one field.
#[derive(Debug)]
pub(super) struct Rivals {
    /// The field.
    pub(super) cell: CellIx,
    /// The rules that demand a value for it.
    pub(super) rules: Vec<RuleIx>,
    /// The different calls, one a value.
    pub(super) calls: Vec<Planned>,
}

/// Fields for which the demands name different values.
pub(super) fn rivals(policy: &Policy, history: &History, demands: &[Demand]) -> Vec<Rivals> {
    let mut all: Vec<Rivals> = Vec::new();
    for demand in demands {
        for planned in demand.items.iter().flat_map(|(_, calls)| calls) {
            for cell in &planned.writes {
                match all.iter_mut().find(|r| r.cell == *cell) {
                    Some(known) => {
                        if !known.rules.contains(&demand.rule) {
                            known.rules.push(demand.rule);
                        }
                        let value = value(policy, history, planned, *cell);
                        if !known.calls.iter().any(|c| self::value(policy, history, c, *cell) == value) {
                            known.calls.push(planned.clone());
                        }
                    }
                    None => all.push(Rivals { cell: *cell, rules: vec![demand.rule], calls: vec![planned.clone()] }),
                }
            }
        }
    }
    all.retain(|r| r.calls.len() > 1);
    all
}

/// The value a call would give a field.
pub(super) fn value(policy: &Policy, history: &History, planned: &Planned, cell: CellIx) -> Value {
    let Some(tool) = planned.tool else { return Value::Unknown };
    policy
        .model
        .writes(tool, &planned.call.arguments, history.side())
        .into_iter()
        .find(|w| w.cell == cell)
        .map_or(Value::Unknown, |w| w.value)
}

/// Among rival values, those under whose projection none of the demanding rules is violated, and of
/// these the nearest to the current value (fan 2 over fan 1). `None`: they cannot all be met.
pub(super) fn choose(
    policy: &Policy,
    history: &History,
    plan: &Plan,
    demands: &[Demand],
    rivals: &Rivals,
) -> Option<Planned> {
    let now = &history.world().get(rivals.cell).value;
    let mut fitting: Vec<&Planned> =
        rivals.calls.iter().filter(|c| fits(policy, history, plan, demands, rivals, c)).collect();
    fitting.sort_by_key(|c| distance(now, &value(policy, history, c, rivals.cell)));
    fitting.first().map(|c| (*c).clone())
}

fn fits(
    policy: &Policy,
    history: &History,
    plan: &Plan,
    demands: &[Demand],
    rivals: &Rivals,
    candidate: &Planned,
) -> bool {
    let mut trial = plan.clone();
    trial.calls.push(candidate.clone());
    trial.project(policy, history);
    let mut violated = false;
    for demand in demands.iter().filter(|d| rivals.rules.contains(&d.rule)) {
        each_rule(policy, history, &trial, demand.trigger, |ix, rule, frame| {
            let same_item = demand.items.iter().any(|(item, _)| *item == frame.item);
            if ix == demand.rule && same_item && evaluate(&rule.when, &policy.tables, frame) != Truth::False {
                violated = true;
            }
        });
    }
    !violated
}

fn distance(now: &Value, value: &Value) -> u64 {
    match (now, value) {
        (Value::Int(now), Value::Int(value)) => now.abs_diff(*value),
        (now, value) if now == value => 0,
        _ => u64::MAX,
    }
}
