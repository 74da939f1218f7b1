//! Companions: which calls active rules demand, to a fixpoint.

use std::collections::BTreeMap;

use super::evidence::evidence;
use super::frame::RuleFrame;
use super::plan::{From, Plan, Planned};
use super::render;
use crate::model::ToolCall;
use crate::policy::{Policy, Rule, RuleIx, RuleKind, Truth, evaluate};
use crate::state::{CallRef, CellIx, History, Literal};

/// What makes a rule look: a call of the plan, or an earlier call of ours whose effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Because {
    Planned(usize),
    Standing(CallRef),
}

/// One rule that demands calls for some items.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    pub(super) rule: RuleIx,
    pub(super) trigger: Because,
    /// Remedies item by item, each call with the fields it writes.
    pub(super) items: Vec<(u16, Vec<Planned>)>,
    pub(super) because: String,
}

/// Every trigger of a plan: its calls, and standing calls of ours whose rules read what it writes.
pub(super) fn triggers(policy: &Policy, history: &History, plan: &Plan) -> Vec<Because> {
    let mut all: Vec<Because> = (0..plan.calls.len()).map(Because::Planned).collect();
    if plan.calls.iter().any(|p| !p.writes.is_empty()) {
        all.extend(history.standing().into_iter().map(Because::Standing));
    }
    all.retain(|because| tool_of(history, plan, *because).is_some_and(|t| policy.rules_of(t).next().is_some()));
    all
}

pub(super) fn tool_of(history: &History, plan: &Plan, because: Because) -> Option<crate::tools::ToolIx> {
    match because {
        Because::Planned(at) => plan.calls.get(at)?.tool,
        Because::Standing(call) => history.call(call)?.tool,
    }
}

/// Runs `visit` for every rule that a trigger makes look and whose guard is not known to be false,
/// once an item; the frame is set to the item.
pub(super) fn each_rule<'a>(
    policy: &'a Policy,
    history: &'a History,
    plan: &'a Plan,
    because: Because,
    mut visit: impl FnMut(RuleIx, &'a Rule, &mut RuleFrame<'a>),
) {
    let Some(tool) = tool_of(history, plan, because) else { return };
    let (Some(after), Some(call)) = (plan.after(), call_of(history, plan, because)) else { return };
    let none: &[CellIx] = &[];
    for (ix, rule) in policy.rules_of(tool) {
        let (before, writes) = match because {
            Because::Planned(at) => match (plan.before(at), plan.calls.get(at)) {
                (Some(before), Some(planned)) => (before, planned.writes.as_slice()),
                _ => continue,
            },
            // An earlier call binds this draft only through companions, and only where the draft
            // writes what the rule's condition reads (AC that we turned on binds a later window).
            Because::Standing(_) => {
                let reads = |cell: CellIx| policy.model.owner(cell).is_some_and(|(a, _)| rule.reads_after.contains(&a));
                if rule.kind != RuleKind::AutoAction || !plan.calls.iter().flat_map(|p| &p.writes).any(|c| reads(*c)) {
                    continue;
                }
                (history.world(), none)
            }
        };
        let mut frame = RuleFrame::new(policy, history, &plan.counts, (Some(call), writes), (before, after));
        if evaluate(&rule.guard, &policy.tables, &frame) == Truth::False {
            continue;
        }
        if let Because::Planned(at) = because {
            frame.kept = plan.calls.get(at).map(|planned| &planned.legs);
        }
        frame.look_up(rule);
        let items = policy.model.entity(rule.entity).map_or(0, |e| u16::try_from(e.items.len()).unwrap_or(u16::MAX));
        for item in 0..items {
            frame.item = item;
            visit(ix, rule, &mut frame);
        }
    }
}

pub(super) fn call_of<'a>(history: &'a History, plan: &'a Plan, because: Because) -> Option<&'a ToolCall> {
    match because {
        Because::Planned(at) => Some(&plan.calls.get(at)?.call),
        Because::Standing(call) => Some(&history.call(call)?.call),
    }
}

/// Demands of all rules with remedies in the plan as it stands.
pub(super) fn demands(policy: &Policy, history: &History, plan: &Plan) -> Vec<Demand> {
    let mut found: BTreeMap<(RuleIx, Because), Demand> = BTreeMap::new();
    for because in triggers(policy, history, plan) {
        each_rule(policy, history, plan, because, |ix, rule, frame| {
            if rule.remedy.is_empty() || rule.shadow || evaluate(&rule.when, &policy.tables, frame) != Truth::True {
                return;
            }
            let calls: Option<Vec<Planned>> = rule
                .remedy
                .iter()
                .map(|t| {
                    let mut call = render::call(frame, t)?;
                    call.by = Some(rule.id.clone());
                    Some(Planned::new(policy, history, call, From::Rule(ix)))
                })
                .collect();
            // A hole that cannot be filled leaves the rule without a remedy: it is then a breach.
            let Some(calls) = calls else { return };
            let demand = found.entry((ix, because)).or_insert_with(|| Demand {
                rule: ix,
                trigger: because,
                items: Vec::new(),
                because: String::new(),
            });
            let clause = evidence(frame, rule);
            if !clause.is_empty() && !demand.because.contains(&clause) {
                if !demand.because.is_empty() {
                    demand.because.push_str("; ");
                }
                demand.because.push_str(&clause);
            }
            demand.items.push((frame.item, calls));
        });
    }
    found.into_values().collect()
}

/// One call where every item of the entity owes the same and the tool has a collective value; else
/// a call an item (design §4, *granularity*).
pub(super) fn collapse(policy: &Policy, history: &History, rule: &Rule, demand: &Demand) -> Vec<Planned> {
    let each = || demand.items.iter().flat_map(|(_, calls)| calls.iter().cloned()).collect::<Vec<_>>();
    let count = policy.model.entity(rule.entity).map_or(0, |e| e.items.len());
    if count < 2 || demand.items.len() != count {
        return dedup(each());
    }
    let mut collective = Vec::new();
    for (position, template) in rule.remedy.iter().enumerate() {
        let argument = policy.model.tool(template.tool).and_then(|e| e.item.as_ref());
        let Some((name, all)) =
            argument.filter(|i| i.entity == rule.entity).and_then(|i| Some((&i.argument, i.all()?)))
        else {
            return dedup(each());
        };
        let calls: Option<Vec<&Planned>> = demand.items.iter().map(|(_, calls)| calls.get(position)).collect();
        let Some(calls) = calls else { return dedup(each()) };
        let others = |call: &ToolCall| {
            let mut rest = call.clone();
            rest.arguments.remove(name);
            rest.key()
        };
        let Some(first) = calls.first() else { return dedup(each()) };
        if calls.iter().any(|c| others(&c.call) != others(&first.call)) {
            return dedup(each());
        }
        let mut call = first.call.clone();
        call.arguments.insert(name.clone(), Literal::Text(all.to_owned()).to_json());
        collective.push(Planned::new(policy, history, call, first.from));
    }
    collective
}

fn dedup(calls: Vec<Planned>) -> Vec<Planned> {
    let mut unique: Vec<Planned> = Vec::with_capacity(calls.len());
    for planned in calls {
        if !unique.iter().any(|known| known.call.key() == planned.call.key()) {
            unique.push(planned);
        }
    }
    unique
}
