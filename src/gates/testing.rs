//! Runs one gate on the kitchen of [`crate::policy::testing`].

use super::{Findings, Gate, View};
use crate::model::{Draft, Finding};
use crate::obligations::Owed;
use crate::policy::Policy;
use crate::state::History;

pub(super) use crate::policy::testing::{Talk, call, calls, kitchen, parts};

/// What a gate finds in a draft for which the policy owes nothing.
pub(super) fn check(gate: &Gate, policy: &Policy, history: &History, draft: &Draft) -> Vec<Finding> {
    check_owed(gate, policy, history, draft, Owed { amended: draft.clone(), ..Owed::default() })
}

/// What a gate finds in a draft for which the policy owes this.
pub(super) fn check_owed(gate: &Gate, policy: &Policy, history: &History, draft: &Draft, owed: Owed) -> Vec<Finding> {
    let mut findings = Findings::default();
    (gate.check)(&View::new(policy, history, draft, &owed), &mut findings).unwrap();
    findings.into_vec()
}
