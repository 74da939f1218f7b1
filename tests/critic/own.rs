//! What a call itself sets: rules that compare an argument with the field that it sets.

use obligato::compile::{SetSource, SourceFile};
use serde_json::Value as Json;

use crate::mutator::{Parts, SWITCHES, fault, remedying, with};
use crate::{Faulty, all_found, critique, solver};

fn errors(rule: &Parts, check: &str) -> Vec<String> {
    let critique = critique(&with(&[rule]), check);
    critique.errors(check).map(|f| format!("{} {:?}", f.what, f.example)).collect()
}

/// Levels that calls set, by tool, argument, field and the tool that follows.
const LEVELS: [(&str, &str, &str, &str); 4] = [
    ("open_close_sunroof", "percentage", "sunroof_position", "sunshade_position"),
    ("open_close_sunshade", "percentage", "sunshade_position", "sunroof_position"),
    ("set_steering_wheel_heating", "level", "steering_wheel_heating", "fan_speed"),
    ("set_fan_speed", "level", "fan_speed", "steering_wheel_heating"),
];

/// The call that sets a level to what another call sets.
fn follow(attribute: &str, argument: &str) -> String {
    let (tool, own, ..) = LEVELS.into_iter().find(|(_, _, field, _)| *field == attribute).unwrap();
    format!("{tool}({own}: <input.{argument}>)")
}

/// A rule that is right because the call sets what it reads, and the same rule with a slip after which its remedy
/// leaves it broken.
fn guarded() -> Vec<(Parts, Parts)> {
    let mut pairs = Vec::new();
    for (tool, attribute) in SWITCHES {
        for (other, needed) in SWITCHES.into_iter().filter(|(t, _)| *t != tool) {
            let remedy = format!("{other}(on: true)");
            let right = format!("context.input.on && (!resource.{attribute} || !resource.{needed})");
            let wrong = format!("context.input.on && (resource.{attribute} || !resource.{needed})");
            let with = |when: String| remedying("guarded", tool, "Car", when).with("remedy", &remedy);
            pairs.push((with(right), with(wrong)));
        }
    }
    for (tool, argument, attribute, follows) in LEVELS {
        let with = |when: String| remedying("follows", tool, "Car", when).with("remedy", &follow(follows, argument));
        let right = format!("resource.{attribute} > 0 && resource.{follows} < resource.{attribute}");
        pairs.push((with(right.clone()), with(right.replace(" < ", " <= "))));
        let other_way = format!("resource.{attribute} != resource.{follows}");
        pairs.push((with(other_way.clone()), with(other_way.replace("!=", "=="))));
    }
    let heats = |when: &str| {
        let remedy = "set_seat_ventilation(seat: <resource>, level: <input.level>)";
        remedying("airs", "set_seat_heating", "Seat", when).with("remedy", remedy)
    };
    // A seat that the call is not about is warm already.
    pairs.push((
        heats("resource.addressed && resource.ventilation < resource.heating"),
        heats("resource.ventilation < resource.heating"),
    ));
    let everywhere = "context.input.seat == \"ALL\" && resource.ventilation != resource.heating";
    pairs.push((heats(everywhere), heats(&everywhere.replace("==", "!="))));
    let lit =
        |when: &str| remedying("lit", "open_close_trunk_door", "Car", when).with("remedy", "set_dome_light(on: true)");
    let open = "context.input.action == \"OPEN\" && (resource.trunk != \"open\" || !resource.dome_light)";
    pairs.push((lit(open), lit(&open.replace("\"OPEN\"", "\"CLOSE\""))));
    let blows =
        |when: &str| remedying("blows", "set_window_defrost", "Car", when).with("remedy", "set_fan_speed(level: 2)");
    let front = "context.input.on && [\"FRONT\", \"ALL\"].contains(context.input.defrost_window) && (!resource.front_defrost || resource.fan_speed < 2)";
    pairs.push((blows(front), blows(&front.replace("[\"FRONT\", \"ALL\"]", "[\"REAR\", \"ALL\"]"))));
    pairs
}

#[test]
fn a_remedy_is_judged_with_what_its_own_call_sets() {
    if !solver("remedies beside their own call") {
        return;
    }
    let mut tried = 0;
    for (right, _) in guarded() {
        let found = errors(&right, "unsatisfied-remedy");
        assert!(found.is_empty(), "{found:?}\n{}", right.text());
        tried += 1;
    }
    assert!(tried >= crate::FAULTS, "{tried} rules");
}

