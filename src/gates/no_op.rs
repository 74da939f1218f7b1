//! Calls that do nothing.

use std::collections::HashSet;

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// No write is made twice in one draft, and one that changes nothing is pointed out.
    ///
    /// # Why
    /// A second mail is a second mail. A write that sets what is set already often means that the
    /// student looked at the wrong field.
    ///
    /// # Blocks
    /// The identical write twice in one draft, where the second one is not known to be without effect
    /// (a message, an edit of a list). The same value set twice, and a write of values that are known to
    /// stand, go before the critic only: a driver may well ask for what is already so.
    ///
    /// # Allows
    /// Writes that change something, and writes of fields that are not known.
    ///
    /// # Remedy
    /// None: leave out the second one.
    "no-op", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let mut made = HashSet::new();
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        view.spend(1)?;
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        let Some(known) = view.policy.inventory.at(tool).filter(|t| t.is_write()) else { continue };
        if !made.insert(call.key()) {
            let because = format!("`{call}` stands twice in this draft");
            let sets = view.policy.model.tool(tool).is_some_and(|e| !e.sets.is_empty() && e.touches.is_empty());
            let tier = if sets && !known.outward && !known.irreversible { Tier::Advisory } else { Tier::Hard };
            findings.push(Finding::new(NAME, tier, because).at(at));
            continue;
        }
        let world = view.owed.before.get(at).unwrap_or_else(|| view.history.world());
        let written = view.policy.model.writes(tool, &call.arguments, view.history.side());
        let stands = |w: &crate::state::Written| w.value.is_known() && world.get(w.cell).value == w.value;
        if !written.is_empty() && written.iter().all(stands) {
            let because = format!("`{call}` changes nothing: everything that it sets stands so already");
            findings.push(Finding::new(NAME, Tier::Advisory, because).at(at));
        }
    }
    Ok(())
}
