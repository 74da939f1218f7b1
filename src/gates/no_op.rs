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

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_the_same_message_twice_in_one_draft() {
        let policy = kitchen();
        let list = || ("send_list", json!({"text": "Eggs", "addresses": ["a@x.org"]}));
        let history = Talk::new(&policy).driver("send it").history();
        let found = check(&GATE, &policy, &history, &calls(&[list(), list()]));
        assert_eq!((found.len(), found[0].tier, found[0].call), (1, Tier::Hard, Some(1)));
    }

    #[test]
    fn a_value_that_stands_is_only_pointed_out() {
        let policy = kitchen();
        let history = Talk::new(&policy)
            .driver("hood to 2")
            .done("get_hood_state", json!({}), json!({"hood_level": 2}))
            .history();
        let found =
            |level: i64| check(&GATE, &policy, &history, &calls(&[("set_hood_speed", json!({"level": level}))]));
        assert_eq!(found(2)[0].tier, Tier::Advisory);
        assert_eq!(found(3), []);
    }

    #[test]
    fn allows_a_write_of_what_is_not_known_and_reads_twice() {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("hood to 2").history();
        assert_eq!(check(&GATE, &policy, &history, &calls(&[("set_hood_speed", json!({"level": 2}))])), []);
        let reads = calls(&[("get_oven_state", json!({})), ("get_oven_state", json!({}))]);
        assert_eq!(check(&GATE, &policy, &history, &reads), []);
    }
}
