//! The fixpoint: inserts companions until no active rule demands any more.

use std::collections::HashSet;

use super::choose::{choose, rivals};
use super::consent::granted;
use super::debts::{Conflict, Debt, ReadDebt, Settled};
use super::demand::{Because, Demand, call_of, collapse, demands};
use super::plan::{From, Plan, Planned};
use super::requested::requested;
use crate::model::CallKey;
use crate::policy::{Policy, RuleIx, RuleKind};
use crate::state::History;

/// Most rounds of the fixpoint (design §4).
const ROUNDS: usize = 16;

/// A plan with its companions, and what could not be settled.
#[derive(Debug)]
pub(super) struct Settlement {
    pub(super) plan: Plan,
    pub(super) debts: Vec<Debt>,
    pub(super) conflicts: Vec<Conflict>,
    /// Remedies that only read: they must come in an earlier step, so they are reads that are owed.
    pub(super) reads: Vec<ReadDebt>,
    /// Demands that are not to be inserted: the driver wants it otherwise, or nothing can meet them.
    pub(super) waived: HashSet<(RuleIx, u16)>,
}

/// Runs the fixpoint over a plan.
pub(super) fn settle(policy: &Policy, history: &History, plan: Plan) -> Settlement {
    let mut s =
        Settlement { plan, debts: Vec::new(), conflicts: Vec::new(), reads: Vec::new(), waived: HashSet::new() };
    for _ in 0..ROUNDS {
        let mut owed = demands(policy, history, &s.plan);
        for demand in &mut owed {
            demand.items.retain(|(item, _)| !s.waived.contains(&(demand.rule, *item)));
        }
        owed.retain(|d| !d.items.is_empty());
        reconcile(policy, history, &mut s, &mut owed);
        if owed.is_empty() {
            return s;
        }
        // Positions shift with every insertion: later triggers first.
        owed.sort_by_key(|d| std::cmp::Reverse(place(policy, &s.plan, d)));
        for demand in &owed {
            insert(policy, history, &mut s, demand);
        }
        s.plan.project(policy, history);
    }
    let left = demands(policy, history, &s.plan);
    let rules: Vec<RuleIx> = left.iter().map(|d| d.rule).filter(|r| !s.waived.iter().any(|(w, _)| w == r)).collect();
    if !rules.is_empty() {
        let because = format!("{} demand companions without end: {}", names(policy, &rules), clauses(policy, &rules));
        s.conflicts.push(Conflict { call: drafted(&s.plan, left.first()), rules, because, lacking: None });
    }
    s
}

/// Makes rival demands agree, or declares them unsatisfiable.
fn reconcile(policy: &Policy, history: &History, s: &mut Settlement, owed: &mut Vec<Demand>) {
    for rival in rivals(policy, history, owed) {
        match choose(policy, history, &s.plan, owed, &rival) {
            Some(chosen) => {
                for (_, calls) in owed.iter_mut().filter(|d| rival.rules.contains(&d.rule)).flat_map(|d| &mut d.items) {
                    for call in calls.iter_mut().filter(|c| c.writes.contains(&rival.cell)) {
                        *call = chosen.clone();
                    }
                }
            }
            None => {
                let because = format!(
                    "no value satisfies {} at once: {}",
                    names(policy, &rival.rules),
                    clauses(policy, &rival.rules)
                );
                let call = owed.iter().find(|d| rival.rules.contains(&d.rule)).and_then(|d| drafted(&s.plan, Some(d)));
                s.conflicts.push(Conflict { call, rules: rival.rules.clone(), because, lacking: None });
                for demand in owed.iter().filter(|d| rival.rules.contains(&d.rule)) {
                    s.waived.extend(demand.items.iter().map(|(item, _)| (demand.rule, *item)));
                }
            }
        }
    }
    owed.retain_mut(|d| {
        d.items.retain(|(item, _)| !s.waived.contains(&(d.rule, *item)));
        !d.items.is_empty()
    });
}

/// Where a demand's calls go: right after the call that needs them, before it for preconditions;
/// for an earlier call of ours, after the last call that writes what its rule reads.
fn place(policy: &Policy, plan: &Plan, demand: &Demand) -> usize {
    let rule = policy.rule(demand.rule);
    match demand.trigger {
        Because::Planned(at) if rule.is_some_and(|r| r.kind == RuleKind::Precondition) => at,
        Because::Planned(at) => {
            let cells: Vec<_> = demand.items.iter().flat_map(|(_, c)| c).flat_map(|c| &c.writes).collect();
            // A companion that undoes a later call of the draft must come after that call.
            let last = plan.calls.iter().rposition(|p| p.writes.iter().any(|w| cells.contains(&w)));
            last.map_or(at, |l| l.max(at)) + 1
        }
        Because::Standing(_) => {
            let reads =
                |cell| policy.model.owner(cell).is_some_and(|(a, _)| rule.is_some_and(|r| r.reads_after.contains(&a)));
            plan.calls.iter().rposition(|p| p.writes.iter().any(|c| reads(*c))).map_or(plan.calls.len(), |at| at + 1)
        }
    }
}

