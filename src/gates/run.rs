//! Runs the gates, each isolated from the others.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Exhausted, Findings, GATES, Gate, View};
use crate::model::{Finding, GateName, Tier};

/// A gate that could not finish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gate `{gate}` failed: {why}")]
pub struct GateFault {
    /// The gate.
    pub gate: GateName,
    /// What happened.
    pub why: String,
}

/// How the gates fared; journalled with the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Gates that failed.
    pub faults: Vec<GateFault>,
}

/// Runs all gates over a view.
///
/// A gate that panics or exhausts its budget contributes nothing it wrote so far. If it is hard (or
/// settles what is owed) and the draft writes, its failure is a hard finding: a check that did not
/// finish has cleared nothing. On a read or a reply it is only journalled (design §5).
pub fn run(view: &View<'_>, findings: &mut Findings) -> Health {
    run_these(GATES, view, findings)
}

pub(super) fn run_these(gates: &[&Gate], view: &View<'_>, findings: &mut Findings) -> Health {
    let mut health = Health::default();
    let writes =
        view.draft.calls.iter().any(|c| view.policy.inventory.get(c.tool.as_str()).is_none_or(|t| t.is_write()));
    for gate in gates {
        view.refuel();
        let before = findings.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| (gate.check)(view, findings)));
        let why = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(exhausted @ Exhausted)) => exhausted.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        findings.truncate(before);
        let fault = GateFault { gate: gate.name, why };
        if gate.tier != Tier::Advisory && writes {
            let because = format!("{fault}; a write that was not checked in full is not made");
            findings.push(Finding::new(gate.name, Tier::Hard, because));
        }
        health.faults.push(fault);
    }
    health
}

#[cfg(test)]
mod tests {
    use super::super::findings::CAPACITY;
    use super::super::testing::{Talk, calls, kitchen};
    use super::*;
    use crate::model::Draft;
    use crate::obligations::Owed;
    use serde_json::json;

    type Check = fn(&View<'_>, &mut Findings) -> Result<(), Exhausted>;

    const fn gate(name: &'static str, tier: Tier, check: Check) -> Gate {
        Gate { name, tier, explain: "", check }
    }

    static PANICS: Gate = gate("panics", Tier::Hard, |_, findings| {
        findings.push(Finding::new("panics", Tier::Hard, "half a finding"));
        panic!("a defect")
    });
    static ENDLESS: Gate = gate("endless", Tier::Hard, |view, _| {
        loop {
            view.spend(1)?;
        }
    });
    static ENDLESS_ADVICE: Gate = gate("endless-advice", Tier::Advisory, |view, _| view.spend(usize::MAX));
    static FLOODS: Gate = gate("floods", Tier::Hard, |_, findings| {
        (0..10 * CAPACITY).for_each(|_| findings.push(Finding::new("floods", Tier::Hard, "and another")));
        Ok(())
    });
    static ADVISES: Gate = gate("advises", Tier::Advisory, |_, findings| {
        (0..10 * CAPACITY).for_each(|_| findings.push(Finding::new("advises", Tier::Advisory, "and another")));
        Ok(())
    });
    static SOUND: Gate = gate("sound", Tier::Hard, |view, findings| {
        view.spend(1)?;
        findings.push(Finding::new("sound", Tier::Hard, "seen"));
        Ok(())
    });

    /// The findings of these gates on a draft, and what failed.
    fn run_on(draft: &Draft, gates: &[&Gate]) -> (Vec<String>, Health) {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("turn on the oven").history();
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let mut findings = Findings::default();
        let health = run_these(gates, &View::new(&policy, &history, draft, &owed), &mut findings);
        (findings.take().into_iter().map(|f| format!("{}: {}", f.gate, f.because)).collect(), health)
    }

    fn write() -> Draft {
        calls(&[("switch_oven", json!({"on": true}))])
    }

    #[test]
    fn a_gate_that_panics_or_never_ends_silences_no_other() {
        let (found, health) = run_on(&Draft::reply("hello"), &[&PANICS, &ENDLESS, &SOUND]);
        assert_eq!(found, ["sound: seen"]);
        let failed: Vec<String> = health.faults.iter().map(ToString::to_string).collect();
        assert_eq!(failed[0], "the gate `panics` failed: it panicked");
        assert!(failed[1].starts_with("the gate `endless` failed: the gate used up its budget"), "{}", failed[1]);
    }

    #[test]
    fn an_empty_reply_is_found_although_an_earlier_gate_fails() {
        let (found, health) = run_on(&Draft::reply(""), &[&PANICS, &super::super::output_integrity::GATE]);
        assert_eq!(found, ["output-integrity: the draft neither says nor does anything"]);
        assert_eq!(health.faults.len(), 1);
    }

    #[test]
    fn a_hard_gate_that_fails_on_a_write_denies_it() {
        let (found, _) = run_on(&write(), &[&PANICS, &SOUND]);
        assert_eq!(found.len(), 2);
        assert!(found[0].ends_with("a write that was not checked in full is not made"), "{}", found[0]);
    }

    #[test]
    fn a_hard_gate_that_fails_on_a_read_contributes_nothing() {
        assert_eq!(run_on(&calls(&[("get_oven_state", json!({}))]), &[&PANICS]).0, [""; 0]);
    }

    #[test]
    fn an_advisory_gate_that_fails_contributes_nothing() {
        let (found, health) = run_on(&write(), &[&ENDLESS_ADVICE]);
        assert_eq!((found.len(), health.faults.len()), (0, 1));
    }

    #[test]
    fn a_gate_that_floods_the_list_is_a_hard_finding_of_its_own() {
        let (found, _) = run_on(&write(), &[&FLOODS, &SOUND]);
        assert!(found[0].starts_with("floods: more than 64 findings stand against this draft"), "{}", found[0]);
        assert_eq!(found.len(), CAPACITY + 1);
    }

    #[test]
    fn advice_without_end_denies_nothing_and_takes_no_place_of_what_does() {
        let (found, _) = run_on(&write(), &[&ADVISES, &SOUND]);
        assert!(found.contains(&"sound: seen".to_owned()) && found.len() <= CAPACITY, "{}", found.len());
        assert!(found.iter().all(|f| !f.contains("refused as a whole")), "{}", found[0]);
    }
}
