//! Calls that change what the policy exempts and nobody asked for.

use super::debts::Excess;
use super::demand::{Because, each_rule};
use super::evidence::evidence;
use super::frame::RuleFrame;
use super::plan::{Plan, Planned};
use super::render;
use super::requested::requested;
use crate::model::ToolCall;
use crate::policy::{Policy, Rule, RuleIx, RuleKind, Truth, evaluate};
use crate::state::{CellIx, History, World};

/// Looks at every call of the student that has the form of an active rule's remedy and changes an
/// item that the rule's condition exempts (design §4, *excess*). What activates the rule may be another
/// call of the draft, or one of ours since the driver last spoke.
pub(super) fn excess(policy: &Policy, history: &History, plan: &Plan) -> Vec<Excess> {
    let mut found: Vec<Excess> = Vec::new();
    if plan.calls.len() > 1 {
        for trigger in 0..plan.calls.len() {
            // What the rule would demand of the car as it is, without the companions under suspicion.
            let mut bare = plan.clone();
            bare.calls
                .retain(|p| p.drafted() == plan.calls.get(trigger).and_then(Planned::drafted) && p.drafted().is_some());
            if bare.calls.is_empty() {
                continue;
            }
            bare.project(policy, history);
            each_rule(policy, history, &bare, Because::Planned(0), |ix, rule, frame| {
                suspect(policy, history, plan, Some(trigger), (ix, rule), frame, &mut found);
            });
        }
    }
    earlier(policy, history, plan, &mut found);
    // Without a changed exempt item nothing is in excess.
    found.retain(|e| !e.because.is_empty());
    found
}

/// The same for rules that a standing call of this turn activates.
fn earlier(policy: &Policy, history: &History, plan: &Plan, found: &mut Vec<Excess>) {
    let tools: Vec<_> = plan.calls.iter().filter_map(|p| p.tool).collect();
    let is_rule =
        |rule: &Rule| rule.kind == RuleKind::AutoAction && rule.remedy.iter().any(|c| tools.contains(&c.tool));
    if !tools.iter().any(|tool| policy.is_remedy(*tool)) {
        return;
    }
    let world = history.world();
    for past in history.standing().into_iter().filter_map(|call| history.call(call)) {
        let Some(tool) = past.tool.filter(|_| past.turn == history.turn()) else { continue };
        for (ix, rule) in policy.rules_of(tool).filter(|(_, rule)| is_rule(rule)) {
            let trigger = (Some(&past.call), &[] as &[CellIx]);
            let mut frame = RuleFrame::new(policy, history, &plan.counts, trigger, (world, world));
            if evaluate(&rule.guard, &policy.tables, &frame) == Truth::False {
                continue;
            }
            frame.look_up(rule);
            let items = policy.model.entity(rule.entity).map_or(0, |e| e.items.len());
            for item in (0_u16..).take(items) {
                frame.item = item;
                suspect(policy, history, plan, None, (ix, rule), &frame, found);
            }
        }
    }
}

/// Puts the calls under suspicion that have the form of a rule's remedy for one item.
fn suspect(
    policy: &Policy,
    history: &History,
    plan: &Plan,
    trigger: Option<usize>,
    (ix, rule): (RuleIx, &Rule),
    frame: &RuleFrame<'_>,
    found: &mut Vec<Excess>,
) {
    if rule.remedy.is_empty() || rule.shadow || policy.model.entity(rule.entity).is_none_or(|e| e.is_singleton()) {
        return;
    }
    let truth = evaluate(&rule.when, &policy.tables, frame);
    for template in &rule.remedy {
        let Some(wanted) = render::call(frame, template) else { continue };
        let wanted = Planned::new(policy, history, wanted, super::plan::From::Rule(ix));
        for (at, planned) in
            plan.calls.iter().enumerate().filter(|(at, p)| Some(*at) != trigger && p.drafted().is_some())
        {
            let Some(tool) = planned.tool.filter(|t| *t == template.tool) else { continue };
            if !same_but_item(policy, &planned.call, &wanted.call) {
                continue;
            }
            let touched: Vec<CellIx> = wanted.writes.iter().copied().filter(|c| planned.writes.contains(c)).collect();
            if touched.is_empty() || requested(policy, history, tool) {
                continue;
            }
            let known = found.iter().position(|e| e.call == at && e.rule == ix);
            match truth {
                Truth::True => {
                    // Owed for this item: part of the replacement, should one be needed.
                    entry(found, known, ix, at).instead.push(wanted.call.clone());
                }
                Truth::False if changes(policy, history, planned, &touched, history.world()) => {
                    let clause = evidence(frame, rule);
                    let entry = entry(found, known, ix, at);
                    if !entry.because.is_empty() {
                        entry.because.push_str("; ");
                    }
                    entry.because.push_str(&clause);
                }
                _ => {}
            }
        }
    }
}

fn entry(found: &mut Vec<Excess>, known: Option<usize>, rule: RuleIx, call: usize) -> &mut Excess {
    let at = known.unwrap_or_else(|| {
        found.push(Excess { rule, call, instead: Vec::new(), because: String::new() });
        found.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "`at` was just found or pushed")]
    &mut found[at]
}

/// Whether two calls of one tool agree in everything but the item.
fn same_but_item(policy: &Policy, a: &ToolCall, b: &ToolCall) -> bool {
    let item =
        policy.inventory.position(a.tool.as_str()).and_then(|t| policy.model.tool(t)).and_then(|e| e.item.as_ref());
    let strip = |call: &ToolCall| {
        let mut call = call.clone();
        if let Some(item) = item {
            call.arguments.remove(&item.argument);
        }
        call.key()
    };
    strip(a) == strip(b)
}

/// Whether a call changes one of these fields, as far as they are known.
fn changes(policy: &Policy, history: &History, planned: &Planned, cells: &[CellIx], world: &World) -> bool {
    cells.iter().any(|cell| {
        let (now, then) = (&world.get(*cell).value, super::choose::value(policy, history, planned, *cell));
        now.is_known() && then.is_known() && *now != then
    })
}
