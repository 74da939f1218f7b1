//! Faults in remedies.

use crate::mutator::{Parts, SWITCHES, cabin, fault, rules};
use crate::{Faulty, all_found, solver};

/// For each remedy of the cabin the values that do not satisfy its rule.
const WRONG: [(&str, &[&str]); 10] = [
    ("open_close_sunshade(percentage: 100)", &["percentage: 0", "percentage: 50", "percentage: 99"]),
    ("open_close_sunroof(percentage: 0)", &["percentage: 1", "percentage: 50", "percentage: 100"]),
    ("open_close_window(window: <resource>, percentage: 0)", &["percentage: 21", "percentage: 50", "percentage: 100"]),
    ("set_fan_speed(level: 1)", &["level: 0"]),
    ("set_fan_speed(level: 2)", &["level: 0", "level: 1"]),
    ("set_air_conditioning(on: true)", &["on: false"]),
    ("set_air_circulation(mode: FRESH_AIR)", &["mode: RECIRCULATION"]),
    ("set_head_lights_low_beams(on: true)", &["on: false"]),
    ("set_head_lights_high_beams(on: false)", &["on: true"]),
    ("set_fan_airflow_direction(direction: merge(<resource.airflow>, WINDSHIELD))", &["FEET", "HEAD", "HEAD_FEET"]),
];

fn remedied() -> Vec<Parts> {
    rules(&cabin()).into_iter().filter(|r| r.annotation("remedy").is_some()).collect()
}

/// Remedies of a rule with a wrong value.
fn wrong(rule: &Parts) -> Vec<String> {
    let remedy = rule.annotation("remedy").unwrap();
    let (_, values) = WRONG.iter().find(|(r, _)| *r == remedy).unwrap_or_else(|| panic!("no wrong value for {remedy}"));
    let spoil = |value: &&str| match (value.split_once(": "), remedy.split_once("merge(")) {
        (None, Some((before, _))) => format!("{before}{value})"),
        (Some((name, _)), _) => format!("{}{value})", remedy.split(&format!("{name}: ")).next().unwrap()),
        _ => panic!("{value}"),
    };
    values.iter().map(spoil).collect()
}

#[test]
fn a_remedy_that_leaves_its_rule_broken_is_found() {
    if !solver("remedies that do not satisfy their rule") {
        return;
    }
    let spoilt = |r: Parts| {
        let useless = fault("its remedy does something else", &r.with("remedy", "set_dome_light(on: true)"), &[]);
        let valued = wrong(&r).into_iter().map(|w| fault(format!("its remedy became {w}"), &r.with("remedy", &w), &[]));
        valued.chain([useless]).collect::<Vec<_>>()
    };
    all_found("unsatisfied-remedy", remedied().into_iter().flat_map(spoilt));
}

#[test]
fn a_remedy_that_a_prohibition_rejects_is_found() {
    if !solver("rejected remedies") {
        return;
    }
    let rejected = |r: Parts| {
        let remedy = r.annotation("remedy").unwrap();
        let (tool, rest) = remedy.split_once('(').unwrap();
        let (name, value) = rest.trim_end_matches(')').rsplit_once(", percentage").map_or_else(
            || rest.trim_end_matches(')').split_once(": ").unwrap(),
            |(_, value)| ("percentage", value.trim_start_matches(": ")),
        );
        let argument = format!("context.input.{name}");
        let asked = match value {
            "true" => vec![argument, "!(context.now.hour < 0)".to_owned()],
            "false" => vec![format!("!{argument}"), "context.now.hour >= 0".to_owned()],
            number if number.parse::<i64>().is_ok() => {
                vec![format!("{argument} == {number}"), format!("{argument} < 101")]
            }
            merged if merged.starts_with("merge") => vec!["true".to_owned(), "context.draft.calls > 0".to_owned()],
            word => vec![format!("{argument} == \"{word}\""), format!("{argument} != \"ANOTHER\"")],
        };
        let forbid = |when: String| {
            let mut other = r.plain().named("-rejected").when(when);
            other.scope = format!("principal, action == Action::\"{tool}\", resource is Car");
            Faulty { culprit: Some(r.id.clone()), ..fault("its remedy was forbidden", &other, &[&r]) }
        };
        asked.into_iter().map(forbid).collect::<Vec<_>>()
    };
    all_found("rejected-remedy", remedied().into_iter().flat_map(rejected));
}

/// What a rule reads of the car before its own call is there before the call of its remedy too, where its own call leaves
/// it alone.
#[test]
fn a_remedy_that_is_forbidden_in_the_very_state_that_makes_it_due_is_found() {
    if !solver("remedies forbidden by what was before") {
        return;
    }
    let states = ["context.before.speed > 0", "context.before.gear == \"D\"", "!context.before.plug_connected"];
    let mut faults = Vec::new();
    for r in remedied() {
        let remedy = r.annotation("remedy").unwrap();
        let (tool, _) = remedy.split_once('(').unwrap();
        for state in states {
            let due = r.when(format!("{} && {state}", r.when));
            let mut other = r.plain().named("-rejected").when(state);
            other.scope = format!("principal, action == Action::\"{tool}\", resource is Car");
            faults.push(Faulty { culprit: Some(r.id.clone()), ..fault("its remedy was forbidden", &other, &[&due]) });
        }
    }
    all_found("rejected-remedy", faults);
}

