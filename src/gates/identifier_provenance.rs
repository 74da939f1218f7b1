//! Opaque identifiers come from observations.

use serde_json::Value as Json;

use super::{Exhausted, Findings, View, addresses, gate};
use crate::model::{Finding, Tier};
use crate::tools::{Kind, Param, ParamType};

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
    /// that the student gives to its own plans.
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
            let Some(param) = tool.param(name) else { continue };
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
        findings.push(Finding::new(NAME, Tier::Hard, stray.because).at(stray.at));
    }
    Ok(())
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
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
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
    fn a_member_of_an_enumeration_is_no_identifier() {
        assert_eq!(found("search_recipes", json!({"dish": "bread_rolls_1"})), 0);
    }

    #[test]
    fn a_plan_may_name_itself() {
        assert_eq!(found("keep_plan", json!({"plan_id": "rec_plan"})), 0);
    }
}
