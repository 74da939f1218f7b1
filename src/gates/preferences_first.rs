//! What the driver left open is settled by preferences before it is settled by anybody else.

use serde_json::Value as Json;

use super::said::{names, says_word};
use super::sources::Source;
use super::tour::{Offered, edit, is_picked, is_single, legs};
use super::{Exhausted, Findings, View, gate, stored};
use crate::model::{Finding, Tier, ToolCall};
use crate::policy::PhraseRole;
use crate::state::SetFrom;
use crate::tools::{ParamType, ToolIx};

gate! {
    /// A choice that the driver left open follows stored preferences; without one the driver chooses.
    ///
    /// # Why
    /// The driver told the car once how far the roof opens by default. Guessing, and asking again, are
    /// both wrong as long as that is unread.
    ///
    /// # Blocks
    /// A number or a word of an enumeration that nobody gave, while the category of preferences that
    /// belongs to the tool was never read. One of several legs between the same two stops for a tour
    /// of this one leg, taken in the turn of its look-up without a word of the driver or a preference.
    ///
    /// # Allows
    /// Calls whose values the driver gave, other categories unread, preferences that cannot be read,
    /// legs that the driver's words pick (`fastest`, a road, tolls), legs of a longer tour.
    ///
    /// # Remedy
    /// The read of exactly that category. Once it was read and is silent, the driver must choose.
    "preferences-first", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for number in view.sources()? {
        if matches!(number.source, Source::Nowhere | Source::Elsewhere(_)) {
            demand(view, number.tool, number.call, &number.argument, findings);
        }
    }
    for (at, call) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        if let Some(argument) = unsaid_word(view, tool, call)? {
            demand(view, tool, at, &argument, findings);
        }
        leg(view, tool, at, call, findings)?;
    }
    Ok(())
}

/// Demands the preferences about a tool, if they can still be read and no finding demands them yet.
fn demand(view: &View<'_>, tool: ToolIx, call: usize, argument: &str, findings: &mut Findings) -> bool {
    let Some(read) = stored::unread(view, tool) else { return false };
    let name = view.policy.inventory.at(tool).map_or("", |t| t.name.as_str());
    let because = format!("nobody gave `{argument}` of `{name}`, and what the driver prefers there was not read");
    findings.push(Finding::new(NAME, Tier::Owed, because).at(call).with_remedy(vec![read]));
    true
}

