//! Claims of a reply against the calls that were made.

use super::claims::{Claim, Manner, asks_leave, claims};
use super::offers::share_an_attribute;
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::tools::ToolIx;

gate! {
    /// What a reply claims to have done was done.
    ///
    /// # Why
    /// A driver who hears that the windows are closed does not look.
    ///
    /// # Blocks
    /// "I have closed all windows" with no successful call that closes windows, however many others
    /// were made; "I'm setting the temperature" with no such call in this turn; "the AC is on" when
    /// nobody turned it on and nobody read it.
    ///
    /// # Allows
    /// Claims about what was executed in this conversation, reports of what was read, quotations,
    /// questions, offers, conditions and denials. A claim that names nothing a tool acts on is not
    /// judged.
    ///
    /// # Remedy
    /// None: make the call, or say what was really done.
    "completion", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    let asks = asks_leave(reply);
    for claim in claims(view, reply)? {
        if is_backed(view, &claim, asks) {
            continue;
        }
        let tool = claim.tools.first().and_then(|t| view.policy.inventory.at(*t));
        let what = tool.map_or_else(String::new, |t| view.called(t));
        let because = match claim.manner {
            Manner::Did => {
                format!("the reply says \"{}\", but no call changed the {what} in this conversation", claim.words)
            }
            Manner::Doing => format!("the reply says \"{}\", but no call does that", claim.words),
            Manner::Stands => format!("the reply says \"{}\", but nobody did that or read the {what}", claim.words),
        };
        findings.push(Finding::new(NAME, Tier::Hard, because));
        break; // one false claim is enough to send the reply back
    }
    Ok(())
}

fn is_backed(view: &View<'_>, claim: &Claim, asks: bool) -> bool {
    let does = |tool: ToolIx| claim.tools.iter().any(|t| *t == tool || share_an_attribute(view, *t, tool));
    let executed = || view.history.calls().iter().any(|past| past.succeeded() && past.tool.is_some_and(does));
    match claim.manner {
        Manner::Did => asks || executed(),
        // A question that follows makes it an intent: `I'm turning on the high beams, good to go?`
        Manner::Doing => asks || view.this_turn().any(|past| past.tool.is_some_and(does)),
        Manner::Stands => {
            asks || executed() || claim.reads.iter().any(|t| reads_the_car(view, *t) && view.executed(*t))
        }
    }
}

/// Whether a read tells how the car stands, as opposed to looking something up.
fn reads_the_car(view: &View<'_>, tool: ToolIx) -> bool {
    view.policy.model.attributes().any(|(_, a)| a.read == Some(tool))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::state::History;
    use serde_json::json;

    fn found(reply: &str, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        let history = history(Talk::new(&policy).driver("close the doors and turn on the hood"));
        check(&GATE, &policy, &history, &Draft::reply(reply))
    }

    fn hood(talk: Talk<'_>) -> History {
        talk.done("set_hood_speed", json!({"level": 2}), json!({})).history()
    }

    #[test]
    fn blocks_a_claim_whatever_else_was_done() {
        for reply in [
            "I have closed all doors and set the hood to 2.",
            "Done! I've just closed the oven door.",
            "The doors have been closed.",
            "Ich habe die Türen geschlossen.",
            "I've set the hood to 2, and closed the doors.",
        ] {
            assert_eq!(found(reply, hood).len(), 1, "{reply}");
        }
    }

    #[test]
    fn blocks_an_action_in_progress_without_a_call() {
        assert_eq!(found("I'm setting the temperature to 180 now.", hood).len(), 1);
        assert_eq!(found("The doors are closed!", hood).len(), 1);
    }

    #[test]
    fn allows_claims_about_what_was_executed() {
        for reply in ["I've set the hood to level 2!", "The hood is on.", "Ich habe den Abzug auf 2 gestellt."] {
            assert_eq!(found(reply, hood), [], "{reply}");
        }
    }

    #[test]
    fn allows_a_report_of_what_was_read() {
        let read =
            |talk: Talk<'_>| talk.done("get_door_positions", json!({}), json!({"door_oven_position": 0})).history();
        assert_eq!(found("The doors are closed and the hood can be set.", read), []);
    }

    #[test]
    fn allows_what_claims_nothing() {
        for reply in [
            "Let me know if I should have closed the doors.",
            "I can't do that, so I haven't closed the doors.",
            "Should I have closed the doors?",
            "I'd write \"I have closed the doors.\" Shall I send it?",
            "If you want, once I've closed the doors, we can bake.",
            "I have two recipes for you.",
            "You'll have closed doors in no time.",
        ] {
            assert_eq!(found(reply, hood), [], "{reply}");
        }
    }

    #[test]
    fn a_failed_call_backs_no_claim() {
        let failed = |talk: Talk<'_>| talk.failed("move_door", json!({"door": "OVEN", "percentage": 0})).history();
        assert_eq!(found("I've closed the oven door.", failed).len(), 1);
    }
}
