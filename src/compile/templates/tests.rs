//! What templates become, and what is refused with which words.

use crate::compile::testing::{compiled, rule_errors};
use crate::policy::{ArgumentTemplate, Piece, Rule};
use crate::state::{Literal, NowField};

fn with(annotations: &str, tool: &str, entity: &str, when: &str) -> String {
    format!(
        "@id(\"r\") @source(\"policy.md:3\") {annotations}\nforbid (principal, action == Action::\"{tool}\", resource is {entity})\nwhen {{ {when} }};"
    )
}

fn remedy(calls: &str, tool: &str, entity: &str) -> String {
    let calls = calls.replace('"', "\\\"");
    with(&format!("@kind(\"auto-action\")\n@remedy(\"{calls}\")"), tool, entity, "resource.addressed")
}

fn the_rule(text: &str) -> Rule {
    compiled(text).parts.rules.into_iter().next().unwrap()
}

#[test]
fn remedies_carry_constants_holes_and_merges() {
    let rule = the_rule(&remedy(
        "set_vent(vent: <resource>, opening: 0); send_note(text: \"wet\", to: <input.to>)",
        "send_note",
        "Vent",
    ));
    let zero = ArgumentTemplate::Constant(Literal::Int(0));
    assert_eq!(rule.remedy[0].arguments, [("vent".into(), ArgumentTemplate::Resource), ("opening".into(), zero)]);
    assert_eq!(rule.remedy[1].arguments[1], ("to".into(), ArgumentTemplate::Input("to".into())));
    let rule = the_rule(&remedy("set_fan(on: true, flow: merge(<resource.flow>, ROOF))", "set_vent", "Car"));
    assert!(matches!(&rule.remedy[0].arguments[1].1, ArgumentTemplate::Merge { part, .. } if part == "ROOF"));
    let rule = the_rule(&with(
        "@kind(\"prohibition\") @read(\"get_forecast(day: <now.day>)\")",
        "set_vent",
        "Car",
        "context.forecast.sky == \"rain\"",
    ));
    assert_eq!(rule.read.unwrap().arguments[0].1, ArgumentTemplate::Now(NowField::Day));
}

#[test]
fn every_mistake_in_a_call_is_named_with_the_line_of_its_annotation() {
    for (calls, tool, entity, says) in [
        ("set_vent vent", "set_vent", "Vent", "expected `(` before `vent`"),
        ("set_vnt(opening: 0)", "set_vent", "Vent", "there is no tool `set_vnt`; did you mean `set_vent`?"),
        ("set_vent(wide: 0)", "set_vent", "Vent", "there is no argument `wide`"),
        ("set_fan(on: true, on: false)", "set_vent", "Vent", "`on` is given twice"),
        ("set_vent(vent: ALL)", "set_vent", "Vent", "`set_vent` needs `opening`"),
        ("set_vent(vent: WEST, opening: 0)", "set_vent", "Vent", "`vent` of `set_vent` cannot be `\"WEST\"`"),
        ("set_vent(vent: ALL, opening: 101)", "set_vent", "Vent", "`opening` of `set_vent` cannot be `101`"),
        ("set_warmth(degrees: 20.3)", "set_vent", "Vent", "`degrees` of `set_warmth` cannot be `20.3`"),
        ("set_fan(on: maybe)", "set_vent", "Vent", "`on` of `set_fan` cannot be `\"maybe\"`"),
        ("send_note(to: [a], text: b)", "set_vent", "Vent", "which a rule cannot compute"),
        ("set_vent(vent: <resource>, opening: 0)", "set_vent", "Car", "names no item of `Car`"),
        ("set_fan(on: true, flow: <resource>)", "set_vent", "Vent", "`<resource>` cannot fill `flow` of `set_fan`"),
        ("set_vent(vent: ALL, opening: <input.width>)", "set_vent", "Vent", "there is no argument of the call `width`"),
        ("set_vent(vent: ALL, opening: <input.vent>)", "set_vent", "Vent", "`input.vent` is a word, but `opening`"),
        ("set_fan(on: <input.urgent>)", "send_note", "Vent", "`urgent` may be left out of the call"),
        ("set_vent(vent: ALL, opening: <now.week>)", "set_vent", "Vent", "there is no field of `now` `week`"),
        ("set_vent(vent: ALL, opening: <resource.opening>)", "set_vent", "Vent", "cannot stand in a call"),
        ("set_fan(on: true, flow: merge(<resource.fan>, ROOF))", "set_vent", "Car", "`resource.fan` is none"),
        ("set_fan(on: true, flow: merge(<resource.flow>, WALL))", "set_vent", "Car", "there is no part `WALL`"),
        ("set_fan(on: true, flow: merge(<resource.flows>, ROOF))", "set_vent", "Car", "did you mean `flow`?"),
    ] {
        let errors = rule_errors(&remedy(calls, tool, entity));
        assert!(errors.contains(says), "{calls}: {errors}");
        assert!(errors.contains("rules.cedar:2: rule `r`: `@remedy`: "), "{calls}: {errors}");
    }
}

#[test]
fn an_optional_argument_may_be_used_where_the_condition_asks_for_it() {
    let text = remedy("set_fan(on: <input.urgent>)", "send_note", "Car");
    assert_eq!(rule_errors(&text.replace("resource.addressed", "context.input has urgent")), "");
}

#[test]
fn sentences_take_the_paths_of_conditions() {
    let consent = |text: &str| {
        with(&format!("@kind(\"confirmation\")\n@consent(\"{text}\")"), "set_vent", "Vent", "resource.addressed")
    };
    let rule = the_rule(&consent("Open {resource} to {input.opening}, from {resource.before_opening}? {call}"));
    let pieces = rule.consent.unwrap().pieces;
    assert_eq!((&pieces[0], &pieces[1]), (&Piece::Text("Open ".into()), &Piece::Resource));
    assert!(matches!(pieces[3], Piece::Slot(_)) && matches!(pieces[5], Piece::Slot(_)));
    assert_eq!(pieces[7], Piece::Call);
    for (text, says) in [
        ("Open {input.width}?", "`{input.width}`: there is no `context.input.width`"),
        ("Open {resource.width}?", "there is no `resource.width`; there is opening"),
        ("Open {resource?", "do not pair"),
        ("Open resource}?", "do not pair"),
        ("Open {forecast}?", "there is no `context.forecast`"),
    ] {
        let errors = rule_errors(&consent(text));
        assert!(errors.contains(says), "{text}: {errors}");
    }
    let car = consent("Open {resource}?").replace("is Vent", "is Car");
    assert!(rule_errors(&car).contains("`{resource}` names the item, and `Car` has none"));
}
