//! The question that binds a consent, rendered from what would really be done.

use crate::model::ToolCall;
use crate::obligations::{Owed, Settled};
use crate::policy::Policy;
use crate::state::History;

/// The language that rules write their questions in; ours join them.
const LANGUAGE: &str = "en";

/// One question for everything a plan needs a yes for.
///
/// It lists the companions that would come along, because the yes covers them too (design §6:
/// consent binds the exact calls).
pub(super) fn question(policy: &Policy, history: &History, owed: &Owed) -> String {
    let mut parts: Vec<String> = Vec::new();
    for consent in &owed.consents {
        if !consent.question.is_empty() && !parts.contains(&consent.question) {
            parts.push(consent.question.clone());
        }
    }
    for debt in owed.debts.iter().filter(|d| d.settled == Settled::Held && d.overwrites) {
        let sentence = policy.rule(debt.rule).map(|r| r.sentence.to_string()).unwrap_or_default();
        parts.push(policy.say(LANGUAGE, "against-policy", &[("sentence", &sentence), ("because", &debt.because)]));
    }
    let held: Vec<&ToolCall> = owed
        .debts
        .iter()
        .filter(|d| d.settled == Settled::Held && !d.overwrites)
        .flat_map(|d| &d.remedy)
        .filter(|call| {
            !owed.consents.iter().any(|c| owed.amended.calls.get(c.call).is_some_and(|a| a.key() == call.key()))
        })
        .collect();
    if !held.is_empty() {
        let calls: Vec<String> = held.iter().map(|c| policy.call_words(LANGUAGE, c, history)).collect();
        parts.push(policy.say(LANGUAGE, "needs-also", &[("what", &policy.list(LANGUAGE, &calls))]));
    }
    if parts.is_empty() {
        let calls: Vec<String> = owed.amended.calls.iter().map(|c| policy.call_words(LANGUAGE, c, history)).collect();
        parts.push(policy.say(LANGUAGE, "shall-i", &[("what", &policy.list(LANGUAGE, &calls))]));
    }
    parts.join(" ")
}
