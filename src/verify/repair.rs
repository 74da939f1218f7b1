//! Repairs whose meaning is certain, made before anything is judged.

use std::borrow::Cow;

use crate::model::Draft;
use crate::policy::Policy;

/// The draft with enumeration members in the inventory's spelling, and whether that changed it.
pub(super) fn repair<'d>(policy: &Policy, draft: &'d Draft) -> (Cow<'d, Draft>, bool) {
    let mut repaired = Cow::Borrowed(draft);
    let mut changed = false;
    for (at, call) in draft.calls.iter().enumerate() {
        let better = policy.inventory.get(call.tool.as_str()).and_then(|t| t.repaired(call));
        if let Some((better, slot)) = better.and_then(|b| Some((b, repaired.to_mut().calls.get_mut(at)?))) {
            *slot = better;
            changed = true;
        }
    }
    (repaired, changed)
}