#[test]
fn a_remedy_that_its_own_call_does_not_make_right_is_found() {
    if !solver("remedies beside their own call") {
        return;
    }
    let mut faults: Vec<Faulty> =
        guarded().into_iter().map(|(_, wrong)| fault("its guard slipped", &wrong, &[])).collect();
    // The kinds that differ most come first.
    faults.reverse();
    all_found("unsatisfied-remedy", faults);
}

/// That a call sets a field otherwise than it says happens where another call of the draft, or our own earlier one,
/// sets it too: a rule about that is no rule that never fires, nor one that another covers.
#[test]
fn a_rule_about_a_field_that_its_own_call_sets_is_not_held_to_be_dead() {
    if !solver("rules about what a call sets") {
        return;
    }
    for (tool, attribute) in SWITCHES {
        let undone = remedying("undone", tool, "Car", format!("context.input.on && !resource.{attribute}"));
        let undone = undone.with("remedy", "set_fan_speed(level: 0)");
        for check in ["never-fires", "always-fires", "shadowed"] {
            assert_eq!(errors(&undone, check), Vec::<String>::new(), "{}", undone.text());
        }
    }
}

/// The cabin with this rule alone, whose reads declare no range of what they answer. Signals would need one: it has none.
fn without_ranges(rule: &Parts) -> SetSource {
    let set = with(&[rule]);
    let mut tools: Json = serde_json::from_str(set.tools.text()).unwrap();
    for tool in tools["tools"].as_array_mut().unwrap() {
        let properties = tool["outputSchema"]["properties"].as_object_mut();
        for property in properties.into_iter().flat_map(|p| p.values_mut()).filter_map(Json::as_object_mut) {
            property.remove("minimum");
            property.remove("maximum");
        }
    }
    let vehicle = set.vehicle.text().split("\n[vss]").next().unwrap();
    let vehicle = SourceFile::new("vehicle.toml", format!("{vehicle}\n"));
    SetSource { tools: SourceFile::new("tools.json", tools.to_string()), vehicle, ..set }
}

/// Prohibitions that compare an argument with the field that it sets: of a call alone they ask nothing.
#[test]
fn a_comparison_with_the_field_that_the_argument_sets_takes_no_call_away() {
    let items = [
        ("set_climate_temperature", "Zone", "temperature", "temperature"),
        ("set_seat_heating", "Seat", "level", "heating"),
        ("set_seat_ventilation", "Seat", "level", "ventilation"),
        ("open_close_window", "Window", "percentage", "position"),
    ];
    let levels = LEVELS.into_iter().map(|(tool, argument, attribute, _)| (tool, "Car", argument, attribute));
    let limit = [("set_charge_limit", "Car", "limit", "charge_limit")];
    let mut tried = 0;
    for (tool, about, argument, attribute) in items.into_iter().chain(levels).chain(limit) {
        let (set, left) = (format!("context.input.{argument}"), format!("resource.{attribute}"));
        for compared in [
            format!("{set} != {left}"),
            format!("({set} - {left} > 5 || {left} - {set} > 5)"),
            format!("!({set} == {left} && context.now.hour < 24)"),
        ] {
            let addressed = if about == "Car" { "" } else { "resource.addressed && " };
            let rule = remedying("compared", tool, about, format!("{addressed}{compared}")).plain();
            let critique = critique(&without_ranges(&rule), "over-blocking");
            assert_eq!(critique.rules, 1, "{:?}", critique.findings);
            let found: Vec<_> = critique.errors("over-blocking").map(|f| f.what.clone()).collect();
            assert!(found.is_empty(), "{found:?}\n{}", rule.text());
            tried += 1;
        }
    }
    assert!(tried >= crate::FAULTS, "{tried} rules");
}

/// The same comparisons where they are about the argument after all: most calls are gone whatever the car is like.
#[test]
fn a_comparison_that_takes_half_of_the_calls_away_is_found() {
    let mut tried = 0;
    for (tool, argument, attribute, _) in LEVELS {
        for state in [
            "",
            " && context.now.hour < 24",
            " && context.draft.calls > 0",
            " && context.now.month > 0",
            " && context.now.minute < 60",
        ] {
            let when = format!("context.input.{argument} > 0 && resource.{attribute} > 0{state}");
            let found = errors(&remedying("levels", tool, "Car", when.clone()).plain(), "over-blocking");
            assert_eq!(found.len(), 1, "{when}");
            tried += 1;
        }
    }
    assert!(tried >= crate::FAULTS, "{tried} rules");
}
