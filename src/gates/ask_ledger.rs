//! Wishes that a report leaves out.

use super::claims::{Manner, claims};
use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::{Meaning, PhraseRole, Reading};
use crate::tools::ToolIx;

gate! {
    /// A report of success covers every wish.
    ///
    /// # Why
    /// Of three wishes in one sentence the last is easily lost, and "all done" hides it.
    ///
    /// # Blocks
    /// Nothing by itself: a reply that reports success goes before the critic with each wish of the latest
    /// requests that no call since then was made for and that the reply does not speak of.
    ///
    /// # Allows
    /// Wishes that a call was made for, whatever became of it; wishes the reply names, asks about or
    /// refuses; and replies that report nothing.
    ///
    /// # Remedy
    /// None: see to the wish, or say what became of it.
    "ask-ledger", Advisory
}

/// Requests of the driver that are looked back at.
const KEPT: usize = 3;

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply().filter(|r| !r.words().asks()) else { return Ok(()) };
    let reports = reply.has(PhraseRole::Done) || claims(view, reply)?.iter().any(|c| c.manner == Manner::Did);
    if !reports || reply.has(PhraseRole::Admission) {
        return Ok(());
    }
    for (reading, utterance) in view.heard()?.iter().zip(view.history.driver().iter().rev()).take(KEPT) {
        for (wish, tools) in wishes(view, reading)? {
            let since = view.history.calls().iter().rev().take_while(|p| p.step > utterance.step);
            let called = since.into_iter().any(|p| p.tool.is_some_and(|t| tools.contains(&t)));
            if !called && !tools.iter().any(|t| reply.names(*t)) {
                let because =
                    format!("the driver asked \"{wish}\"; no call was made for it and the reply is silent on it");
                findings.push(Finding::new(NAME, Tier::Advisory, because));
            }
        }
    }
    Ok(())
}

/// The wishes of a request: each clause that says what to do to what, with the tools for it.
fn wishes(view: &View<'_>, driver: &Reading<'_>) -> Result<Vec<(String, Vec<ToolIx>)>, Exhausted> {
    let mut found = Vec::new();
    for (clause, words) in driver.clauses() {
        view.spend(1)?;
        let here = || driver.hits().iter().filter(move |h| driver.clause(h) == clause);
        let denied = here().any(|h| h.is(PhraseRole::Negation));
        let changes = here().any(|h| h.is(PhraseRole::Change));
        let named =
            here().flat_map(|h| h.nouns()).filter(|t| view.policy.inventory.at(*t).is_some_and(|t| t.is_write()));
        let tools: Vec<ToolIx> = named.filter(|t| changes || here().any(|h| h.means(Meaning::Verb(*t)))).collect();
        if !denied && !tools.is_empty() {
            found.push((words, tools));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(driver: &str, reply: &str) -> usize {
        let policy = kitchen();
        let talk = Talk::new(&policy).driver(driver);
        let history = talk.done("set_hood_speed", json!({"level": 2}), json!({})).history();
        check(&GATE, &policy, &history, &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_a_lost_wish_before_the_critic() {
        assert_eq!(found("set the hood to 2, then close the doors", "All done!"), 1);
        assert_eq!(found("stelle den Abzug auf 2, schließe die Türen", "Ich habe den Abzug auf 2 gestellt."), 1);
    }

    #[test]
    fn allows_a_report_of_everything_and_no_report() {
        assert_eq!(found("set the hood to 2", "All done!"), 0);
        for reply in ["All done, but the doors stay open.", "Shall I close the doors now?", "The hood runs at 2."] {
            assert_eq!(found("set the hood to 2, then close the doors", reply), 0, "{reply}");
        }
        assert_eq!(found("set the hood to 2, but don't close the doors", "All done!"), 0);
    }
}
