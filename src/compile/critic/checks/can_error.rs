//! Conditions that cannot be evaluated.

use super::check;
use crate::compile::critic::Case;
use crate::compile::critic::logic::Answer;

check! {
    /// Finds a condition that some real call and state make fail: arithmetic beyond 64 bits, a member
    /// that is not there.
    ///
    /// # Why
    /// Cedar skips a forbid that fails, so it protects nothing there; our engine denies instead, and the
    /// driver is told no for no reason.
    ///
    /// # Example
    /// `resource.position * 1000000000000000 > 5`.
    ///
    /// # Mend
    /// Compare before multiplying, ask `has` before an optional argument, or declare the range of the
    /// field in the tool's `outputSchema`.
    "can-error"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    for rule in subject.rules.iter().filter(|r| r.conditional) {
        for env in &rule.envs {
            if let Answer::Possible(witness) = case.logic.fails(subject, env, &rule.condition) {
                let what = format!("the condition of `{}` cannot be evaluated for some calls", rule.id);
                case.error(&[rule], what, Some(witness));
                break;
            }
        }
    }
}
