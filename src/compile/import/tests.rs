use super::*;
use crate::compile::testing::{VEHICLE, set};

/// The greenhouse's own rules: a vent must not stand open beyond 50 while the fan is switched on, and the
/// air must blow at the roof then.
const OWN: &str = r#"
@id("1_a") @source("policy.md:3") @kind("auto-action") @remedy("set_vent(vent: <resource>, opening: 0)")
forbid (principal, action == Action::"set_fan", resource is Vent)
when { context.input.on && resource.opening > 50 };
@id("1_b") @source("policy.md:3") @kind("auto-action") @remedy("set_fan(on: true, flow: ROOF)")
forbid (principal, action == Action::"set_fan", resource is Car) when { !resource.flow.contains("ROOF") };
@id("2") @source("policy.md:3") @kind("constraint") @advise("Be kind.")
forbid (principal, action == Action::"reply", resource is Car);
@id("3") @source("policy.md:3") @kind("prohibition")
forbid (principal, action == Action::"set_warmth", resource is Car) when { resource.warmth > 300 };
"#;

fn rule(id: &str, kind: &str, exec: &str) -> String {
    format!(
        "{{\"id\": \"{id}\", \"type\": \"{kind}\", \"trigger_tools\": [\"set_fan\"], \"requirement\": \"Do it.\"{exec}}}"
    )
}

fn exec(read: &str, pattern: &str, op: &str, value: &str, tool: &str, args: &str) -> String {
    format!(
        ", \"exec\": {{\"read\": \"{read}\", \"field_pattern\": \"{pattern}\", \"op\": \"{op}\", \"value\": {value}, \"obligation\": {{\"tool\": \"{tool}\", \"args\": {args}}}}}"
    )
}

fn report(rules: &[String]) -> ImportReport {
    let text = format!("{{\"rules\": [{}]}}", rules.join(",\n"));
    import(&set(VEHICLE, OWN), &SourceFile::new("compiled.json", text)).unwrap()
}

fn only(rule: String) -> Imported {
    let report = report(&[rule]);
    report.rules.into_iter().find(|r| r.standing.is_some()).unwrap()
}

const VENT: &str = "{\"vent\": \"<item>\", \"opening\": 0}";

#[test]
fn an_executable_form_becomes_a_rule_and_is_held_against_ours() {
    let found = only(rule("1_a", "auto_action", &exec("get_vents", "vent_*", ">", "50", "set_vent", VENT)));
    let Against::Compared(against) = &found.against else { panic!("{found:?}") };
    assert_eq!((found.standing, against.relation), (Some(Standing::Executable), Relation::Broader));
    assert!(
        ["context.input.on = false", "(on: false)"].iter().any(|on| against.only_first.as_ref().unwrap().contains(on)),
        "{against:?}"
    );
    assert!(!found.other_remedy);
    let roof = "{\"on\": true, \"flow\": \"ROOF\"}";
    let found = only(rule("1_b", "auto_action", &exec("get_air", "flow", "not_contains", "\"ROOF\"", "set_fan", roof)));
    assert!(matches!(&found.against, Against::Compared(c) if c.relation == Relation::Equivalent), "{found:?}");
}

#[test]
fn what_cannot_be_a_rule_is_refused_with_the_reason() {
    for (form, says) in [
        (exec("get_vents", "vents_*", ">", "50", "set_vent", VENT), "matches nothing that `get_vents` returns"),
        (exec("get_vents", "vent_north", ">", "50", "set_vent", VENT), "the wildcard is lost"),
        (exec("get_vent", "vent_*", ">", "50", "set_vent", VENT), "did you mean `get_vents`?"),
        (exec("get_air", "fan", "==", "\"on\"", "set_fan", "{\"on\": true}"), "compares `fan`, a switch, with"),
        (exec("get_vents", "vent_*", ">", "50", "set_vent", "{\"vent\": \"\", \"opening\": 0}"), "the item is lost"),
        (exec("get_air", "fan", "==", "false", "set_fan", "{\"on\": \"<item>\"}"), "the field has no items"),
        (exec("get_vents", "vent_*", ">", "50", "set_vent", "{\"vent\": \"<item>\", \"opening\": 500}"), "opening"),
    ] {
        let found = only(rule("1_a", "auto_action", &form));
        assert_eq!((found.standing, &found.against), (Some(Standing::Refused), &Against::Missing), "{says}");
        assert!(found.reasons.iter().any(|why| why.contains(says)), "{says}: {:?}", found.reasons);
    }
    let found = only(rule("1_a", "auto_acton", ""));
    assert!(found.reasons[0].contains("did you mean `auto-action`?"), "{:?}", found.reasons);
}

#[test]
fn prose_is_advice_and_what_nobody_wrote_is_missing() {
    let report = report(&[rule("2", "constraint", ""), rule("9", "constraint", ""), rule("1_a", "auto_action", "")]);
    let against: Vec<(&str, &str)> = report.rules.iter().map(|r| (r.id.as_str(), r.against.as_str())).collect();
    let expected =
        [("1_a", "missing"), ("1_b", "missing"), ("2", "both-advise"), ("3", "missing"), ("9", "no-counterpart")];
    assert_eq!(against, expected);
}

#[test]
fn a_file_that_is_no_import_is_told_with_its_line() {
    let file = SourceFile::new("x/compiled.json", "{\"rules\": [\n{\"id\": 7}\n]}");
    let told = import(&set(VEHICLE, OWN), &file).unwrap_err().to_string();
    assert!(told.starts_with("x/compiled.json:2: not a list of compiled rules"), "{told}");
}
