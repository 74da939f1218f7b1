//! One decision on the second paper's 40 policies, session tier: ours beside `cedar-policy` and
//! `regorus`, in one run. All three must agree on every request before anything is timed.
//!
//! Ours takes the context as JSON and includes its binding, the check against the schema and the
//! fail-closed overlay. The others are timed on requests that were prepared beforehand, and once
//! more with the preparation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

mod rego;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use cedar_policy::{Authorizer, Context, Decision as Cedar, Entities, EntityUid, PolicySet, Request as CedarRequest};
use criterion::{Criterion, criterion_group, criterion_main};
use obligato::compile::{SourceFile, compile_foreign};
use obligato::policy::foreign::{ForeignSet, Request, decide};
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::vm::RegoVM;
use serde_json::{Value, json};

const ACTION: &str = "PreToolUse";
const SAMPLES: usize = 20_000;

fn contexts() -> Vec<Value> {
    let note = "Situation: acute left knee injury, Background: radiology report indicates ACL tear. Assessment: ACL tear grade II. Recommendation: request for Orthopedic service to evaluate and provide management recommendations.";
    let order = |priority: &str, subject: &str| {
        json!({"service_request": {"resourceType": "ServiceRequest", "id": null, "status": "active", "intent": "order",
            "priority": priority, "code": {"coding": [{"system": "http://snomed.info/sct", "code": "306181000000106"}]},
            "subject": {"reference": subject}, "authoredOn": "2023-11-13T10:15:00+00:00", "note": [{"text": note}]}})
        .to_string()
    };
    let call = |tool: &str, arguments: String, confirmed: bool, error: bool| {
        json!({
            "workspace": {"cwd": "/", "permission_mode": "default", "transcript_path": "t"},
            "signature": {"matches": 0, "categories": [], "severity": 0},
            "policy": {"compliant": true, "violations": []},
            "label": {"__entity": {"type": "Label", "id": "none"}},
            "tool": tool, "arguments": arguments,
            "session": {
                "now_timestamp": "2023-11-13T10:15:00+00:00", "now_date": "2023-11-13",
                "last_tool_error": error, "last_get_patient_returned_multiple": false,
                "user_specified_urgency": true, "user_specified_backdate": false, "user_specified_correction": false,
                "user_confirmed_allergy_check": true, "last_assistant_restated_patient": confirmed,
                "user_confirmed_write": confirmed, "pending_write_confirmed": confirmed,
                "current_call_is_duplicate": false, "current_call_retries_failed_write": false,
                "current_call_patient_mismatch": false, "current_call_is_backdated": false,
                "current_call_is_correction": false, "current_call_patient_unseen": false,
                "established_patient_id": "S3114648", "seen_patient_ids": ["S3114648"],
            },
        })
    };
    vec![
        call("post_service_request", order("stat", "Patient/S3114648"), true, false),
        call("post_service_request", order("stat", "Group/7"), false, false),
        call(
            "get_observation",
            json!({"patient_id": null, "code": "GLU", "purpose": "research"}).to_string(),
            false,
            true,
        ),
        call("get_patient", json!({"patient_id": "S3114648", "purpose": "patient care"}).to_string(), false, false),
    ]
}

/// The `@id`s of the forbids that hold.
type Holds = BTreeSet<String>;

