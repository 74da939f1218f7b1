//! What rules become, and what is refused with which words.

use super::*;
use crate::compile::testing::{compiled, prohibition, rule_errors};
use crate::policy::{Compare, Op, Program};
use crate::state::{AttrIx, Literal};

fn refused(tool: &str, when: &str) -> String {
    rule_errors(&prohibition(tool, "Car", when))
}

fn the_rule(rules: &str) -> (Rule, Tables) {
    let parts = compiled(rules).parts;
    (parts.rules.into_iter().next().unwrap(), parts.tables)
}

/// A program as text, slots by their kind.
fn shown(program: &Program, tables: &Tables) -> String {
    let op = |op: &Op| match op {
        Op::Load(ix) => match tables.slot(*ix).unwrap() {
            Slot::Input { path, .. } => format!("in.{path}"),
            Slot::Resource { attribute: AttrIx(a), when } => format!("res{a}{when:?}"),
            other => format!("{other:?}"),
        },
        Op::Has(_) => "has".to_owned(),
        Op::Constant(c) => match &tables.constants[usize::from(*c)] {
            Literal::Int(i) => i.to_string(),
            other => format!("{other:?}"),
        },
        Op::Compare(Compare::Eq) => "==".to_owned(),
        Op::Compare(Compare::Lt) => "<".to_owned(),
        Op::Compare(Compare::Le) => "<=".to_owned(),
        other => format!("{other:?}"),
    };
    program.ops.iter().map(op).collect::<Vec<_>>().join(" ")
}

#[test]
fn greater_turns_round_and_unequal_negates() {
    let shown = |when: &str| {
        let (rule, tables) = the_rule(&prohibition("set_vent", "Vent", when));
        shown(&rule.when, &tables)
    };
    assert_eq!(shown("context.input.opening > 20"), "20 in.opening <");
    assert_eq!(shown("context.input.opening >= 20"), "20 in.opening <=");
    assert_eq!(shown("context.input.vent != \"ALL\""), "in.vent Text(\"ALL\") == Not");
}

#[test]
fn clauses_join_in_order_and_unless_is_the_opposite() {
    let rule = prohibition("set_vent", "Vent", "resource.opening > 1").replace(';', "\nunless { resource.addressed };");
    let (rule, tables) = the_rule(&rule);
    assert_eq!(shown(&rule.when, &tables), "1 res4After < SkipIfFalse(3) Addressed Not And");
}

#[test]
fn the_guard_is_what_the_arguments_alone_decide() {
    let (rule, tables) = the_rule(&prohibition(
        "set_vent",
        "Vent",
        "context.input.opening > 5 && resource.opening > 1 && context.input.vent == \"ALL\"",
    ));
    assert_eq!(shown(&rule.guard, &tables), "5 in.opening < SkipIfFalse(4) in.vent Text(\"ALL\") == And");
    assert_eq!(rule.reads_after, [AttrIx(4)]);
}

#[test]
fn a_disjunction_of_arguments_and_state_is_a_warning() {
    let warnings = |when: &str| compiled(&prohibition("set_vent", "Vent", when)).warnings;
    assert_eq!(warnings("context.input.opening > 5 || resource.opening > 1").len(), 1);
    assert_eq!(warnings("!(context.input.opening > 5 && resource.opening > 1)").len(), 1);
    assert!(warnings("context.input.opening > 5 && resource.opening > 1").is_empty());
    // Here no branch can be told from the arguments alone, so there is nothing to split.
    assert!(warnings("context.input.opening > resource.opening || context.input.opening > 5").is_empty());
}

#[test]
fn a_rule_about_a_group_without_tools_is_a_warning() {
    let rule = prohibition("x", "Car", "true").replace("action == Action::\"x\"", "action in Action::\"nobody\"");
    assert!(compiled(&rule).warnings.iter().any(|w| w.what.contains("group without tools")));
}

#[test]
fn operators_that_the_engine_lacks_are_refused_with_line_and_alternative() {
    for (when, says) in [
        ("if context.input.on then true else false", "`if … then … else …` is not supported: write"),
        ("resource.log.isEmpty()", "`isEmpty` is not supported: declare a `count`"),
        ("resource is Car", "`is` in a condition is not supported"),
        ("resource in resource", "`in` on entities is not supported"),
        ("[\"a\"] == resource.log", "a set on its own is not supported"),
        ("resource.log == resource.flow", "`==` on sets is not supported"),
        ("resource.log.containsAll(resource.flow)", "`containsAll` without a literal set is not supported"),
        ("[\"a\"].containsAll(resource.log)", "`containsAll` without a literal set is not supported"),
        ("resource.log.containsAny(resource.flow)", "`containsAny` without a literal set is not supported"),
        ("[context.forecast.sky].contains(\"a\")", "a set with members that are not constants is not supported"),
        ("{a: context.input.on}.a", "is not a value that a rule can read"),
        ("ip(\"1.1.1.1\").isLoopback()", "the extension function `isLoopback` is not supported"),
        ("principal == principal", "`principal` is not a value that a rule can read"),
        ("resource has fan", "`has` on `resource.fan` is not supported"),
        ("context has forecast", "`has` on `context.forecast` is not supported"),
        ("resource.warmth * resource.warmth > 1", "the product of two fractions is not supported"),
        ("action == Action::\"set_fan\"", "`action` is not a value that a rule can read"),
    ] {
        let errors = refused("set_fan", when);
        assert!(errors.contains(says), "{when}: {errors}");
        assert!(errors.contains("greenhouse/rules.cedar:3: rule `r`"), "{when}: {errors}");
    }
}

