//! Text beside calls: one of the two would be ignored, so the text is dropped and never spoken.

use crate::model::{Draft, Finding, Tier};

/// The gate's name (design §5); it repairs itself and never changes the verdict.
pub(super) const NAME: &str = "mixed-message";

/// Drops the reply of a draft that also acts.
pub(super) fn unmix(draft: &mut Draft) -> Option<Finding> {
    if draft.calls.is_empty() || draft.reply.is_none() {
        return None;
    }
    draft.reply = None;
    Some(Finding::new(NAME, Tier::Owed, "text beside calls is dropped: what happened is said when it has happened"))
}
