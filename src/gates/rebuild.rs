//! Tearing down to build again.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::Reading;
use crate::state::{AttrIx, Literal, SetFrom};
use crate::tools::ToolIx;

gate! {
    /// What is there is edited, not torn down and built anew.
    ///
    /// # Why
    /// A route that was deleted and set again has lost its stops; what an edit keeps, a rebuild forgets.
    ///
    /// # Blocks
    /// Nothing by itself: a call that ends something and one that starts the same again, in one turn and
    /// without the driver having asked for the end, go before the critic. Which calls end and start the same
    /// follows from the effect model: both set one attribute to fixed values, and to different ones.
    ///
    /// # Allows
    /// Either alone, and both when the driver asked for the first.
    ///
    /// # Remedy
    /// None: use the tools that edit.
    "rebuild", Advisory
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let position = |name: &str| view.policy.inventory.position(name);
    let mut made: Vec<ToolIx> = view.this_turn().filter(|p| p.succeeded()).filter_map(|p| p.tool).collect();
    made.reverse();
    for (at, call) in view.draft.calls.iter().enumerate() {
        view.spend(1 + made.len())?;
        let Some(tool) = position(call.tool.as_str()) else { continue };
        let ended = made.iter().find(|m| undoes(view, **m, tool) && !was_asked_for(view, **m));
        if let Some(ended) = ended.and_then(|t| view.policy.inventory.at(*t)) {
            let because = format!("`{}` and `{}` build anew what could be edited", ended.name, call.tool);
            findings.push(Finding::new(NAME, Tier::Advisory, because).at(at));
        }
        made.push(tool);
    }
    Ok(())
}

/// Whether two tools set some attribute to different fixed values.
fn undoes(view: &View<'_>, first: ToolIx, second: ToolIx) -> bool {
    let fixed = |tool: ToolIx| -> Vec<(AttrIx, &Literal)> {
        let sets = view.policy.model.tool(tool).map_or(&[][..], |e| e.sets.as_slice());
        sets.iter()
            .filter_map(|s| if let SetFrom::Constant(c) = &s.from { Some((s.attribute, c)) } else { None })
            .collect()
    };
    let second = fixed(second);
    fixed(first).iter().any(|(a, value)| second.iter().any(|(b, other)| a == b && value != other))
}

fn was_asked_for(view: &View<'_>, tool: ToolIx) -> bool {
    view.driver().is_some_and(|driver: &Reading<'_>| driver.does(tool) && driver.names(tool))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, parts};
    use super::*;
    use crate::model::PolicyHash;
    use crate::policy::{Policy, PolicyParts};
    use crate::state::Set;
    use serde_json::json;

    fn found(driver: &str, draft: &[(&str, serde_json::Value)]) -> usize {
        let mut parts = parts();
        let at =
            |parts: &PolicyParts, name: &str| parts.inventory.iter().position(|t| t.name.as_str() == name).unwrap();
        for (tool, on) in [("start_dishwasher", false), ("load_recipe", true)] {
            let from = SetFrom::Constant(Literal::Bool(on));
            let tool = at(&parts, tool);
            parts.model.tools[tool].sets = vec![Set { attribute: AttrIx(0), from, when: vec![] }];
        }
        let policy = Policy::new(parts, PolicyHash([4; 32])).unwrap();
        let history = Talk::new(&policy).driver(driver).history();
        check(&GATE, &policy, &history, &calls(draft)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_a_rebuild_before_the_critic() {
        let both = [("start_dishwasher", json!({"program": "ECO"})), ("load_recipe", json!({"recipe_id": "r_1"}))];
        assert_eq!(found("put the cake into the plan", &both), 1);
    }

    #[test]
    fn allows_either_alone_and_what_was_asked_for() {
        assert_eq!(found("put the cake into the plan", &[("load_recipe", json!({"recipe_id": "r_1"}))]), 0);
        let both = [("start_dishwasher", json!({"program": "ECO"})), ("load_recipe", json!({"recipe_id": "r_1"}))];
        assert_eq!(found("start the dishwasher and load the cake", &both), 0);
        let other_order = [("load_recipe", json!({"recipe_id": "r_1"})), ("switch_oven", json!({"on": true}))];
        assert_eq!(found("put the cake into the plan", &other_order), 0);
    }
}
