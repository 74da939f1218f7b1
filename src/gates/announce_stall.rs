//! Announcements that nothing follows.

use super::claims::words;
use super::offers::{is_denied, offers};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::{Hit, PhraseRole, Reading};

gate! {
    /// A reply that announces a step takes it.
    ///
    /// # Why
    /// A reply ends the turn. "Let me check that for you" without a call leaves the driver waiting for an
    /// answer that never comes.
    ///
    /// # Blocks
    /// A reply that ends with "Let me check the weather." or "I'll look that up." when nothing was called in
    /// this turn and the driver is asked for nothing. The same after other calls is put before the critic.
    ///
    /// # Allows
    /// Questions and requests ("let me know …"), steps that wait for something ("once you say so"), what was
    /// done in this turn, and denials.
    ///
    /// # Remedy
    /// None: make the call, or say what is known.
    "announce-stall", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    if reply.words().asks() || reply.has(PhraseRole::Request) || reply.has(PhraseRole::Confirm) {
        return Ok(());
    }
    let Some(cue) = reply.role(PhraseRole::Intent).filter(|h| is_step(reply, h)).last() else { return Ok(()) };
    // What was promised and done already is a report.
    for offer in offers(view, reply)? {
        if offer.sentence == reply.sentence(cue)
            && offer.tools.iter().any(|t| view.this_turn().any(|p| p.tool == Some(*t)))
        {
            return Ok(());
        }
    }
    let last = reply.sentence(cue) + 1 == reply.words().sentences();
    let tier = if last && view.this_turn().next().is_none() { Tier::Hard } else { Tier::Advisory };
    let because = format!("the reply says \"{}\", but no call follows it", words(reply, reply.clause(cue)));
    findings.push(Finding::new(NAME, tier, because));
    Ok(())
}

/// Whether an intent announces a step that could be taken now: a look-up or a change right after it.
fn is_step(reply: &Reading<'_>, cue: &Hit<'_>) -> bool {
    let (clause, sentence) = (reply.clause(cue), reply.sentence(cue));
    let near = |h: &Hit<'_>| reply.clause(h) == clause && (cue.end..cue.end + REACH).contains(&h.start);
    let acts = reply.hits().iter().any(|h| (h.is(PhraseRole::Look) || h.is(PhraseRole::Change)) && near(h));
    acts && !reply.quoted(cue)
        && !is_denied(reply, clause)
        && !reply.sentence_has(sentence, PhraseRole::Contingent)
        && !reply.sentence_has(sentence, PhraseRole::Future)
}

/// Words between the intent and what is intended: `let me quickly check`.
const REACH: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(reply: &str, read: bool) -> Vec<Tier> {
        let policy = kitchen();
        let mut talk = Talk::new(&policy).driver("is the oven door open?");
        if read {
            talk = talk.done("get_door_positions", json!({}), json!({"door_oven_position": 0}));
        }
        check(&GATE, &policy, &talk.history(), &Draft::reply(reply)).into_iter().map(|f| f.tier).collect()
    }

    #[test]
    fn blocks_an_announcement_that_ends_the_turn() {
        for reply in ["Sure! Let me check the door.", "I'll look that up for you.", "Ich werde das prüfen."] {
            assert_eq!(found(reply, false), [Tier::Hard], "{reply}");
        }
    }

    #[test]
    fn leaves_an_announcement_after_calls_to_the_critic() {
        assert_eq!(found("It is closed. Let me check the hood.", true), [Tier::Advisory]);
    }

    #[test]
    fn allows_what_waits_for_the_driver_or_an_event() {
        for reply in [
            "Let me know if you want it open.",
            "Once you tell me how far, I'll open it.",
            "I'll check it when the cake is done.",
            "Shall I check? I'll look at the door.",
            "I won't check that.",
        ] {
            assert_eq!(found(reply, false), [], "{reply}");
        }
    }

    #[test]
    fn allows_a_plain_answer() {
        assert_eq!(found("The oven door is closed.", true), []);
    }
}
