//! Plans that were not carried out.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier};
use crate::policy::PhraseRole;
use crate::tools::ToolIx;

gate! {
    /// Before the driver hears that all is done, what the student planned was done.
    ///
    /// # Why
    /// A student that plans three steps and makes two reports three.
    ///
    /// # Blocks
    /// Nothing by itself. A reply that reports success as a whole goes before the critic while a step of
    /// the student's own latest plan names a write that never succeeded.
    ///
    /// # Allows
    /// Steps that were carried out but not marked, steps that only look up or report, questions, and
    /// replies that admit what was left.
    ///
    /// # Remedy
    /// None.
    "plan-completion", Advisory
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let Some(reply) = view.reply() else { return Ok(()) };
    if !reply.has(PhraseRole::Done) || reply.words().asks() || reply.has(PhraseRole::Admission) {
        return Ok(());
    }
    let Some(planner) = view.policy.model.roles.planner else { return Ok(()) };
    // The latest call that brought steps is the plan; later ones mark them.
    let mut plan = Vec::new();
    for (_, past) in view.history.calls_of(planner).rev() {
        view.spend(1)?;
        past.call.arguments.values().for_each(|value| steps(value, &mut plan));
        if !plan.is_empty() {
            break;
        }
    }
    for step in plan {
        view.spend(step.len() / 4)?;
        let reading = view.policy.read(step);
        let meant: BTreeSet<ToolIx> =
            reading.nouns().flat_map(|h| h.nouns()).filter(|t| does(view, &reading, *t)).collect();
        if !meant.is_empty() && !meant.iter().any(|tool| view.executed(*tool)) {
            let because = format!("the reply reports success, but the planned step \"{step}\" was not carried out");
            findings.push(Finding::new(NAME, Tier::Advisory, because));
        }
    }
    Ok(())
}

/// Whether a step says that a tool writes.
fn does(view: &View<'_>, step: &crate::policy::Reading<'_>, tool: ToolIx) -> bool {
    step.does(tool) && view.policy.inventory.at(tool).is_some_and(|t| t.is_write())
}

/// Texts of a plan's steps: those in lists, whatever their members are called.
fn steps<'a>(json: &'a Json, found: &mut Vec<&'a str>) {
    let Json::Array(items) = json else { return };
    for item in items {
        match item {
            Json::String(text) => found.push(text),
            Json::Object(members) => {
                // A step's text is its longest: names, states and numbers are shorter.
                let texts = members.values().filter_map(Json::as_str);
                found.extend(texts.max_by_key(|text| text.len()).filter(|text| text.contains(' ')));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn found(reply: &str, made: bool) -> usize {
        let policy = kitchen();
        let steps = json!({"plan_id": "p", "steps": ["turn on the oven for baking", "tell the driver"]});
        let mut talk = Talk::new(&policy).driver("bake").done("keep_plan", steps, json!({}));
        if made {
            talk = talk.done("switch_oven", json!({"on": true}), json!({}));
        }
        check(&GATE, &policy, &talk.history(), &Draft::reply(reply)).len()
    }

    #[test]
    fn blocks_nothing_but_puts_a_success_without_a_planned_write_before_the_critic() {
        assert_eq!(found("All done!", false), 1);
    }

    #[test]
    fn allows_it_when_the_write_was_made_though_never_marked() {
        assert_eq!(found("All done!", true), 0);
    }

    #[test]
    fn allows_admissions_questions_and_partial_reports() {
        assert_eq!(found("I can't turn on the oven, the rest is done.", false), 0);
        assert_eq!(found("All done, shall I go on?", false), 0);
        assert_eq!(found("The list is sent.", false), 0);
    }
}
