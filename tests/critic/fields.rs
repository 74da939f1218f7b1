//! Fields that results do not have.

use std::collections::BTreeSet;

use obligato::compile::SourceFile;
use obligato::compile::critic::{Means, Observed, criticise};
use obligato::tools::ToolIx;
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

/// The fields that the cabin reads, each with the tool that reads it.
fn fields_read() -> BTreeSet<(String, String)> {
    let parts = obligato::compile::compile(&cabin()).unwrap().parts;
    let tool = |ix: ToolIx| parts.inventory[usize::from(ix.0)].name.to_string();
    let attributes = parts.model.attributes.iter().flat_map(|a| {
        let items = &parts.model.entities[usize::from(a.entity.0)].items;
        items.iter().filter_map(|item| Some((tool(a.read?), a.field.replacen('*', item, 1)))).collect::<Vec<_>>()
    });
    let observed = parts.model.observations.iter();
    let observed = observed.flat_map(|o| o.fields.iter().map(|f| (tool(o.read), f.field.clone())));
    attributes.chain(observed).collect()
}

#[test]
fn a_pattern_that_no_recorded_result_has_is_found_and_the_real_ones_pass() {
    let real = recording();
    assert_eq!(silent_fields(&real), Vec::<String>::new());
    let read = fields_read();
    let mut tried = 0;
    for (at, (tool, fields)) in real.iter().enumerate() {
        for field in fields.keys().filter(|f| read.contains(&(tool.clone(), (*f).clone()))) {
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
