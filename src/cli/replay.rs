//! `obligato replay`: every assistant message of recorded conversations, verified as a draft.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::verify::Apply;
use super::{CliError, Exit, load};
use crate::model::{Decision, Draft, Limits, Message, ReportedFinding, Role, Tier, VerdictReport};
use crate::policy::{Advice, HardLimits, Policy};
use crate::state::History;
use crate::tools::Removed;
use crate::verify::{Binding, SessionId, Step, report};

/// Check every message of recorded conversations
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Compiled policy
    #[arg(long)]
    policy: PathBuf,
    /// Recorded conversations, one JSON object a line, `.gz` or plain
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Leave companions to the student instead of inserting them
    #[arg(long, value_enum, default_value_t = Apply::Remedies)]
    apply: Apply,
    /// Write the full report here
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
}

/// One recorded conversation; fields beyond these are the recorder's own.
#[derive(Debug, Deserialize)]
struct Recorded {
    id: String,
    messages: Vec<Message>,
    #[serde(default)]
    removed_part: Option<Parts>,
    #[serde(default)]
    reward: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Parts {
    One(String),
    Many(Vec<String>),
}

/// One judged message.
#[derive(Debug, Serialize)]
struct Turn {
    index: usize,
    #[serde(flatten)]
    report: VerdictReport,
}

/// One judged conversation.
#[derive(Debug, Serialize)]
struct Judged {
    id: String,
    turns: Vec<Turn>,
    #[serde(skip)]
    passed: Option<bool>,
}

/// Counts over all conversations, by outcome: `passing` and `failing` as recorded.
#[derive(Debug, Default, Serialize)]
struct Summary {
    conversations: usize,
    turns: usize,
    verdicts: BTreeMap<&'static str, usize>,
    /// Findings that are not advisory, by gate, in passing and in failing conversations.
    gates: BTreeMap<String, [usize; 2]>,
    /// The same by rule.
    rules: BTreeMap<String, [usize; 2]>,
    /// Passing and failing conversations with at least one objection or amendment.
    objected: [usize; 2],
    /// Passing and failing conversations.
    outcomes: [usize; 2],
    micros_p50: f64,
    micros_p99: f64,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    summary: &'a Summary,
    trajectories: &'a [Judged],
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let policy = load::policy(&args.policy)?;
    let mut recorded = Vec::new();
    for path in &args.files {
        for (line, text) in load::text(path)?.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let one: Recorded = serde_json::from_str(text).map_err(|e| CliError::Transcript {
                path: path.display().to_string(),
                why: format!("line {} is not a recorded conversation: {e}", line + 1),
            })?;
            recorded.push(one);
        }
    }
    let judged = judge_all(&policy, args.apply.into(), &recorded);
    let summary = summarise(&judged);
    if let Some(out) = &args.json {
        let json = serde_json::to_vec(&Report { summary: &summary, trajectories: &judged }).unwrap_or_default();
        std::fs::write(out, json).map_err(|source| CliError::File { path: out.display().to_string(), source })?;
    }
    print(&summary);
    Ok(Exit::Done)
}

/// Judges all conversations on all cores; the order of the result is the order of the input.
fn judge_all(policy: &Policy, advice: Advice, recorded: &[Recorded]) -> Vec<Judged> {
    let bar = indicatif::ProgressBar::new(u64::try_from(recorded.len()).unwrap_or(u64::MAX));
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, Judged)> = std::thread::scope(|scope| {
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
        handles.into_iter().filter_map(|h| h.join().ok()).flatten().collect()
    });
    bar.finish_and_clear();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, judged)| judged).collect()
}

fn judge(policy: &Policy, advice: Advice, recorded: &Recorded) -> Judged {
    let caps = Limits::default();
    let none = HardLimits::default();
    let mut history = History::new(&policy.model);
    history.set_removed(match &recorded.removed_part {
        Some(Parts::One(part)) => Removed::from_iter([part]),
        Some(Parts::Many(parts)) => Removed::from_iter(parts),
        None => Removed::default(),
    });
    let mut turns = Vec::new();
    for (index, message) in recorded.messages.iter().enumerate() {
        if message.role == Role::Assistant {
            let report = match Draft::from_message(message, &caps) {
                Ok(draft) => {
                    let step = Step {
                        policy,
                        limits: &none,
                        history: &history,
                        advice,
                        binding: Binding { session: SessionId::from("replay"), policy: policy.hash, epoch: 0 },
                        critic: None,
                        valve: None,
                    };
                    report(&step.check(&draft))
                }
                Err(error) => unreadable(&error.to_string()),
            };
            turns.push(Turn { index, report });
        }
        if let Err(error) = history.push(&policy.model, &policy.inventory, message, &caps) {
            tracing::warn!(id = recorded.id, %error, "a recorded message was skipped");
            history.end_step();
        }
    }
    Judged { id: recorded.id.clone(), turns, passed: recorded.reward.map(|r| r >= 1.0) }
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

fn summarise(judged: &[Judged]) -> Summary {
    let mut s = Summary { conversations: judged.len(), ..Summary::default() };
    let mut micros: Vec<f64> = Vec::new();
    for one in judged {
        let side = usize::from(one.passed == Some(false));
        let mut objected = false;
        for turn in &one.turns {
            s.turns += 1;
            micros.push(turn.report.micros);
            *s.verdicts.entry(turn.report.verdict.as_str()).or_default() += 1;
            objected |= turn.report.verdict.objects() || turn.report.verdict == Decision::Amend;
            for finding in turn.report.findings.iter().filter(|f| f.tier != Tier::Advisory) {
                bump(&mut s.gates, &finding.gate, side);
                if let Some(rule) = &finding.rule {
                    bump(&mut s.rules, rule, side);
                }
            }
        }
        if let Some(count) = s.outcomes.get_mut(side) {
            *count += 1;
        }
        if let Some(count) = s.objected.get_mut(side).filter(|_| objected) {
            *count += 1;
        }
    }
    micros.sort_by(f64::total_cmp);
    let at = |share: f64| micros.get((micros.len() as f64 * share) as usize).copied().unwrap_or_default();
    s.micros_p50 = at(0.5);
    s.micros_p99 = at(0.99);
    s
}

fn bump(counts: &mut BTreeMap<String, [usize; 2]>, key: &str, side: usize) {
    if let Some(count) = counts.entry(key.to_owned()).or_default().get_mut(side) {
        *count += 1;
    }
}

fn print(s: &Summary) {
    let [passing, failing] = s.outcomes;
    let [objected, caught] = s.objected;
    println!("{} conversations, {} messages judged", s.conversations, s.turns);
    println!("objected to or amended: {objected} of {passing} passing, {caught} of {failing} failing");
    let verdicts: Vec<String> = s.verdicts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!("verdicts: {}", verdicts.join(", "));
    println!("{:<28}{:>9}{:>9}", "gate", "passing", "failing");
    for (gate, [passing, failing]) in &s.gates {
        println!("{gate:<28}{passing:>9}{failing:>9}");
    }
    if !s.rules.is_empty() {
        println!("{:<28}{:>9}{:>9}", "rule", "passing", "failing");
    }
    for (rule, [passing, failing]) in &s.rules {
        println!("{rule:<28}{passing:>9}{failing:>9}");
    }
    println!("check: p50 {:.1} µs, p99 {:.1} µs", s.micros_p50, s.micros_p99);
}
