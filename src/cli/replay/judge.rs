//! Judging recorded conversations, on all cores.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Serialize;

use super::Recorded;
use super::projection::{Change, projection};
use crate::model::{Decision, Draft, Limits, Message, ReportedFinding, Role, Tier, VerdictReport};
use crate::policy::{Advice, HardLimits, Policy};
use crate::state::History;
use crate::tools::Removed;
use crate::verify::{Binding, SessionId, Step, report};

/// One judged message.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Turn {
    /// Position of the draft in the conversation's messages, counted from 0, system message included.
    pub(in crate::cli) index: usize,
    /// What was found.
    #[serde(flatten)]
    pub(in crate::cli) report: VerdictReport,
    /// What the draft, as far as it was amended, would have changed in the car; for the page only.
    #[serde(skip)]
    pub(super) projected: Vec<Change>,
}

/// One judged conversation.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Judged {
    /// Its identifier.
    pub(in crate::cli) id: String,
    /// Its assistant messages, in order.
    pub(in crate::cli) turns: Vec<Turn>,
    /// Whether the recorder counts it as a success.
    #[serde(skip)]
    pub(super) passed: Option<bool>,
}

impl Judged {
    /// A conversation that was judged elsewhere: drafts by their number, each with its report.
    pub(in crate::cli) fn told(id: String, reports: Vec<(usize, VerdictReport)>) -> Self {
        let turn = |(index, report)| Turn { index, report, projected: Vec::new() };
        Self { id, turns: reports.into_iter().map(turn).collect(), passed: None }
    }
}

/// Judges all conversations; the order of the result is the order of the input.
pub(super) fn all(policy: &Policy, advice: Advice, recorded: &[Recorded]) -> Vec<Judged> {
    policy.warm();
    let bar = indicatif::ProgressBar::new(u64::try_from(recorded.len()).unwrap_or(u64::MAX));
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, Judged)> = thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            while let Some((at, one)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, recorded.get(i)?)))
            {
                mine.push((at, judge(policy, advice, one)));
                bar.inc(1);
            }
            mine
        };
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        // A conversation that a broken worker took with it must not be missing in silence.
        handles.into_iter().flat_map(|h| h.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    bar.finish_and_clear();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, judged)| judged).collect()
}

fn judge(policy: &Policy, advice: Advice, recorded: &Recorded) -> Judged {
    let caps = Limits::default();
    let mut history = History::new(&policy.model);
    history.set_removed(Removed::from_iter(recorded.removed()));
    let mut turns = Vec::new();
    for (index, message) in recorded.messages.iter().enumerate() {
        if message.role == Role::Assistant {
            turns.push(turn(policy, advice, &history, &caps, index, message));
        }
        if let Err(error) = history.push(&policy.model, &policy.inventory, message, &caps) {
            tracing::warn!(id = recorded.id, %error, "a recorded message was skipped");
            history.end_step();
        }
        policy.attend(&history);
    }
    Judged { id: recorded.id.clone(), turns, passed: recorded.passed() }
}

fn turn(policy: &Policy, advice: Advice, history: &History, caps: &Limits, index: usize, message: &Message) -> Turn {
    let draft = match Draft::from_message(message, caps) {
        Ok(draft) => draft,
        Err(error) => return Turn { index, report: unreadable(&error.to_string()), projected: Vec::new() },
    };
    let step = Step {
        policy,
        limits: &HardLimits::default(),
        history,
        advice,
        binding: Binding { session: SessionId::from("replay"), policy: policy.hash, epoch: 0 },
        critic: None,
        valve: None,
    };
    let checked = step.check(&draft);
    let projected = projection(&policy.model, history.world(), &checked.owed.after);
    Turn { index, report: report(&checked), projected }
}

/// A message that is no draft at all is judged too: it must be written anew.
fn unreadable(why: &str) -> VerdictReport {
    let finding = ReportedFinding {
        gate: "schema-validity".to_owned(),
        tier: Tier::Hard,
        rule: None,
        source: None,
        because: why.to_owned(),
        remedy: Vec::new(),
    };
    VerdictReport {
        verdict: Decision::Revise,
        micros: 0.0,
        findings: vec![finding],
        amended: Vec::new(),
        question: None,
        speak: None,
    }
}
