//! Questions that were answered.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, Words};
use crate::obligations::is_plain_yes;
use crate::policy::{PhraseRole, Reading};
use crate::state::Utterance;

gate! {
    /// A question that was answered is not asked again.
    ///
    /// # Why
    /// A driver who said yes and hears the same question says it louder the second time and switches the
    /// assistant off the third.
    ///
    /// # Blocks
    /// A question for leave in the very words of the one that the driver just answered with a plain yes,
    /// when no call was made since. The same words after any other answer go before the critic.
    ///
    /// # Allows
    /// Other words, questions that name nothing ("anything else?"), and the same question after a call,
    /// whose result may have made it new.
    ///
    /// # Remedy
    /// None: act on the answer.
    "repeated-question", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply().filter(|r| r.words().asks()) else { return Ok(()) };
    let asked = |u: &&Utterance| u.words.asks() && view.this_turn().next().is_none();
    let Some(before) = view.history.spoken().last().filter(asked) else { return Ok(()) };
    let Some(driver) = view.driver() else { return Ok(()) };
    view.spend(reply.words().len() + before.words.len())?;
    let earlier = questions(&before.words);
    for (sentence, words) in questions(reply.words()) {
        let naming = reply.nouns().any(|h| reply.sentence(h) == sentence);
        if !naming || !earlier.iter().any(|(_, asked)| *asked == words) {
            continue;
        }
        let for_leave = reply.sentence_has(sentence, PhraseRole::Proceed);
        let tier = if for_leave && is_yes(driver) { Tier::Hard } else { Tier::Advisory };
        findings.push(Finding::new(
            NAME,
            tier,
            format!("\"{}?\" was asked and answered right before", words.join(" ")),
        ));
        break;
    }
    Ok(())
}

fn is_yes(driver: &Reading<'_>) -> bool {
    is_plain_yes(driver)
}

/// The questions of a text with their words.
fn questions(words: &Words) -> Vec<(u16, Vec<&str>)> {
    let of = |s: u16| words.iter().filter(|(w, _)| w.sentence == s).map(|(_, t)| t).collect();
    (0..words.sentences()).filter(|s| words.is_question(*s)).map(|s| (s, of(s))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    const QUESTION: &str = "It is hot in there. Shall I open the oven door?";

    fn found(answer: &str, read: bool, reply: &str) -> Vec<Tier> {
        let policy = kitchen();
        let mut talk = Talk::new(&policy).driver("let some air in").assistant(QUESTION).driver(answer);
        if read {
            talk = talk.done("get_door_positions", json!({}), json!({"door_oven_position": 0}));
        }
        check(&GATE, &policy, &talk.history(), &Draft::reply(reply)).into_iter().map(|f| f.tier).collect()
    }

    #[test]
    fn blocks_the_question_that_got_its_yes() {
        assert_eq!(found("Yes, please.", false, "Okay! Shall I open the oven door?"), [Tier::Hard]);
    }

    #[test]
    fn leaves_another_answer_to_the_critic() {
        assert_eq!(found("What time is it?", false, "It is six. Shall I open the oven door?"), [Tier::Advisory]);
    }

    #[test]
    fn allows_another_question_and_the_same_after_a_reading() {
        assert_eq!(found("Yes, please.", false, "How far should I open the oven door?"), []);
        assert_eq!(found("Yes, please.", true, "Shall I open the oven door?"), []);
    }
}