fn bench(c: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/medagentbench");
    if !folder.exists() {
        println!("skipped: ../shared/medagentbench is not here");
        return;
    }
    let read = |name: &str| SourceFile::read(&folder.join(name)).unwrap();
    let (rules, schema) = (read("policies.cedar"), read("schema.cedarschema"));
    let parts = compile_foreign("paper", &rules, &schema).unwrap_or_else(|e| panic!("{e}")).parts;
    let set = ForeignSet::from_blob(&parts.to_blob().unwrap()).unwrap();
    let policies = PolicySet::from_str(rules.text()).unwrap();

    let mut engine = regorus::Engine::new();
    engine.add_policy("paper.rego".to_owned(), rego::from_cedar(&policies)).unwrap();
    let entry = "data.paper.forbid";
    let compiled = engine.compile_with_entrypoint(&entry.into()).unwrap();
    let mut vm = RegoVM::new_with_policy(compiled.clone());
    vm.load_program(Compiler::compile_from_policy(&compiled, &[entry]).unwrap());
    vm.set_data(regorus::Value::new_object()).unwrap();

    let ours = |context: &Value| -> Holds {
        let answer = decide(&set, &request(context)).answer.unwrap();
        answer.determining.iter().map(|r| set.rule(r).unwrap().id.to_string()).collect()
    };
    for context in contexts() {
        let holds = ours(&context);
        let response = Authorizer::new().is_authorized(&prepared(&context), &policies, &Entities::empty());
        let reasons = response.diagnostics().reason().map(|id| policies.annotation(id, "id").unwrap().to_owned());
        let cedar: Holds = if response.decision() == Cedar::Allow { Holds::new() } else { reasons.collect() };
        vm.set_input(input(&context));
        let found = vm.execute_entry_point_by_name(entry).unwrap();
        let rego: Holds = found.as_set().unwrap().iter().map(|v| v.as_string().unwrap().to_string()).collect();
        assert_eq!((&holds, &holds), (&cedar, &rego), "the three must agree before they are timed");
        println!("agreed: {} of 40 hold", holds.len());
    }

    let entities = Entities::empty();
    for (at, context) in contexts().iter().enumerate() {
        let asked = request(context);
        let (cedar_request, rego_input) = (prepared(context), input(context));
        let authorizer = Authorizer::new();
        let mut group = c.benchmark_group(format!("decide {at}"));
        group.bench_function("obligato", |b| b.iter(|| black_box(decide(&set, black_box(&asked)))));
        group.bench_function("cedar-policy, request prepared", |b| {
            b.iter(|| black_box(authorizer.is_authorized(black_box(&cedar_request), &policies, &entities)));
        });
        group.bench_function("cedar-policy, from JSON", |b| {
            b.iter(|| black_box(authorizer.is_authorized(&prepared(black_box(context)), &policies, &entities)));
        });
        group.bench_function("regorus, input prepared", |b| {
            b.iter(|| {
                vm.set_input(black_box(rego_input.clone()));
                black_box(vm.execute_entry_point_by_name(entry).unwrap())
            });
        });
        group.bench_function("regorus, from JSON", |b| {
            b.iter(|| {
                vm.set_input(input(black_box(context)));
                black_box(vm.execute_entry_point_by_name(entry).unwrap())
            });
        });
        group.finish();
        println!(
            "decide {at}: p50 {} ns, p99 {} ns over {SAMPLES} single decisions",
            percentile(&set, context, 50),
            percentile(&set, context, 99)
        );
    }
}

/// A percentile of single decisions, in nanoseconds; criterion reports means of batches.
fn percentile(set: &ForeignSet, context: &Value, percent: usize) -> u128 {
    let asked = request(context);
    let once = || {
        let start = Instant::now();
        black_box(decide(set, black_box(&asked)));
        start.elapsed().as_nanos()
    };
    let mut taken: Vec<u128> = std::iter::repeat_with(once).take(SAMPLES).collect();
    taken.sort_unstable();
    taken[SAMPLES * percent / 100]
}

fn request(context: &Value) -> Request<'_> {
    let context = context.as_object().unwrap();
    Request { principal: "Agent", action: ACTION, resource: "Tool", context, unknown: &[] }
}

fn prepared(context: &Value) -> CedarRequest {
    let uid = |text: &str| EntityUid::from_str(text).unwrap();
    let context = Context::from_json_value(context.clone(), None).unwrap();
    let action = uid(&format!("Action::{ACTION:?}"));
    CedarRequest::new(uid("Agent::\"it\""), action, uid("Tool::\"it\""), context, None).unwrap()
}

fn input(context: &Value) -> regorus::Value {
    let input = json!({"action": ACTION, "context": context});
    serde_json::from_value(input).unwrap()
}

criterion_group!(benches, bench);
criterion_main!(benches);
