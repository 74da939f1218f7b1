//! Rules that together forbid every call of a tool.

use serde_json::Value as Json;

use super::check;
use crate::compile::critic::domain::Domain;
use crate::compile::critic::expr::{Expr, Path};
use crate::compile::critic::logic::Answer;
use crate::compile::critic::subject::{Consequence, Env};
use crate::compile::critic::{Case, Stated};
use crate::policy::PolicyParts;

/// Most combinations of arguments that are put into one question.
const COMBINATIONS: usize = 64;

check! {
    /// Finds two prohibitions that in some state leave no call of a tool, though each alone leaves one.
    ///
    /// # Why
    /// Two halves of one tool are each forbidden for a reason of their own, and together nothing is left:
    /// mostly one of them has the wrong sign.
    ///
    /// # Example
    /// In fog the high beams must not be switched on, and in fog they must not be switched off.
    ///
    /// # Mend
    /// Correct the condition that was turned round. Where the tool is really unusable in that state, say
    /// so in one rule that does not ask for the argument.
    "no-call-left"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    let reads = |r: &Stated| r.condition.reads(&["context", "input"]);
    let denying: Vec<&Stated> =
        subject.rules.iter().filter(|r| r.consequence == Consequence::Deny && reads(r)).collect();
    for (at, one) in denying.iter().enumerate() {
        for other in denying.iter().skip(at + 1) {
            for env in one.envs.iter().filter(|e| other.envs.contains(e)) {
                let Some(calls) = calls(parts, env, [&one.condition, &other.condition]) else { continue };
                let over = |condition: &Expr| Expr::all(calls.iter().map(|call| put_in(condition, call)));
                let both = one.condition.clone().or(other.condition.clone());
                let stuck = over(&both).and(over(&one.condition).not()).and(over(&other.condition).not());
                if let Answer::Possible(witness) = case.logic.possible(subject, env, &stuck) {
                    let what =
                        format!("`{}` and `{}` together leave no call of `{}`", one.id, other.id, env.action_name());
                    case.error(&[one, other], what, Some(witness));
                    break;
                }
            }
        }
    }
}

/// A call as far as conditions tell calls apart: a value a member, none where it is left out.
type Call = Vec<(Path, Option<Json>)>;

/// Calls that stand for all calls; `None` where arguments are compared with the state, or are free texts.
fn calls(parts: &PolicyParts, env: &Env, [one, other]: [&Expr; 2]) -> Option<Vec<Call>> {
    let whole = one.clone().and(other.clone());
    let mut calls: Vec<Call> = vec![Vec::new()];
    for path in whole.paths().into_iter().filter(|p| p.get(1).is_some_and(|p| p == "input")) {
        let param = parts.param_of(env, &path)?;
        let mut values: Vec<Option<Json>> = match parts.domain(env, &path) {
            Domain::Switch => [false, true].map(|b| Some(b.into())).to_vec(),
            Domain::Words(words) => words.into_iter().map(|w| Some(w.into())).collect(),
            Domain::Range(low, high) => turning_points(&whole, &path, low, high)?,
            _ => return None,
        };
        values.extend((!param.required).then_some(None));
        let longer = |call: &Call| {
            let call = call.clone();
            let path = path.clone();
            values.clone().into_iter().map(move |v| [call.clone(), vec![(path.clone(), v)]].concat())
        };
        calls = calls.iter().flat_map(longer).collect();
        if calls.len() > COMBINATIONS {
            return None;
        }
    }
    Some(calls)
}

/// The numbers at which comparisons with constants turn; `None` where it is compared with anything else.
fn turning_points(whole: &Expr, path: &Path, low: i64, high: i64) -> Option<Vec<Option<Json>>> {
    let mut numbers = vec![low, high];
    let mut compared = 0_usize;
    let mut named = 0_usize;
    whole.walk(&mut |expr| {
        named += usize::from(expr.as_path().as_ref() == Some(path));
        for op in ["==", "!=", "<", "<=", ">", ">="] {
            let Some((left, right)) = expr.sides(op) else { continue };
            let constant = if left.as_path().as_ref() == Some(path) { right } else { left.clone() };
            let ours = left.as_path().as_ref() == Some(path) || constant == left;
            if let (true, Some(n)) = (ours, constant.as_constant().and_then(|c| c.as_i64())) {
                numbers.extend([n - 1, n, n + 1]);
                compared += 1;
            }
        }
    });
    numbers.retain(|n| (low..=high).contains(n));
    numbers.sort_unstable();
    numbers.dedup();
    (compared >= named).then(|| numbers.into_iter().map(|n| Some(n.into())).collect())
}

fn put_in(condition: &Expr, call: &Call) -> Expr {
    let value = |path: &Path| call.iter().find(|(p, _)| p == path).map(|(_, v)| v);
    condition.rewrite(&|expr| {
        if let Some(has) = expr.0.get("has") {
            let mut path = Expr(has.get("left")?.clone()).as_path()?;
            path.push(has.get("attr")?.as_str()?.to_owned());
            return value(&path).map(|v| Expr::truth(v.is_some()));
        }
        // An argument that is left out is not read: its `has` is false before.
        value(&expr.as_path()?)?.as_ref().map(Expr::constant)
    })
}
