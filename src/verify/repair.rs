//! Repairs whose meaning is certain, made before anything is judged.

use crate::model::Draft;
use crate::obligations::narrowed;
use crate::policy::{Advice, Policy};
use crate::state::History;

/// The draft with enumeration members in the inventory's spelling and, where remedies are applied,
/// with a collective call for the only item that the driver named; and whether that changed it.
pub(super) fn repair(policy: &Policy, history: &History, draft: &Draft, advice: Advice) -> (Draft, bool) {
    let mut repaired = draft.clone();
    let mut changed = false;
    for call in &mut repaired.calls {
        if let Some(better) = policy.inventory.get(call.tool.as_str()).and_then(|t| t.repaired(call)) {
            *call = better;
            changed = true;
        }
        let single = narrowed(policy, history, call).filter(|_| advice == Advice::Remedies);
        if let Some([single]) = single.as_deref() {
            *call = single.clone();
            changed = true;
        }
    }
    (repaired, changed)
}
