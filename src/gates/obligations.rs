//! What the policy still owes for the draft.

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::obligations::Settled;
use crate::policy::RuleIx;

gate! {
    /// Everything that the policy demands with a call comes with it, and nothing that it forbids.
    ///
    /// # Why
    /// "Turn on the AC" is four words; that open windows are closed with it is the policy's demand, and
    /// a student forgets it.
    ///
    /// # Blocks
    /// A draft that lacks a companion (`window_driver_position = 25 > 20`), breaks a prohibition, raises
    /// demands that cannot all be met, or changes what the policy exempts and nobody asked for. What
    /// must be said is owed until it was said.
    ///
    /// # Allows
    /// A draft after which every active rule is satisfied, however that came about.
    ///
    /// # Remedy
    /// The calls that satisfy the rule, computed from the observed state; they are inserted unless the
    /// driver must agree to them. A prohibition has none: the driver is told why not.
    "obligations", Owed
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let owed = view.owed;
    view.spend(owed.debts.len() + owed.breaches.len() + owed.conflicts.len() + owed.excess.len())?;
    for debt in &owed.debts {
        let tier = match debt.settled {
            Settled::Inserted | Settled::Held => Tier::Owed,
            Settled::Open => Tier::Hard,
        };
        let finding = Finding::new(NAME, tier, debt.because.clone()).with_remedy(debt.remedy.clone());
        findings.push(by(view, Some(debt.rule), debt.call, finding));
    }
    for breach in &owed.breaches {
        let occasion = if breach.unknown { "unreadable" } else { "not-allowed" };
        let what = if breach.unknown { breach.because.as_str() } else { sentence(view, breach.rule) };
        let mut finding = Finding::new(NAME, Tier::Hard, breach.because.clone());
        finding.say = Some(view.say(occasion, what));
        findings.push(by(view, Some(breach.rule), breach.call, finding));
    }
    // What this car lacks is told by `capability`.
    for conflict in owed.conflicts.iter().filter(|c| c.lacking.is_none()) {
        let clauses: Vec<&str> = conflict.rules.iter().map(|rule| sentence(view, *rule)).collect();
        let mut finding = Finding::new(NAME, Tier::Hard, conflict.because.clone());
        finding.say = Some(view.say("no-way-out", &clauses.join(" ")));
        findings.push(by(view, conflict.rules.first().copied(), conflict.call, finding));
    }
    for excess in &owed.excess {
        let drafted = view.drafted.calls.get(excess.call).map(|call| call.key());
        let stands = view.draft.calls.iter().any(|call| Some(call.key()) == drafted);
        let tier = if stands { Tier::Hard } else { Tier::Owed };
        let finding = Finding::new(NAME, tier, excess.because.clone()).with_remedy(excess.instead.clone());
        findings.push(by(view, Some(excess.rule), Some(excess.call), finding));
    }
    for disclosure in &owed.disclosures {
        let finding = Finding::new(NAME, Tier::Owed, disclosure.because.clone()).saying(disclosure.sentence.clone());
        findings.push(by(view, Some(disclosure.rule), None, finding));
    }
    Ok(())
}

fn sentence<'a>(view: &View<'a>, rule: RuleIx) -> &'a str {
    view.policy.rule(rule).map_or("", |r| r.sentence.as_ref())
}

