//! A yes to something else.

use super::confirmation::owed;
use super::{Exhausted, Findings, View, gate};
use crate::obligations::Consent;

gate! {
    /// A yes covers exactly the call it was given for, once.
    ///
    /// # Why
    /// A yes to a mail to Grace is none to the same mail to Bob, and none to a second one.
    ///
    /// # Blocks
    /// A call that differs from the one asked about in any argument which the driver had left free, and
    /// the same call again after it was made.
    ///
    /// # Allows
    /// The call as it was put to the driver, text and recipients included.
    ///
    /// # Remedy
    /// The question with the arguments as they are now; the harness asks it.
    "consent-scope", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for debt in &view.owed.consents {
        view.spend(1)?;
        let why = match &debt.answer {
            Consent::Other(argument) => format!("the driver's yes was not to this `{argument}`"),
            Consent::Spent => "the driver's yes was used up by the same call before".to_owned(),
            _ => continue,
        };
        findings.push(owed(view, NAME, debt, &why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check_owed, kitchen};
    use super::*;
    use crate::model::Finding;
    use crate::obligations::{ConsentDebt, Owed, consent_after};
    use crate::state::History;
    use serde_json::{Value as Json, json};

    fn list(to: &str) -> Json {
        json!({"text": "Two eggs.", "addresses": [to]})
    }

    fn found(to: &str, history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        let asked = Talk::new(&policy).driver("send the list").assistant("I'd send \"Two eggs.\" to a@x.org. Shall I?");
        let history = history(asked.driver("yes"));
        let draft = calls(&[("send_list", list(to))]);
        let debt = ConsentDebt {
            rule: None,
            call: 0,
            question: "Send?".into(),
            because: "it leaves the house".into(),
            since: None,
            answer: consent_after(&policy, &history, &draft.calls[0], [], None),
        };
        check_owed(
            &GATE,
            &policy,
            &history,
            &draft,
            Owed { amended: draft.clone(), consents: vec![debt], ..Owed::default() },
        )
    }

    #[test]
    fn blocks_another_recipient() {
        // The text names the action; only the recipient differs.
        let policy = kitchen();
        let history = Talk::new(&policy)
            .driver("send the list")
            .assistant("I'd send the shopping list \"Two eggs.\" to a@x.org. Shall I?")
            .driver("yes")
            .history();
        let draft = calls(&[("send_list", list("b@x.org"))]);
        let debt = ConsentDebt {
            rule: None,
            call: 0,
            question: "Send?".into(),
            because: "it leaves the house".into(),
            since: None,
            answer: consent_after(&policy, &history, &draft.calls[0], [], None),
        };
        let owed = Owed { amended: draft.clone(), consents: vec![debt], ..Owed::default() };
        let found = check_owed(&GATE, &policy, &history, &draft, owed);
        assert_eq!(found[0].because, "it leaves the house; the driver's yes was not to this `addresses`");
    }

    #[test]
    fn blocks_a_second_one() {
        let found = found("a@x.org", |talk| talk.done("send_list", list("a@x.org"), json!({})).history());
        assert!(found[0].because.ends_with("used up by the same call before"));
    }

    #[test]
    fn allows_the_call_that_was_asked_about() {
        assert_eq!(found("a@x.org", |talk| talk.history()), []);
    }

    #[test]
    fn a_read_in_between_changes_nothing() {
        let found = found("a@x.org", |talk| talk.done("get_oven_state", json!({}), json!({})).history());
        assert_eq!(found, []);
    }
}
