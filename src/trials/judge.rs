//! Judging the draft of one test.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Event, PolicyTest};
use crate::model::{Decision, Tier, VerdictReport};
use crate::policy::{Advice, HardLimits, Policy};
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

/// Judges the draft of one test. An empty list means that it passes. Rules in shadow that the test names act in it:
/// a rule goes through the car in shadow with the tests that it will be held to.
pub fn run(policy: &Policy, test: &PolicyTest) -> (Vec<Mismatch>, VerdictReport) {
    let named: Vec<&str> = test.rules.iter().chain(&test.found).map(String::as_str).collect();
    let awake = policy.awake_for(&named);
    let policy = awake.as_ref().unwrap_or(policy);
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
    history.set_system(&policy.model, &test.now.message(&policy.model.now));
    history.end_step();
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
