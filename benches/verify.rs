//! The cost of one check on a real conversation, and how it grows.
//!
//! Absolute times are the machine's; the ratios inside one run are what counts: the same check after
//! 10 and after 1,000 messages, among 30 and among 3,000 rules, the engine alone against all gates.
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
use obligato::model::{Draft, Limits, Message, Role, RuleId};
use obligato::obligations::owed;
use obligato::policy::{Advice, HardLimits, Policy, PolicyParts, Trigger};
use obligato::state::History;
use obligato::tools::ToolIx;
use obligato::verify::{Binding, SessionId, Step};

#[derive(serde::Deserialize)]
struct Recorded {
    messages: Vec<Message>,
}

/// Conversations that are judged: one alone may hang on one gate.
const CONVERSATIONS: usize = 24;

/// The policy and the longest recorded conversations; none where the data is not here.
fn load() -> Option<(PolicyParts, Vec<Vec<Message>>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = root.join("../shared/carbench");
    let set = SetSource::read(
        &root.join("policies/car-bench"),
        Some(&data.join("policy.md")),
        Some(&data.join("tools.json")),
    )
    .ok()?;
    let parts = compile(&set).ok()?.parts;
    let file = std::fs::File::open(data.join("trajectories_car-bench-paper.jsonl.gz")).ok()?;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).ok()?;
    let mut all: Vec<Vec<Message>> =
        text.lines().filter_map(|l| serde_json::from_str::<Recorded>(l).ok()).map(|r| r.messages).collect();
    all.sort_by_key(|messages| std::cmp::Reverse(messages.len()));
    all.truncate(CONVERSATIONS);
    Some((parts, all))
}

/// The history before a conversation's last draft that calls, as long as asked for: the conversation
/// told over and over until then, or only its last messages.
fn history(policy: &Policy, messages: &[Message], length: usize) -> (History, Draft) {
    let caps = Limits::default();
    let mut history = History::new(&policy.model);
    let last = messages.iter().rposition(|m| m.role == Role::Assistant && !m.tool_calls.is_empty()).unwrap_or(0);
    let before = &messages[..last];
    let whole = length / messages.len();
    let told = std::iter::repeat_n(messages, whole).flatten();
    let rest = &before[before.len().saturating_sub(length - whole * messages.len())..];
    for message in messages.iter().take(1).chain(told).chain(rest) {
        let _ = history.push(&policy.model, &policy.inventory, message, &caps);
    }
    let draft = messages.get(last).and_then(|m| Draft::from_message(m, &caps).ok()).unwrap_or_default();
    (history, draft)
}

/// The same policy with as many rules as asked for: copies of its own, about tools that the draft does
/// not call, because a policy of 3,000 rules is one about more things, not one that says all of it of
/// every call.
fn grown(parts: &PolicyParts, rules: usize, drafts: &[(History, Draft)]) -> Policy {
    let mut parts = parts.clone();
    let calls: Vec<_> = drafts.iter().flat_map(|(_, draft)| &draft.calls).collect();
    let called = |tool: &str| calls.iter().any(|c| c.tool.as_str() == tool);
    let others: Vec<ToolIx> = parts
        .inventory
        .iter()
        .zip((0..).map(ToolIx))
        .filter(|(t, _)| !called(t.name.as_str()))
        .map(|(_, ix)| ix)
        .collect();
    let own = parts.rules.clone();
    for (at, tool) in (0..rules.saturating_sub(own.len())).zip(others.iter().cycle()) {
        let mut rule = own[at % own.len()].clone();
        rule.id = RuleId::from(format!("{}_{at}", rule.id).as_str());
        rule.trigger = Trigger::Calls(vec![*tool]);
        parts.rules.push(rule);
    }
    Policy::from_blob(&parts.to_blob().unwrap()).unwrap()
}

fn check(policy: &Policy, drafts: &[(History, Draft)]) {
    let limits = HardLimits::default();
    let advice = Advice::Remedies;
    for (history, draft) in drafts {
        let binding = Binding { session: SessionId::from("bench"), policy: policy.hash, epoch: 0 };
        black_box(Step { policy, limits: &limits, history, advice, binding, critic: None, valve: None }.check(draft));
    }
}

fn verify(c: &mut Criterion) {
    let Some((parts, conversations)) = load() else {
        println!("skipped: ../shared/carbench is not here");
        return;
    };
    let told = |policy: &Policy, length: usize| -> Vec<(History, Draft)> {
        conversations.iter().map(|messages| history(policy, messages, length)).collect()
    };
    println!("one check of each of {} drafts that call:", conversations.len());
    let policy = grown(&parts, 0, &[]);
    for length in [10, 1_000] {
        let drafts = told(&policy, length);
        c.bench_function(&format!("verify after {length} messages"), |b| b.iter(|| check(&policy, &drafts)));
        c.bench_function(&format!("obligations after {length} messages"), |b| {
            b.iter(|| {
                for (history, draft) in &drafts {
                    black_box(owed(&policy, history, draft, Advice::Remedies));
                }
            });
        });
    }
    let drafts = told(&policy, 10);
    for rules in [30, 3_000] {
        let policy = grown(&parts, rules, &drafts);
        let drafts = told(&policy, 10);
        c.bench_function(&format!("verify among {rules} rules"), |b| b.iter(|| check(&policy, &drafts)));
    }
}

criterion_group!(benches, verify);
criterion_main!(benches);
