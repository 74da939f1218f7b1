//! What the assistant chose by itself is told.

use super::tour::{edit, is_picked, legs, Offered};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::PhraseRole;

gate! {
    /// A reply that follows a choice among alternatives says that there are others.
    ///
    /// # Why
    /// The fastest leg is a good default, but the driver cannot want another one without knowing that
    /// there is one. What else must be told (tolls, differences) are rules and come through
    /// `obligations`.
    ///
    /// # Blocks
    /// The first reply after legs were set in the turn of their look-up, where results offered several
    /// between the same stops, the driver picked none, and the reply speaks of no alternative.
    ///
    /// # Allows
    /// Legs that the driver picked or that have no alternative, and any mention of alternatives.
    ///
    /// # Remedy
    /// None: add how many alternatives there are and ask whether the driver wants to hear them.
    "computed-disclosure", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    if view.reply().is_none_or(|reply| reply.has(PhraseRole::Alternative)) {
        return Ok(());
    }
    let spoke = view.history.driver().last().map_or(0, |u| u.step);
    for past in view.this_turn().filter(|past| past.succeeded()) {
        view.spend(1)?;
        let Some((tour, edit)) = past.tool.and_then(|tool| edit(view, tool)) else { continue };
        let open = |o: &Offered<'_>| !o.others.is_empty() && o.step > spoke;
        for leg in legs(view, &past.call, view.history.world(), tour, edit)? {
            let Some(offered) = leg.offered.filter(open) else { continue };
            if is_picked(view, &offered)? {
                continue;
            }
            let because = format!(
                "`{}` was chosen among {} without the driver, and the reply does not say that there are others",
                leg.id,
                offered.others.len() + 1
            );
            findings.push(Finding::new(NAME, Tier::Hard, because));
            return Ok(());
        }
    }
    Ok(())
}
