//! On the cabin and the half of the scenarios that the student is tuned on.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::model::{Message, RequestedCall, Role, Words};
use crate::policy::{Advice, HardLimits};
use crate::student::grammar::random::Choices;
use crate::student::grammar::{DraftGrammar, Grammar, Matcher, Offered};
use crate::student::{Example, Retriever, examples, form};
use crate::verify::{Binding, SessionId, Step};

#[derive(Deserialize)]
struct File {
    scenario: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    id: String,
    says: Vec<String>,
    #[serde(default)]
    start: Map<String, Json>,
    #[serde(default)]
    calls: Vec<Wanted>,
}

#[derive(Deserialize)]
struct Wanted {
    tool: String,
    arguments: Map<String, Json>,
}

fn cabin(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin").join(file)
}

fn policy() -> Policy {
    Policy::from_blob(&std::fs::read(cabin("cabin.obl")).unwrap()).unwrap()
}

fn shots() -> Vec<Example> {
    examples(&cabin("examples.toml")).unwrap()
}

/// Scenarios of one turn, the untouched half left out.
fn scenarios() -> Vec<Scenario> {
    let files = ["windows.toml", "climate.toml", "rest.toml", "more.toml"].map(|f| cabin("scenarios").join(f));
    let read = |f: &PathBuf| toml::from_str::<File>(&std::fs::read_to_string(f).unwrap()).unwrap().scenario;
    files.iter().flat_map(read).filter(|s| s.says.len() == 1).collect()
}

/// The start of a conversation in which everything that can be read without arguments was read.
fn history(policy: &Policy, said: &str, start: &Map<String, Json>) -> History {
    let state: toml::Table = toml::from_str(&std::fs::read_to_string(cabin("vehicle-state.toml")).unwrap()).unwrap();
    let mut history = History::new(&policy.model);
    history.set_system(
        &policy.model,
        "CURRENT_LOCATION = {\"id\":\"loc_hallbach_1001\",\"name\":\"Hallbach\"}\nDATETIME = {\"year\":2026,\"month\":6,\"day\":15,\"hour\":17,\"minute\":40}\n",
    );
    history.heard(said);
    for (at, (tool, table)) in
        state.iter().filter(|(t, v)| v.is_table() && policy.inventory.get(t).is_some()).enumerate()
    {
        let mut table = serde_json::to_value(table).unwrap();
        for (field, value) in start {
            if let Some(slot) = table.get_mut(field) {
                *slot = value.clone();
            }
        }
        done(policy, &mut history, at, tool, json!({}), &table);
    }
    for (at, topic) in ["climate", "windows_and_roof", "lights", "seats", "navigation"].into_iter().enumerate() {
        let said = match topic {
            "windows_and_roof" => json!(["The sunroof is opened to 50 percent where no other position is named."]),
            _ => json!([]),
        };
        let asked = json!({"categories": [topic]});
        done(policy, &mut history, 100 + at, "get_user_preferences", asked, &json!({"preferences": said}));
    }
    history
}

fn done(policy: &Policy, history: &mut History, at: usize, tool: &str, arguments: Json, result: &Json) {
    let id = format!("read_{at}");
    let requested = RequestedCall { id: id.clone(), tool: tool.to_owned(), arguments: arguments.to_string() };
    let message =
        |role, text: String| Message { role, content: Some(text), tool_calls: Vec::new(), tool_call_id: None };
    let call = Message { content: None, tool_calls: vec![requested], ..message(Role::Assistant, String::new()) };
    let text = json!({"status": "SUCCESS", "result": result}).to_string();
    let answer = Message { tool_call_id: Some(id), ..message(Role::Tool, text) };
    for message in [call, answer] {
        history.push(&policy.model, &policy.inventory, &message, &crate::model::Limits::default()).unwrap();
    }
}

fn grammar(policy: &Policy, history: &History, retriever: &Retriever, said: &str) -> Grammar {
    let grounding = Grounding { policy, history };
    let heard = grounding.heard().unwrap_or_else(|| said.to_owned());
    let ranked = retriever.scored(&policy.inventory, history.removed(), &[(heard.as_str(), 1.0)], 10);
    let ground = grounding.ground(&ranked);
    let tools = on_offer(policy, &ground.tools);
    let each: Vec<Vec<Offered<'_>>> = ground.each.iter().map(|e| on_offer(policy, e)).collect();
    let identifiers = grounding.identifiers();
    let removed = history.removed();
    DraftGrammar { tools: &tools, each: &each, removed, identifiers: Some(&identifiers), calls: 1, reply: ground.reply }
        .build()
}

fn on_offer<'a>(policy: &'a Policy, tools: &'a [Grounded]) -> Vec<Offered<'a>> {
    let one = |t: &'a Grounded| Offered {
        tool: policy.inventory.at(t.tool).unwrap(),
        weight: t.weight,
        arguments: t.arguments.as_deref(),
    };
    tools.iter().map(one).collect()
}

