//! Calls of one draft that contradict each other.

use std::collections::HashMap;

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, Value};
use crate::state::CellIx;

gate! {
    /// No two calls of one draft set the same field to different values.
    ///
    /// # Why
    /// Calls of one message run in parallel: which of the two stands afterwards is chance.
    ///
    /// # Blocks
    /// `open_close_window(window: DRIVER, percentage: 0)` beside
    /// `open_close_window(window: ALL, percentage: 50)`.
    ///
    /// # Allows
    /// The same value twice, different fields, and companions that the harness put after their cause.
    /// What may not run in parallel for another reason is a rule on a group of tools.
    ///
    /// # Remedy
    /// None: the student keeps one, or makes them one after the other.
    "batch-conflict", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let mut set: HashMap<CellIx, (usize, Value)> = HashMap::new();
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        let mut with = None;
        for written in view.policy.model.writes(tool, &call.arguments, view.history.side()) {
            view.spend(1)?;
            if !written.value.is_known() {
                continue;
            }
            let (first, value) = set.entry(written.cell).or_insert_with(|| (at, written.value.clone()));
            if *value != written.value {
                with = with.or(Some((*first, written.cell)));
            }
        }
        let Some((first, cell)) = with else { continue };
        let field = view.policy.model.field_name(cell).unwrap_or_default();
        let other = view.draft.calls.get(first).map(ToString::to_string).unwrap_or_default();
        let because = format!("`{call}` and `{other}` set `{field}` to different values in one message");
        findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use serde_json::{Value as Json, json};

    fn found(first: Json, second: Json) -> usize {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("the doors").history();
        check(&GATE, &policy, &history, &calls(&[("move_door", first), ("move_door", second)])).len()
    }

    fn door(door: &str, percentage: i64) -> Json {
        json!({"door": door, "percentage": percentage})
    }

    #[test]
    fn blocks_two_values_for_one_field_also_by_the_collective_value() {
        assert_eq!(found(door("OVEN", 0), door("OVEN", 50)), 1);
        assert_eq!(found(door("ALL", 50), door("OVEN", 0)), 1);
    }

    #[test]
    fn allows_one_value_twice_and_two_items() {
        assert_eq!(found(door("ALL", 50), door("OVEN", 50)), 0);
        assert_eq!(found(door("DISHWASHER", 0), door("OVEN", 50)), 0);
    }
}
