//! Rules that another one makes superfluous.

use super::check;
use crate::compile::critic::logic::Answer;
use crate::compile::critic::subject::{Consequence, Env};
use crate::compile::critic::{Case, Stated};

check! {
    /// Finds a rule that fires only where another one of the same consequence fires too, and a rule whose
    /// consequence never comes because a plain prohibition denies first.
    ///
    /// # Why
    /// It adds nothing: either it is a copy, or it was meant to cover something else. A question that
    /// a prohibition always preempts is never asked.
    ///
    /// # Example
    /// One rule forbids a write without a subject, another a write without a subject while a patient is
    /// set.
    ///
    /// # Mend
    /// Remove the narrower rule, or correct the condition that makes it narrower than its sentence.
    "shadowed"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    if !case.proves() {
        return;
    }
    let live = case.live();
    for (at, rule) in subject.rules.iter().enumerate() {
        let Some(envs) = live.get(at).filter(|envs| !envs.is_empty()) else { continue };
        for (other_at, other) in subject.rules.iter().enumerate().filter(|(o, _)| *o != at) {
            let covered = live.get(other_at).is_some_and(|theirs| envs.iter().all(|e| theirs.contains(e)));
            if !covered || !comparable(rule, other) || !implies(case, rule, other, envs) {
                continue;
            }
            let back = live.get(other_at).cloned().unwrap_or_default();
            let same = rule.consequence == other.consequence
                && back.iter().all(|e| envs.contains(e))
                && implies(case, other, rule, &back);
            if same && other_at > at {
                // Of two equal rules the later one is superfluous.
                continue;
            }
            let what = if same {
                format!("`{}` fires exactly where `{}` fires: remove one of them", rule.id, other.id)
            } else if rule.consequence == other.consequence {
                format!("`{}` fires only where `{}` fires too: remove it, or widen its condition", rule.id, other.id)
            } else {
                let lost = match &rule.consequence {
                    Consequence::Settled(name, _) => *name,
                    Consequence::Deny => "deny",
                };
                format!("the @{lost} of `{}` never comes: `{}` forbids the call wherever it is due", rule.id, other.id)
            };
            case.error(&[rule, other], what, None);
        }
    }
}

/// Whether the other rule's firing leaves nothing for this one to do.
fn comparable(rule: &Stated, other: &Stated) -> bool {
    rule.consequence == other.consequence || other.consequence == Consequence::Deny
}

fn implies(case: &mut Case<'_>, rule: &Stated, other: &Stated, envs: &[Env]) -> bool {
    let subject = case.subject;
    let alone = rule.condition.clone().and(other.condition.clone().not());
    envs.iter().all(|env| matches!(case.logic.possible(subject, env, &alone), Answer::Never))
}