/// What the grammar of this moment writes, the gates of provenance do not reject; a number that nobody gave is left
/// out, and then asked for.
#[test]
fn no_gate_of_provenance_rejects_what_the_grammar_writes() {
    let policy = policy();
    let retriever = Retriever::new(&policy.inventory, &shots());
    let gates = [
        "identifier-provenance",
        "numeric-provenance",
        "entity-binding",
        "preference-mismatch",
        "value-bounds",
        "call-substitution",
        "schema-validity",
    ];
    let mut choices = Choices::new(3);
    let mut calls = 0;
    for scenario in scenarios() {
        let said = &scenario.says[0];
        let history = history(&policy, said, &scenario.start);
        let grammar = grammar(&policy, &history, &retriever, said);
        for _ in 0..25 {
            let line = grammar.random(&mut choices);
            let draft = form::read(line.trim_end_matches('\n')).unwrap();
            // Two calls that contradict one another are the model's doing, not a value's.
            let draft = Draft { calls: draft.calls.into_iter().take(1).collect(), ..draft };
            calls += draft.calls.len();
            let checked = Step {
                policy: &policy,
                limits: &HardLimits::default(),
                history: &history,
                advice: Advice::Remedies,
                binding: Binding { session: SessionId::from("test"), policy: policy.hash, epoch: 0 },
                critic: None,
                valve: None,
            }
            .check(&draft);
            for finding in checked.findings.iter().filter(|f| f.tier == Tier::Hard) {
                let gate = finding.gate;
                assert!(
                    draft.calls.is_empty() || !gates.contains(&gate),
                    "{said}: {line} [{gate}] {}",
                    finding.because
                );
                if gate == "required-parameters" {
                    assert!(finding.say.is_some(), "{said}: {line} leaves out what nobody is asked for");
                }
            }
        }
    }
    assert!(calls > 500, "{calls} calls are too few to tell");
}

/// Share of the tuning half in which the call that the driver wants is among the tools on offer, and in which it can
/// be written down to the last argument.
#[test]
fn what_the_driver_wants_can_be_written() {
    let policy = policy();
    let retriever = Retriever::new(&policy.inventory, &shots());
    let (mut all, mut offered, mut written) = (0, 0, 0);
    for scenario in scenarios().into_iter().filter(|s| !s.calls.is_empty()) {
        let said = &scenario.says[0];
        let history = history(&policy, said, &scenario.start);
        let ranked = retriever.scored(&policy.inventory, history.removed(), &[(said, 1.0)], 10);
        let ground = Grounding { policy: &policy, history: &history }.ground(&ranked);
        let found: Vec<ToolIx> = ground.tools.iter().map(|t| t.tool).collect();
        let wanted: Vec<ToolCall> =
            scenario.calls.iter().map(|c| ToolCall::new(&c.tool, c.arguments.clone())).collect();
        let here = |c: &ToolCall| policy.inventory.position(c.tool.as_str()).is_some_and(|ix| found.contains(&ix));
        all += 1;
        let is_offered = wanted.iter().all(here);
        offered += usize::from(is_offered);
        let line = format!("{}\n", form::write(&Draft::calls(wanted), &policy.inventory));
        let grammar = grammar(&policy, &history, &retriever, said);
        let is_written = Matcher::new(&grammar).after(line.as_bytes()).is_some_and(|m| m.is_complete());
        written += usize::from(is_written);
        if !(is_offered && is_written) {
            println!("{}: {said}: {}{line}", scenario.id, if is_offered { "" } else { "not offered: " });
            if is_offered {
                println!("{}", grammar.text().lines().filter(|l| !l.contains("x20")).collect::<Vec<_>>().join("\n"));
            }
        }
    }
    println!("{offered} of {all} offered, {written} can be written");
    assert!(offered * 100 >= all * 97, "{offered} of {all} are on offer");
    assert!(written * 100 >= all * 90, "{written} of {all} can be written");
}

/// A unit that one tool alone sets speaks of it, where no noun does.
#[test]
fn a_temperature_is_meant_where_only_degrees_are_said() {
    let policy = policy();
    let said = "set my side to 22 degrees";
    let history = history(&policy, said, &Map::new());
    let grammar = grammar(&policy, &history, &Retriever::new(&policy.inventory, &shots()), said).text();
    assert!(grammar.contains("set_climate_temperature") && grammar.contains("DRIVER"), "{grammar}");
}

fn asks(policy: &Policy, said: &str) -> bool {
    weights::is_question(&policy.lexicon().read(std::sync::Arc::new(Words::new(said))))
}

#[test]
fn a_question_is_told_from_a_wish_by_how_it_opens() {
    let policy = policy();
    for said in [
        "is the sunroof open",
        "hey, are my headlights on",
        "it's dark, are my headlights on",
        "how far is the roof open",
        "tell me how full the battery is",
        "check whether the trunk is shut",
        "any window still open?",
        "did I leave the fog lights on",
        "ist das Abblendlicht an",
    ] {
        assert!(asks(&policy, said), "{said}");
    }
    for said in [
        "can you close my window?",
        "can we have a red ambient light?",
        "it's stuffy, give me fresh air",
        "is it hot in here, open the window",
        "turn the lights on",
        "give me some light in the cabin",
        "Klimaanlage aus",
        "könntest du bitte das Fenster schließen?",
    ] {
        assert!(!asks(&policy, said), "{said}");
    }
}

