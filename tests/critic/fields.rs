//! Fields that results do not have.

use obligato::compile::SourceFile;
use obligato::compile::critic::{Means, Observed, criticise};
use serde_json::{Value as Json, json};

use crate::mutator::{cabin, root};
use crate::{FAULTS, Faulty, all_found};

#[test]
fn a_pattern_that_no_declared_result_has_is_found() {
    let set = cabin();
    let spoilt = |(at, _): (usize, &str)| {
        let text = set.vehicle.text();
        let at = at + "field = \"".len();
        let vehicle = format!("{}old_{}", &text[..at], &text[at..]);
        let set = obligato::compile::SetSource { vehicle: SourceFile::new("vehicle.toml", vehicle), ..cabin() };
        Faulty { what: format!("byte {at} of vehicle.toml"), set, culprit: None }
    };
    let fields = set.vehicle.text().match_indices("field = \"");
    // The first is the mark of success, which is no result field.
    all_found("grounding", fields.skip(1).map(spoilt));
}

/// The simulated car's answers to its reads, as a recorded conversation.
fn recording() -> Vec<(String, serde_json::Map<String, Json>)> {
    let text = std::fs::read_to_string(root().join("policies/cabin/vehicle-state.toml")).unwrap();
    let state: toml::Table = toml::from_str(&text).unwrap();
    let json = serde_json::to_value(state).unwrap();
    let results = json.as_object().unwrap().iter().filter(|(tool, _)| tool.starts_with("get_"));
    let results = results.filter_map(|(tool, result)| match result {
        Json::Object(fields) => Some((tool.clone(), fields.clone())),
        Json::Array(answers) => Some((tool.clone(), answers[0]["result"].as_object()?.clone())),
        _ => None,
    });
    results.collect()
}

fn observed(results: &[(String, serde_json::Map<String, Json>)]) -> Observed {
    let messages: Vec<Json> = results
        .iter()
        .map(|(tool, fields)| {
            let content = json!({"status": "SUCCESS", "result": fields}).to_string();
            json!({"role": "tool", "name": tool, "tool_call_id": tool, "content": content})
        })
        .collect();
    let mut observed = Observed::default();
    observed.add(&json!({"id": "1", "messages": messages}).to_string()).unwrap();
    observed
}

fn silent_fields(results: &[(String, serde_json::Map<String, Json>)]) -> Vec<String> {
    let observed = observed(results);
    let means = Means { observed: Some(&observed), solver: false, only: &["observed-fields"] };
    criticise(&cabin(), means).errors("observed-fields").map(|f| f.what.clone()).collect()
}

#[test]
fn a_pattern_that_no_recorded_result_has_is_found_and_the_real_ones_pass() {
    let real = recording();
    assert_eq!(silent_fields(&real), Vec::<String>::new());
    let read: Vec<String> = cabin().vehicle.text().split('"').map(str::to_owned).collect();
    let patterned = ["window_", "temperature_", "seat_", "reading_light_", "fog_light_"];
    let is_read = |field: &String| read.contains(field) || patterned.iter().any(|p| field.starts_with(p));
    let mut tried = 0;
    for (at, (tool, fields)) in real.iter().enumerate() {
        for field in fields.keys().filter(|f| is_read(f)) {
            for change in ["renamed", "retyped"] {
                let mut spoilt = real.clone();
                let value = spoilt[at].1.remove(field).unwrap();
                match change {
                    "renamed" => spoilt[at].1.insert(format!("{field}_new"), value),
                    _ => spoilt[at].1.insert(field.clone(), json!({"nested": value})),
                };
                let found = silent_fields(&spoilt);
                assert!(found.iter().any(|w| w.contains(field.as_str())), "{tool}.{field} {change}: {found:?}");
                tried += 1;
            }
        }
    }
    assert!(tried >= FAULTS, "{tried} faults");
}

#[test]
fn a_line_that_is_no_conversation_is_named() {
    let error = Observed::default().add("{\"messages\": []}\n{\"no\": 1}").unwrap_err();
    assert!(error.to_string().starts_with("line 2 is no recorded conversation"), "{error}");
}
