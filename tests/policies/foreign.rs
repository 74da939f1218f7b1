//! Foreign Cedar sets: what compiles, what is refused and where, and the fail-closed overlay.

use obligato::compile::{SourceFile, compile_foreign};
use obligato::policy::foreign::{Decision, Denial, ForeignSet, Request, Tier, decide};
use obligato::policy::{BlobError, Policy};
use serde_json::{Value, json};

const SCHEMA: &str = r#"
entity Agent; entity Door; entity Kiln;
type Session = { fired: Bool, batch?: String, glazes?: Set<String> };
action anything;
action fire in [anything] appliesTo { principal: [Agent], resource: [Kiln],
    context: { arguments: String, heat: Long, limit: Long, session?: Session, note?: String } };
action open in [anything] appliesTo { principal: [Agent], resource: [Door, Kiln],
    context: { arguments: String, session?: Session } };
"#;

const RULES: &str = r#"
permit (principal, action, resource);
@id("hot") @source("kiln.md:3") @description("Not above the limit.")
forbid (principal, action == Action::"fire", resource) when { context.heat + 1 > context.limit };
@id("open_hot") @source("kiln.md:4")
forbid (principal, action, resource is Kiln)
when { action == Action::"open" && context has session && context.session.fired };
@id("no_batch")
forbid (principal, action in Action::"anything", resource)
unless { !(context.arguments like "*\"batch\":*") || (context has session.batch && context.session.batch != "") };
@id("lead") @source("safety.md§2")
forbid (principal, action == Action::"fire", resource)
when { context has session && context.session has glazes && context.session.glazes.containsAny(["lead", "barium"]) };
"#;

fn compiled(rules: &str) -> ForeignSet {
    let compiled = compile_foreign("kiln", &SourceFile::new("k/rules.cedar", rules), &SourceFile::new("k/s", SCHEMA));
    let blob = compiled.unwrap_or_else(|e| panic!("{e}")).parts.to_blob().unwrap();
    assert!(matches!(Policy::from_blob(&blob), Err(BlobError::Foreign)));
    ForeignSet::from_blob(&blob).unwrap()
}

fn refusal(rules: &str) -> String {
    let (rules, schema) = (SourceFile::new("k/rules.cedar", rules), SourceFile::new("k/s.cedarschema", SCHEMA));
    compile_foreign("kiln", &rules, &schema).unwrap_err().to_string()
}

fn ask<'p>(set: &'p ForeignSet, action: &'p str, resource: &'p str, context: &'p Value) -> Decision<'p> {
    let context = context.as_object().unwrap();
    decide(set, &Request { principal: "Agent", action, resource, context, unknown: &[] })
}

fn calm() -> Value {
    json!({"arguments": "{}", "heat": 900, "limit": 1200, "session": {"fired": true}})
}

fn with(path: &[&str], value: Option<Value>) -> Value {
    let mut context = calm();
    let mut at = &mut context;
    for member in &path[..path.len() - 1] {
        at = &mut at[*member];
    }
    let (record, name) = (at.as_object_mut().unwrap(), path[path.len() - 1]);
    match value {
        Some(value) => record.insert(name.to_owned(), value),
        None => record.remove(name),
    };
    context
}

fn denied<'p>(set: &'p ForeignSet, decision: &Decision<'p>) -> String {
    let denial = decision.denial.unwrap();
    format!("{}: {}", denial.kind(), denial.explain(set))
}

#[test]
fn what_the_author_wrote_about_a_rule_is_taken_and_the_rest_is_derived() {
    let set = compiled(RULES);
    let told: Vec<(&str, &str, &str, Tier)> =
        set.parts().rules.iter().map(|r| (r.id.as_str(), &*r.source, &*r.sentence, r.tier)).collect();
    assert_eq!(told[0], ("hot", "kiln.md:3", "Not above the limit.", Tier::Stateless));
    assert_eq!(told[1], ("open_hot", "kiln.md:4", "", Tier::Session));
    assert_eq!(told[2], ("no_batch", "k/rules.cedar:8", "", Tier::Session));
    assert_eq!(set.parts().rules[3].lineage(), "safety.md");
    assert_eq!(set.parts().permits.len(), 1);
}

