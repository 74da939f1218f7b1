//! Conditions as Cedar's own JSON: put together, taken apart and rewritten without a second grammar.

use cedar_policy::Policy as CedarPolicy;
use serde_json::{Value as Json, json};

/// A Cedar expression in Cedar's JSON form.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::compile) struct Expr(pub(super) Json);

/// A way from a variable to a member: `["context", "input", "on"]`.
pub(super) type Path = Vec<String>;

impl Expr {
    /// Always true.
    pub(super) fn truth(value: bool) -> Self {
        Self(json!({ "Value": value }))
    }

    /// A Cedar text; `None` when it is none. Texts come from this module's own tables, so that one
    /// that does not parse is a fault of a check, which its tests find.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let policy = CedarPolicy::parse(None, format!("forbid (principal, action, resource) when {{ {text} }};"));
        Self::of(&policy.ok()?)
    }

    /// The whole condition of a policy: `when` and negated `unless` clauses in one; none: true.
    pub(super) fn of(policy: &CedarPolicy) -> Option<Self> {
        let json = policy.to_json().ok()?;
        let clauses = json.get("conditions").and_then(Json::as_array).cloned().unwrap_or_default();
        let each = clauses.into_iter().filter_map(|clause| {
            let body = Self(clause.get("body")?.clone());
            Some(if clause.get("kind")? == "unless" { body.not() } else { body })
        });
        Some(Self::all(each))
    }

    /// The value of a member.
    pub(super) fn path(path: &[String]) -> Self {
        let mut parts = path.iter();
        let first = json!({ "Var": parts.next() });
        Self(parts.fold(first, |left, attr| json!({ ".": { "left": left, "attr": attr } })))
    }

    /// A constant.
    pub(super) fn constant(value: &Json) -> Self {
        Self(json!({ "Value": value }))
    }

    /// Whether a record has a member.
    pub(super) fn has(record: &[String], attr: &str) -> Self {
        Self(json!({ "has": { "left": Self::path(record).0, "attr": attr } }))
    }

    pub(super) fn not(self) -> Self {
        Self(json!({ "!": { "arg": self.0 } }))
    }

    pub(super) fn and(self, other: Self) -> Self {
        self.join("&&", other)
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.join("||", other)
    }

    pub(super) fn equals(self, other: Self) -> Self {
        self.join("==", other)
    }

    fn join(self, op: &str, other: Self) -> Self {
        Self(json!({ op: { "left": self.0, "right": other.0 } }))
    }

    /// All of them, in their order; none: true.
    pub(super) fn all(each: impl IntoIterator<Item = Self>) -> Self {
        each.into_iter().reduce(Self::and).unwrap_or_else(|| Self::truth(true))
    }

    /// The two sides of a binary operator.
    pub(super) fn sides(&self, op: &str) -> Option<(Self, Self)> {
        let inner = self.0.get(op)?;
        Some((Self(inner.get("left")?.clone()), Self(inner.get("right")?.clone())))
    }

    /// The top-level conjuncts.
    pub(super) fn conjuncts(&self) -> Vec<Self> {
        match self.sides("&&") {
            Some((left, right)) => left.conjuncts().into_iter().chain(right.conjuncts()).collect(),
            None if *self == Self::truth(true) => Vec::new(),
            None => vec![self.clone()],
        }
    }

    /// The member that this expression is, if it is one.
    pub(super) fn as_path(&self) -> Option<Path> {
        if let Some(var) = self.0.get("Var") {
            return Some(vec![var.as_str()?.to_owned()]);
        }
        let inner = self.0.get(".")?;
        let mut path = Self(inner.get("left")?.clone()).as_path()?;
        path.push(inner.get("attr")?.as_str()?.to_owned());
        Some(path)
    }

    /// The constant that this expression is; a set of constants is a list.
    pub(super) fn as_constant(&self) -> Option<Json> {
        if let Some(value) = self.0.get("Value") {
            return Some(value.clone());
        }
        if let Some(arg) = self.0.get("neg").and_then(|n| n.get("arg")) {
            return Self(arg.clone()).as_constant()?.as_i64()?.checked_neg().map(Json::from);
        }
        let members = self.0.get("Set")?.as_array()?;
        members.iter().map(|m| Self(m.clone()).as_constant()).collect::<Option<Vec<_>>>().map(Json::Array)
    }

    /// Every expression within this one, itself first.
    pub(super) fn walk(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        children(&self.0, &mut |child| Self(child.clone()).walk(visit));
    }

    /// The longest members that it reads, each once, in order of appearance. A member that is only
    /// asked for (`has`) counts.
    pub(super) fn paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut Vec<Path>) {
        let mut keep = |path: Path| {
            if path.len() > 1 && !found.contains(&path) {
                found.push(path);
            }
        };
        if let Some(path) = self.as_path() {
            return keep(path);
        }
        if let Some(has) = self.0.get("has") {
            let left = has.get("left").map(|l| Self(l.clone()));
            if let (Some(mut path), Some(attr)) =
                (left.and_then(|l| l.as_path()), has.get("attr").and_then(Json::as_str))
            {
                path.push(attr.to_owned());
                return keep(path);
            }
        }
        children(&self.0, &mut |child| Self(child.clone()).collect(found));
    }

    /// This expression with others in place of some of its parts; the innermost parts first.
    pub(super) fn rewrite(&self, change: &impl Fn(&Self) -> Option<Self>) -> Self {
        if let Some(changed) = change(self) {
            return changed;
        }
        let mut json = self.0.clone();
        children_mut(&mut json, &mut |child| {
            let changed = Self(child.clone()).rewrite(change);
            *child = changed.0;
        });
        Self(json)
    }

    /// The same question with what constants decide taken out of it: whether it can be true. What stands beside a
    /// falsehood is dropped even where it could fail, for then it is not true either.
    pub(super) fn folded(&self) -> Self {
        let truth = |e: &Self| e.0.get("Value").and_then(Json::as_bool);
        if let Some((left, right)) = self.sides("&&") {
            let (left, right) = (left.folded(), right.folded());
            return match (truth(&left), truth(&right)) {
                (Some(false), _) | (_, Some(false)) => Self::truth(false),
                (Some(true), _) => right,
                (_, Some(true)) => left,
                _ => left.and(right),
            };
        }
        if let Some((left, right)) = self.sides("||") {
            let (left, right) = (left.folded(), right.folded());
            return match (truth(&left), truth(&right)) {
                (Some(true), _) => left,
                (Some(false), _) => right,
                (_, Some(false)) => left,
                _ => left.or(right),
            };
        }
        if let Some(arg) = self.0.get("!").and_then(|not| not.get("arg")) {
            let arg = Self(arg.clone());
            // Beside a falsehood under a negation nothing may be dropped: only what is decided as a whole is.
            return arg.decided().map_or_else(|| self.clone(), |value| Self::truth(!value));
        }
        self.decided().map_or_else(|| self.clone(), Self::truth)
    }

    /// What it is whatever the request is, where its constants decide that.
    fn decided(&self) -> Option<bool> {
        if let Some(value) = self.0.get("Value") {
            return value.as_bool();
        }
        if let Some(arg) = self.0.get("!").and_then(|not| not.get("arg")) {
            return Self(arg.clone()).decided().map(|value| !value);
        }
        if let Some((left, right)) = self.sides("&&") {
            return if left.decided()? { right.decided() } else { Some(false) };
        }
        if let Some((left, right)) = self.sides("||") {
            return if left.decided()? { Some(true) } else { right.decided() };
        }
        if let Some((set, member)) = self.sides("contains") {
            return Some(set.as_constant()?.as_array()?.contains(&member.as_constant()?));
        }
        let scalars = |op: &str| {
            let (left, right) = self.sides(op)?;
            Some((left.as_constant()?, right.as_constant()?)).filter(|(l, r)| !l.is_array() && !r.is_array())
        };
        let numbers = |op: &str| scalars(op).and_then(|(l, r)| Some((l.as_i64()?, r.as_i64()?)));
        scalars("==")
            .map(|(l, r)| l == r)
            .or_else(|| scalars("!=").map(|(l, r)| l != r))
            .or_else(|| numbers("<").map(|(l, r)| l < r))
            .or_else(|| numbers("<=").map(|(l, r)| l <= r))
            .or_else(|| numbers(">").map(|(l, r)| l > r))
            .or_else(|| numbers(">=").map(|(l, r)| l >= r))
    }

    /// Whether it reads a member that begins so.
    pub(super) fn reads(&self, beginning: &[&str]) -> bool {
        self.paths().iter().any(|p| p.len() >= beginning.len() && p.iter().zip(beginning).all(|(a, b)| a == b))
    }

    /// The policy that forbids where this holds, for calls of one action on one kind of resource.
    pub(super) fn policy(&self, action: &Json, resource: &str) -> Option<CedarPolicy> {
        let policy = json!({
            "effect": "forbid",
            "principal": { "op": "All" },
            "action": { "op": "==", "entity": action },
            "resource": { "op": "is", "entity_type": resource },
            "conditions": [{ "kind": "when", "body": self.0 }],
        });
        CedarPolicy::from_json(None, policy).ok()
    }
}

