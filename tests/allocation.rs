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

use obligato::model::{Draft, Limits, Role};
use obligato::obligations::visit;
use obligato::policy::evaluate;
use obligato::state::History;

#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

/// One test in this binary: the counter counts for the whole process.
#[test]
fn evaluating_rules_on_recorded_conversations_allocates_nothing() {
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
