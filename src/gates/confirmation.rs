//! The driver's yes before what needs one.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::obligations::{Consent, ConsentDebt};

gate! {
    /// What needs the driver's consent is asked for, and the answer is a plain yes.
    ///
    /// # Why
    /// A mail cannot be called back, and an open trunk not be closed in time.
    ///
    /// # Blocks
    /// A call of a marked tool, or one for which a rule wants consent, without a question that names it
    /// and a yes to that question. `No, that's okay` is no yes, nor is `yes, but not now`.
    ///
    /// # Allows
    /// The call that the driver just agreed to, in any words for yes, also when the request is repeated
    /// with it. Only reads may stand between the yes and the call.
    ///
    /// # Remedy
    /// The question, rendered from the call's own arguments; the harness asks it.
    "confirmation", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for debt in &view.owed.consents {
        view.spend(1)?;
        let why = match debt.answer {
            Consent::Refused => "the driver's answer was no plain yes",
            Consent::Unasked => "the driver has not been asked",
            _ => continue,
        };
        findings.push(owed(view, NAME, debt, why));
    }
    Ok(())
}

/// The finding of a debt: the harness asks its question.
pub(super) fn owed(view: &View<'_>, gate: &'static str, debt: &ConsentDebt, why: &str) -> Finding {
    let because = if debt.because.is_empty() { why.to_owned() } else { format!("{}; {why}", debt.because) };
    let finding = Finding::new(gate, Tier::Owed, because).at(debt.call).saying(debt.question.clone());
    match debt.rule.and_then(|ix| view.policy.rule(ix)) {
        Some(rule) => finding.by(&rule.id, &rule.source),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check_owed, kitchen};
    use super::*;
    use crate::obligations::{Owed, consent_after};
    use serde_json::json;

    fn found(question: &str, answer: &str) -> Vec<Finding> {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("wash up").assistant(question).driver(answer).history();
        let draft = calls(&[("start_dishwasher", json!({"program": "ECO"}))]);
        let question = "Start the dishwasher on eco?".to_owned();
        let answer = consent_after(&policy, &history, &draft.calls[0], [], None);
        let because = "it needs consent".into();
        let debt = ConsentDebt { rule: None, call: 0, question, because, since: None, answer };
        check_owed(
            &GATE,
            &policy,
            &history,
            &draft,
            Owed { amended: draft.clone(), consents: vec![debt], ..Owed::default() },
        )
    }

    #[test]
    fn blocks_without_a_question_and_brings_its_own() {
        let found = found("Let me wash up.", "Yes");
        assert_eq!((found[0].tier, found[0].say.as_deref()), (Tier::Owed, Some("Start the dishwasher on eco?")));
        assert!(found[0].because.ends_with("has not been asked"));
    }

    #[test]
    fn blocks_a_no_that_sounds_like_a_yes() {
        for answer in ["No, I don't want that", "No, that's okay, leave it off", "Yes but not now"] {
            assert_eq!(found("Shall I start the dishwasher on eco?", answer).len(), 1, "{answer}");
        }
    }

    #[test]
    fn allows_a_yes_in_other_words() {
        for answer in ["Absolutely", "Make it so", "Yes, please start it!", "Klar, mach das"] {
            assert_eq!(found("Are you sure you want me to start the dishwasher on eco?", answer), [], "{answer}");
        }
    }

    #[test]
    fn a_yes_to_music_starts_no_dishwasher() {
        assert_eq!(found("Do you want me to play music?", "Yes, sure").len(), 1);
    }
}
