//! Remedies that leave their own rule broken.

use super::check;
use crate::compile::critic::Case;
use crate::compile::critic::effects::{Remedied, To, after};
use crate::compile::critic::logic::Answer;

check! {
    /// Finds a remedy after which its own rule can still fire.
    ///
    /// # Why
    /// The engine would insert the calls and then find the draft as wrong as before: the driver hears a
    /// refusal for a rule that promised a way out.
    ///
    /// # Example
    /// The fan must run at level 2 at least, and the remedy sets level 1.
    ///
    /// # Mend
    /// Give the remedy the value that the condition asks for, on the item and the attribute that it reads.
    "unsatisfied-remedy"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    for stated in &subject.rules {
        let Some(rule) = stated.rule.as_ref().filter(|r| !r.remedy.is_empty()) else { continue };
        let calls = Remedied::of(parts, stated);
        let reads_a_result = calls
            .iter()
            .flat_map(|c| &c.changes)
            .any(|change| change.to == To::Unknown && rule.reads_after.contains(&change.attribute));
        if reads_a_result {
            let what = format!("what the remedy of `{}` leads to is known from its result alone", stated.id);
            case.note(Some(stated), what);
            continue;
        }
        let after = after(&stated.condition, &calls, rule.entity);
        for env in &stated.envs {
            if let Answer::Possible(witness) = case.logic.possible_as_made(subject, env, &after) {
                let what = format!("`{}` can still fire after its own remedy", stated.id);
                case.error(&[stated], what, Some(witness));
                break;
            }
        }
    }
}
