//! Remedies that another rule forbids.

use super::check;
use crate::compile::critic::effects::Remedied;
use crate::compile::critic::expr::Expr;
use crate::compile::critic::logic::Answer;
use crate::compile::critic::subject::{Consequence, Env};
use crate::compile::critic::{Case, Stated};
use crate::policy::{PolicyParts, Trigger};

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
        let calls = Remedied::of(parts, stated);
        for (at, call) in calls.iter().enumerate() {
            for other in &subject.rules {
                let Some(env) = triggered(parts, call, other) else { continue };
                if other.id == stated.id || other.consequence != Consequence::Deny {
                    continue;
                }
                let passes = lets_through(&calls, at, stated, other, env);
                if matches!(case.logic.possible(subject, env, &passes), Answer::Never) {
                    let tool = env.action_name();
                    let what = format!(
                        "the remedy of `{}` calls `{tool}`, which `{}` forbids whenever it is due: except it there, or choose another remedy",
                        stated.id, other.id
                    );
                    let shown = calls.get(at).map(|c| c.as_trigger(&other.condition)).unwrap_or(passes);
                    let example = match case.logic.possible(subject, env, &shown) {
                        Answer::Possible(witness) => Some(witness),
                        Answer::Never | Answer::Undecided(_) => None,
                    };
                    case.error(&[stated, other], what, example);
                }
            }
        }
    }
}

/// The request in which a call of a remedy triggers another rule.
fn triggered<'r>(parts: &PolicyParts, call: &Remedied<'_>, other: &'r Stated) -> Option<&'r Env> {
    let Some(Trigger::Calls(tools)) = other.rule.as_ref().map(|r| &r.trigger) else { return None };
    let tool = parts.inventory.get(usize::from(call.call.tool.0))?;
    let triggers = tools.contains(&call.call.tool);
    other.envs.iter().find(|env| triggers && env.action_name() == tool.name.as_str())
}

/// The states in which the rule is broken and the other one lets the remedy through.
fn lets_through(calls: &[Remedied<'_>], at: usize, stated: &Stated, other: &Stated, env: &Env) -> Expr {
    let (Some(call), Some(rule)) = (calls.get(at), other.rule.as_ref()) else { return Expr::truth(true) };
    let mut forbidden = call.as_trigger(&other.condition);
    for made in calls.iter().take(at + 1).rev() {
        forbidden = made.applied_elsewhere(&forbidden, rule.entity);
    }
    let same_item = stated.envs.iter().any(|e| e.resource == env.resource);
    // What the rule says of a state that neither its own call nor the remedy changes still holds.
    let kept = |conjunct: &Expr| {
        let stands = !["input", "before", "draft", "session"].iter().any(|m| conjunct.reads(&["context", m]));
        let unchanged = calls.iter().all(|c| c.applied(conjunct, rule.entity) == *conjunct);
        let before = conjunct.paths().iter().flatten().any(|p| p.starts_with("before_") || p == "addressed");
        stands && unchanged && !before && (same_item || !conjunct.reads(&["resource"]))
    };
    let known = stated.condition.conjuncts().into_iter().filter(kept);
    Expr::all(known).and(forbidden.not())
}
