//! Repairs whose meaning is certain, made before anything is judged.

use crate::model::Draft;
use crate::policy::Policy;

/// The draft with enumeration members in the inventory's spelling, and whether that changed it.
pub(super) fn repair(policy: &Policy, draft: &Draft) -> (Draft, bool) {
    let mut repaired = draft.clone();
    let mut changed = false;
    for call in &mut repaired.calls {
        if let Some(better) = policy.inventory.get(call.tool.as_str()).and_then(|t| t.repaired(call)) {
            *call = better;
            changed = true;
        }
    }
    (repaired, changed)
}
