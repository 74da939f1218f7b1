//! The question that binds a consent, rendered from what would really be done.

use crate::model::ToolCall;
use crate::obligations::{Owed, Settled};
use crate::policy::Policy;

/// One question for everything a plan needs a yes for.
///
/// It lists the companions that would come along, because the yes covers them too (design §6:
/// consent binds the exact calls).
pub(super) fn question(policy: &Policy, owed: &Owed) -> String {
    let mut parts: Vec<String> = Vec::new();
    for consent in &owed.consents {
        if !consent.question.is_empty() && !parts.contains(&consent.question) {
            parts.push(consent.question.clone());
        }
    }
    for debt in owed.debts.iter().filter(|d| d.settled == Settled::Held && d.overwrites) {
        let sentence = policy.rule(debt.rule).map(|r| r.sentence.to_string()).unwrap_or_default();
        parts.push(format!("The policy says: {} {}. Do it your way all the same?", sentence, debt.because));
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
        let calls: Vec<String> = held.iter().map(|c| c.to_string()).collect();
        parts.push(format!("That also needs {}. Shall I do that as well?", calls.join(" and ")));
    }
    if parts.is_empty() {
        let calls: Vec<String> = owed.amended.calls.iter().map(ToString::to_string).collect();
        parts.push(format!("Shall I do this: {}?", calls.join(", ")));
    }
    parts.join(" ")
}
