//! Rule evaluation takes nothing from the heap: its cost cannot depend on what else the head unit does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]
#![cfg(feature = "compile")]
#[path = "support/mod.rs"]
mod support;

use obligato::compile::{SourceFile, compile_foreign};
use obligato::model::{Draft, Limits, Role};
use obligato::obligations::visit;
use obligato::policy::evaluate;
use obligato::policy::foreign::{ForeignSet, Request, decide};
use obligato::state::History;
use serde_json::json;

#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

/// One test in this binary: the counter counts for the whole process.
#[test]
fn evaluating_rules_allocates_nothing() {
    let profiler = dhat::Profiler::builder().testing().build();
    a_foreign_request_is_decided_without_allocation();
    drop(profiler);
    recorded_conversations();
}

fn a_foreign_request_is_decided_without_allocation() {
    let schema = SourceFile::new(
        "s",
        "entity A; entity R; action a appliesTo { principal: [A], resource: [R],
        context: { text: String, n: Long, session?: { on: Bool, seen: Set<String> } } };",
    );
    let rules = SourceFile::new(
        "r",
        "permit (principal, action, resource);
        forbid (principal, action, resource) when { context.text like \"*a*b*\" || context.n + 1 > 7 };
        forbid (principal, action, resource) when { context has session && context.session.seen.contains(\"x\") };",
    );
    let parts = compile_foreign("set", &rules, &schema).unwrap().parts;
    let set = ForeignSet::from_blob(&parts.to_blob().unwrap()).unwrap();
    let contexts = [
        json!({"text": "xaxb", "n": 3, "session": {"on": true, "seen": ["x"]}}),
        json!({"text": "x", "n": i64::MAX}),
        json!({"other": null, "session": "none"}),
    ];
    for context in &contexts {
        for unknown in [&[][..], &["session.seen", "n"]] {
            let context = context.as_object().unwrap();
            let request = Request { principal: "A", action: "a", resource: "R", context, unknown };
            let before = dhat::HeapStats::get().total_blocks;
            let decision = std::hint::black_box(decide(&set, &request));
            assert_eq!(dhat::HeapStats::get().total_blocks, before, "{context:?}");
            assert!(!decision.allowed());
        }
    }
}

fn recorded_conversations() {
    let Some(policy) = support::car_bench() else { return };
    let Some(file) = support::shared("carbench/trajectories_car-bench-paper.jsonl.gz") else { return };
    let conversations = support::recorded(&file);
    let caps = Limits::default();
    let _profiler = dhat::Profiler::builder().testing().build();
    let mut evaluated = 0_usize;
    for conversation in &conversations {
        let mut history = History::new(&policy.model);
        for message in &conversation.messages {
            if message.role == Role::Assistant {
                let draft = Draft::from_message(message, &caps).unwrap();
                visit(policy, &history, &draft, &mut |rule, frame| {
                    let before = dhat::HeapStats::get().total_blocks;
                    std::hint::black_box(evaluate(&rule.when, &policy.tables, frame));
                    assert_eq!(dhat::HeapStats::get().total_blocks, before, "rule {}", rule.id);
                    evaluated += 1;
                });
            }
            let _ = history.push(&policy.model, &policy.inventory, message, &caps);
        }
    }
    assert!(evaluated > 100, "only {evaluated} evaluations: the recordings triggered hardly any rule");
    println!("{evaluated} evaluations without an allocation");
}