fn by(view: &View<'_>, rule: Option<RuleIx>, call: Option<usize>, mut finding: Finding) -> Finding {
    finding.call = call;
    match rule.and_then(|ix| view.policy.rule(ix)) {
        Some(rule) => finding.by(&rule.id, &rule.source),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, call, calls, check_owed, parts};
    use super::*;
    use crate::model::PolicyHash;
    use crate::obligations::{Breach, Conflict, Debt, Disclosure, Excess, Owed};
    use crate::policy::{Policy, Program, Rule, RuleKind, Trigger};
    use crate::state::EntityIx;
    use serde_json::json;

    /// The kitchen with one rule to cite.
    fn policy() -> Policy {
        let rule = Rule {
            id: "011".into(),
            kind: RuleKind::AutoAction,
            source: "policy.md:3".into(),
            sentence: "The oven door is closed when the oven is on.".into(),
            trigger: Trigger::Calls(vec![]),
            entity: EntityIx::CAR,
            guard: Program::default(),
            when: Program::default(),
            reads_after: vec![],
            remedy: vec![],
            read: None,
            consent: None,
            disclose: None,
            said: vec![],
            on_failure: vec![],
            fresh: None,
            advise: None,
            shadow: false,
        };
        Policy::new(crate::policy::PolicyParts { rules: vec![rule], ..parts() }, PolicyHash([1; 32])).unwrap()
    }

    fn found(owed: impl FnOnce(Owed) -> Owed) -> Vec<Finding> {
        let policy = policy();
        let history = Talk::new(&policy).driver("turn on the oven please").history();
        let draft =
            calls(&[("switch_oven", json!({"on": true})), ("move_door", json!({"door": "ALL", "percentage": 0}))]);
        let owed = owed(Owed { amended: draft.clone(), ..Owed::default() });
        check_owed(&GATE, &policy, &history, &draft, owed)
    }

    fn debt(settled: Settled) -> Debt {
        let remedy = vec![call("move_door", json!({"door": "OVEN", "percentage": 0}))];
        Debt {
            rule: RuleIx(0),
            call: Some(0),
            remedy,
            because: "door_oven_position = 25 > 0".into(),
            settled,
            overwrites: false,
        }
    }

    #[test]
    fn blocks_an_open_debt_and_cites_rule_sentence_and_evidence() {
        let found = found(|owed| Owed { debts: vec![debt(Settled::Open)], ..owed });
        assert_eq!((found[0].tier, found[0].call), (Tier::Hard, Some(0)));
        assert_eq!(found[0].rule.as_ref().unwrap().as_str(), "011");
        assert_eq!(found[0].source.as_deref(), Some("policy.md:3"));
        assert_eq!(found[0].remedy[0].to_string(), r#"move_door(door: "OVEN", percentage: 0)"#);
    }

    #[test]
    fn a_debt_that_the_harness_settles_is_owed_not_hard() {
        for settled in [Settled::Inserted, Settled::Held] {
            assert_eq!(found(|owed| Owed { debts: vec![debt(settled)], ..owed })[0].tier, Tier::Owed);
        }
    }

    #[test]
    fn blocks_a_breach_and_tells_the_driver_why() {
        let breach = |unknown| Breach { rule: RuleIx(0), call: Some(0), because: "oven_on".into(), unknown };
        let why = found(|owed| Owed { breaches: vec![breach(false)], ..owed });
        let said = "Sorry, I'm not allowed to do that: The oven door is closed when the oven is on.";
        assert_eq!((why[0].tier, why[0].say.as_deref()), (Tier::Hard, Some(said)));
        let unread = found(|owed| Owed { breaches: vec![breach(true)], ..owed });
        assert_eq!(unread[0].say.as_deref(), Some("Sorry, I can't do that, because I can't read oven_on."));
    }

    #[test]
    fn blocks_demands_that_cannot_all_be_met() {
        let conflict = Conflict { call: Some(0), rules: vec![RuleIx(0)], because: "2 against 1".into(), lacking: None };
        assert_eq!(found(|owed| Owed { conflicts: vec![conflict], ..owed })[0].tier, Tier::Hard);
    }

    #[test]
    fn excess_is_hard_while_it_stands_and_owed_once_it_is_replaced() {
        let excess =
            Excess { rule: RuleIx(0), call: 1, instead: debt(Settled::Open).remedy, because: "OVEN only".into() };
        let standing = found(|owed| Owed { excess: vec![excess.clone()], ..owed });
        assert_eq!(standing[0].tier, Tier::Hard);
        let replaced = calls(&[("switch_oven", json!({"on": true}))]);
        let repaired = found(|owed| Owed { excess: vec![excess], amended: replaced, ..owed });
        assert_eq!(repaired[0].tier, Tier::Owed);
    }

    #[test]
    fn a_disclosure_brings_its_sentence() {
        let disclosure = Disclosure { rule: RuleIx(0), sentence: "It gets hot.".into(), because: "gap 7 > 3".into() };
        let found = found(|owed| Owed { disclosures: vec![disclosure], ..owed });
        assert_eq!((found[0].tier, found[0].say.as_deref()), (Tier::Owed, Some("It gets hot.")));
    }

    #[test]
    fn allows_a_draft_that_owes_nothing() {
        assert_eq!(found(|owed| owed), []);
    }
}
