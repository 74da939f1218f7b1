//! Refusals of what was just done.

use super::offers::denials;
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::PhraseRole;

gate! {
    /// Nobody says that something cannot be done after doing it.
    ///
    /// # Why
    /// A driver who hears "I can't close the windows" after they were closed will close them again, or
    /// stop believing the assistant.
    ///
    /// # Blocks
    /// "I can't close the door" in a turn in which exactly that succeeded and nothing of it failed. After
    /// a success in an earlier turn it is put before the critic: the car may have changed.
    ///
    /// # Allows
    /// Refusals with a limit of their own ("no further than 50 percent", "while driving"), and of what
    /// failed or was never called.
    ///
    /// # Remedy
    /// None: say what was done.
    "inability-contradiction", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    for denial in denials(view, reply)? {
        let limited = [PhraseRole::Contingent, PhraseRole::Relative, PhraseRole::Qualifier, PhraseRole::All];
        let limited = limited.iter().any(|role| reply.sentence_has(denial.sentence, *role));
        let counted =
            reply.numbers().any(|(at, _)| reply.words().get(at).is_some_and(|w| w.sentence == denial.sentence));
        let [tool] = denial.tools.as_slice() else { continue };
        let mut done = None;
        let mut failed = false;
        for (_, past) in view.history.calls_of(*tool).rev() {
            view.spend(1)?;
            failed |= !past.succeeded();
            done = done.or_else(|| past.succeeded().then_some(past));
        }
        let Some(done) = done.filter(|_| !failed) else { continue };
        let certain = done.turn == view.history.turn() && !limited && !counted;
        let tier = if certain { Tier::Hard } else { Tier::Advisory };
        let because = format!("the reply says \"{}\", but {} succeeded in this conversation", denial.words, done.call);
        findings.push(Finding::new(NAME, tier, because));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::state::History;
    use serde_json::json;

    fn found(reply: &str, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Tier> {
        let policy = kitchen();
        let history = history(Talk::new(&policy).driver("set the hood to 2"));
        check(&GATE, &policy, &history, &Draft::reply(reply)).into_iter().map(|f| f.tier).collect()
    }

    fn hood(talk: Talk<'_>) -> Talk<'_> {
        talk.done("set_hood_speed", json!({"level": 2}), json!({}))
    }

    #[test]
    fn blocks_a_refusal_of_what_was_done_in_this_turn() {
        assert_eq!(found("I'm afraid I can't set the hood speed.", |t| hood(t).history()), [Tier::Hard]);
        assert_eq!(found("Ich kann den Abzug leider nicht stellen.", |t| hood(t).history()), [Tier::Hard]);
    }

    #[test]
    fn leaves_an_earlier_success_to_the_critic() {
        let later = |t: Talk<'_>| hood(t).assistant("It is on.").driver("set it again").history();
        assert_eq!(found("I can't set the hood speed.", later), [Tier::Advisory]);
    }

    #[test]
    fn allows_what_failed_or_was_never_called() {
        let failed = |t: Talk<'_>| hood(t.failed("set_hood_speed", json!({"level": 9}))).history();
        assert_eq!(found("I can't set the hood speed.", failed), []);
        assert_eq!(found("I can't set the hood speed.", |t| t.history()), []);
    }

    #[test]
    fn a_refusal_with_a_limit_of_its_own_is_left_to_the_critic() {
        assert_eq!(found("I can't set the hood to 9.", |t| hood(t).history()), [Tier::Advisory]);
    }
}
