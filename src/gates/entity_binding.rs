//! What was said for one thing is not used for another.

use serde_json::Value as Json;

use super::records::{astray, mistaken};
use super::said::names;
use super::sources::Source;
use super::{Exhausted, Findings, View, addresses, gate, named, stored};
use crate::model::{Finding, Tier, ToolCall, Words};
use crate::state::Outcome;
use crate::tools::{Kind, ParamType, ToolIx};

gate! {
    /// A value is used for what it was said of, and a name is looked up as it was said.
    ///
    /// # Why
    /// "The shade all the way, the roof halfway" gives the roof no 100 percent. And a place that was
    /// not found under its name is not found by guessing at its surroundings.
    ///
    /// # Blocks
    /// A number that the driver gave for another tool's subject only, between one comma or `and` and the
    /// next. A look-up that failed, made again in the same turn with words added to the name. A call for
    /// a subject that the driver named only by a word which several tools share, before it was read how
    /// these stand. The identifier, number or address of one record of a result, where the driver's latest
    /// words ask for another one by its name and not for this one; a mail address or phone number of
    /// somebody else than the driver named. An address, number or identifier that has nothing to do with what the
    /// driver's latest words name (`call Jonas`, `to Marlau`), whether that was looked up or not, and the address of
    /// one of several of that name, until he says yes to it.
    ///
    /// # Allows
    /// Numbers said without a subject, or with both. Another name, and the same name once the driver
    /// spoke again. Records that the driver described otherwise (`the stop after Essen`), and further ones
    /// once what was asked of the named one is seen to.
    ///
    /// # Remedy
    /// For a shared word: the read. Else none: ask the driver.
    "entity-binding", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for number in view.sources()? {
        let Source::Elsewhere(other) = number.source else { continue };
        if stored::unread(view, number.tool).is_some() {
            continue; // `preferences-first` reads what may settle it
        }
        let name = |t| view.policy.inventory.at(t).map_or("", |t| t.name.as_str());
        let because = format!(
            "the driver said {} for what `{}` sets, not for `{}` of `{}`; ask for that value",
            number.value,
            name(other),
            number.argument,
            name(number.tool)
        );
        findings.push(Finding::new(NAME, Tier::Hard, because).at(number.call));
    }
    for (at, call) in view.draft.calls.iter().enumerate() {
        if let Some(because) = decorated(view, call)? {
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        }
        let other = mistaken(view, call)?;
        if let Some(mistaken) = if other.is_none() { astray(view, call)? } else { other } {
            let because = format!(
                "`{}` in `{}` of `{}` is {}, and the driver asked for {}",
                mistaken.value,
                mistaken.argument,
                call.tool,
                mistaken.is.join(" "),
                mistaken.wanted
            );
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        }
        if let Some((because, read)) = ambiguous(view, call)? {
            findings.push(Finding::new(NAME, Tier::Owed, because).at(at).with_remedy(vec![read]));
        }
    }
    for stray in addresses::misdirected(view)? {
        findings.push(stray.finding(view, NAME));
    }
    for (at, call) in view.draft.calls.iter().enumerate() {
        let is_told = findings.iter().any(|f| f.gate == NAME && f.call == Some(at) && f.tier == Tier::Hard);
        let found = if is_told { None } else { named::unnamed(view, call)? };
        if let Some(found) = found {
            let question = view.shall_i(call);
            findings.push(Finding::new(NAME, Tier::Hard, elsewhere(&found)).at(at).settled_by_yes(question));
        }
    }
    Ok(())
}

/// What is wrong with a value that is not that of what was named.
fn elsewhere(found: &named::Unnamed) -> String {
    let named::Unnamed { value, owner, wanted, shared } = found;
    let owner = if owner.is_empty() { "something that no result names" } else { owner.as_str() };
    if *shared {
        return format!("`{value}` belongs to {owner}, one of several whom \"{wanted}\" names; ask which one is meant");
    }
    format!("`{value}` belongs to {owner}, and the driver named \"{wanted}\"; look that up, or ask")
}

