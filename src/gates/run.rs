//! Runs the gates, each isolated from the others.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Exhausted, Findings, GATES, Gate, View};
use crate::model::{Finding, GateName, Tier};

/// A gate that could not finish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gate `{gate}` failed: {why}")]
pub struct GateFault {
    /// The gate.
    pub gate: GateName,
    /// What happened.
    pub why: String,
}

/// How the gates fared; journalled with the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Gates that failed.
    pub faults: Vec<GateFault>,
}

/// Runs all gates over a view.
///
/// A gate that panics or exhausts its budget contributes nothing it wrote so far. If it is hard (or
/// settles what is owed) and the draft writes, its failure is a hard finding: a check that did not
/// finish has cleared nothing. On a read or a reply it is only journalled (design §5).
pub fn run(view: &View<'_>, findings: &mut Findings) -> Health {
    run_these(GATES, view, findings)
}

pub(super) fn run_these(gates: &[&Gate], view: &View<'_>, findings: &mut Findings) -> Health {
    let mut health = Health::default();
    let writes =
        view.draft.calls.iter().any(|c| view.policy.inventory.get(c.tool.as_str()).is_none_or(|t| t.is_write()));
    for gate in gates {
        view.refuel();
        let before = findings.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| (gate.check)(view, findings)));
        let why = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(exhausted @ Exhausted)) => exhausted.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        findings.truncate(before);
        let fault = GateFault { gate: gate.name, why };
        if gate.tier != Tier::Advisory && writes {
            let because = format!("{fault}; a write that was not checked in full is not made");
            findings.push(Finding::new(gate.name, Tier::Hard, because));
        }
        health.faults.push(fault);
    }
    health
}
