//! Legs join the stops that they are set between.

use super::tour::{edit, legs};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::state::Tour;

gate! {
    /// Each leg of a tour begins and ends at the neighbouring stops; the first one begins at the car.
    ///
    /// # Why
    /// A leg that ends elsewhere is refused by the navigation, or leads the driver astray.
    ///
    /// # Blocks
    /// A leg whose described ends differ from the stops it is set between, as the last reading and the
    /// call's own arguments give them; legs in a row where one does not begin where the last one ends. A leg
    /// that no result describes, between stops for which some result describes others.
    ///
    /// # Allows
    /// Legs that fit, legs that no result describes where none was looked up, and edits of a tour that was
    /// never read.
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
            let Some(offered) = leg.offered else {
                let Some((from, to)) = leg.from.zip(leg.to) else { continue };
                if looked_up(view, tour, from, to)? {
                    let because = format!(
                        "`{}` of `{}` is none of the legs that were found from {from} to {to}; take one of these",
                        leg.id, call.tool
                    );
                    findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
                }
                continue;
            };
            for (what, is, wanted) in [("begins", offered.leg.from, leg.from), ("ends", offered.leg.to, leg.to)] {
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

/// Results that are looked at.
const RESULTS: usize = 16;

/// Whether a result describes a leg between two stops.
fn looked_up(view: &View<'_>, tour: &Tour, from: &str, to: &str) -> Result<bool, Exhausted> {
    for past in view.history.calls().iter().rev().take(RESULTS) {
        view.spend(16)?;
        if past.payload().is_some_and(|payload| tour.joins(payload, from, to)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen, tour};
    use super::*;
    use serde_json::{Value as Json, json};

    fn found(tool: &str, arguments: Json) -> usize {
        let policy = kitchen();
        check(&GATE, &policy, &tour(Talk::new(&policy)), &calls(&[(tool, arguments)])).len()
    }

    fn swap(to: &str, from: &str) -> Json {
        json!({"table_id": "tab_2", "new_table_id": "tab_4", "path_id_to": to, "path_id_from": from})
    }

    #[test]
    fn blocks_a_leg_that_begins_or_ends_elsewhere() {
        assert_eq!(found("swap_table", swap("pat_14", "pat_14")), 2, "both ends of the second one are wrong");
        assert_eq!(found("skip_table", json!({"table_id": "tab_2", "path_id": "pat_14"})), 1);
    }

    #[test]
    fn blocks_legs_in_a_row_that_do_not_meet_and_a_first_one_away_from_here() {
        assert_eq!(found("start_tour", json!({"path_ids": ["pat_14", "pat_13"]})), 1);
        assert_eq!(found("start_tour", json!({"path_ids": ["pat_43"]})), 1);
    }

    #[test]
    fn blocks_a_leg_that_nobody_described_where_others_were_found() {
        assert_eq!(found("skip_table", json!({"table_id": "tab_2", "path_id": "pat_77"})), 1);
        assert_eq!(found("swap_table", swap("pat_14", "pat_77")), 1);
    }

    #[test]
    fn allows_legs_that_fit_and_legs_that_nobody_described() {
        assert_eq!(found("swap_table", swap("pat_14", "pat_43")), 0);
        assert_eq!(found("skip_table", json!({"table_id": "tab_2", "path_id": "pat_13"})), 0);
        assert_eq!(found("start_tour", json!({"path_ids": ["pat_14", "pat_43"]})), 0);
        assert_eq!(found("start_tour", json!({"path_ids": ["pat_77"]})), 0);
    }
}
