//! The same message twice.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Exhausted, Findings, View, gate};
use crate::model::{Arguments, Finding, Tier};
use crate::tools::Tool;

gate! {
    /// Nobody outside the car is reached twice for one wish.
    ///
    /// # Why
    /// A second mail cannot be called back, and the first one was not lost.
    ///
    /// # Blocks
    /// A call that reaches outside, identical to one that succeeded since the driver last spoke. One to
    /// the same address with another text goes before the critic: it may be a correction.
    ///
    /// # Allows
    /// A retry of what failed, other addresses, and what the driver asked for again.
    ///
    /// # Remedy
    /// None: leave it out.
    "outward-duplicate", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        let Some(known) = view.policy.inventory.at(tool).filter(|t| t.outward) else { continue };
        let key = call.key();
        for past in view.this_turn().filter(|past| past.tool == Some(tool) && past.succeeded()) {
            view.spend(1)?;
            let (tier, what) = if past.key == key {
                (Tier::Hard, "was made already and succeeded")
            } else if !addresses(known, &call.arguments).is_disjoint(&addresses(known, &past.call.arguments)) {
                (Tier::Advisory, "reaches somebody who was reached already in this turn")
            } else {
                continue;
            };
            findings.push(Finding::new(NAME, tier, format!("`{}` {what}", call.tool)).at(at));
            break;
        }
    }
    Ok(())
}

/// Whom a call reaches: words of its list arguments, or its only text.
fn addresses(tool: &Tool, arguments: &Arguments) -> BTreeSet<String> {
    let lists = arguments.values().filter_map(Json::as_array).flatten().filter_map(Json::as_str);
    let mut found: BTreeSet<String> = lists.map(str::to_lowercase).collect();
    if tool.params.len() == 1 {
        found.extend(arguments.values().filter_map(Json::as_str).map(str::to_lowercase));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::History;
    use serde_json::json;

    fn list(text: &str, to: &str) -> Json {
        json!({"text": text, "addresses": [to]})
    }

    fn found(arguments: Json, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Tier> {
        let policy = kitchen();
        let history = history(Talk::new(&policy).driver("send the list to a@x.org"));
        check(&GATE, &policy, &history, &calls(&[("send_list", arguments)])).iter().map(|f| f.tier).collect()
    }

    fn sent(talk: Talk<'_>) -> Talk<'_> {
        talk.done("send_list", list("Eggs", "a@x.org"), json!({}))
    }

    #[test]
    fn blocks_the_identical_message_again() {
        assert_eq!(found(list("Eggs", "a@x.org"), |talk| sent(talk).history()), [Tier::Hard]);
    }

    #[test]
    fn another_text_to_the_same_address_is_for_the_critic() {
        assert_eq!(found(list("Milk", "A@x.org"), |talk| sent(talk).history()), [Tier::Advisory]);
    }

    #[test]
    fn allows_a_retry_another_address_and_what_was_asked_for_again() {
        let eggs = || list("Eggs", "a@x.org");
        assert_eq!(found(eggs(), |talk| talk.failed("send_list", eggs()).history()), []);
        assert_eq!(found(list("Eggs", "b@x.org"), |talk| sent(talk).history()), []);
        assert_eq!(found(eggs(), |talk| sent(talk).assistant("Sent.").driver("send it again").history()), []);
    }
}
