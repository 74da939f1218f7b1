//! From findings to a verdict: the first that applies wins (design §6).

use std::collections::HashSet;

use super::cleared::{Binding, Cleared};
use super::question::question;
use super::step::Verdict;
use crate::gates::GATES;
use crate::model::{CallKey, Draft, Finding, Tier, ToolCall};
use crate::obligations::{Owed, Settled};
use crate::policy::{Policy, RuleKind};
use crate::state::History;
use crate::tools::Tool;

/// The language of refusals: that of the sentences they quote.
const LANGUAGE: &str = "en";

/// Whether a finding is settled by reading: every call of its remedy only observes.
fn is_read_demand(policy: &Policy, finding: &Finding) -> bool {
    finding.tier == Tier::Owed
        && !finding.remedy.is_empty()
        && finding.remedy.iter().all(|c| policy.inventory.get(c.tool.as_str()).is_some_and(|t| !t.is_write()))
}

/// Whether a finding asks for a read that may be dropped when it was asked for before. What a rule
/// depends on, and what a hard gate must know before a write, is asked for until it is known: without
/// it nothing is cleared.
pub(super) fn is_optional_read(policy: &Policy, draft: &Draft, finding: &Finding) -> bool {
    let is_write = |call: &ToolCall| policy.inventory.get(call.tool.as_str()).is_none_or(Tool::is_write);
    let writes = finding.call.and_then(|at| draft.calls.get(at)).is_some_and(is_write);
    let hard = || GATES.iter().any(|gate| gate.name == finding.gate && gate.tier == Tier::Hard);
    is_read_demand(policy, finding) && finding.rule.is_none() && !(writes && hard())
}

/// The verdict on an amended draft.
pub(super) fn decide(
    policy: &Policy,
    history: &History,
    owed: &Owed,
    changed: bool,
    findings: &[Finding],
    binding: Binding,
) -> Verdict {
    if let Some(say) = refusal(policy, owed, findings) {
        return Verdict::Refuse { say };
    }
    let hard = findings.iter().any(|f| f.tier == Tier::Hard);
    // A missing sentence is settled by the turn without a model; a foreign assistant must revise.
    if hard || !owed.disclosures.is_empty() {
        return Verdict::Revise;
    }
    let reads = reads(policy, history, owed, findings);
    if !reads.is_empty() {
        let draft = Draft::calls(reads);
        return Verdict::Gather { reads: Cleared::new(draft, binding) };
    }
    let held = owed.debts.iter().any(|d| d.settled == Settled::Held);
    if held || !owed.consents.is_empty() {
        return Verdict::Ask { question: question(policy, history, owed), bound: owed.amended.calls.clone() };
    }
    let cleared = Cleared::new(owed.amended.clone(), binding);
    if changed { Verdict::Amend { cleared } } else { Verdict::Clear { cleared } }
}

/// What makes a draft impossible, as the driver should hear it: demands that exclude each other,
/// a tool that this car lacks, a prohibition. Everything else the student may still mend.
fn refusal(policy: &Policy, owed: &Owed, findings: &[Finding]) -> Option<String> {
    if let Some(conflict) = owed.conflicts.first() {
        let occasion = if conflict.lacking.is_some() { "no-companion" } else { "no-way-out" };
        return Some(policy.say(LANGUAGE, occasion, &[("what", &conflict.because)]));
    }
    let prohibited =
        owed.breaches.iter().find(|b| policy.rule(b.rule).is_some_and(|r| r.kind == RuleKind::Prohibition));
    if let Some(breach) = prohibited {
        return Some(policy.say(LANGUAGE, "not-allowed", &[("what", &breach.because)]));
    }
    findings.iter().find(|f| f.tier == Tier::Hard && f.fatal).and_then(|f| f.say.clone())
}

/// Reads of the draft itself, then the ones that findings demand, each once.
fn reads(policy: &Policy, history: &History, owed: &Owed, findings: &[Finding]) -> Vec<ToolCall> {
    let demanded: Vec<&ToolCall> =
        findings.iter().filter(|f| is_read_demand(policy, f)).flat_map(|f| &f.remedy).collect();
    if demanded.is_empty() {
        return Vec::new();
    }
    let own =
        owed.amended.calls.iter().filter(|c| policy.inventory.get(c.tool.as_str()).is_some_and(|t| !t.is_write()));
    let mut seen: HashSet<CallKey> = HashSet::new();
    let mut reads: Vec<ToolCall> = Vec::new();
    for call in own.chain(demanded) {
        if seen.insert(call.key()) {
            let mut call = call.clone();
            if call.id.as_str().is_empty() {
                call.id = format!("obligato_{}", history.calls().len() + reads.len()).as_str().into();
            }
            reads.push(call);
        }
    }
    reads
}
