//! Removing by replacing.

use super::offers::{share_an_attribute, writes};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::{Meaning, PhraseRole};
use crate::tools::ToolIx;

gate! {
    /// A call is the operation that was asked for, not its neighbour.
    ///
    /// # Why
    /// "Remove the stop" is not "replace the stop": both change the same list, and only one of them leaves
    /// what the driver wants.
    ///
    /// # Blocks
    /// Nothing by itself: a call that changes the same as the tool which the driver's words name, when the
    /// driver asked to take something away and the call does something else, goes before the critic.
    ///
    /// # Allows
    /// The tool that was named, and drafts that also hold it.
    ///
    /// # Remedy
    /// None: whether two operations come to the same is a matter of judgement.
    "call-substitution", Advisory
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(driver) = view.driver().filter(|d| d.has(PhraseRole::Remove)) else { return Ok(()) };
    let does = |tool: ToolIx| driver.role(PhraseRole::Remove).any(|h| h.means(Meaning::Verb(tool)));
    let asked = writes(view, |t| driver.names(t) && (does(t) || driver.does(t)))?;
    let position = |name: &str| view.policy.inventory.position(name);
    let drafted: Vec<_> = view.draft.calls.iter().map(|c| position(c.tool.as_str())).collect();
    if drafted.iter().flatten().chain(view.this_turn().filter_map(|p| p.tool.as_ref())).any(|t| asked.contains(t)) {
        return Ok(());
    }
    for (at, (call, tool)) in view.draft.calls.iter().zip(&drafted).enumerate() {
        view.spend(asked.len())?;
        let Some(tool) = tool.filter(|_| call.by.is_none()) else { continue };
        let Some(other) = asked.iter().find(|a| share_an_attribute(view, **a, tool)) else { continue };
        let Some(other) = view.policy.inventory.at(*other) else { continue };
        let because = format!("the driver asked for what `{}` does; is {call} exactly that?", other.name);
        findings.push(Finding::new(NAME, Tier::Advisory, because).at(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, parts};
    use super::*;
    use crate::model::PolicyHash;
    use crate::policy::{Policy, PolicyParts};
    use serde_json::json;

    /// A kitchen whose recipe can be loaded and whose list can be cleared.
    fn found(driver: &str, draft: &[(&str, serde_json::Value)]) -> usize {
        let mut parts = parts();
        let at = |parts: &PolicyParts, name: &str| parts.inventory.iter().position(|t| t.name.as_str() == name).unwrap();
        let (clear, load) = (at(&parts, "start_dishwasher"), at(&parts, "load_recipe"));
        let words = |word: &str| [("en".to_owned(), vec![word.to_owned()])].into();
        parts.model.tools[clear].touches = vec![crate::state::AttrIx(2)];
        parts.model.tools[clear].nouns = words("recipe");
        parts.model.tools[clear].verbs = words("remove");
        parts.model.tools[load].touches = vec![crate::state::AttrIx(2)];
        let policy = Policy::new(parts, PolicyHash([3; 32])).unwrap();
        let history = Talk::new(&policy).driver(driver).history();
        check(&GATE, &policy, &history, &calls(draft)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_a_neighbour_before_the_critic() {
        assert_eq!(found("remove that recipe please", &[("load_recipe", json!({"recipe_id": "r_1"}))]), 1);
    }

    #[test]
    fn allows_what_was_asked_for_and_other_things() {
        assert_eq!(found("remove that recipe please", &[("start_dishwasher", json!({"program": "ECO"}))]), 0);
        assert_eq!(found("load that recipe please", &[("load_recipe", json!({"recipe_id": "r_1"}))]), 0);
        assert_eq!(found("remove that recipe please", &[("switch_oven", json!({"on": true}))]), 0);
    }
}