/// Why a look-up is a failed one under a decorated name.
fn decorated(view: &View<'_>, call: &ToolCall) -> Result<Option<String>, Exhausted> {
    let Some(ix) = view.policy.inventory.position(call.tool.as_str()) else { return Ok(None) };
    let Some(tool) = view.policy.inventory.at(ix).filter(|t| t.kind == Kind::Read) else { return Ok(None) };
    for param in tool.params.iter().filter(|p| p.kind == ParamType::Text) {
        let Some(Json::String(name)) = call.arguments.get(&param.name) else { continue };
        if view.history.identifiers().get(name).is_some() {
            continue; // a result shows just that name
        }
        let name_words = Words::new(name).into_spaced();
        for past in view.this_turn() {
            view.spend(1)?;
            let (Some(Json::String(failed)), Outcome::Failed(_)) =
                (past.call.arguments.get(&param.name).filter(|_| past.tool == Some(ix)), &past.outcome)
            else {
                continue;
            };
            let failed_words = Words::new(failed).into_spaced();
            if failed_words.trim() != "" && name_words != failed_words && name_words.contains(&failed_words) {
                return Ok(Some(format!(
                    "`{failed}` was not found, and `{name}` is the same name with words that nobody said; tell the driver and ask"
                )));
            }
        }
    }
    Ok(None)
}

/// Why a subject that the driver named in part may be another tool's (`headlights` are low and high
/// beams), with the read that may tell which one is meant.
fn ambiguous(view: &View<'_>, call: &ToolCall) -> Result<Option<(String, ToolCall)>, Exhausted> {
    let Some(own) = view.policy.inventory.position(call.tool.as_str()).filter(|_| call.by.is_none()) else {
        return Ok(None);
    };
    let Some(driver) = view.driver() else { return Ok(None) };
    let ends: Vec<&str> = ends_of_nouns(view, own).collect();
    let ending = |word: &str| ends.iter().any(|end| is_form(word, end));
    let Some((_, word)) = driver.words().iter().find(|(_, word)| ending(word)) else { return Ok(None) };
    view.spend(view.policy.inventory.len())?;
    let tools = (0_u16..).map(ToolIx).take(view.policy.inventory.len());
    let meant = tools.filter(|tool| ends_of_nouns(view, *tool).any(|end| is_form(word, end))).count();
    let Some(read) = unread_state(view, own, call).filter(|_| meant > 1) else { return Ok(None) };
    if view.heard()?.iter().chain(view.spoken()?.iter()).any(|reading| names(view.policy, reading, own)) {
        return Ok(None);
    }
    Ok(Some((format!("`{word}` may mean what {meant} tools set, and how they stand was not read"), read)))
}

/// The last words of the longer nouns of what a tool sets.
fn ends_of_nouns<'a>(view: &View<'a>, tool: ToolIx) -> impl Iterator<Item = &'a str> {
    let effect = view.policy.model.tool(tool).filter(|e| !e.sets.is_empty());
    let nouns = effect.into_iter().flat_map(|e| e.nouns.values()).flatten();
    nouns.filter_map(|noun| noun.rsplit_once(' ').map(|(_, end)| end))
}

/// Whether a word is a base form or its plural.
fn is_form(word: &str, base: &str) -> bool {
    word.strip_prefix(base).is_some_and(|rest| rest.chars().count() <= 2)
}

