//! Rules that every call breaks.

use super::check;
use super::never_fires::{enumerated, impossible};
use crate::compile::critic::Case;
use crate::compile::critic::subject::Consequence;

check! {
    /// Finds a condition that holds for every call in every state, and a plain prohibition without any.
    ///
    /// # Why
    /// A condition that is always true was meant to say something. A tool that is always forbidden only
    /// misleads the student.
    ///
    /// # Example
    /// `context.now.hour >= 0`, or a prohibition whose `when` was lost.
    ///
    /// # Mend
    /// Say when the rule holds. Where it holds always (consent for every marked tool), leave `when` out;
    /// a tool that must never be called leaves the inventory.
    "always-fires"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    for rule in subject.rules.iter().filter(|r| !r.envs.is_empty()) {
        if !rule.conditional {
            if rule.consequence == Consequence::Deny {
                let what = format!("`{}` forbids every call: give it a condition, or take the tool away", rule.id);
                case.error(&[rule], what, None);
            }
            continue;
        }
        let always = if case.proves() {
            impossible(case, rule, &rule.condition.clone().not())
        } else {
            enumerated(case, rule).is_some_and(|counts| counts.whole && counts.fires == counts.cases)
        };
        if always {
            let what = format!("`{}` fires on every call in every state: its condition says nothing", rule.id);
            case.error(&[rule], what, None);
        }
    }
}
