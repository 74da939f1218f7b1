//! Faults between two rules.

use crate::mutator::{Parts, cabin, fault, rules};
use crate::{Faulty, all_found, solver};

#[test]
fn a_copy_with_a_stronger_guard_is_found() {
    if !solver("shadowed rules") {
        return;
    }
    let copied = |r: Parts| {
        let narrower = r.named("-at-night").when(format!("({}) && context.now.hour < 6", r.when));
        fault("was copied with a stronger guard", &narrower, &[&r])
    };
    all_found("shadowed", rules(&cabin()).into_iter().filter(|r| !r.when.is_empty()).map(copied));
}

#[test]
fn a_question_that_a_prohibition_preempts_is_found() {
    if !solver("preempted questions") {
        return;
    }
    for r in rules(&cabin()).into_iter().filter(|r| r.annotation("consent").is_some() && !r.when.is_empty()) {
        let (guard, _) = r.guard_and_state();
        let wider = r.plain().named("-never").when(guard.join(" && "));
        let faulty = fault("a prohibition covers it", &r, &[&wider]);
        let critique = crate::critique(&faulty.set, "shadowed");
        assert!(critique.errors("shadowed").any(|f| f.what.contains("@consent")), "{}", faulty.what);
    }
}

#[test]
fn two_halves_that_leave_no_call_are_found() {
    if !solver("tools without a call") {
        return;
    }
    let halves = |r: Parts| {
        let (guard, state) = r.guard_and_state();
        if guard.is_empty() || state.is_empty() {
            return Vec::new();
        }
        let (guard, state) = (guard.join(" && "), state.join(" && "));
        let half = r.plain();
        let mirrored = |suffix: &str, when: String| {
            fault("its guard was turned round beside it", &half.named(suffix).when(when), &[&half])
        };
        vec![
            mirrored("-not", format!("!({guard}) && {state}")),
            mirrored("-rest", format!("!({guard} && context.now.hour > 0) && {state}")),
        ]
    };
    let with_finite_calls = |r: &Parts| !r.when.is_empty() && !r.when.contains("resource.temperature - ");
    let faults = rules(&cabin()).into_iter().filter(with_finite_calls).flat_map(halves);
    let faults: Vec<Faulty> = faults.collect();
    all_found("no-call-left", faults);
}