/// The read of what a call sets, if it was never made.
fn unread_state(view: &View<'_>, tool: ToolIx, call: &ToolCall) -> Option<ToolCall> {
    let model = &view.policy.model;
    let cell = model.writes(tool, &call.arguments, view.history.side()).first()?.cell;
    let read = model.attribute(model.owner(cell)?.0)?.read?;
    let known = view.available(read).filter(|t| t.params.iter().all(|p| !p.required))?;
    view.history.calls_of(read).next().is_none().then(|| ToolCall::new(known.name.as_str(), Default::default()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::History;
    use serde_json::json;

    fn found(tool: &str, arguments: Json, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        let read = Talk::new(&policy).done("get_habits", json!({}), json!([]));
        check(&GATE, &policy, &history(read), &calls(&[(tool, arguments)]))
    }

    fn door(talk: Talk<'_>) -> History {
        talk.driver("Open the door all the way, and set the hood to 3").history()
    }

    #[test]
    fn blocks_a_number_that_was_said_of_something_else() {
        let found = found("set_hood_speed", json!({"level": 4}), door);
        assert_eq!((found.len(), found[0].tier), (1, Tier::Hard));
    }

    #[test]
    fn allows_each_thing_its_own_number() {
        assert_eq!(found("set_hood_speed", json!({"level": 3}), door), []);
        assert_eq!(found("move_door", json!({"door": "OVEN", "percentage": 100}), door), []);
    }

    #[test]
    fn a_number_without_a_subject_is_anybodys() {
        let free = |talk: Talk<'_>| talk.driver("The door, please. And 4, as I said.").history();
        assert_eq!(found("set_hood_speed", json!({"level": 4}), free), []);
    }

    #[test]
    fn blocks_a_failed_name_with_decorations_but_not_another_one() {
        let failed = |talk: Talk<'_>| talk.driver("find Gus").failed("find_guest", json!({"name": "Gus"})).history();
        assert_eq!(found("find_guest", json!({"name": "Gus Kitchen"}), failed).len(), 1);
        assert_eq!(found("find_guest", json!({"name": "August"}), failed), []);
        let again = |talk: Talk<'_>| {
            talk.driver("find Gus").failed("find_guest", json!({"name": "Gus"})).driver("Gus Miller, I mean").history()
        };
        assert_eq!(found("find_guest", json!({"name": "Gus Miller"}), again), []);
    }

    #[test]
    fn a_word_that_two_tools_share_is_looked_into_first() {
        let light = json!({"on": true, "colour": "WARM_WHITE"});
        let shared = |talk: Talk<'_>| talk.driver("turn on the lights").history();
        let found_shared = found("set_shelf_light", light.clone(), shared);
        assert_eq!((found_shared[0].tier, found_shared[0].remedy[0].tool.as_str()), (Tier::Owed, "get_hood_state"));
        let own = |talk: Talk<'_>| talk.driver("turn on the shelf light").history();
        assert_eq!(found("set_shelf_light", light, own), []);
    }

    fn guests(talk: Talk<'_>) -> Talk<'_> {
        guests_at("home", talk)
    }

    /// Two guests whose mail goes to a host.
    fn guests_at<'a>(host: &str, talk: Talk<'a>) -> Talk<'a> {
        let guest = |id: &str, first: &str| json!({"id": id, "name": {"first": first, "last": "Clark"}, "mail": format!("{}@{host}", first.to_lowercase())});
        let found = json!({"gst_1": guest("gst_1", "Eva"), "gst_2": guest("gst_2", "Rachel")});
        let tables = json!({"tables": [{"id": "tab_1", "name": "Window"}, {"id": "tab_2", "name": "Corner"}]});
        talk.done("find_guest", json!({"name": "Clark"}), found).done("get_tour", json!({}), tables)
    }

    #[test]
    fn blocks_the_value_of_another_record_than_the_one_named() {
        let list = |mail: &str, driver: &str| {
            let talk = |talk: Talk<'_>| guests(talk.driver("hello")).driver(driver).history();
            found("send_list", json!({"text": "milk", "addresses": [mail]}), talk).len()
        };
        assert_eq!(list("eva@home", "send the shopping list to Rachel Clark"), 1);
        assert_eq!(list("rachel@home", "send the shopping list to Rachel Clark"), 0);
        assert_eq!(list("eva@home", "send the shopping list to Clark"), 0, "either may be meant");
        assert_eq!(list("eva@home", "send the shopping list to Rachel Clark and Eva"), 0);
        assert_eq!(list("eva@home", "send the shopping list"), 0);
    }

    #[test]
    fn a_place_is_the_one_behind_the_verb_and_not_one_that_only_describes_it() {
        let skip = |table: &str, driver: &str| {
            let talk = |talk: Talk<'_>| guests(talk.driver("hello")).driver(driver).history();
            found("skip_table", json!({"table_id": table, "path_id": "pat_1"}), talk).len()
        };
        assert_eq!(skip("tab_1", "skip the corner table please"), 1);
        assert_eq!(skip("tab_2", "skip the corner table please"), 0);
        assert_eq!(skip("tab_1", "skip the table after Corner"), 0);
        assert_eq!(skip("tab_1", "the corner is nice, skip a table"), 0);
    }

    #[test]
    fn a_name_that_was_never_looked_up_is_not_answered_by_somebody_else() {
        let list = |mail: &str, driver: &str| {
            let talk = |talk: Talk<'_>| guests_at("home.example", talk.driver("hello")).driver(driver).history();
            found("send_list", json!({"text": "milk", "addresses": [mail]}), talk).len()
        };
        assert_eq!(list("eva@home.example", "Send the shopping list to Jonas Keller"), 1);
        assert_eq!(list("eva@home.example", "Send the shopping list to Jonas"), 1);
        for driver in [
            "Send the shopping list to Eva",
            "Send the shopping list to Eva Clark please",
            "Send the shopping list to her",
            "Send the shopping list to the first one",
            "Send the shopping list to my sister",
            "Send the shopping list to that guest",
            "Send it there",
            "Yes, please do",
            "Great, do that",
        ] {
            assert_eq!(list("eva@home.example", driver), 0, "{driver}");
        }
    }
}