#[test]
fn rules_look_only_at_requests_that_their_scope_and_action_let_in() {
    let set = compiled(RULES);
    let of = |action: &str, resource: &str| {
        let found = set.parts().environments.iter().find(|e| e.action == action && e.resource == resource).unwrap();
        found.rules.iter().map(|(rule, _)| set.rule(*rule).unwrap().id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("fire", "Kiln"), ["hot", "no_batch", "lead"]);
    assert_eq!(of("open", "Kiln"), ["open_hot", "no_batch"]);
    assert_eq!(of("open", "Door"), ["no_batch"]);
}

#[test]
fn a_forbid_that_holds_denies_and_one_that_does_not_lets_pass() {
    let set = compiled(RULES);
    assert!(ask(&set, "fire", "Kiln", &calm()).allowed());
    let hot = with(&["heat"], Some(json!(1200)));
    let decision = ask(&set, "fire", "Kiln", &hot);
    assert_eq!(denied(&set, &decision), "forbidden: rule `hot` forbids it: Not above the limit.");
    let lead = with(&["session", "glazes"], Some(json!(["tin", "lead"])));
    assert_eq!(denied(&set, &ask(&set, "fire", "Kiln", &lead)), "forbidden: rule `lead` forbids it: ");
    let batch = with(&["arguments"], Some(json!("{\"batch\":1}")));
    assert!(denied(&set, &ask(&set, "fire", "Kiln", &batch)).contains("no_batch"));
}

#[test]
fn each_gap_denies_with_its_own_reason_although_cedar_would_let_it_pass() {
    let set = compiled(RULES);
    let overflow = with(&["heat"], Some(json!(i64::MAX)));
    let decision = ask(&set, "fire", "Kiln", &overflow);
    assert_eq!(denied(&set, &decision), "evaluation-error: rule `hot` cannot be evaluated");
    assert!(decision.answer.unwrap().allow, "Cedar skips a forbid that fails");
    let alone = with(&["session"], None);
    let decision = ask(&set, "fire", "Kiln", &alone);
    assert_eq!(denied(&set, &decision), "no-session: there is no session, and rule `no_batch` reads it");
    assert!(decision.answer.unwrap().allow);
    let calm = calm();
    assert_eq!(ask(&set, "melt", "Kiln", &calm).denial, Some(Denial::UnknownAction));
    assert_eq!(ask(&set, "fire", "Door", &calm).denial, Some(Denial::NotApplicable));
    assert_eq!(ask(&set, "anything", "Kiln", &calm).denial, Some(Denial::UnknownAction));
}

#[test]
fn a_context_that_is_not_as_declared_denies_and_names_the_member() {
    let set = compiled(RULES);
    for (path, value, named) in [
        (&["limit"][..], None, "limit"),
        (&["heat"], Some(json!("hot")), "heat"),
        (&["heat"], Some(json!(1.5)), "heat"),
        (&["note"], Some(Value::Null), "note"),
        (&["colour"], Some(json!("red")), ""),
        (&["session"], Some(json!("s1")), "session"),
        (&["session", "fired"], None, "session.fired"),
        (&["session", "glazes"], Some(json!(["tin", 3])), "session.glazes"),
        (&["session", "kept"], Some(json!(true)), "session"),
    ] {
        let context = with(path, value);
        assert_eq!(ask(&set, "fire", "Kiln", &context).denial, Some(Denial::Mismatch(named)), "{context}");
    }
    // The order in which members arrive says nothing.
    let turned = json!({"session": {"glazes": [], "fired": true}, "limit": 1200, "heat": 900, "arguments": "{}"});
    assert!(ask(&set, "fire", "Kiln", &turned).allowed());
}

#[test]
fn without_a_permit_nothing_is_allowed_and_what_is_unknown_denies() {
    let set = compiled("forbid (principal, action == Action::\"open\", resource) when { context.arguments == \"x\" };");
    let context = json!({"arguments": "y"});
    assert_eq!(ask(&set, "open", "Door", &context).denial, Some(Denial::NotPermitted));
    let set = compiled(RULES);
    let (context, request) =
        (calm(), |context, unknown| Request { principal: "Agent", action: "fire", resource: "Kiln", context, unknown });
    let unknown = request(context.as_object().unwrap(), &["heat", "session.glazes"]);
    let decision = decide(&set, &unknown);
    assert_eq!(decision.denial, Some(Denial::Undecided(0)));
    assert_eq!(decision.answer.unwrap().undecided.iter().collect::<Vec<_>>(), [0, 3]);
    let hot = with(&["heat"], Some(json!(1300)));
    let certain = request(hot.as_object().unwrap(), &["arguments"]);
    assert_eq!(decide(&set, &certain).denial, Some(Denial::Forbidden(0)));
}

#[test]
fn what_the_engine_does_not_have_is_refused_with_line_and_reason() {
    for (rule, expected) in [
        ("permit (principal, action == Action::\"fire\", resource);", "k/rules.cedar:2: rule `x`: of permits only"),
        ("permit (principal, action, resource) when { context.arguments == \"\" };", "of permits only"),
        (
            "forbid (principal == Agent::\"a\", action, resource);",
            "k/rules.cedar:2: rule `x`: its principal is one entity",
        ),
        ("forbid (principal, action, resource in Kiln::\"k\");", "its resource is one entity"),
        (
            "forbid (principal, action == Action::\"fire\", resource)\nwhen {\n  if context.heat > 3 then true else false };",
            "k/rules.cedar:4: rule `x`: `if … then … else …` is not supported",
        ),
        ("forbid (principal, action, resource) when { principal == Agent::\"a\" };", "`principal` is not a value"),
        (
            "forbid (principal, action == Action::\"fire\", resource)\nwhen { ip(\"1.2.3.4\").isLoopback() };",
            "is not supported",
        ),
        ("forbid (principal, action, resource) when { context.heat > 3 };", "k/rules.cedar:2"),
        ("forbid (principal, action == Action::\"melt\", resource);", "k/rules.cedar:2"),
        ("forbid (principal, action, resource) when {", "k/rules.cedar:2"),
    ] {
        let text = refusal(&format!("permit (principal, action, resource);\n@id(\"x\") {rule}"));
        assert!(text.contains(expected), "{rule}\n{text}");
    }
    let twice =
        refusal("@id(\"a\") permit (principal, action, resource);\n@id(\"a\") permit (principal, action, resource);");
    assert!(twice.contains("k/rules.cedar:2: rule `a`: line 1 has a rule of the same `@id`"), "{twice}");
}

#[test]
fn a_rule_that_follows_entities_is_refused() {
    let schema = "entity Owner = { away: Bool }; entity Kiln = { hot: Bool, owner: Owner };
        entity Agent; action fire appliesTo { principal: [Agent], resource: [Kiln], context: {} };";
    let text = |condition: &str| {
        let rule = format!("\nforbid (principal, action, resource) when {{ {condition} }};");
        let (rules, schema) = (SourceFile::new("k/rules.cedar", rule), SourceFile::new("k/s", schema));
        compile_foreign("kiln", &rules, &schema).unwrap_err().to_string()
    };
    let one = text("resource.hot");
    assert!(
        one.starts_with("k/rules.cedar:2: ") && one.contains("`resource.hot` is an attribute of an entity"),
        "{one}"
    );
    let two = text("resource.owner.away");
    assert!(two.starts_with("k/rules.cedar:2: ") && two.contains("level"), "{two}");
}

#[test]
fn every_flipped_byte_of_a_blob_is_an_error() {
    let (rules, schema) = (SourceFile::new("k/rules.cedar", RULES), SourceFile::new("k/s", SCHEMA));
    let blob = compile_foreign("kiln", &rules, &schema).unwrap().parts.to_blob().unwrap();
    for at in 0..blob.len() {
        let mut flipped = blob.clone();
        flipped[at] ^= 1;
        assert!(ForeignSet::from_blob(&flipped).is_err(), "flipped at {at}");
        assert!(ForeignSet::from_blob(&blob[..at]).is_err(), "cut at {at}");
    }
}