#[test]
fn a_remedy_that_some_state_lets_through_is_not_held_to_be_rejected() {
    if !solver("remedies that pass in some state") {
        return;
    }
    let mut tried = 0;
    for r in remedied() {
        let remedy = r.annotation("remedy").unwrap();
        let (tool, _) = remedy.split_once('(').unwrap();
        let mut forbids = |due: &str, forbidden: &str| {
            let due = r.when(format!("{} && {due}", r.when));
            let mut other = r.plain().named("-rejected").when(forbidden);
            other.scope = format!("principal, action == Action::\"{tool}\", resource is Car");
            let critique = crate::critique(&crate::mutator::with(&[&due, &other]), "rejected-remedy");
            let found: Vec<_> = critique.errors("rejected-remedy").map(|f| f.what.clone()).collect();
            assert!(found.is_empty(), "{found:?}: {} and {forbidden}", due.when);
            tried += 1;
        };
        // Other states, a wider state, and one that the rule's own call ends.
        forbids("context.before.speed > 0", "context.before.speed > 100");
        forbids("context.now.hour < 6", "context.before.speed > 0");
        if r.scope.contains("\"set_air_conditioning\"") {
            forbids("!context.before.air_conditioning", "!context.before.air_conditioning");
        }
    }
    assert!(tried >= crate::FAULTS, "{tried} pairs");
}

#[test]
fn remedies_that_demand_what_the_other_forbids_are_found() {
    if !solver("conflicting remedies") {
        return;
    }
    let opposed = |r: Parts| {
        let (guard, _) = r.guard_and_state();
        let whatever = |wrong: String| {
            // It asks for its own wrong value whatever the state is.
            let when = format!("{} && context.now.hour >= 0", guard.join(" && "));
            fault(
                format!("another rule demands {wrong}"),
                &r.named("-opposed").with("remedy", &wrong).when(when),
                &[&r],
            )
        };
        wrong(&r).into_iter().map(whatever).collect::<Vec<_>>()
    };
    let faults: Vec<Faulty> = remedied().into_iter().flat_map(opposed).collect();
    let merged = |f: &Faulty| f.what.contains("airflow");
    let (other, plain): (Vec<Faulty>, Vec<Faulty>) = faults.into_iter().partition(merged);
    drop(other);
    all_found("conflicting-remedies", plain.into_iter().chain(switched()));
}

/// Pairs of rules on one call that want a switch on and off.
fn switched() -> Vec<Faulty> {
    let base = remedied().into_iter().find(|r| r.id == "fog-lights-need-low-beams").unwrap();
    let switches = [("set_dome_light", "dome_light"), ("set_air_conditioning", "air_conditioning")];
    let others = [("set_child_lock", "child_lock"), ("set_head_lights_high_beams", "high_beams")];
    let pair = |(tool, attribute): (&str, &str)| {
        let on = base.named("-on").with("remedy", &format!("{tool}(on: true)"));
        let on = on.when(format!("context.input.on && (!resource.{attribute} || context.now.hour >= 0)"));
        let off = base.named("-off").with("remedy", &format!("{tool}(on: false)"));
        let off = off.when(format!("context.input.on && (resource.{attribute} || context.now.hour >= 0)"));
        fault(format!("{tool} is demanded on and off"), &off, &[&on])
    };
    switches.into_iter().chain(others).map(pair).collect()
}

#[test]
fn remedies_that_undo_each_other_are_found() {
    if !solver("loops of remedies") {
        return;
    }
    let base = remedied().into_iter().find(|r| r.id == "fog-lights-need-low-beams").unwrap();
    let mut faults = Vec::new();
    for (first, attribute) in SWITCHES {
        for (second, _) in SWITCHES.iter().filter(|(tool, _)| *tool != first) {
            let on = |tool: &str, suffix: &str| {
                let mut rule = base.named(suffix);
                rule.scope = format!("principal, action == Action::\"{tool}\", resource is Car");
                rule
            };
            let needs = on(second, "-needs").with("remedy", &format!("{first}(on: true)"));
            let needs = needs.when(format!("context.input.on && !resource.{attribute}"));
            let undoes = on(first, "-undoes").with("remedy", &format!("{second}(on: true); {first}(on: false)"));
            let undoes = undoes.when(format!("context.input.on && resource.{attribute}"));
            faults.push(fault(format!("{first} and {second} undo each other"), &undoes, &[&needs]));
        }
    }
    all_found("remedy-chain", faults);
}

/// Each of the two is right by itself; on one call each breaks what the other mended.
#[test]
fn two_rules_on_one_call_that_undo_each_other_are_found() {
    if !solver("loops of remedies") {
        return;
    }
    let base = remedied().into_iter().find(|r| r.id == "fog-lights-need-low-beams").unwrap();
    let mut faults = Vec::new();
    for (trigger, _) in SWITCHES {
        for (tool, attribute) in SWITCHES.into_iter().filter(|(tool, _)| *tool != trigger) {
            let rule = |suffix: &str, on: bool, when: String| {
                let mut rule = base.named(suffix).with("remedy", &format!("{tool}(on: {on})")).when(when);
                rule.scope = format!("principal, action == Action::\"{trigger}\", resource is Car");
                rule
            };
            let on = rule("-on", true, format!("context.input.on && !resource.{attribute}"));
            let off = rule("-off", false, format!("context.input.on && resource.{attribute}"));
            faults.push(fault(format!("{trigger} switches {attribute} to and fro"), &off, &[&on]));
        }
    }
    all_found("remedy-chain", faults);
}
