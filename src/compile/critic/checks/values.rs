//! Constants that a member can never be.

use serde_json::Value as Json;

use super::check;
use crate::compile::Near;
use crate::compile::critic::Case;
use crate::compile::critic::domain::Domain;
use crate::compile::critic::expr::{Expr, Path};

check! {
    /// Finds a constant in a condition that its member can never be: a word outside the enumeration of an
    /// argument or of a result field, a number outside its declared range.
    ///
    /// # Why
    /// Cedar knows an enumeration only as a string. A misspelt member makes the comparison false for
    /// ever, or, under a negation, true for ever.
    ///
    /// # Example
    /// `context.input.action == "OPNE"`, where the tool takes OPEN and CLOSE.
    ///
    /// # Mend
    /// Write a member of the enumeration, or a number within the range; mind that numbers are in
    /// resolution units.
    "values"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    for rule in &subject.rules {
        let mut found: Vec<String> = Vec::new();
        rule.condition.walk(&mut |expr| {
            for (path, constant) in compared(expr) {
                let domains: Vec<Domain> = rule.envs.iter().map(|env| parts.domain(env, &path)).collect();
                // A member of one of the rule's tools is no mistake for being none of another's.
                if !domains.is_empty() && domains.iter().all(|d| !admits(d, &constant)) {
                    found.extend(domains.first().and_then(|d| told(&path, &constant, d)));
                }
            }
        });
        found.dedup();
        for what in found {
            case.error(&[rule], what, None);
        }
    }
}

/// A member beside a constant, in an equation or a membership; sets give one pair a member.
fn compared(expr: &Expr) -> Vec<(Path, Json)> {
    let pair = |op: &str| expr.sides(op);
    let mut found = Vec::new();
    for op in ["==", "!=", "<", "<=", ">", ">="] {
        if let Some((left, right)) = pair(op) {
            let sides = (left.as_path(), right.as_constant(), left.as_constant(), right.as_path());
            match sides {
                (Some(path), Some(constant), ..) | (_, _, Some(constant), Some(path)) => found.push((path, constant)),
                _ => {}
            }
        }
    }
    for op in ["contains", "containsAny", "containsAll"] {
        let Some((set, member)) = pair(op) else { continue };
        let (of, constants) = match (set.as_constant(), member.as_constant()) {
            (Some(constants), _) => (member.as_path(), constants),
            (_, Some(constants)) => (set.as_path(), constants),
            _ => continue,
        };
        let Some(path) = of else { continue };
        match constants {
            Json::Array(several) => found.extend(several.into_iter().map(|c| (path.clone(), c))),
            one => found.push((path, one)),
        }
    }
    found
}

fn admits(domain: &Domain, constant: &Json) -> bool {
    match (domain, constant) {
        (Domain::Words(words) | Domain::Parts(words), Json::String(word)) => words.contains(word),
        // A bound may lie one step outside: `> -1` says the same as `>= 0`.
        (Domain::Range(low, high), Json::Number(n)) => n.as_i64().is_some_and(|n| n >= low - 1 && n <= high + 1),
        _ => true,
    }
}

fn told(path: &Path, constant: &Json, domain: &Domain) -> Option<String> {
    let name = path.join(".");
    match (domain, constant) {
        (Domain::Words(words) | Domain::Parts(words), Json::String(word)) => {
            let near = Near::among(word, words.iter().map(String::as_str));
            Some(format!("`{name}` is never {constant}; {near}"))
        }
        (Domain::Range(low, high), _) => {
            Some(format!("`{name}` is never {constant}: it lies between {low} and {high}; correct the number"))
        }
        _ => None,
    }
}
