//! Rules that no call can break.

use super::check;
use crate::compile::critic::logic::Answer;
use crate::compile::critic::samples::{self, Counts};
use crate::compile::critic::{Case, Stated};

check! {
    /// Finds a rule that no call in any state can break.
    ///
    /// # Why
    /// It looks like protection and is none: mostly a condition that contradicts itself.
    ///
    /// # Example
    /// `context.input.on && !context.input.on`, or a speed above the greatest that its field can have.
    ///
    /// # Mend
    /// Compare the condition with its sentence; one conjunct usually says the opposite of what is meant.
    "never-fires"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let live = if case.proves() { case.live() } else { Vec::new() };
    for (at, rule) in subject.rules.iter().enumerate() {
        let never = match live.get(at) {
            Some(envs) if !case.open.contains(&rule.id) => envs.is_empty(),
            _ => enumerated(case, rule).is_some_and(|counts| counts.whole && counts.fires == 0),
        };
        if never {
            let what = if rule.envs.is_empty() {
                format!("`{}` never fires: nothing is in its scope; name a tool or a group that has one", rule.id)
            } else {
                format!(
                    "`{}` never fires: no call in any state meets its condition; compare it with its sentence",
                    rule.id
                )
            };
            case.error(&[rule], what, None);
        }
    }
}

/// What enumeration says of a rule over all its requests; `None` where it cannot walk one.
pub(super) fn enumerated(case: &Case<'_>, stated: &Stated) -> Option<Counts> {
    let (parts, rule) = (case.subject.parts.as_ref()?, stated.rule.as_ref()?);
    let mut sum = Counts { whole: true, ..Counts::default() };
    for env in &stated.envs {
        let counts = samples::walk(parts, rule, env, &stated.condition, false)?;
        sum.calls += counts.calls;
        sum.dead += counts.dead;
        sum.cases += counts.cases;
        sum.fires += counts.fires;
        sum.whole &= counts.whole;
    }
    Some(sum)
}

/// Whether a condition is impossible in every request of a rule; an open question is no.
pub(super) fn impossible(case: &mut Case<'_>, rule: &Stated, condition: &crate::compile::critic::expr::Expr) -> bool {
    let subject = case.subject;
    rule.envs.iter().all(|env| matches!(case.logic.possible(subject, env, condition), Answer::Never))
}