/// The argument of a call that sets a word which nobody said.
fn unsaid_word(view: &View<'_>, tool: ToolIx, call: &ToolCall) -> Result<Option<String>, Exhausted> {
    let Some(effect) = view.policy.model.tool(tool).filter(|e| e.preference.is_some()) else { return Ok(None) };
    for set in &effect.sets {
        let SetFrom::Argument { name, .. } = &set.from else { continue };
        let param = view.policy.inventory.at(tool).and_then(|t| t.param(name));
        let is_word = param.is_some_and(|p| matches!(p.kind, ParamType::Enum(_)));
        let Some(Json::String(word)) = call.arguments.get(name).filter(|_| is_word) else { continue };
        let asked = view.spoken()?.iter().filter(|r| r.words().asks());
        let given = view.heard()?.iter().chain(asked).any(|reading| {
            let copies = reading.has(PhraseRole::Relative) && names(view.policy, reading, tool);
            copies || reading.has(PhraseRole::Off) || says_word(view.policy, reading, word)
        });
        if !given {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// A single leg among several that the driver did not pick.
fn leg<'a>(
    view: &View<'a>,
    tool: ToolIx,
    at: usize,
    call: &'a ToolCall,
    findings: &mut Findings,
) -> Result<(), Exhausted> {
    let Some((tour, edit)) = edit(view, tool) else { return Ok(()) };
    let world = view.owed.before.get(at).unwrap_or_else(|| view.history.world());
    if !is_single(view, call, world, tour, edit) {
        return Ok(());
    }
    let spoke = view.history.driver().last().map_or(0, |u| u.step);
    let open = |o: &Offered<'_>| !o.others.is_empty() && o.step > spoke;
    for set in legs(view, call, world, tour, edit)? {
        let Some(offered) = set.offered.filter(open) else { continue };
        if is_picked(view, &offered)? || demand(view, tool, at, set.argument, findings) || stored::speaks(view, tool)? {
            continue;
        }
        let count = offered.others.len() + 1;
        let because = format!(
            "{count} legs lead from {} to {}, and nobody chose `{}`; present them and ask which one",
            offered.leg.from, offered.leg.to, set.id
        );
        findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::{History, Now, NowField};
    use crate::tools::Removed;
    use serde_json::json;

    fn hood(history: &History) -> Vec<Finding> {
        check(&GATE, &kitchen(), history, &calls(&[("set_hood_speed", json!({"level": 2}))]))
    }

    #[test]
    fn blocks_an_open_value_with_the_read_of_exactly_its_category() {
        let policy = kitchen();
        let found = hood(&Talk::new(&policy).driver("please turn on the hood").history());
        assert_eq!((found.len(), found[0].tier), (1, Tier::Owed));
        assert_eq!(found[0].remedy[0].to_string(), r#"get_habits(topic: "baking")"#);
        let other = Talk::new(&policy).driver("please turn on the hood").done(
            "get_habits",
            json!({"topic": "washing"}),
            json!([]),
        );
        assert_eq!(hood(&other.history()).len(), 1, "another category settles nothing");
    }

    #[test]
    fn allows_what_was_said_and_what_cannot_be_read() {
        let policy = kitchen();
        assert_eq!(hood(&Talk::new(&policy).driver("set the hood to 2").history()), []);
        let mut history = Talk::new(&policy).driver("please turn on the hood").history();
        history.set_removed(Removed::from_iter(["get_habits"]));
        assert_eq!(hood(&history), []);
    }

    #[test]
    fn a_read_that_failed_is_not_demanded_again_in_the_same_turn() {
        let policy = kitchen();
        let failed =
            Talk::new(&policy).driver("please turn on the hood").failed("get_habits", json!({"topic": "baking"}));
        assert_eq!(hood(&failed.history()), []);
    }

    #[test]
    fn a_word_that_nobody_said_is_a_choice_too() {
        let policy = kitchen();
        let draft = calls(&[("set_shelf_light", json!({"on": true, "colour": "COLD_BLUE"}))]);
        let found = |said: &str| check(&GATE, &policy, &Talk::new(&policy).driver(said).history(), &draft).len();
        assert_eq!((found("please turn on the shelf light"), found("a blue shelf light please")), (1, 0));
    }

    fn paths() -> Json {
        let path = |id: &str, via: &str, alias: &str| json!({"path_id": id, "from_id": "tab_1", "to_id": "tab_9", "via": via, "alias": [alias]});
        json!({"paths": [path("pat_1", "North Door", "fastest"), path("pat_2", "South Door", "shortest")]})
    }

    fn tour(said: &str, habits: Json, path_ids: Json) -> Vec<Finding> {
        let policy = kitchen();
        let mut history = Talk::new(&policy)
            .driver(said)
            .done("search_paths", json!({"from_id": "tab_1", "to_id": "tab_9"}), paths())
            .done("get_habits", json!({"topic": "washing"}), habits)
            .history();
        let mut now = Now::default();
        now.set(NowField::Location, crate::model::Value::word("tab_1"));
        history.set_now(now);
        check(&GATE, &policy, &history, &calls(&[("start_tour", json!({"path_ids": path_ids}))]))
    }

    #[test]
    fn blocks_one_of_several_legs_that_nobody_chose() {
        let found = tour("please serve table nine", json!([]), json!(["pat_1"]));
        assert_eq!((found.len(), found[0].tier), (1, Tier::Hard));
    }

    #[test]
    fn allows_a_leg_that_words_or_preferences_pick_and_legs_of_a_longer_tour() {
        assert_eq!(tour("please take the shortest way to table nine", json!([]), json!(["pat_2"])), []);
        assert_eq!(tour("serve table nine by the north door", json!([]), json!(["pat_1"])), []);
        assert_eq!(tour("please serve table nine", json!(["always the fastest way"]), json!(["pat_1"])), []);
        assert_eq!(tour("please serve both tables", json!([]), json!(["pat_1", "pat_1"])), []);
    }
}
