//! Remedies that another rule forbids.

use super::check;
use crate::compile::critic::course::{Call, Course};
use crate::compile::critic::expr::Expr;
use crate::compile::critic::logic::Answer;
use crate::compile::critic::subject::Consequence;
use crate::compile::critic::witness::Witness;
use crate::compile::critic::{Case, Stated};
use crate::policy::Trigger;
use crate::state::EntityIx;

check! {
    /// Finds a remedy that a plain prohibition rejects wherever the rule is broken.
    ///
    /// # Why
    /// The two rules contradict each other: the first demands a call that the second never lets through,
    /// so that the triggering call can only be refused.
    ///
    /// # Example
    /// Fog lights switch the high beams off, and a rule forbids touching the high beams while the fog
    /// lights are on.
    ///
    /// # Mend
    /// Except the remedy's arguments from the prohibition, or choose another remedy.
    "rejected-remedy"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    for stated in &subject.rules {
        let Some(rule) = &stated.rule else { continue };
        for (at, call) in rule.remedy.iter().enumerate() {
            let Some(tool) = parts.inventory.get(usize::from(call.tool.0)) else { continue };
            for other in subject.rules.iter().filter(|o| o.id != stated.id && o.consequence == Consequence::Deny) {
                let looks = matches!(other.rule.as_ref().map(|r| &r.trigger), Some(Trigger::Calls(t)) if t.contains(&call.tool));
                if !looks {
                    continue;
                }
                if let Some(example) = rejected(case, stated, at, other) {
                    let what = format!(
                        "the remedy of `{}` calls `{}`, which `{}` forbids whenever it is due: except it there, or choose another remedy",
                        stated.id, tool.name, other.id
                    );
                    case.error(&[stated, other], what, Some(example));
                }
            }
        }
    }
}

/// A call and a state in which a prohibition rejects a call of a remedy, where it does so wherever the remedy is due.
fn rejected(case: &mut Case<'_>, stated: &Stated, at: usize, other: &Stated) -> Option<Witness> {
    let subject = case.subject;
    let entity = |stated: &Stated| stated.rule.as_ref().map(|rule| rule.entity).filter(|e| *e != EntityIx::CAR);
    let about = entity(other).or(entity(stated)).unwrap_or(EntityIx::CAR);
    let mut example = None;
    for env in &stated.envs {
        let course = Course::new(subject, env, about)?;
        let due = match course.broken(stated, Call::First) {
            Some(due) => due,
            // Which window a rule about seats meets is not known: what it says of its own item is left open.
            None => Expr::all(stated.condition.conjuncts().into_iter().filter(|c| !c.reads(&["resource"]))),
        };
        let forbidden = course.remedied(stated, Call::First)?.broken(other, Call::Companion(at))?;
        let passes = due.clone().and(forbidden.clone().not());
        if !matches!(case.logic.possible_as_made(subject, &course.env, &passes), Answer::Never) {
            return None;
        }
        if let Answer::Possible(witness) = case.logic.possible_as_made(subject, &course.env, &due.and(forbidden)) {
            example = example.or(Some(witness));
        }
    }
    example
}
