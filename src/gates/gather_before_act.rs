//! Reads that rules need first.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// What a rule depends on is observed before the call that activates it.
    ///
    /// # Why
    /// A rule about the windows says nothing as long as nobody knows how the windows stand.
    ///
    /// # Blocks
    /// `set_air_conditioning(on: true)` with the window positions never read, or made unknown by a
    /// write that failed. The read must be made in an earlier message: one in the same draft answers
    /// too late.
    ///
    /// # Allows
    /// Calls whose rules can be decided, calls outside a rule's guard (switching off), and calls whose
    /// field stayed unknown after it was read: asking again would not help.
    ///
    /// # Remedy
    /// The read, which the harness makes itself while the writes are held. Never an action.
    "gather-before-act", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for debt in &view.owed.reads {
        view.spend(1)?;
        let mut finding = Finding::new(NAME, Tier::Owed, debt.because.clone()).with_remedy(vec![debt.read.clone()]);
        finding.call = debt.call;
        if let Some(rule) = view.policy.rule(debt.rule) {
            finding = finding.by(&rule.id, &rule.source);
        }
        findings.push(finding);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, call, calls, check_owed, kitchen};
    use super::*;
    use crate::obligations::{Owed, ReadDebt};
    use crate::policy::RuleIx;
    use serde_json::json;

    fn found(reads: Vec<ReadDebt>) -> Vec<Finding> {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("turn on the oven").history();
        let draft = calls(&[("switch_oven", json!({"on": true}))]);
        let owed = Owed { amended: draft.clone(), reads, ..Owed::default() };
        check_owed(&GATE, &policy, &history, &draft, owed)
    }

    #[test]
    fn blocks_with_the_read_itself_as_remedy() {
        let read = call("get_door_positions", json!({}));
        let because = "the oven door was never read".to_owned();
        let found = found(vec![ReadDebt { rule: RuleIx(0), call: Some(0), read: read.clone(), because }]);
        assert_eq!((found[0].tier, found[0].call, &found[0].remedy), (Tier::Owed, Some(0), &vec![read]));
    }

    #[test]
    fn allows_a_call_whose_rules_are_decided() {
        assert_eq!(found(vec![]), []);
    }
}
