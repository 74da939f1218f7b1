//! Inner names in what is said.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// What is said to the driver holds no inner names.
    ///
    /// # Why
    /// Nobody wants to hear `rll_lux_bon_123456` or `set_hood_speed` read aloud.
    ///
    /// # Blocks
    /// An identifier that a result returned, the name of a tool or of one of its parameters, and the number
    /// of a rule in a reply, where it has the shape of one (several parts joined by `_`).
    ///
    /// # Allows
    /// Everyday words that are also names of parameters, addresses, numbers, and what the driver said first.
    ///
    /// # Remedy
    /// None: say it in words.
    "leakage", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    for (_, word) in reply.words().iter() {
        view.spend(1)?;
        if !word.contains('_') || word.contains(['@', '.']) {
            continue;
        }
        let tools = || view.policy.inventory.iter();
        let what = if tools().any(|t| t.name.as_str().eq_ignore_ascii_case(word)) {
            "a tool"
        } else if tools().flat_map(|t| &t.params).any(|p| p.name.eq_ignore_ascii_case(word)) {
            "a parameter"
        } else if view.history.identifiers().looks_like_one(word) {
            "an inner identifier"
        } else {
            continue;
        };
        if view.history.driver().iter().any(|u| u.words.iter().any(|(_, said)| said == word)) {
            continue;
        }
        findings.push(Finding::new(NAME, Tier::Hard, format!("the reply says `{word}`, which is the name of {what}")));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(driver: &str, reply: &str) -> usize {
        let policy = kitchen();
        let talk = Talk::new(&policy).driver(driver);
        let found = json!({"recipes": [{"recipe_id": "rec_cake_17", "name": "Cake"}]});
        let history = talk.done("search_recipes", json!({"dish": "cakes"}), found).history();
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_identifiers_tools_and_parameters() {
        for reply in ["I found rec_cake_17.", "I'd use set_hood_speed for that.", "What is your recipe_id?"] {
            assert_eq!(found("a cake please", reply), 1, "{reply}");
        }
    }

    #[test]
    fn allows_words_addresses_and_what_the_driver_said() {
        for reply in ["The level of the door is 2.", "I'd mail it to ann_lee@x.org.", "Call it my_cake."] {
            assert_eq!(found("a cake please", reply), 0, "{reply}");
        }
        assert_eq!(found("load rec_cake_17", "Loading rec_cake_17 for you."), 0);
    }
}
