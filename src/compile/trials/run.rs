//! Running policy tests, and running them without the rules that they name.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::{Event, PolicyTest};
use crate::model::{Decision, PolicyHash, Tier, VerdictReport};
use crate::policy::{Advice, HardLimits, Policy, PolicyParts};
use crate::state::{History, Outcome};
use crate::verify::{Binding, SessionId, Step, report};

/// One way in which a draft was judged otherwise than a test says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Another verdict.
    #[error("the verdict is {}, not {}", .found.as_str(), .due.as_str())]
    Verdict {
        /// The verdict that is due.
        due: Decision,
        /// The verdict that was given.
        found: Decision,
    },
    /// A call that should be owed is not.
    #[error("not owed: {0}")]
    NotOwed(String),
    /// A call is owed that should not be.
    #[error("owed as well: {0}")]
    OwedToo(String),
    /// No finding names the rule.
    #[error("no finding names the rule `{0}`")]
    NotFound(String),
}

/// Judges the draft of one test. An empty list means that it passes.
pub fn run(policy: &Policy, test: &PolicyTest) -> (Vec<Mismatch>, VerdictReport) {
    let history = history(policy, test);
    let limits = HardLimits::default();
    let step = Step {
        policy,
        limits: &limits,
        history: &history,
        advice: Advice::Remedies,
        binding: Binding { session: SessionId::from("test"), policy: policy.hash, epoch: 0 },
        critic: None,
        valve: None,
    };
    let checked = step.check(&test.draft);
    let mut mismatches = Vec::new();
    let found = checked.verdict.decision();
    if found != test.verdict {
        mismatches.push(Mismatch::Verdict { due: test.verdict, found });
    }
    if let Some(owed) = &test.owed {
        let due: BTreeSet<_> = owed.iter().map(|c| (c.key(), c.to_string())).collect();
        let owed_calls = checked.findings.iter().filter(|f| f.tier == Tier::Owed).flat_map(|f| &f.remedy);
        let given: BTreeSet<_> = owed_calls.map(|c| (c.key(), c.to_string())).collect();
        let missing = |from: &BTreeSet<_>, (key, _): &(_, String)| !from.iter().any(|(k, _)| k == key);
        mismatches.extend(due.iter().filter(|c| missing(&given, c)).map(|(_, c)| Mismatch::NotOwed(c.clone())));
        mismatches.extend(given.iter().filter(|c| missing(&due, c)).map(|(_, c)| Mismatch::OwedToo(c.clone())));
    }
    for rule in &test.found {
        if !checked.findings.iter().any(|f| f.rule.as_ref().is_some_and(|r| r.as_str() == rule)) {
            mismatches.push(Mismatch::NotFound(rule.clone()));
        }
    }
    (mismatches, report(&checked))
}

fn history(policy: &Policy, test: &PolicyTest) -> History {
    let mut history = History::new(&policy.model);
    history.set_now(test.now.clone());
    for event in &test.history {
        match event {
            Event::Driver(said) => history.heard(said),
            Event::Assistant(said) => history.said(said),
            Event::Call { call, result } => {
                let made = history.called(&policy.inventory, call.clone());
                history.end_step();
                let outcome = match result {
                    Ok(payload) => Outcome::Done(Arc::new(payload.clone())),
                    Err(why) => Outcome::Failed(why.as_str().into()),
                };
                history.settle(&policy.model, &policy.inventory, made, outcome, None);
            }
        }
        history.end_step();
    }
    history
}

/// A test that fails.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The test.
    pub test: PolicyTest,
    /// How it fails.
    pub mismatches: Vec<Mismatch>,
    /// What the engine said.
    pub report: VerdictReport,
}

/// A test or a rule that shows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Weak {
    /// The test passes without a rule that it names.
    Test {
        /// The test, with its place.
        test: String,
        /// The rule.
        rule: String,
    },
    /// No test fails without the rule.
    Rule(String),
}

impl fmt::Display for Weak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test { test, rule } => {
                write!(f, "{test} passes without the rule `{rule}`; sharpen it or take the rule off its list")
            }
            Self::Rule(rule) => write!(f, "no test fails without the rule `{rule}`; write one that names it"),
        }
    }
}

/// What became of the tests of a set.
#[derive(Debug, Clone, Default)]
pub struct Trials {
    /// How many tests ran.
    pub tests: usize,
    /// How many of them passed.
    pub passed: usize,
    /// Tests that fail.
    pub failures: Vec<Failure>,
    /// Tests and rules that show nothing.
    pub weak: Vec<Weak>,
}

impl Trials {
    /// Whether everything passed and every rule is held by a test.
    pub fn good(&self) -> bool {
        self.failures.is_empty() && self.weak.is_empty()
    }
}

/// Runs all tests on all cores, then each without each rule that it names.
pub fn try_all(parts: &PolicyParts, policy: &Policy, tests: &[PolicyTest]) -> Trials {
    let judged = spread(tests, |test| run(policy, test));
    let mut trials = Trials { tests: tests.len(), ..Trials::default() };
    let mut good: Vec<&PolicyTest> = Vec::new();
    for (test, (mismatches, report)) in tests.iter().zip(judged) {
        if mismatches.is_empty() {
            good.push(test);
        } else {
            trials.failures.push(Failure { test: test.clone(), mismatches, report });
        }
    }
    trials.passed = good.len();
    // A test that fails anyhow says nothing about its rules.
    let removed = spread(policy.rules(), |rule| {
        let id = rule.id.as_str();
        let naming: Vec<&&PolicyTest> = good.iter().filter(|t| t.rules.iter().any(|r| r == id)).collect();
        let Some(without) = without(parts, policy.hash, id).filter(|_| !naming.is_empty()) else {
            return vec![Weak::Rule(id.to_owned())];
        };
        let passing = naming.into_iter().filter(|test| run(&without, test).0.is_empty());
        passing.map(|t| Weak::Test { test: format!("{}: `{}`", t.place, t.name), rule: id.to_owned() }).collect()
    });
    trials.weak = removed.into_iter().flatten().collect();
    trials
}

/// The policy without one rule.
fn without(parts: &PolicyParts, hash: PolicyHash, rule: &str) -> Option<Policy> {
    let mut parts = parts.clone();
    parts.rules.retain(|r| r.id.as_str() != rule);
    Policy::new(parts, hash).ok()
}

/// Maps items on all cores, answers in their order.
fn spread<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(at) else { return mine };
                        mine.push((at, work(item)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