/// Calls with each expression right below. A constant has none, whatever it looks like.
fn children(json: &Json, visit: &mut impl FnMut(&Json)) {
    let Some(object) = json.as_object() else { return };
    for (op, inner) in object {
        match (op.as_str(), inner) {
            ("Value" | "Var" | "Slot", _) => {}
            ("Set", Json::Array(members)) => members.iter().for_each(&mut *visit),
            ("Record", Json::Object(members)) => members.values().for_each(&mut *visit),
            (_, Json::Object(parts)) => {
                for name in ["left", "right", "arg", "if", "then", "else"] {
                    parts.get(name).into_iter().for_each(&mut *visit);
                }
            }
            (_, Json::Array(arguments)) => arguments.iter().for_each(&mut *visit),
            _ => {}
        }
    }
}

fn children_mut(json: &mut Json, visit: &mut impl FnMut(&mut Json)) {
    let Some(object) = json.as_object_mut() else { return };
    for (op, inner) in object.iter_mut() {
        match (op.as_str(), inner) {
            ("Value" | "Var" | "Slot", _) => {}
            ("Set", Json::Array(members)) => members.iter_mut().for_each(&mut *visit),
            ("Record", Json::Object(members)) => members.values_mut().for_each(&mut *visit),
            (_, Json::Object(parts)) => {
                for name in ["left", "right", "arg", "if", "then", "else"] {
                    parts.get_mut(name).into_iter().for_each(&mut *visit);
                }
            }
            (_, Json::Array(arguments)) => arguments.iter_mut().for_each(&mut *visit),
            _ => {}
        }
    }
}

