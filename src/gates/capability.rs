//! Companions that this car cannot make.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::RuleIx;

gate! {
    /// A call is not made when what the policy demands with it is missing in this car.
    ///
    /// # Why
    /// Half of a pair is worse than nothing: an open roof whose shade cannot follow, a warm windscreen that
    /// nobody blows air to.
    ///
    /// # Blocks
    /// A call whose rule asks for a companion that a removed tool or parameter would have to make. The
    /// missing part is found by building the companion from the rule, not by looking for words.
    ///
    /// # Allows
    /// Every call whose companions can be made or are already satisfied.
    ///
    /// # Remedy
    /// None: the driver hears what is missing; what needs no such companion is done.
    "capability", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for conflict in &view.owed.conflicts {
        view.spend(1)?;
        let Some(lacking) = &conflict.lacking else { continue };
        let tool = view.policy.inventory.get(lacking.as_str());
        let what = tool.map_or_else(|| lacking.to_string(), |t| view.called(t));
        let mut finding = Finding::new(NAME, Tier::Hard, conflict.because.clone()).saying(view.say("no-tool", &what));
        finding.call = conflict.call;
        let rule = conflict.rules.first().and_then(|ix: &RuleIx| view.policy.rule(*ix));
        findings.push(match rule {
            Some(rule) => finding.by(&rule.id, &rule.source),
            None => finding,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check_owed, kitchen};
    use super::*;
    use crate::obligations::{Conflict, Owed};
    use serde_json::json;

    fn found(lacking: Option<&str>) -> Vec<Finding> {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("turn on the oven").history();
        let draft = calls(&[("switch_oven", json!({"on": true}))]);
        let because = "the hood must run with it, but set_hood_speed is missing here".to_owned();
        let conflict = Conflict { call: Some(0), rules: vec![], because, lacking: lacking.map(Into::into) };
        let owed = Owed { amended: draft.clone(), conflicts: vec![conflict], ..Owed::default() };
        check_owed(&GATE, &policy, &history, &draft, owed)
    }

    #[test]
    fn blocks_a_call_whose_companion_is_missing() {
        let found = found(Some("set_hood_speed"));
        assert_eq!((found[0].tier, found[0].call), (Tier::Hard, Some(0)));
        assert_eq!(found[0].say.as_deref(), Some("Sorry, this car can't do that: hood is not available here."));
    }

    #[test]
    fn allows_a_conflict_of_another_kind_to_be_told_elsewhere() {
        assert_eq!(found(None), []);
    }
}
