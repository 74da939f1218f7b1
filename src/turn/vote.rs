//! Self-consistency: the action set that most drafts agree on (paper 1, §2.1).

use crate::model::Draft;

/// The draft whose set of calls occurs most often; ties go to the first. Calls are compared in
/// canonical form, so that key order and spelling of numbers do not split a vote.
pub(super) fn modal(drafts: Vec<Draft>) -> Option<Draft> {
    let keys: Vec<Vec<String>> = drafts.iter().map(key).collect();
    let votes = |k: &Vec<String>| keys.iter().filter(|other| *other == k).count();
    let mut best: Option<(usize, usize)> = None;
    for (at, k) in keys.iter().enumerate() {
        let count = votes(k);
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((at, count));
        }
    }
    let (at, _) = best?;
    drafts.into_iter().nth(at)
}

fn key(draft: &Draft) -> Vec<String> {
    let mut calls: Vec<String> = draft.calls.iter().map(|c| c.key().as_str().to_owned()).collect();
    calls.sort_unstable();
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;
    use serde_json::{Value as Json, json};

    fn draft(arguments: Json) -> Draft {
        let Json::Object(arguments) = arguments else { panic!("an object") };
        Draft::calls(vec![ToolCall::new("set", arguments)])
    }

    #[test]
    fn equal_calls_in_another_spelling_vote_together() {
        let drafts = vec![draft(json!({"a": 2})), draft(json!({"b": 1, "a": 1})), draft(json!({"a": 1.0, "b": 1}))];
        assert_eq!(modal(drafts).unwrap().calls[0].arguments["b"], json!(1));
    }

    #[test]
    fn a_tie_goes_to_the_first() {
        assert_eq!(
            modal(vec![draft(json!({"a": 1})), draft(json!({"a": 2}))]).unwrap().calls[0].arguments["a"],
            json!(1)
        );
        assert!(modal(Vec::new()).is_none());
    }
}
