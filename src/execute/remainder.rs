//! What is still to be done after a call.

use super::Executed;
use crate::model::{Draft, RuleId, ToolCall};
use crate::obligations::on_failure;
use crate::policy::{Policy, Trigger};
use crate::state::History;

/// What is left of a draft. Whatever it holds is to be verified before it is carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Remainder {
    /// Nothing.
    Finished {
        /// Companions that nobody needs any more, because the call that they belonged to failed.
        dropped: Vec<ToolCall>,
    },
    /// More calls.
    Continue {
        /// What is left to do.
        rest: Draft,
        /// Companions that nobody needs any more, because the call that they belonged to failed.
        dropped: Vec<ToolCall>,
    },
    /// A companion failed, or nobody can tell whether it did: without it the rest must not be done.
    Stopped {
        /// The rule that demanded it.
        rule: RuleId,
        /// Calls that are not made.
        dropped: Vec<ToolCall>,
        /// What the rule declares for this case; may be empty.
        instead: Draft,
    },
}

/// What of the rest is still wanted after a call (design §7).
pub fn remainder(policy: &Policy, history: &History, executed: &Executed) -> Remainder {
    let writes = policy.inventory.get(executed.call.tool.as_str()).is_none_or(|t| t.is_write());
    let succeeded = history.call(executed.reference).is_some_and(|past| past.succeeded());
    let mut rest = executed.rest.clone();
    let mut dropped = Vec::new();
    // A read that failed leaves fields unknown; what that means is for the next check to say.
    if writes && !succeeded {
        if let Some(id) = &executed.call.by {
            let rule = policy.rules().iter().find(|r| r.id == *id);
            let calls = rule.map(|rule| on_failure(policy, history, rule, &executed.call)).unwrap_or_default();
            return Remainder::Stopped { rule: id.clone(), dropped: rest.calls, instead: Draft::calls(calls) };
        }
        (rest.calls, dropped) = orphaned(policy, rest.calls, &executed.call);
    }
    if rest.calls.is_empty() { Remainder::Finished { dropped } } else { Remainder::Continue { rest, dropped } }
}

/// The companions among the calls that are left which a rule demands for what was done, and for each other: without
/// them the car stays as the policy forbids it to be.
pub fn owing(policy: &Policy, history: &History, left: &Draft, done: &[Executed]) -> Draft {
    let succeeded = |executed: &&Executed| history.call(executed.reference).is_some_and(|past| past.succeeded());
    demanded(policy, left, done.iter().filter(succeeded).map(|executed| &executed.call).collect())
}

/// The companions that a rule demands for the first call of a draft, and for each other.
pub fn companions(policy: &Policy, draft: &Draft) -> Draft {
    let Some((first, rest)) = draft.calls.split_first() else { return Draft::default() };
    demanded(policy, &Draft::calls(rest.to_vec()), vec![first])
}

/// The companions among calls which a rule demands for what was made, and for each other.
fn demanded<'c>(policy: &Policy, left: &'c Draft, mut made: Vec<&'c ToolCall>) -> Draft {
    let mut owed = vec![false; left.calls.len()];
    loop {
        let demanded =
            |call: &ToolCall| call.by.as_ref().is_some_and(|rule| made.iter().any(|m| triggers(policy, rule, m)));
        let found = left.calls.iter().zip(&mut owed).find(|(call, owed)| !**owed && demanded(call));
        let Some((call, found)) = found else { break };
        *found = true;
        made.push(call);
    }
    Draft::calls(left.calls.iter().zip(owed).filter(|(_, owed)| *owed).map(|(call, _)| call.clone()).collect())
}

/// Separates companions whose every trigger failed or was dropped itself: nobody asked for windows to
/// close when the air conditioning did not start.
fn orphaned(policy: &Policy, calls: Vec<ToolCall>, failed: &ToolCall) -> (Vec<ToolCall>, Vec<ToolCall>) {
    let (mut kept, mut dropped) = (calls, Vec::new());
    let mut gone = vec![failed.clone()];
    loop {
        let orphan = kept.iter().position(|call| {
            call.by.as_ref().is_some_and(|rule| {
                gone.iter().any(|g| triggers(policy, rule, g)) && !kept.iter().any(|k| triggers(policy, rule, k))
            })
        });
        let Some(at) = orphan else { return (kept, dropped) };
        let call = kept.remove(at);
        gone.push(call.clone());
        dropped.push(call);
    }
}

fn triggers(policy: &Policy, rule: &RuleId, call: &ToolCall) -> bool {
    let Some(tool) = policy.inventory.position(call.tool.as_str()) else { return false };
    let rule = policy.rules().iter().find(|r| r.id == *rule);
    rule.is_some_and(|r| matches!(&r.trigger, Trigger::Calls(tools) if tools.contains(&tool)))
}
