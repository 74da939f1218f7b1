//! The paper's own set: what it hides, and more of the same kind.

use obligato::compile::SourceFile;
use obligato::compile::critic::{Critique, Level, Means, criticise_foreign};

use crate::mutator::shared;
use crate::{FAULTS, solver};

fn paper() -> Option<(String, SourceFile)> {
    let folder = shared("medagentbench")?;
    let text = std::fs::read_to_string(folder.join("policies.cedar")).unwrap();
    Some((text, SourceFile::read(&folder.join("schema.cedarschema")).unwrap()))
}

fn critique(policies: String, schema: &SourceFile, only: &[&str]) -> Critique {
    let means = Means { observed: None, solver: true, only };
    criticise_foreign(&SourceFile::new("policies.cedar", policies), schema, means)
}

#[test]
fn the_papers_set_has_three_shadowed_rules_and_one_conflict_of_tiers_and_nothing_else() {
    let Some((policies, schema)) = paper().filter(|_| solver("the paper's set")) else { return };
    let critique = critique(policies, &schema, &[]);
    let errors = critique.findings.iter().filter(|f| f.level == Level::Error);
    let found: Vec<String> = errors
        .map(|f| {
            let rules: Vec<&str> = f.rules.iter().map(|r| r.trim_start_matches("medagentbench_")).collect();
            format!("{}: {}", f.check, rules.join(" "))
        })
        .collect();
    assert_eq!(
        found,
        [
            "shadowed: 2_4_restate_patient_before_write 5_1_writes_require_confirmation",
            "shadowed: 5_2_subject_linking_required 2_1_no_write_without_subject",
            "shadowed: 5_11_subject_reference_must_be_patient 2_1_no_write_without_subject",
            "tier-conflict: 5_9_service_request_priority_stat 5_5_priority_must_be_user_specified",
        ]
    );
    let example = critique.errors("tier-conflict").next().and_then(|f| f.example.clone()).unwrap();
    assert!(example.contains("user specified urgency is false"), "{example}");
}

#[test]
fn an_untyped_rule_against_what_a_typed_rule_demands_is_found() {
    let Some((policies, schema)) = paper().filter(|_| solver("conflicts of tiers")) else { return };
    // What typed rules demand, by tool: each is forbidden to the untyped tier in turn.
    let demands = [
        ("post_medication_request", "status", "active"),
        ("post_medication_request", "intent", "order"),
        ("post_observation", "status", "final"),
        ("post_service_request", "status", "active"),
        ("post_service_request", "intent", "order"),
    ];
    let when = [
        "",
        " && context has session && context.session has last_tool_error",
        " && context.tool != \"get_patient\"",
        " && context.arguments != \"\"",
    ];
    let typed: String = policies
        .split("@id(\"")
        .filter(|p| ["request_status", "request_intent", "observation_status"].iter().any(|n| p.contains(n)))
        .map(|p| format!("@id(\"{p}"))
        .collect();
    let mut tried = 0;
    for (tool, field, value) in demands {
        for state in when {
            let untyped = format!(
                "@id(\"untyped\") forbid(principal, action, resource) when {{ action == Action::\"PreToolUse\" && context.tool == \"{tool}\" && context.arguments like \"*\\\"{field}\\\":\\\"{value}*\"{state} }};"
            );
            let found = critique(format!("{typed}\n{untyped}"), &schema, &["tier-conflict"]);
            let named = |rules: &[String]| rules.get(1).is_some_and(|r| r == "untyped");
            assert_eq!(found.errors("tier-conflict").filter(|f| named(&f.rules)).count(), 1, "{tool}.{field}{state}");
            tried += 1;
        }
    }
    assert!(tried >= FAULTS, "{tried} faults");
}
