//! What is stored of the driver's preferences, as far as it was read.

use serde_json::Value as Json;

use crate::policy::Policy;
use crate::state::History;

/// Deepest member of a result that is looked at.
const DEPTH: usize = 6;

/// The sentences that successful reads of the preferences returned, oldest first.
pub fn stored_preferences<'a>(policy: &Policy, history: &'a History) -> Vec<&'a str> {
    let mut sentences = Vec::new();
    if let Some(tool) = policy.model.roles.preferences {
        let payloads = history.calls_of(tool).filter_map(|(_, past)| past.payload());
        payloads.for_each(|payload| collect(payload, DEPTH, &mut sentences));
    }
    sentences
}

fn collect<'a>(json: &'a Json, depth: usize, out: &mut Vec<&'a str>) {
    match json {
        Json::String(sentence) => out.push(sentence),
        Json::Array(items) if depth > 0 => items.iter().for_each(|i| collect(i, depth - 1, out)),
        Json::Object(map) if depth > 0 => map.values().for_each(|v| collect(v, depth - 1, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Talk, kitchen};
    use serde_json::json;

    #[test]
    fn finds_every_stored_sentence_of_successful_reads() {
        let policy = kitchen();
        let habits = json!({"baking": {"oven": ["likes it at 180", "never above 220"]}, "washing": []});
        let history = Talk::new(&policy)
            .driver("bake")
            .failed("get_habits", json!({}))
            .done("get_habits", json!({}), habits)
            .history();
        assert_eq!(stored_preferences(&policy, &history), ["likes it at 180", "never above 220"]);
    }
}