fn insert(policy: &Policy, history: &History, s: &mut Settlement, demand: &Demand) {
    let Some(rule) = policy.rule(demand.rule) else { return };
    let calls = collapse(policy, history, rule, demand);
    let waive = |s: &mut Settlement| s.waived.extend(demand.items.iter().map(|(item, _)| (demand.rule, *item)));
    let call = drafted(&s.plan, Some(demand));
    if let Some((lacking, fault)) = calls.iter().find_map(|c| {
        policy.inventory.check(&c.call, history.removed()).into_iter().next().map(|f| (c.call.tool.clone(), f.because))
    }) {
        let trigger = call_of(history, &s.plan, demand.trigger).map(ToString::to_string).unwrap_or_default();
        let because = format!("{trigger} needs {}, but {fault} ({})", list(&calls), rule.sentence);
        s.conflicts.push(Conflict { call, rules: vec![demand.rule], because, lacking: Some(lacking) });
        return waive(s);
    }
    let because = demand.because.clone();
    let only_reads = |c: &Planned| c.tool.and_then(|t| policy.inventory.at(t)).is_some_and(|t| !t.is_write());
    if calls.iter().all(only_reads) {
        let text = if because.is_empty() { rule.sentence.to_string() } else { because };
        let reads =
            calls.into_iter().map(|c| ReadDebt { rule: demand.rule, call, read: c.call, because: text.clone() });
        s.reads.extend(reads);
        return waive(s);
    }
    let remedy = |calls: &[Planned]| calls.iter().map(|c| c.call.clone()).collect::<Vec<_>>();
    if let Some(yes) = overwrites(policy, history, &s.plan, &calls) {
        // The driver's own wish against a companion: only the driver can settle that.
        if !yes {
            s.debts.push(Debt {
                rule: demand.rule,
                call,
                remedy: remedy(&calls),
                because,
                settled: Settled::Held,
                overwrites: true,
            });
        }
        return waive(s);
    }
    let needs_yes = |c: &Planned| {
        c.tool.and_then(|t| policy.inventory.at(t)).is_some_and(|t| t.needs_consent || t.outward || t.irreversible)
    };
    let held = calls.iter().any(|c| needs_yes(c) && !granted(policy, history, &c.call, None));
    replace_weaker(s, &calls);
    let at = place(policy, &s.plan, demand).min(s.plan.calls.len());
    s.plan.calls.splice(at..at, calls.iter().cloned());
    let settled = if held { Settled::Held } else { Settled::Inserted };
    s.debts.push(Debt { rule: demand.rule, call, remedy: remedy(&calls), because, settled, overwrites: false });
}

/// Whether calls overwrite what the same draft writes at the driver's request, and if so whether
/// the driver has already said yes to that.
fn overwrites(policy: &Policy, history: &History, plan: &Plan, calls: &[Planned]) -> Option<bool> {
    let clashing: Vec<&Planned> = plan
        .calls
        .iter()
        .filter(|p| p.drafted().is_some() && p.tool.is_some_and(|t| requested(policy, history, t)))
        .filter(|p| calls.iter().any(|c| c.writes.iter().any(|cell| p.writes.contains(cell))))
        .collect();
    if clashing.is_empty() {
        return None;
    }
    Some(clashing.iter().all(|p| granted(policy, history, &p.call, None)))
}

/// Takes out calls whose every effect the new ones replace: a weaker companion of an earlier round,
/// or a value of the student's own that nobody asked for.
fn replace_weaker(s: &mut Settlement, calls: &[Planned]) {
    let replaced =
        |p: &Planned| !p.writes.is_empty() && p.writes.iter().all(|cell| calls.iter().any(|c| c.writes.contains(cell)));
    let gone: Vec<CallKey> = s.plan.calls.iter().filter(|p| replaced(p)).map(|p| p.call.key()).collect();
    s.plan.calls.retain(|p| !replaced(p));
    for debt in &mut s.debts {
        debt.remedy.retain(|c| !gone.contains(&c.key()));
    }
    s.debts.retain(|d| !d.remedy.is_empty());
}

/// The draft's call that a demand goes back to: a companion's own companions go back to the call
/// of the student that started the chain.
fn drafted(plan: &Plan, demand: Option<&Demand>) -> Option<usize> {
    let Because::Planned(at) = demand?.trigger else { return None };
    plan.calls.get(..=at)?.iter().rev().find_map(|p| match p.from {
        From::Student(at) => Some(at),
        From::Rule(_) => None,
    })
}

pub(super) fn names(policy: &Policy, rules: &[RuleIx]) -> String {
    let ids: Vec<String> = rules.iter().filter_map(|r| policy.rule(*r)).map(|r| format!("rule {}", r.id)).collect();
    ids.join(" and ")
}

pub(super) fn clauses(policy: &Policy, rules: &[RuleIx]) -> String {
    let quoted: Vec<String> =
        rules.iter().filter_map(|r| policy.rule(*r)).map(|r| format!("“{}”", r.sentence)).collect();
    quoted.join(" against ")
}

fn list(calls: &[Planned]) -> String {
    calls.iter().map(|c| c.call.to_string()).collect::<Vec<_>>().join(" and ")
}
