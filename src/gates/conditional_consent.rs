//! A yes that came too early.

use super::confirmation::owed;
use super::{Exhausted, Findings, View, gate};
use crate::obligations::Consent;

gate! {
    /// A yes counts only after the observation that made it necessary.
    ///
    /// # Why
    /// Who agreed to open the sunroof before the rain was read has not agreed to open it in the rain.
    ///
    /// # Blocks
    /// A call for which a rule wants consent because of something that was read after the driver's yes.
    ///
    /// # Allows
    /// A yes to a question asked when the fact was already known.
    ///
    /// # Remedy
    /// The question, with the fact in it; the harness asks it.
    "conditional-consent", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for debt in &view.owed.consents {
        view.spend(1)?;
        if debt.answer == Consent::Stale {
            findings.push(owed(view, NAME, debt, "that was not known yet when the driver said yes"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check_owed, kitchen};
    use super::*;
    use crate::model::Finding;
    use crate::obligations::{ConsentDebt, Owed, consent_after};
    use crate::state::{CallRef, History};
    use serde_json::json;

    fn found(history: impl FnOnce(Talk<'_>) -> History) -> Vec<Finding> {
        let policy = kitchen();
        let history = history(Talk::new(&policy).driver("wash up"));
        let draft = calls(&[("start_dishwasher", json!({"program": "ECO"}))]);
        let because = "door_dishwasher_position = 30 > 0".to_owned();
        let since = Some(CallRef(0));
        let answer = consent_after(&policy, &history, &draft.calls[0], [], since);
        let debt = ConsentDebt { rule: None, call: 0, question: "Wash?".into(), because, since, answer };
        check_owed(
            &GATE,
            &policy,
            &history,
            &draft,
            Owed { amended: draft.clone(), consents: vec![debt], ..Owed::default() },
        )
    }

    #[test]
    fn blocks_a_yes_from_before_the_reading() {
        let found = found(|talk| {
            let asked = talk.assistant("Shall I start the dishwasher on eco?").driver("yes");
            asked.done("get_door_positions", json!({}), json!({"door_dishwasher_position": 30})).history()
        });
        assert!(found[0].because.ends_with("not known yet when the driver said yes"));
    }

    #[test]
    fn allows_a_yes_from_after_the_reading() {
        let found = found(|talk| {
            let read = talk.done("get_door_positions", json!({}), json!({"door_dishwasher_position": 30}));
            read.assistant("Shall I start the dishwasher on eco?").driver("yes").history()
        });
        assert_eq!(found, []);
    }
}