#[test]
fn numbers_in_different_steps_do_not_compare() {
    let errors = refused("set_vent", "resource.warmth > context.input.opening");
    assert!(errors.contains("10") && errors.contains("do not compare"), "{errors}");
    assert_eq!(refused("set_warmth", "resource.warmth > context.input.degrees"), "");
    assert_eq!(refused("set_vent", "resource.warmth > 215"), "");
}

#[test]
fn session_sets_are_asked_for_one_tool_by_name() {
    for (when, says) in [
        ("context.session.reads.contains(\"get_ar\")", "there is no tool `get_ar`; did you mean `get_air`?"),
        ("context.session.reads.contains(\"set_fan\")", "`set_fan` is no read"),
        ("context.session.reads.contains(context.forecast.sky)", "asked for one tool by name"),
    ] {
        let errors = refused("set_vent", when);
        assert!(errors.contains(says), "{when}: {errors}");
    }
    let (rule, tables) =
        the_rule(&prohibition("set_vent", "Car", "context.session.called.containsAny([\"set_fan\", \"get_air\"])"));
    assert_eq!(shown(&rule.when, &tables), "Called(ToolIx(4)) SkipIfTrue(2) Called(ToolIx(1)) Or");
}

#[test]
fn cedar_errors_carry_the_line_and_the_name_of_the_rule() {
    let errors = refused("set_fan", "\n resource.fann");
    assert_eq!(
        errors,
        "greenhouse/rules.cedar:4: rule `r`: attribute `fann` on entity type `Car` not found; did you mean `fan`?"
    );
    let errors = refused("set_fan", "context.input.flow == \"ROOF\"");
    assert!(errors.contains("optional attribute `input.flow`"), "{errors}");
    let errors = rule_errors("// first\nforbid (principal, action, resource)\nwhen { a b };");
    assert!(errors.starts_with("greenhouse/rules.cedar:3: unexpected token `b`"), "{errors}");
}

#[test]
fn only_a_forbid_with_a_full_scope_is_a_rule() {
    let scope = |scope: &str| {
        rule_errors(&format!("@id(\"r\") @source(\"policy.md:3\") @kind(\"prohibition\")\n{scope}\nwhen {{ true }};"))
    };
    for (text, says) in [
        ("permit (principal, action == Action::\"set_fan\", resource is Car)", "only `forbid` is a rule"),
        ("forbid (principal is Assistant, action == Action::\"set_fan\", resource is Car)", "the principal is always"),
        ("forbid (principal, action, resource is Car)", "it applies to every action"),
        ("forbid (principal, action == Action::\"set_fan\", resource)", "its resource must be"),
        ("forbid (principal, action == Action::\"set_fan\", resource == Car::\"x\")", "its resource must be"),
        (
            "forbid (principal, action in [Action::\"set_fan\", Action::\"reply\"], resource is Car)",
            "to calls and to replies at once",
        ),
    ] {
        let errors = scope(text);
        assert!(errors.contains(says), "{text}: {errors}");
        assert!(errors.contains("rules.cedar:2: "), "{text}: {errors}");
    }
}

#[test]
fn one_run_reports_every_rule_that_is_wrong() {
    let wrong = format!(
        "{}\n{}",
        prohibition("set_fan", "Car", "resource.log.isEmpty()"),
        prohibition("set_vent", "Vent", "resource is Vent").replace("policy.md:3", "policy.md:99")
    );
    let errors = rule_errors(&wrong);
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 4, "{errors}");
    assert!(lines[0].contains(":3: ") && lines[0].contains("isEmpty"));
    assert!(lines[1].contains(":4: ") && lines[1].contains("line 1 has a rule of the same `@id`"), "{errors}");
    assert!(lines[2].contains(":4: ") && lines[2].contains("line 99"), "{errors}");
    assert!(lines[3].contains(":6: ") && lines[3].contains("`is` in a condition"), "{errors}");
}

#[test]
fn a_read_that_needs_arguments_is_given_them_by_the_rule() {
    let plain = prohibition("set_vent", "Car", "context.forecast.sky == \"rain\"");
    assert!(rule_errors(&plain).contains("give `@read(\"get_forecast(…)\")`"));
    let read = |call: &str| plain.replace("@kind", &format!("@read(\"{call}\")\n@kind"));
    assert_eq!(rule_errors(&read("get_forecast(day: <now.day>)")), "");
    assert!(rule_errors(&read("get_vents()")).contains("`get_vents`, which answers nothing"));
    assert!(rule_errors(&read("set_fan(on: true)")).contains("`set_fan` is no read"));
}

#[test]
fn an_age_is_a_whole_number_of_seconds_or_milliseconds() {
    let aged = |age: &str| {
        prohibition("set_fan", "Car", "resource.fan").replacen("@kind", &format!("@fresh(\"{age}\") @kind"), 1)
    };
    assert_eq!(the_rule(&aged("2s")).0.fresh, Some(std::time::Duration::from_secs(2)));
    assert_eq!(the_rule(&aged("500ms")).0.fresh, Some(std::time::Duration::from_millis(500)));
    for age in ["2", "0s", "2 s", "1.5s", "s", "2h"] {
        assert!(rule_errors(&aged(age)).contains("is no age"), "{age}");
    }
}
