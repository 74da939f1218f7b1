//! What a call works on is there before it.

use serde_json::Value as Json;

use super::tour::{edit, stops};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::state::Stop;

gate! {
    /// A call works on something that is there: judged on the state just before it, not after its own effect.
    ///
    /// # Why
    /// A stop that is not on the tour cannot be removed, replaced or followed. Preconditions that a
    /// policy states in words are rules and come through `obligations`.
    ///
    /// # Blocks
    /// An edit that names a stop which the last known tour does not hold, or that needs a neighbour where
    /// there is none: the start has no stop before it, the destination none after it. An edit that takes
    /// a stop away and sets no leg, for any stop but the last: the tour would have a gap there.
    ///
    /// # Allows
    /// Stops of the tour, also those that an earlier call of the same draft brings, and edits of a tour
    /// that is not known.
    ///
    /// # Remedy
    /// None: name a stop of the tour, or tell the driver that there is none such.
    "state-precondition", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        let Some((tour, edit)) = edit(view, tool) else { continue };
        let world = view.owed.before.get(at).unwrap_or_else(|| view.history.world());
        let Some(stops) = stops(view, tour, world) else { continue };
        for argument in &edit.present {
            view.spend(stops.len())?;
            let Some(Json::String(stop)) = call.arguments.get(argument) else { continue };
            if !stops.iter().any(|s| s.as_ref() == stop) {
                let because =
                    format!("`{stop}` in `{argument}` of `{}` is no stop of the tour: {}", call.tool, stops.join(", "));
                findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
            }
        }
        for argument in edit.present.iter().filter(|_| edit.legs.is_empty()) {
            let Some(stop) = call.arguments.get(argument).and_then(Json::as_str) else { continue };
            let Some(last) = stops.last().map(AsRef::as_ref).filter(|last| *last != stop) else { continue };
            if stops.iter().any(|s| s.as_ref() == stop) {
                let because = format!(
                    "`{stop}` in `{argument}` of `{}` is not the last stop, `{last}`, and no leg would close the gap: {}",
                    call.tool,
                    stops.join(", ")
                );
                findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
            }
        }
        for stop in edit.legs.iter().flat_map(|leg| [&leg.from, &leg.to]).flatten() {
            let (argument, edge, what) = match stop {
                Stop::Before(argument) => (argument, stops.first(), "ahead of"),
                Stop::After(argument) => (argument, stops.last(), "behind"),
                _ => continue,
            };
            let named = call.arguments.get(argument).and_then(Json::as_str);
            if named.is_some() && named == edge.map(AsRef::as_ref) {
                let because = format!(
                    "`{}` in `{argument}` of `{}` has no stop {what} it: {}",
                    named.unwrap_or_default(),
                    call.tool,
                    stops.join(", ")
                );
                findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen, parts, tour};
    use super::*;
    use crate::model::PolicyHash;
    use crate::policy::Policy;
    use serde_json::json;

    fn found(table: &str) -> usize {
        let policy = kitchen();
        let draft = calls(&[("skip_table", json!({"table_id": table, "path_id": "pat_13"}))]);
        check(&GATE, &policy, &tour(Talk::new(&policy)), &draft).len()
    }

    #[test]
    fn blocks_a_stop_that_is_not_on_the_tour() {
        assert_eq!(found("tab_4"), 1);
    }

    #[test]
    fn blocks_a_stop_without_the_neighbour_that_the_call_needs() {
        assert_eq!((found("tab_1"), found("tab_3")), (1, 1));
    }

    #[test]
    fn blocks_a_stop_taken_away_without_a_leg_over_the_gap_unless_it_is_the_last() {
        let mut parts = parts();
        let skip = parts.inventory.iter().position(|t| t.name.as_str() == "skip_table").unwrap();
        parts.model.tools[skip].tour.legs.clear();
        let policy = Policy::new(parts, PolicyHash([7; 32])).unwrap();
        let found = |table: &str| {
            let draft = calls(&[("skip_table", json!({"table_id": table, "path_id": "pat_13"}))]);
            check(&GATE, &policy, &tour(Talk::new(&policy)), &draft).len()
        };
        assert_eq!((found("tab_1"), found("tab_2"), found("tab_3")), (1, 1, 0));
        assert_eq!(found("tab_4"), 1, "a stop that is not there is told once");
    }

    #[test]
    fn allows_a_stop_in_between_and_a_tour_that_is_not_known() {
        assert_eq!(found("tab_2"), 0);
        let policy = kitchen();
        let draft = calls(&[("skip_table", json!({"table_id": "tab_4", "path_id": "pat_13"}))]);
        assert_eq!(check(&GATE, &policy, &Talk::new(&policy).driver("skip table 4").history(), &draft), []);
    }
}
