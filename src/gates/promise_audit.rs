//! Promises put before the critic.

use super::offers::{is_usable, offers};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::PhraseRole;

gate! {
    /// Each promise of a reply is looked at once: is it kept, asked about, or empty?
    ///
    /// # Why
    /// "I'll turn on the hood" is a promise the driver counts on. Whether it still waits for an answer only
    /// judgement can tell.
    ///
    /// # Blocks
    /// Nothing by itself: a promise whose tool exists and was not called in this turn goes before the critic.
    ///
    /// # Allows
    /// What was called in this turn, what is asked ("shall I"), what waits for something, and what
    /// `promise-capability` answers already.
    ///
    /// # Remedy
    /// None.
    "promise-audit", Advisory
}

/// Promises of one reply that are looked at: more make no other verdict.
const MOST: usize = 4;

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    let promises = offers(view, reply)?.into_iter().filter(|o| {
        o.promised
            && !reply.words().is_question(o.sentence)
            && !reply.sentence_has(o.sentence, PhraseRole::Contingent)
            && o.tools.iter().any(|t| is_usable(view, *t))
    });
    for promise in promises.take(MOST) {
        view.spend(1)?;
        if view.this_turn().any(|past| past.tool.is_some_and(|t| promise.tools.contains(&t))) {
            continue;
        }
        let because = format!("the reply promises \"{}\"; no call of this turn does that", promise.words);
        findings.push(Finding::new(NAME, Tier::Advisory, because));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(reply: &str) -> usize {
        let policy = kitchen();
        let talk = Talk::new(&policy).driver("hood on and doors closed please");
        let history = talk.done("set_hood_speed", json!({"level": 1}), json!({})).history();
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_an_open_promise_before_the_critic() {
        assert_eq!(found("I'll close the doors."), 1);
        assert_eq!(found("Ich werde die Türen schließen."), 1);
    }

    #[test]
    fn allows_a_promise_that_was_kept_or_waits() {
        for reply in ["I'll set the hood to 1.", "Shall I close the doors?", "Once it cools, I'll close the doors."] {
            assert_eq!(found(reply), 0, "{reply}");
        }
    }
}
