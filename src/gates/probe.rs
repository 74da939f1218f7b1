//! What the gates would say to a draft that nobody has written yet.

use super::{Findings, Gate, View};
use crate::model::{Draft, Finding};
use crate::obligations::Owed;
use crate::policy::Policy;
use crate::state::History;

/// The gates that judge where the arguments of a call come from and whether it is what was asked for. What the
/// policy owes or forbids is none of theirs: a driver who asks for it is told so, and the student may draft it.
static PROVENANCE: &[&Gate] = &[
    &super::identifier_provenance::GATE,
    &super::numeric_provenance::GATE,
    &super::entity_binding::GATE,
    &super::preferences_first::GATE,
    &super::preference_mismatch::GATE,
    &super::value_bounds::GATE,
    &super::call_substitution::GATE,
];

/// Findings of the gates that judge provenance, and of no other, on a draft as it would be written. Whoever
/// builds a draft asks here first, so that what is written and what is judged cannot drift apart.
pub fn probe(policy: &Policy, history: &History, draft: &Draft) -> Vec<Finding> {
    let owed = Owed { amended: draft.clone(), ..Owed::default() };
    let mut findings = Findings::default();
    super::run::run_these(PROVENANCE, &View::new(policy, history, draft, &owed), &mut findings);
    findings.take()
}