/// A Cedar string.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn clauses_become_one_condition_and_come_apart_again() {
        let text = "forbid (principal, action, resource) when { context.a && context.b > 1 } unless { context.c };";
        let expr = Expr::of(&CedarPolicy::parse(None, text).unwrap()).unwrap();
        assert_eq!(expr.conjuncts().len(), 3);
        assert_eq!(expr.paths(), [path("context.a"), path("context.b"), path("context.c")]);
    }

    #[test]
    fn asked_for_members_are_read_and_constants_are_not() {
        let expr = Expr::parse(r#"context.input has x && ["Var"].contains(context.input.y.z)"#).unwrap();
        assert_eq!(expr.paths(), [path("context.input.x"), path("context.input.y.z")]);
        assert!(expr.reads(&["context", "input"]) && !expr.reads(&["resource"]));
    }

    #[test]
    fn a_rewritten_member_is_gone_everywhere() {
        let expr = Expr::parse("resource.x > 1 || !(resource.x == 3) && context.y").unwrap();
        let x = path("resource.x");
        let changed = expr.rewrite(&|e| (e.as_path().as_ref() == Some(&x)).then(|| Expr::constant(&json!(2))));
        assert_eq!(changed, Expr::parse("2 > 1 || !(2 == 3) && context.y").unwrap());
    }

    #[test]
    fn what_constants_decide_is_taken_out() {
        let folded = |text: &str| Expr::parse(text).unwrap().folded();
        for (text, left) in [
            ("true && context.a", "context.a"),
            ("context.a && 2 > 1 && !(3 == 3)", "false"),
            ("1 < 0 || context.a == \"x\"", "context.a == \"x\""),
            ("context.a || 2 <= 2", "context.a || 2 <= 2"),
            ("[\"a\", \"b\"].contains(\"b\") && context.a", "context.a"),
            ("!(context.a && 1 == 2)", "!(context.a && 1 == 2)"),
            ("!(1 == 2 && context.a)", "true"),
        ] {
            assert_eq!(folded(text), folded(left), "{text}");
        }
        assert_eq!(folded("!(1 == 2 && context.a)"), Expr::truth(true));
        assert_eq!(folded("context.a && 2 > 1 && !(3 == 3)"), Expr::truth(false));
    }

    #[test]
    fn sets_and_negative_numbers_are_constants() {
        let set = Expr::parse("context.x == -3 && context.y == [\"a\"]").unwrap().conjuncts();
        let right = |e: &Expr| e.sides("==").unwrap().1.as_constant();
        assert_eq!(set.iter().map(right).collect::<Vec<_>>(), [Some(json!(-3)), Some(json!(["a"]))]);
        assert_eq!(Expr::path(&path("context.x")).as_constant(), None);
    }
}