/// What can be written of one tool for a sentence, at the start of a conversation.
fn written(said: &str, line: &str) -> bool {
    let policy = policy();
    let history = history(&policy, said, &Map::new());
    let retriever = Retriever::new(&policy.inventory, &shots());
    let grammar = grammar(&policy, &history, &retriever, said);
    Matcher::new(&grammar).after(format!("{line}\n").as_bytes()).is_some_and(|m| m.is_complete())
}

#[test]
fn day_and_hour_are_those_of_this_moment_unless_an_hour_is_said() {
    let today = r#"{"calls":[{"tool":"get_entries_from_calendar","arguments":{"month":6,"day":15}}]}"#;
    assert!(written("what is on my calendar", today));
    assert!(!written("what is on my calendar", &today.replace("15", "31")), "no other day is written");
    let hour = |hour: u8| {
        let place = r#""location_or_poi_id":"loc_hallbach_1001","month":6,"day":15"#;
        format!(r#"{{"calls":[{{"tool":"get_weather","arguments":{{{place},"hour":{hour}}}}}]}}"#)
    };
    assert!(written("how is the weather here", &hour(17)));
    assert!(written("wie ist das Wetter hier um 20 Uhr", &hour(20)));
}

#[test]
fn topics_that_are_spoken_of_are_the_ones_that_are_looked_up() {
    let line = |topic: &str| {
        format!(r#"{{"calls":[{{"tool":"get_user_preferences","arguments":{{"categories":["{topic}"]}}}}]}}"#)
    };
    let said = "which preferences do you know about my seats";
    assert!(written(said, &line("seats")) && !written(said, &line("climate")));
}

#[test]
fn all_are_meant_where_each_is_named_and_a_verb_of_the_tool_takes_nothing_away() {
    let fog = |position: &str| {
        format!(r#"{{"calls":[{{"tool":"set_fog_lights","arguments":{{"position":"{position}","on":false}}}}]}}"#)
    };
    let said = "fog lights off, front and rear";
    assert!(written(said, &fog("ALL")) && !written(said, &fog("REAR")));
    let policy = policy();
    for (said, off) in [("clear the windshield", -5.0), ("turn the windshield defrost off", 0.0)] {
        let history = history(&policy, said, &Map::new());
        let reading = policy.lexicon().read(std::sync::Arc::new(Words::new(said)));
        let ix = policy.inventory.position("set_window_defrost").unwrap();
        let about = Said::about(&reading, ix);
        let grounding = Grounding { policy: &policy, history: &history };
        let values = grounding.values(&reading, &about, ix, None);
        let switch = values.of(policy.inventory.at(ix).unwrap().param("on").unwrap());
        let weight = switch.iter().find(|(slot, _)| *slot == Slot::Value(json!(false))).unwrap().1;
        assert!((weight - off).abs() < 1e-6, "{said}: {weight}");
    }
}

#[test]
fn a_category_is_the_plural_of_what_is_looked_for() {
    let find = |category: &str| {
        let place = r#""location_id":"loc_hallbach_1001""#;
        format!(r#"{{"calls":[{{"tool":"search_poi_at_location","arguments":{{{place},"category":"{category}"}}}}]}}"#)
    };
    let said = "is there a bakery around here";
    assert!(written(said, &find("bakeries")) && !written(said, &find("airports")));
}

#[test]
fn a_call_is_drafted_to_a_number_that_was_said_and_to_no_other() {
    let call = r#"{"calls":[{"tool":"call_phone_by_number","arguments":{"phone_number":"01514455667"}}]}"#;
    assert!(written("ring 0151 44 55 667", call));
    assert!(!written("call somebody for me", call));
    let mail =
        r#"{"calls":[{"tool":"send_email","arguments":{"content_message":"Late","email_addresses":["a.b@x.org"]}}]}"#;
    let swapped =
        r#"{"calls":[{"tool":"send_email","arguments":{"email_addresses":["a.b@x.org"],"content_message":"Late"}}]}"#;
    let said = "mail a.b@x.org that I am late";
    assert!(written(said, mail) || written(said, swapped));
    assert!(!written(said, &swapped.replace("a.b@x.org", "c.d@x.org")));
}

#[test]
fn nobody_says_all_seats_by_the_name_of_their_ventilation() {
    let line = |seat: &str| {
        format!(r#"{{"calls":[{{"tool":"set_seat_ventilation","arguments":{{"seat":"{seat}","level":1}}}}]}}"#)
    };
    assert!(written("Sitzlüftung auf eins", &line("DRIVER")));
    assert!(written("alle Sitze auf Stufe eins lüften", &line("ALL")));
}
