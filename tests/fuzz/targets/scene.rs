//! A policy, a conversation and a judgement.

use std::path::Path;
use std::sync::OnceLock;

use obligato::model::{Conversation, Draft, Limits, ToolCall, VerdictReport};
use obligato::policy::{Advice, HardLimits, Policy};
use obligato::state::History;
use obligato::verify::{Binding, SessionId, Step, report};

/// The repository.
pub(super) fn root() -> &'static Path {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|folder| folder.join("policies/cabin/cabin.obl").is_file()).unwrap()
}

/// The policy of the image.
pub(super) fn cabin() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let blob = std::fs::read(root().join("policies/cabin/cabin.obl")).unwrap();
        Policy::from_blob(&blob).unwrap()
    })
}

/// Judges a draft after a conversation.
pub(super) fn judge(policy: &Policy, history: &History, draft: &Draft) -> VerdictReport {
    let limits = HardLimits::default();
    let binding = Binding { session: SessionId::from("fuzz"), policy: policy.hash, epoch: 0 };
    let step = Step { policy, limits: &limits, history, advice: Advice::Remedies, binding, critic: None, valve: None };
    let mut report = report(&step.check(draft));
    // The only member that is measured.
    report.micros = 0.0;
    report
}

/// A call of every tool with no arguments, and a reply: what any policy can be asked about.
pub(super) fn everything(policy: &Policy) -> Vec<Draft> {
    let calls = policy.inventory.iter().take(24).map(|tool| ToolCall::new(tool.name.as_str(), Default::default()));
    let mut drafts: Vec<Draft> = calls.map(|call| Draft::calls(vec![call])).collect();
    drafts.push(Draft::reply("I've closed the windows. Shall I open the roof to 50 percent?"));
    drafts
}

/// A conversation in which things were read, done and asked.
pub(super) fn talk() -> &'static History {
    static TALK: OnceLock<History> = OnceLock::new();
    TALK.get_or_init(|| {
        let text = include_str!("talk.jsonl");
        let mut history = History::new(&cabin().model);
        let conversation = Conversation::from_lines(text).unwrap();
        history.read(&cabin().model, &cabin().inventory, &conversation, &Limits::default()).unwrap();
        history
    })
}
