//! Stored preferences against the values that a student chose.

use serde_json::Value as Json;

use super::said::{names, numbers, same, says_word};
use super::sources::Source;
use super::{Exhausted, Findings, View, gate, stored};
use crate::model::{Finding, Tier, ToolCall};
use crate::policy::{PhraseRole, Reading};
use crate::state::SetFrom;
use crate::tools::{ParamType, ToolIx};

gate! {
    /// What the driver left open takes the value that a stored preference names.
    ///
    /// # Why
    /// The preference was read, and then another value was set all the same.
    ///
    /// # Blocks
    /// `open_close_sunroof(percentage: 100)` for "open the sunroof" when the stored preference says that
    /// it opens to 50 percent; a direction that the driver did not name beside a preference for another.
    ///
    /// # Allows
    /// Values that the driver or an answered question gave, tools of which no preference speaks, and
    /// preferences that name several values (the critic looks at those).
    ///
    /// # Remedy
    /// The call with the preferred number, where there is one; for words none.
    "preference-mismatch", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for number in view.sources()?.iter().filter(|n| n.source != Source::Given) {
        let Some(call) = view.draft.calls.get(number.call) else { continue };
        for reading in about(view, number.tool)? {
            let mut preferred: Vec<f64> = numbers(&reading).into_iter().map(|(_, n)| n).collect();
            preferred.dedup_by(|a, b| same(*a, *b));
            let Some(first) = preferred.first() else { continue };
            let because = format!(
                "`{}` is {}, which nobody asked for; the stored preference names {first}",
                number.argument, number.value
            );
            let tier = if preferred.len() == 1 { Tier::Hard } else { Tier::Advisory };
            let mut instead = call.clone();
            instead.arguments.insert(number.argument.clone(), whole(*first));
            findings.push(Finding::new(NAME, tier, because).at(number.call).with_remedy(vec![instead]));
            break;
        }
    }
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        if let Some(because) = other_word(view, tool, call)? {
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        }
    }
    Ok(())
}

/// Stored preferences that speak of what a tool sets.
fn about<'a>(view: &View<'a>, tool: ToolIx) -> Result<Vec<Reading<'a>>, Exhausted> {
    let mut found = Vec::new();
    for sentence in stored::sentences(view)? {
        view.spend(sentence.len() / 4)?;
        let reading = view.policy.read(sentence);
        if names(view.policy, &reading, tool) {
            found.push(reading);
        }
    }
    Ok(found)
}

/// Why a word that a call sets is not the one that preferences name.
fn other_word(view: &View<'_>, tool: ToolIx, call: &ToolCall) -> Result<Option<String>, Exhausted> {
    let Some(effect) = view.policy.model.tool(tool).filter(|e| e.preference.is_some()) else { return Ok(None) };
    for set in &effect.sets {
        let SetFrom::Argument { name, .. } = &set.from else { continue };
        let Some(param) = view.policy.inventory.at(tool).and_then(|t| t.param(name)) else { continue };
        let (ParamType::Enum(members), Some(Json::String(word))) = (&param.kind, call.arguments.get(name)) else {
            continue;
        };
        let says = |reading: &Reading<'_>| says_word(view.policy, reading, word) || reading.has(PhraseRole::Relative);
        if view.heard()?.iter().chain(view.spoken()?.iter()).any(says) {
            continue;
        }
        let stored = about(view, tool)?;
        let named = |reading: &Reading<'_>| members.iter().any(|m| says_word(view.policy, reading, m));
        if stored.iter().any(named) && !stored.iter().any(|reading| says_word(view.policy, reading, word)) {
            return Ok(Some(format!(
                "`{name}` is {word}, which nobody asked for; the stored preferences name another"
            )));
        }
    }
    Ok(None)
}

/// A number as JSON; whole numbers as integers.
fn whole(number: f64) -> Json {
    if same(number.fract(), 0.0) { Json::from(number as i64) } else { Json::from(number) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use serde_json::json;

    fn found(said: &str, habit: &str, tool: &str, arguments: Json) -> Vec<Finding> {
        let policy = kitchen();
        let history = Talk::new(&policy)
            .driver(said)
            .done("get_habits", json!({"topic": "baking"}), json!({"baking": [habit]}))
            .history();
        check(&GATE, &policy, &history, &calls(&[(tool, arguments)]))
    }

    const HOOD: &str = "the hood runs at level 2 by default";

    #[test]
    fn blocks_another_number_and_brings_the_preferred_one() {
        let found = found("please turn on the hood", HOOD, "set_hood_speed", json!({"level": 4}));
        assert_eq!((found[0].tier, found[0].remedy[0].to_string().as_str()), (Tier::Hard, "set_hood_speed(level: 2)"));
    }

    #[test]
    fn allows_the_preferred_number_and_what_the_driver_wants_instead() {
        assert_eq!(found("please turn on the hood", HOOD, "set_hood_speed", json!({"level": 2})), []);
        assert_eq!(found("turn the hood fully up", HOOD, "set_hood_speed", json!({"level": 4})), []);
    }

    #[test]
    fn several_numbers_and_other_subjects_decide_nothing() {
        let several = "the hood at level 2, never at level 1";
        assert_eq!(
            found("please turn on the hood", several, "set_hood_speed", json!({"level": 4}))[0].tier,
            Tier::Advisory
        );
        let other = "the oven temperature is always 180";
        assert_eq!(found("please turn on the hood", other, "set_hood_speed", json!({"level": 4})), []);
    }

    #[test]
    fn blocks_a_word_that_the_preference_does_not_name() {
        let blue = "likes the shelf light cold blue";
        let light = |colour: &str| json!({"on": true, "colour": colour});
        assert_eq!(found("turn on the shelf light", blue, "set_shelf_light", light("WARM_WHITE")).len(), 1);
        assert_eq!(found("turn on the shelf light", blue, "set_shelf_light", light("COLD_BLUE")), []);
        assert_eq!(found("a warm shelf light please", blue, "set_shelf_light", light("WARM_WHITE")), []);
    }
}
