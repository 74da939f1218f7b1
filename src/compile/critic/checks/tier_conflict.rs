//! Typed and untyped rules of one tool against each other.

use super::check;
use crate::compile::critic::expr::{Expr, quoted};
use crate::compile::critic::logic::Answer;
use crate::compile::critic::subject::Env;
use crate::compile::critic::{Case, Stated};

check! {
    /// Finds a typed rule that lets a single value of an argument through, and an untyped rule over the
    /// same tool's `arguments` text that forbids that value.
    ///
    /// # Why
    /// The two tiers of one tool are different requests, so that no check within one request sees the
    /// contradiction: every call with that argument is refused, whatever it says.
    ///
    /// # Example
    /// `context.input.priority != "stat"` forbids everything but stat, and
    /// `context.arguments like "*\"priority\":\"stat*"` forbids stat unless the user asked for it.
    ///
    /// # Mend
    /// Let the typed rule admit the values that the untyped one leaves, or make it hold only where the
    /// untyped one does not.
    "tier-conflict"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let reads = |r: &Stated, member: &str| r.condition.reads(&["context", member]);
    let is_untyped = |r: &Stated| reads(r, "arguments") && reads(r, "tool");
    if !case.proves() || !subject.rules.iter().any(is_untyped) {
        return;
    }
    let live = case.live();
    let with_live = subject.rules.iter().zip(&live);
    let untyped: Vec<(&Stated, &Env)> = with_live
        .clone()
        .filter(|(r, _)| is_untyped(r))
        .flat_map(|(r, envs)| envs.iter().map(move |env| (r, env)))
        .collect();
    for (typed, envs) in with_live.filter(|(r, _)| reads(r, "input")) {
        for env in envs {
            let Some((_, tool)) = env.action_name().rsplit_once("::") else { continue };
            for (field, values) in only_values(case, typed, env) {
                for (other, at) in untyped.iter().filter(|(o, _)| names_field(o, &field)) {
                    let refused = |case: &mut Case<'_>, value: &String| refuses(case, other, at, tool, &field, value);
                    let examples: Vec<_> = values.iter().map_while(|value| refused(case, value)).collect();
                    if examples.len() == values.len() {
                        let what = format!(
                            "`{}` lets only {} = {} through, and `{}` forbids that: no call of `{tool}` with `{field}` is left",
                            typed.id,
                            field,
                            values.join(", "),
                            other.id
                        );
                        case.error(&[typed, other], what, examples.into_iter().next());
                    }
                }
            }
        }
    }
}

/// The values of a text argument that a typed rule lets through, where they are few and known.
fn only_values(case: &mut Case<'_>, typed: &Stated, env: &Env) -> Vec<(String, Vec<String>)> {
    let subject = case.subject;
    let mut found = Vec::new();
    for path in typed.condition.paths() {
        let [context, input, field] = path.as_slice() else { continue };
        if context != "context" || input != "input" {
            continue;
        }
        let mut constants: Vec<String> = Vec::new();
        typed.condition.walk(&mut |expr| {
            for op in ["==", "!="] {
                let Some((left, right)) = expr.sides(op) else { continue };
                if left.as_path().as_ref() == Some(&path)
                    && let Some(word) = right.as_constant().and_then(|c| c.as_str().map(str::to_owned))
                    && !constants.contains(&word)
                {
                    constants.push(word);
                }
            }
        });
        if constants.is_empty() {
            continue;
        }
        let given = Expr::parse(&format!("context has input && context.input has {field}"));
        let Some(given) = given else { continue };
        let is = |word: &String| Expr::path(&path).equals(Expr::constant(&word.as_str().into()));
        let another = Expr::all(constants.iter().map(|c| is(c).not()));
        let passes = typed.condition.clone().not();
        // Anything else must be forbidden always; what remains are the constants that are not.
        let other = given.clone().and(another).and(passes.clone());
        if !matches!(case.logic.possible(subject, env, &other), Answer::Never) {
            continue;
        }
        let mut through = Vec::new();
        for word in constants {
            let this = given.clone().and(is(&word)).and(passes.clone());
            if matches!(case.logic.possible(subject, env, &this), Answer::Possible(_)) {
                through.push(word);
            }
        }
        if !through.is_empty() {
            found.push((field.clone(), through));
        }
    }
    found
}

/// Whether a rule looks for a field in the text of the arguments.
fn names_field(rule: &Stated, field: &str) -> bool {
    let key = format!("\"{field}\":\"");
    let mut found = false;
    rule.condition.walk(&mut |expr| {
        let Some(pattern) = expr.0.get("like").and_then(|l| l.get("pattern")).and_then(|p| p.as_array()) else {
            return;
        };
        let text: String = pattern.iter().filter_map(|p| p.get("Literal")?.as_str()).collect();
        found |= text.contains(&key);
    });
    found
}

/// A state in which an untyped rule forbids a value of a field for what it says.
fn refuses(
    case: &mut Case<'_>,
    rule: &Stated,
    env: &Env,
    tool: &str,
    field: &str,
    value: &str,
) -> Option<crate::compile::critic::Witness> {
    let subject = case.subject;
    let said = quoted(&format!("{{\"{field}\":\"{value}\"}}"));
    let this = Expr::parse(&format!("context.tool == {} && context.arguments == {said}", quoted(tool)))?;
    // It is this field's text that it forbids, not any call in that state.
    let unsaid = Expr::constant(&"{}".into());
    let without = rule.condition.rewrite(&|e| (e.as_path()? == ["context", "arguments"]).then(|| unsaid.clone()));
    let condition = this.and(rule.condition.clone()).and(without.not());
    match case.logic.possible(subject, env, &condition) {
        Answer::Possible(witness) => Some(witness),
        Answer::Never | Answer::Undecided(_) => None,
    }
}
