//! The oscillation valve (paper 1, Algorithm 2, last loop).
//!
//! Two checks must not trade a draft back and forth until the budget is gone. The valve remembers,
//! within one turn, which advisory findings and read demands were already raised against which
//! calls; raised again against the same calls, they are dropped. It never touches a hard finding, nor
//! a read without which a draft is not decided.

use std::collections::HashSet;

use crate::model::{Draft, Finding, Tier};

/// What was already raised in this turn.
#[derive(Debug, Clone, Default)]
pub struct Valve {
    raised: HashSet<(Vec<String>, String)>,
}

impl Valve {
    /// Drops findings that may not be raised twice, and remembers the rest. Read demands count only
    /// where `reads` says that a finding is one that may be dropped.
    pub(super) fn pass(&mut self, draft: &Draft, findings: &mut Vec<Finding>, reads: impl Fn(&Finding) -> bool) {
        let mut calls: Vec<String> = draft.calls.iter().map(|c| c.key().as_str().to_owned()).collect();
        calls.sort_unstable();
        if calls.is_empty() {
            calls.extend(draft.reply.clone());
        }
        findings.retain(|f| {
            let once = f.tier == Tier::Advisory || reads(f);
            !once || self.raised.insert((calls.clone(), id(f)))
        });
    }
}

/// What makes two findings the same demand.
fn id(finding: &Finding) -> String {
    let remedy: Vec<String> = finding.remedy.iter().map(|c| c.key().as_str().to_owned()).collect();
    let rule = finding.rule.as_ref().map(ToString::to_string).unwrap_or_default();
    format!(
        "{} {rule} {} {}",
        finding.gate,
        remedy.join(" "),
        if remedy.is_empty() { finding.because.as_str() } else { "" }
    )
}
