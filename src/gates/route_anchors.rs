//! Legs join the stops that they are set between.

use super::tour::{edit, legs};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// Each leg of a tour begins and ends at the neighbouring stops; the first one begins at the car.
    ///
    /// # Why
    /// A leg that ends elsewhere is refused by the navigation, or leads the driver astray.
    ///
    /// # Blocks
    /// A leg whose described ends differ from the stops it is set between, as the last reading and the
    /// call's own arguments give them; legs in a row where one does not begin where the last one ends.
    ///
    /// # Allows
    /// Legs that fit, legs that no result describes, and edits of a tour that was never read.
    ///
    /// # Remedy
    /// None: look up the leg between the right stops.
    "route-anchors", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        let Some((tour, edit)) = edit(view, tool) else { continue };
        let world = view.owed.before.get(at).unwrap_or_else(|| view.history.world());
        for leg in legs(view, call, world, tour, edit)? {
            let Some(offered) = leg.offered else { continue };
            for (what, is, wanted) in
                [("begins", offered.leg.from, leg.from), ("ends", offered.leg.to, leg.to)]
            {
                let Some(wanted) = wanted.filter(|w| *w != is) else { continue };
                let because = format!(
                    "`{}` of `{}` {what} at {is}, but has to {} at {wanted}; look up the leg between the right stops",
                    leg.id,
                    call.tool,
                    what.trim_end_matches('s')
                );
                findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
            }
        }
    }
    Ok(())
}
