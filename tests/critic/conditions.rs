//! Faults in conditions.

use crate::mutator::{Parts, cabin, fault, rules};
use crate::{Faulty, all_found, solver};

fn conditional() -> impl Iterator<Item = Parts> {
    rules(&cabin()).into_iter().filter(|r| !r.when.is_empty())
}

#[test]
fn a_name_that_does_not_exist_is_found() {
    let misspelt = |r: Parts| {
        let spoil = |from: &str, to: &str| r.when.contains(from).then(|| r.when(r.when.replacen(from, to, 1)));
        let condition = spoil("resource.", "resource.old_").or_else(|| spoil("context.before.", "context.before.the_"));
        let condition = condition.or_else(|| spoil("context.", "context.my_"));
        let remedy = r.annotation("remedy").map(|text| r.with("remedy", &text.replacen("(", "_now(", 1)));
        let read =
            r.annotation("read").map(|text| r.with("read", &text.replacen("get_weather", "get_charging_status", 1)));
        [condition, remedy, read]
            .into_iter()
            .flatten()
            .map(|bad| fault("a name was misspelt", &bad, &[]))
            .collect::<Vec<_>>()
    };
    // Those with a remedy or a read come first: their annotations are spoilt as well.
    let mut all: Vec<Parts> = conditional().collect();
    all.sort_by_key(|r| r.annotation("remedy").is_none() && r.annotation("read").is_none());
    all_found("grounding", all.into_iter().flat_map(misspelt));
}

#[test]
fn a_constant_outside_its_domain_is_found() {
    let spoilt = |r: Parts| {
        let mut faults = Vec::new();
        // Every second quote closes a constant; what a session has called is a name, not a value.
        for (at, _) in r.when.match_indices('"').collect::<Vec<_>>().into_iter().skip(1).step_by(2) {
            if !r.when.contains("session.") {
                let when = format!("{}X{}", &r.when[..at], &r.when[at..]);
                faults.push(fault("a member was misspelt", &r.when(when), &[]));
            }
        }
        for sign in [" > ", " < ", " >= "] {
            let Some((before, after)) = r.when.split_once(sign) else { continue };
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            if !digits.is_empty() && !before.contains("draft") {
                let when = format!("{before}{sign}1000000{}", after);
                faults.push(fault("a number left its range", &r.when(when), &[]));
            }
        }
        faults
    };
    all_found("values", conditional().flat_map(spoilt));
}

#[test]
fn a_condition_that_contradicts_itself_is_found() {
    if !solver("rules that never fire") {
        return;
    }
    let contradicted = |r: Parts| {
        let first = r.conjuncts().first().cloned().unwrap_or_else(|| r.when.clone());
        fault("its first conjunct was contradicted", &r.when(format!("({}) && !({first})", r.when)), &[])
    };
    all_found("never-fires", conditional().map(contradicted));
}

#[test]
fn a_condition_that_says_nothing_is_found() {
    if !solver("rules that always fire") {
        return;
    }
    let empty = |r: Parts| {
        let lost = r.is_plain().then(|| fault("its condition was lost", &r.when(""), &[]));
        let doubled = fault("its opposite was added", &r.when(format!("({0}) || !({0})", r.when)), &[]);
        lost.into_iter().chain([doubled]).collect::<Vec<Faulty>>()
    };
    all_found("always-fires", conditional().flat_map(empty));
}

#[test]
fn a_condition_that_overflows_is_found() {
    if !solver("rules that can err") {
        return;
    }
    let overflowing = |r: Parts| {
        let mut faults = Vec::new();
        for (sign, _) in [(" > ", 0), (" < ", 0), (" >= ", 0)] {
            for (at, _) in r.when.match_indices(sign) {
                let after: String = r.when[at + sign.len()..].chars().take_while(char::is_ascii_digit).collect();
                if after.is_empty() {
                    continue;
                }
                for sum in [" * 9223372036854775807", " + 9223372036854775807"] {
                    let when = format!("{}{sum}{}", &r.when[..at], &r.when[at..]);
                    faults.push(fault(format!("`{sum}` was added"), &r.when(when), &[]));
                }
            }
        }
        faults
    };
    all_found("can-error", conditional().flat_map(overflowing));
}

#[test]
fn a_prohibition_that_lost_its_state_is_found() {
    let wide = ["context.input.on", "context.input.percentage", "context.input.level", "context.input.action"];
    let lost = |r: Parts| {
        let (guard, state) = r.guard_and_state();
        let narrow = r.when.contains("defrost_window");
        if guard.is_empty() || state.is_empty() || narrow || !wide.iter().any(|w| guard[0].contains(w)) {
            return Vec::new();
        }
        let plain = r.plain();
        let guard = guard.join(" && ");
        let vacuous = format!("{guard} && context.now.hour < 24");
        vec![
            fault("its state was lost", &plain.when(guard), &[]),
            fault("its state was replaced by what always holds", &plain.when(vacuous), &[]),
        ]
    };
    all_found("over-blocking", conditional().flat_map(lost));
}
