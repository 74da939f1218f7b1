//! Which recorded messages are judged otherwise, and what is responsible.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cli::replay::Judged;
use crate::model::{Decision, ReportedCall, ReportedFinding, Tier, VerdictReport};

/// A rule or, where none stands behind the finding, a gate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum Cause {
    /// A rule, by its identifier.
    Rule(String),
    /// A gate, by its name.
    Gate(String),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(id) => write!(f, "rule {id}"),
            Self::Gate(name) => write!(f, "gate {name}"),
        }
    }
}

impl From<&ReportedFinding> for Cause {
    fn from(finding: &ReportedFinding) -> Self {
        finding.rule.clone().map_or_else(|| Self::Gate(finding.gate.clone()), Self::Rule)
    }
}

/// What one set reports of a message and the other does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::cli) struct Reason {
    /// Who says so.
    #[serde(flatten)]
    pub(in crate::cli) cause: Cause,
    /// `new`, or `old` for what is no longer said.
    pub(in crate::cli) set: &'static str,
    /// What is said.
    pub(in crate::cli) because: String,
}

/// A message that is judged otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Flip {
    /// The conversation.
    pub(super) id: String,
    /// Position of the message in it, as `replay` counts.
    pub(super) index: usize,
    /// The verdict of the old set.
    pub(super) old: Decision,
    /// The verdict of the new set.
    pub(super) new: Decision,
    /// The calls that were cleared before, where the harness changed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) old_calls: Vec<ReportedCall>,
    /// The calls that are cleared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) new_calls: Vec<ReportedCall>,
    /// What is responsible.
    pub(super) reasons: Vec<Reason>,
    /// Whether the expectation names everything that is responsible.
    pub(super) intended: bool,
}

impl Flip {
    /// Who is responsible, each once.
    pub(super) fn causes(&self) -> BTreeSet<&Cause> {
        self.reasons.iter().map(|r| &r.cause).collect()
    }
}

/// Compares two replays of the same conversations. A message flips when its verdict changes, or when
/// other calls are cleared under the same verdict.
pub(super) fn flips(old: &[Judged], new: &[Judged]) -> Vec<Flip> {
    let mut flips = Vec::new();
    for (before, after) in old.iter().zip(new) {
        for (was, is) in before.turns.iter().zip(&after.turns) {
            if !was.report.moves_as(&is.report) {
                flips.push(Flip {
                    id: before.id.clone(),
                    index: was.index,
                    old: was.report.verdict,
                    new: is.report.verdict,
                    old_calls: was.report.amended.clone(),
                    new_calls: is.report.amended.clone(),
                    reasons: reasons(&was.report, &is.report),
                    intended: false,
                });
            }
        }
    }
    flips
}

/// What only one of the reports says. Advisory findings change no verdict; where both say the same, the
/// findings whose remedies or words differ are responsible.
pub(in crate::cli) fn reasons(old: &VerdictReport, new: &VerdictReport) -> Vec<Reason> {
    let says = |report: &VerdictReport, finding: &ReportedFinding, exactly: bool| {
        let same = |other: &ReportedFinding| {
            Cause::from(other) == Cause::from(finding)
                && other.tier == finding.tier
                && (!exactly || (other.because == finding.because && other.remedy == finding.remedy))
        };
        report.findings.iter().any(same)
    };
    let only = |of: &VerdictReport, not_in: &VerdictReport, set: &'static str, exactly: bool| -> Vec<Reason> {
        let found = of.findings.iter().filter(|f| f.tier != Tier::Advisory && !says(not_in, f, exactly));
        found.map(|f| Reason { cause: f.into(), set, because: f.because.clone() }).collect()
    };
    for exactly in [false, true] {
        let mut reasons = only(new, old, "new", exactly);
        reasons.extend(only(old, new, "old", exactly));
        if !reasons.is_empty() {
            return reasons;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(gate: &str, rule: Option<&str>, tier: Tier, because: &str) -> ReportedFinding {
        ReportedFinding {
            gate: gate.to_owned(),
            tier,
            rule: rule.map(str::to_owned),
            source: None,
            because: because.to_owned(),
            remedy: Vec::new(),
        }
    }

    fn report(verdict: Decision, findings: &[ReportedFinding]) -> VerdictReport {
        let findings = findings.to_vec();
        VerdictReport { verdict, micros: 0.0, findings, amended: Vec::new(), question: None, speak: None }
    }

    #[test]
    fn what_only_one_set_says_is_responsible_and_what_is_only_advised_is_not() {
        let both = finding("no-op", None, Tier::Hard, "nothing changes");
        let gone = finding("obligations", Some("a"), Tier::Owed, "a window is open");
        let come = finding("confirmation", Some("b"), Tier::Owed, "it rains");
        let advice = finding("policy-advisory", Some("c"), Tier::Advisory, "hm");
        let old = report(Decision::Amend, &[both.clone(), gone]);
        let new = report(Decision::Ask, &[both, come, advice]);
        let found = reasons(&old, &new);
        let told: Vec<(String, &str)> = found.iter().map(|r| (r.cause.to_string(), r.set)).collect();
        assert_eq!(told, [("rule b".to_owned(), "new"), ("rule a".to_owned(), "old")]);
    }

    #[test]
    fn a_rule_that_says_something_else_than_before_is_responsible() {
        let old = report(Decision::Amend, &[finding("obligations", Some("a"), Tier::Owed, "close it")]);
        let new = report(Decision::Refuse, &[finding("obligations", Some("a"), Tier::Owed, "it cannot be closed")]);
        let found = reasons(&old, &new);
        assert_eq!(found.iter().map(|r| r.set).collect::<Vec<_>>(), ["new", "old"]);
        assert!(found.iter().all(|r| r.cause == Cause::Rule("a".into())));
    }
}
