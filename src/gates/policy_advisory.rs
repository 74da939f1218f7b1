//! Rules that no engine can execute.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};

gate! {
    /// A rule that needs judgement is put before the critic when its situation arises.
    ///
    /// # Why
    /// Part of every policy is about tone or sense. Code sees when such a rule matters, not whether it
    /// is kept.
    ///
    /// # Blocks
    /// Nothing by itself. The critic sees the hint of each rule whose condition holds for the draft.
    ///
    /// # Allows
    /// Every draft where no such rule is near: a rule is not echoed because one of its words was said.
    ///
    /// # Remedy
    /// None.
    "policy-advisory", Advisory
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for hint in &view.owed.hints {
        view.spend(1)?;
        let mut finding = Finding::new(NAME, Tier::Advisory, hint.text.clone());
        finding.call = hint.call;
        if let Some(rule) = view.policy.rule(hint.rule) {
            finding = finding.by(&rule.id, &rule.source);
        }
        findings.push(finding);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check_owed, kitchen};
    use super::*;
    use crate::obligations::{Hint, Owed};
    use crate::policy::RuleIx;
    use serde_json::json;

    fn found(hints: Vec<Hint>) -> Vec<Finding> {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("turn on the oven").history();
        let draft = calls(&[("switch_oven", json!({"on": true}))]);
        check_owed(&GATE, &policy, &history, &draft, Owed { amended: draft.clone(), hints, ..Owed::default() })
    }

    #[test]
    fn blocks_nothing_but_puts_the_hint_before_the_critic() {
        let found = found(vec![Hint { rule: RuleIx(0), call: Some(0), text: "was it asked for?".into() }]);
        assert_eq!((found[0].tier, found[0].because.as_str()), (Tier::Advisory, "was it asked for?"));
    }

    #[test]
    fn allows_a_draft_without_hints_in_silence() {
        assert_eq!(found(vec![]), []);
    }
}
