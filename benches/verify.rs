//! The cost of one check on a real conversation, and how it grows.
//!
//! Absolute times are the machine's; the ratios inside one run are what counts: the same check after
//! 10 and after 1,000 messages, the engine alone against all gates.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use obligato::compile::{SetSource, compile};
use obligato::model::{Draft, Limits, Message, Role};
use obligato::obligations::owed;
use obligato::policy::{Advice, HardLimits, Policy};
use obligato::state::History;
use obligato::verify::{Binding, SessionId, Step};

#[derive(serde::Deserialize)]
struct Recorded {
    messages: Vec<Message>,
}

/// The policy and one recorded conversation that writes; none where the data is not here.
fn load() -> Option<(Policy, Vec<Message>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = root.join("../shared/carbench");
    let set = SetSource::read(
        &root.join("policies/car-bench"),
        Some(&data.join("policy.md")),
        Some(&data.join("tools.json")),
    )
    .ok()?;
    let policy = Policy::from_blob(&compile(&set).ok()?.parts.to_blob().ok()?).ok()?;
    let file = std::fs::File::open(data.join("trajectories_car-bench-paper.jsonl.gz")).ok()?;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).ok()?;
    let longest =
        text.lines().filter_map(|l| serde_json::from_str::<Recorded>(l).ok()).max_by_key(|r| r.messages.len())?;
    Some((policy, longest.messages))
}

/// The history before a conversation's last draft, the conversation told `times` over.
fn history(policy: &Policy, messages: &[Message], times: usize) -> (History, Draft) {
    let caps = Limits::default();
    let mut history = History::new(&policy.model);
    let last = messages.iter().rposition(|m| m.role == Role::Assistant && !m.tool_calls.is_empty()).unwrap_or(0);
    for round in 0..times {
        let until = if round + 1 == times { last } else { messages.len() };
        for message in messages.iter().take(until) {
            let _ = history.push(&policy.model, &policy.inventory, message, &caps);
        }
    }
    let draft = messages.get(last).and_then(|m| Draft::from_message(m, &caps).ok()).unwrap_or_default();
    (history, draft)
}

fn verify(c: &mut Criterion) {
    let Some((policy, messages)) = load() else {
        println!("skipped: ../shared/carbench is not here");
        return;
    };
    let limits = HardLimits::default();
    for times in [1, 1000_usize.div_ceil(messages.len())] {
        let (history, draft) = history(&policy, &messages, times);
        c.bench_function(&format!("verify after {} messages", history.steps()), |b| {
            b.iter(|| {
                let binding = Binding { session: SessionId::from("bench"), policy: policy.hash, epoch: 0 };
                let step = Step {
                    policy: &policy,
                    limits: &limits,
                    history: &history,
                    advice: Advice::Remedies,
                    binding,
                    critic: None,
                    valve: None,
                };
                black_box(step.check(&draft));
            });
        });
        c.bench_function(&format!("obligations after {} messages", history.steps()), |b| {
            b.iter(|| black_box(owed(&policy, &history, &draft, Advice::Remedies)));
        });
    }
}

criterion_group!(benches, verify);
criterion_main!(benches);
