//! A judged draft as `verify` and `replay` print it.

use super::step::{Checked, Verdict};
use crate::model::{ReportedCall, ReportedFinding, VerdictReport};

/// The report of a judged draft.
pub fn report(checked: &Checked) -> VerdictReport {
    let calls = |calls: &[crate::model::ToolCall]| calls.iter().map(ReportedCall::from).collect::<Vec<_>>();
    let (amended, question, speak) = match &checked.verdict {
        Verdict::Refuse { say } => (Vec::new(), None, Some(say.clone())),
        Verdict::Revise => (Vec::new(), None, sentences(checked)),
        Verdict::Gather { reads } => (calls(&reads.draft().calls), None, None),
        Verdict::Ask { question, bound } => (calls(bound), Some(question.clone()), Some(question.clone())),
        Verdict::Amend { cleared } => (calls(&cleared.draft().calls), None, None),
        Verdict::Clear { cleared } => (Vec::new(), None, cleared.draft().reply.clone()),
    };
    VerdictReport {
        verdict: checked.verdict.decision(),
        micros: checked.took.as_secs_f64() * 1e6,
        findings: checked.findings.iter().map(ReportedFinding::from).collect(),
        amended,
        question,
        speak,
    }
}

/// Sentences that a revised reply must hold.
fn sentences(checked: &Checked) -> Option<String> {
    let due: Vec<&str> = checked.owed.disclosures.iter().map(|d| d.sentence.as_str()).collect();
    (!due.is_empty()).then(|| due.join(" "))
}
