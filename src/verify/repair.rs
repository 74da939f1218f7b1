//! Repairs whose meaning is certain, made before anything is judged.

use std::borrow::Cow;

use crate::model::{Draft, ToolCall};
use crate::obligations::narrowed;
use crate::policy::{Advice, Policy};
use crate::state::History;

/// The draft with enumeration members in the inventory's spelling and, where remedies are applied,
/// with a collective call for the only item that the driver named; and whether that changed it.
pub(super) fn repair<'d>(
    policy: &Policy,
    history: &History,
    draft: &'d Draft,
    advice: Advice,
) -> (Cow<'d, Draft>, bool) {
    let mut repaired = Cow::Borrowed(draft);
    let mut changed = false;
    for (at, call) in draft.calls.iter().enumerate() {
        let better = better(policy, history, call, advice);
        if let Some((better, slot)) = better.and_then(|b| Some((b, repaired.to_mut().calls.get_mut(at)?))) {
            *slot = better;
            changed = true;
        }
    }
    (repaired, changed)
}

fn better(policy: &Policy, history: &History, call: &ToolCall, advice: Advice) -> Option<ToolCall> {
    let spelt = policy.inventory.get(call.tool.as_str()).and_then(|t| t.repaired(call));
    let named = narrowed(policy, history, spelt.as_ref().unwrap_or(call)).filter(|_| advice == Advice::Remedies);
    match named.as_deref() {
        Some([single]) => Some(single.clone()),
        _ => spelt,
    }
}
