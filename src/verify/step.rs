//! The step itself.

use std::time::{Duration, Instant};

use super::cleared::{Binding, Cleared};
use super::decide::{decide, is_optional_read};
use super::repair::repair;
use super::valve::Valve;
use crate::critic::{Case, Judge, Ruling, rule};
use crate::gates::{Findings, Health, View, run};
use crate::model::{Decision, Draft, Finding, Message, Tier, ToolCall};
use crate::obligations::{Owed, owed};
use crate::policy::{Advice, HardLimits, Policy};
use crate::state::History;

/// The verdict on a draft.
#[derive(Debug)]
pub enum Verdict {
    /// It cannot be done.
    Refuse {
        /// What the driver hears.
        say: String,
    },
    /// The student must change the draft.
    Revise,
    /// These reads first; writes are held.
    Gather {
        /// The reads, cleared.
        reads: Cleared,
    },
    /// The driver must agree first.
    Ask {
        /// The question.
        question: String,
        /// The exact calls that a yes covers.
        bound: Vec<ToolCall>,
    },
    /// Cleared with the harness's own changes.
    Amend {
        /// The changed draft.
        cleared: Cleared,
    },
    /// Cleared as drafted.
    Clear {
        /// The draft.
        cleared: Cleared,
    },
}

impl Verdict {
    /// Which of the six it is.
    pub fn decision(&self) -> Decision {
        match self {
            Self::Refuse { .. } => Decision::Refuse,
            Self::Revise => Decision::Revise,
            Self::Gather { .. } => Decision::Gather,
            Self::Ask { .. } => Decision::Ask,
            Self::Amend { .. } => Decision::Amend,
            Self::Clear { .. } => Decision::Clear,
        }
    }
}

/// A judged draft.
#[derive(Debug)]
pub struct Checked {
    /// The verdict.
    pub verdict: Verdict,
    /// Everything found, hard first.
    pub findings: Vec<Finding>,
    /// What the policy owes.
    pub owed: Owed,
    /// How the gates fared.
    pub health: Health,
    /// Time of the check, the critic excluded.
    pub took: Duration,
}

/// Everything one verification step needs besides the draft.
pub struct Step<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The limits beneath it.
    pub limits: &'a HardLimits,
    /// The conversation and the car.
    pub history: &'a History,
    /// Whether companions are inserted.
    pub advice: Advice,
    /// What a clearance is bound to.
    pub binding: Binding,
    /// Who rules on advisory candidates, with the conversation it judges from; none: they are listed.
    pub critic: Option<(&'a mut dyn Judge, &'a [Message])>,
    /// What was already raised in this turn; none outside a turn.
    pub valve: Option<&'a mut Valve>,
}

impl Step<'_> {
    /// Judges a draft.
    pub fn check(self, draft: &Draft) -> Checked {
        let start = Instant::now();
        let (mut repaired, respelt) = repair(self.policy, self.history, draft, self.advice);
        if !repaired.calls.is_empty() && repaired.reply.is_some() {
            repaired.to_mut().reply = None; // `mixed-message` says so; it is never spoken
        }
        let owed = owed(self.policy, self.history, &repaired, self.advice);
        let mut found = Findings::default();
        let view = View::new(self.policy, self.history, draft, &owed).with_limits(self.limits);
        let health = run(&view, &mut found);
        let mut findings = found.take();
        let mut took = start.elapsed();
        if let Some((judge, conversation)) = self.critic {
            confirm(judge, conversation, &owed.amended, &mut findings);
        }
        let start = Instant::now();
        if let Some(valve) = self.valve {
            valve.pass(&repaired, &mut findings, |f| is_optional_read(self.policy, &owed.amended, f));
        }
        findings.sort_by_key(|f| f.tier);
        let verdict = decide(self.policy, self.history, &owed, owed.changed || respelt, &findings, self.binding);
        took += start.elapsed();
        Checked { verdict, findings, owed, health, took }
    }
}

/// Lets the critic rule on advisory candidates by index: confirmed ones become hard, discarded ones
/// go. A critic that gives no ruling changes nothing.
fn confirm(judge: &mut dyn Judge, conversation: &[Message], draft: &Draft, findings: &mut Vec<Finding>) {
    let (mut candidates, mut rest): (Vec<Finding>, Vec<Finding>) =
        std::mem::take(findings).into_iter().partition(|f| f.tier == Tier::Advisory);
    match rule(judge, &Case { conversation, draft, candidates: &candidates }) {
        Ok(rulings) => {
            let mut ruling = rulings.iter();
            candidates.retain(|_| ruling.next() == Some(&Ruling::Confirm));
            candidates.iter_mut().for_each(|f| f.tier = Tier::Hard);
        }
        Err(error) => tracing::warn!(%error, "advisory findings stay unconfirmed"),
    }
    rest.append(&mut candidates);
    *findings = rest;
}
