//! Remedies that undo each other's work.

use super::check;
use crate::compile::critic::Case;
use crate::compile::critic::effects::{Remedied, To, after};
use crate::compile::critic::logic::Answer;
use crate::compile::critic::subject::Env;

check! {
    /// Finds two rules on one call that demand different values for one attribute, where neither value
    /// satisfies both.
    ///
    /// # Why
    /// The engine keeps the demanded value that breaks no rule. Where there is none, the call is always
    /// refused.
    ///
    /// # Example
    /// Defrost demands the fan at 2 or more, another rule on defrost the fan at 1 or less.
    ///
    /// # Mend
    /// Let the ranges of the two conditions overlap, or make the guards exclude each other.
    "conflicting-remedies"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    for (at, one) in subject.rules.iter().enumerate() {
        for other in subject.rules.iter().skip(at + 1) {
            let envs: Vec<&Env> = one.envs.iter().filter(|e| other.envs.contains(e)).collect();
            let (ours, theirs) = (Remedied::of(parts, one), Remedied::of(parts, other));
            if envs.is_empty() || !differ(&ours, &theirs) {
                continue;
            }
            let Some(entity) = one.rule.as_ref().map(|r| r.entity) else { continue };
            let both = one.condition.clone().and(other.condition.clone());
            let stuck = both.and(after(&one.condition, &theirs, entity)).and(after(&other.condition, &ours, entity));
            for env in envs {
                if let Answer::Possible(witness) = case.logic.possible_as_made(subject, env, &stuck) {
                    let what = format!(
                        "`{}` and `{}` demand different values for one attribute, and neither satisfies both",
                        one.id, other.id
                    );
                    case.error(&[one, other], what, Some(witness));
                    break;
                }
            }
        }
    }
}

/// Whether two remedies set one attribute to different constants.
fn differ(ours: &[Remedied<'_>], theirs: &[Remedied<'_>]) -> bool {
    let changes = |calls: &[Remedied<'_>]| calls.iter().flat_map(|c| c.changes.clone()).collect::<Vec<_>>();
    let theirs = changes(theirs);
    changes(ours).iter().any(|a| {
        theirs.iter().any(|b| {
            a.attribute == b.attribute && matches!((&a.to, &b.to), (To::Value(one), To::Value(other)) if one != other)
        })
    })
}
