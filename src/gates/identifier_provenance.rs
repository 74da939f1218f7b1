//! Opaque identifiers come from observations.

use serde_json::Value as Json;

use super::tour::edit;
use super::{Exhausted, Findings, View, addresses, gate};
use crate::model::{Finding, Tier};
use crate::tools::{Kind, Param, ParamType, Tool};

gate! {
    /// Every opaque identifier in a call was shown by an earlier result, the system message or the driver.
    ///
    /// # Why
    /// A student may copy identifiers, never invent them: a wrong one names another place, person or route.
    ///
    /// # Blocks
    /// `loc_lux_222378` in a call when no result held exactly that word, also inside lists and nested
    /// members. What an identifier looks like is learned from those that were observed; a parameter
    /// whose name ends in `id` takes nothing else. Mail addresses and phone numbers likewise, in calls
    /// that change or reach something.
    ///
    /// # Allows
    /// Observed identifiers, members of an enumeration that only look like one, free text, and names
    /// that the student gives to its own plans. A stop of a tour whose reading is still owed waits for
    /// that reading and is judged on it.
    ///
    /// # Remedy
    /// None: the identifier must be looked up.
    "identifier-provenance", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.get(call.tool.as_str()) else { continue };
        if tool.kind == Kind::Planning {
            continue;
        }
        for (name, value) in &call.arguments {
            // An unknown parameter is the schema gate's business.
            let Some(param) = tool.param(name).filter(|p| !waits_for_the_tour(view, tool, p)) else { continue };
            walk(view, param, value, &mut |word| {
                let because = format!(
                    "`{word}` in `{name}` of `{}` was never returned by a tool or said by the driver; look it up",
                    tool.name
                );
                findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
            })?;
        }
    }
    for stray in addresses::invented(view)? {
        findings.push(stray.finding(view, NAME));
    }
    Ok(())
}

/// Whether a parameter names a stop of a tour that the policy wants read first: `gather-before-act`
/// demands the read, and the stop is looked for in what it returns.
fn waits_for_the_tour(view: &View<'_>, tool: &Tool, param: &Param) -> bool {
    let ix = view.policy.inventory.position(tool.name.as_str());
    let Some((tour, edit)) = ix.and_then(|ix| edit(view, ix)) else { return false };
    let read = view.policy.model.attribute(tour.stops).and_then(|a| a.read).and_then(|r| view.available(r));
    edit.present.contains(&param.name)
        && read.is_some_and(|read| view.owed.reads.iter().any(|debt| debt.read.tool == read.name))
}

/// Visits every invented identifier among an argument's values.
fn walk(view: &View<'_>, param: &Param, value: &Json, found: &mut impl FnMut(&str)) -> Result<(), Exhausted> {
    view.spend(1)?;
    match value {
        Json::String(word) => {
            let identifiers = view.history.identifiers();
            let is_one = identifiers.looks_like_one(word) || takes_identifiers(param);
            if is_one && identifiers.get(word).is_none() && !param.members().contains(word) {
                found(word);
            }
        }
        Json::Array(items) => items.iter().try_for_each(|item| walk(view, param, item, found))?,
        Json::Object(map) => {
            let ParamType::Object(params) = &param.kind else { return Ok(()) };
            for (name, value) in map {
                if let Some(param) = params.iter().find(|p| p.name == *name) {
                    walk(view, param, value, found)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a parameter is declared to take identifiers: the last part of its name says so.
fn takes_identifiers(param: &Param) -> bool {
    let text = match &param.kind {
        ParamType::Text => true,
        ParamType::List(item) => **item == ParamType::Text,
        _ => false,
    };
    text && param.name.rsplit('_').next().is_some_and(|last| last.trim_end_matches('s').eq_ignore_ascii_case("id"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, call, calls, check, check_owed, kitchen};
    use super::*;
    use crate::obligations::{Owed, ReadDebt};
    use crate::policy::RuleIx;
    use serde_json::json;

    fn found(tool: &str, arguments: Json) -> usize {
        let policy = kitchen();
        let recipes = json!({"recipes": [{"id": "rec_17", "steps": ["stp_1", "stp_2"]}]});
        let history = Talk::new(&policy)
            .driver("bake rolls like in rec_4")
            .done("search_recipes", json!({"dish": "bread_rolls_1"}), recipes)
            .history();
        check(&GATE, &policy, &history, &calls(&[(tool, arguments)])).len()
    }

    #[test]
    fn blocks_an_invented_identifier_also_in_a_list() {
        assert_eq!(found("load_recipe", json!({"recipe_id": "rec_18"})), 1);
        assert_eq!(found("load_recipe", json!({"recipe_id": "rec_17", "step_ids": ["stp_1", "stp_9"]})), 1);
        assert_eq!(found("load_recipe", json!({"recipe_id": "rec_placeholder"})), 1);
    }

    #[test]
    fn blocks_a_prefix_of_an_observed_one_and_a_name_in_its_place() {
        assert_eq!(found("load_recipe", json!({"recipe_id": "rec_1"})), 1);
        assert_eq!(found("load_recipe", json!({"recipe_id": "the rolls"})), 1);
    }

    #[test]
    fn allows_observed_and_spoken_identifiers() {
        assert_eq!(found("load_recipe", json!({"recipe_id": "rec_17", "step_ids": ["stp_2"]})), 0);
        assert_eq!(found("load_recipe", json!({"recipe_id": "rec_4"})), 0);
    }

    #[test]
    fn a_stop_waits_for_the_reading_of_the_tour_that_is_owed_and_is_judged_on_it() {
        let policy = kitchen();
        let draft = calls(&[("skip_table", json!({"table_id": "tab_7", "path_id": "pat_1"}))]);
        let history = Talk::new(&policy).driver("skip the table").history();
        let read = |tool: &str| {
            let read = call(tool, json!({}));
            let debt = ReadDebt { rule: RuleIx(0), call: Some(0), read, because: String::new() };
            let owed = Owed { amended: draft.clone(), reads: vec![debt], ..Owed::default() };
            check_owed(&GATE, &policy, &history, &draft, owed).len()
        };
        assert_eq!(read("get_tour"), 1, "only the path is invented for certain");
        assert_eq!(read("get_oven_state"), 2, "a reading of something else tells no stop");
        assert_eq!(check(&GATE, &policy, &history, &draft).len(), 2);
    }

    #[test]
    fn a_member_of_an_enumeration_is_no_identifier() {
        assert_eq!(found("search_recipes", json!({"dish": "bread_rolls_1"})), 0);
    }

    #[test]
    fn a_plan_may_name_itself() {
        assert_eq!(found("keep_plan", json!({"plan_id": "rec_plan"})), 0);
    }
}
