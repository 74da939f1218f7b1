//! The engine's front: one draft in, everything the policy says about it out.

use super::debts::{Debt, Excess, Owed, Settled};
use super::demand::{each_rule, triggers};
use super::disclose::disclose;
use super::excess::excess;
use super::judge::judge;
use super::plan::{Plan, Planned};
use super::reply::judge_reply;
use super::settle::settle;
use crate::model::Draft;
use crate::policy::{Advice, Frame, Policy, Rule};
use crate::state::History;

/// What the policy owes for a draft (design §4).
///
/// With [`Advice::Remedies`] the amended draft carries every companion that may be inserted; with
/// [`Advice::None`] it is the draft itself and every companion is open.
pub fn owed(policy: &Policy, history: &History, draft: &Draft, advice: Advice) -> Owed {
    let mut plan = Plan::new(policy, history, draft);
    let found = excess(policy, history, &plan);
    if advice == Advice::Remedies {
        shrink(policy, history, &mut plan, &found);
    }
    let settled = settle(policy, history, plan);
    let reply = settled.plan.counts.reply.clone();
    let mut owed = Owed { excess: found, reply, ..Owed::default() };
    judge(policy, history, &settled, &mut owed);
    owed.conflicts.extend(settled.conflicts);
    owed.reads.extend(settled.reads);
    owed.debts = settled.debts;
    if advice == Advice::None {
        owed.debts.iter_mut().for_each(open);
        // Findings about companions that will not be inserted would speak of calls nobody made.
        let count = draft.calls.len();
        owed.consents.retain(|c| c.call < count);
        owed.amended = draft.clone();
        let plan = Plan::new(policy, history, draft);
        owed.after = plan.after().cloned().unwrap_or_default();
        owed.before = plan.worlds;
    } else {
        owed.amended = settled.plan.draft(history, draft);
        owed.changed = owed.amended.calls != draft.calls;
        owed.after = settled.plan.after().cloned().unwrap_or_default();
        owed.before = settled.plan.worlds;
    }
    if let Some(reply) = draft.reply.as_deref().filter(|_| draft.calls.is_empty() && draft.malformed.is_empty()) {
        judge_reply(policy, history, &settled.plan.counts, &mut owed);
        disclose(policy, history, reply, &settled.plan.counts, &mut owed);
    }
    owed
}

fn open(debt: &mut Debt) {
    debt.settled = Settled::Open;
}

/// Replaces calls in excess by the ones that would have been enough. A draft of which nothing would be
/// left stays as it is: the student has to say what it wants instead.
fn shrink(policy: &Policy, history: &History, plan: &mut Plan, found: &[Excess]) {
    if found.is_empty() || (plan.calls.len() == 1 && found.iter().all(|e| e.instead.is_empty())) {
        return;
    }
    let mut order: Vec<&Excess> = found.iter().collect();
    order.sort_by_key(|e| std::cmp::Reverse(e.call));
    let mut last = None;
    for excess in order.into_iter().filter(|e| last.replace(e.call) != Some(e.call)) {
        let Some(from) = plan.calls.get(excess.call).map(|p| p.from) else { continue };
        let instead = excess.instead.iter().map(|c| Planned::new(policy, history, c.clone(), from)).collect::<Vec<_>>();
        plan.calls.splice(excess.call..=excess.call, instead);
    }
    plan.project(policy, history);
}

/// Hands out every rule that a draft triggers, once an item, with the frame it would be evaluated
/// on: for benches, and for tools that show how a rule came out.
pub fn visit(policy: &Policy, history: &History, draft: &Draft, look: &mut dyn FnMut(&Rule, &dyn Frame)) {
    let plan = Plan::new(policy, history, draft);
    for because in triggers(policy, history, &plan) {
        each_rule(policy, history, &plan, because, |_, rule, frame| look(rule, frame));
    }
}
