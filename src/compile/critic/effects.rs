//! What a remedy changes, put into a condition: the condition as it reads after the remedy.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::expr::{Expr, Path};
use super::subject::Stated;
use crate::policy::{ArgumentTemplate, CallTemplate, Derived, DerivedFn, PolicyParts, RuleKind};
use crate::state::{AttrIx, AttrType, Attribute, EntityIx, Literal, SetFrom};

/// A new value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum To {
    /// A constant, in resolution units.
    Value(Json),
    /// What this member holds.
    Same(Path),
    /// One part more than before.
    Adds(String),
    /// Known from the result alone.
    Unknown,
}

/// One attribute that a remedy changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) attribute: AttrIx,
    pub(super) to: To,
    /// It is changed on every item.
    pub(super) everywhere: bool,
}

/// Whose reading of the car a condition is.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The entity that `resource` is one of.
    entity: EntityIx,
    /// It is the very item that the call is about.
    own: bool,
    /// What the condition finds before its call has the change too.
    before: bool,
}

/// One call of a remedy, for one rule.
#[derive(Debug, Clone)]
pub(super) struct Remedied<'a> {
    parts: &'a PolicyParts,
    pub(super) call: Cow<'a, CallTemplate>,
    pub(super) changes: Vec<Change>,
    /// It also counts as made before the triggering call.
    before: bool,
}

impl<'a> Remedied<'a> {
    /// The calls of a rule's remedy with what they change on the rule's own item.
    pub(super) fn of(parts: &'a PolicyParts, stated: &'a Stated) -> Vec<Self> {
        let Some(rule) = &stated.rule else { return Vec::new() };
        let before = rule.kind == RuleKind::Precondition;
        rule.remedy.iter().map(|call| Self::call(parts, Cow::Borrowed(call), rule.entity, before)).collect()
    }

    /// One call with what it changes on an item of an entity; whether it also counts as made before its trigger.
    pub(super) fn call(parts: &'a PolicyParts, call: Cow<'a, CallTemplate>, entity: EntityIx, before: bool) -> Self {
        let changes = changes(parts, &call, entity);
        Self { parts, call, changes, before }
    }

    /// The condition of the rule that this remedies, as it reads afterwards.
    pub(super) fn applied(&self, condition: &Expr, entity: EntityIx) -> Expr {
        self.rewrite(condition, Reading { entity, own: true, before: self.before })
    }

    /// The condition of another rule, which may be about another item, as it reads afterwards.
    pub(super) fn applied_elsewhere(&self, condition: &Expr, entity: EntityIx) -> Expr {
        self.rewrite(condition, Reading { entity, own: false, before: self.before })
    }

    /// A condition about this call's own item as it reads afterwards; `earlier`: for a call that comes after this one,
    /// so that it also shows in what that call finds. `None` where it reads what only a result tells.
    pub(super) fn applied_for(&self, condition: &Expr, entity: EntityIx, earlier: bool) -> Option<Expr> {
        let reading = Reading { entity, own: true, before: earlier || self.before };
        let lost = self.changes.iter().filter(|change| change.to == To::Unknown);
        let paths = condition.paths();
        for change in lost {
            let attribute = self.parts.model.attribute(change.attribute)?;
            let derived = || self.parts.derived.iter().filter(|d| d.attribute == change.attribute);
            let reads = |path: &Path| {
                self.reads(path, attribute, change, reading) || derived().any(|d| is_derived(path, d, reading.before))
            };
            if paths.iter().any(reads) {
                return None;
            }
        }
        Some(self.rewrite(condition, reading))
    }

    fn rewrite(&self, condition: &Expr, reading: Reading) -> Expr {
        let tool = self.parts.inventory.get(usize::from(self.call.tool.0)).map(|t| t.name.as_str());
        condition.rewrite(&|expr| {
            if self.before && called(expr).as_deref() == tool && tool.is_some() {
                return Some(Expr::truth(true));
            }
            self.changes.iter().find_map(|change| self.changed(expr, change, reading))
        })
    }

    fn changed(&self, expr: &Expr, change: &Change, reading: Reading) -> Option<Expr> {
        let attribute = self.parts.model.attribute(change.attribute)?;
        if let To::Adds(part) = &change.to {
            let (path, asked) = expr.sides("contains")?;
            let holds = asked.as_constant()?.as_str()? == part;
            return (holds && self.reads(&path.as_path()?, attribute, change, reading)).then(|| Expr::truth(true));
        }
        let path = expr.as_path()?;
        if self.reads(&path, attribute, change, reading) {
            return new_value(change);
        }
        let derived = self.parts.derived.iter().filter(|d| d.attribute == change.attribute);
        derived.filter(|d| is_derived(&path, d, reading.before)).find_map(|d| derive(d, change))
    }

    /// Whether a member is the attribute that is changed, on an item where it is changed.
    fn reads(&self, path: &[String], attribute: &Attribute, change: &Change, reading: Reading) -> bool {
        let earlier = |name: &str| reading.before && name.strip_prefix("before_") == Some(attribute.name.as_str());
        match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["resource", name] => {
                let here = attribute.entity == reading.entity && (reading.own || change.everywhere);
                here && (*name == attribute.name || earlier(name))
            }
            ["context", "car", name] => attribute.entity == EntityIx::CAR && *name == attribute.name,
            ["context", "before", name] => {
                reading.before && attribute.entity == EntityIx::CAR && *name == attribute.name
            }
            _ => false,
        }
    }

    /// A condition about this very call: its arguments stand in place of `context.input`. `None` where it asks for one
    /// that only the engine can fill in.
    pub(super) fn as_trigger(&self, condition: &Expr) -> Option<Expr> {
        let input = |path: &Path| path.get(1).is_some_and(|p| p == "input");
        for path in condition.paths().iter().filter(|path| input(path)) {
            let [_, _, name] = path.as_slice() else { return None };
            if self.given(name).is_some() && self.argument(name).is_none() {
                return None;
            }
        }
        Some(condition.rewrite(&|expr| {
            if let Some(has) = expr.0.get("has") {
                let of = Expr(has.get("left")?.clone()).as_path()?;
                let name = has.get("attr")?.as_str()?;
                return (of == ["context", "input"]).then(|| Expr::truth(self.given(name).is_some()));
            }
            let path = expr.as_path()?;
            let [context, input, name] = path.as_slice() else { return None };
            if context != "context" || input != "input" {
                return None;
            }
            // An argument that is left out is not read: its `has` is false before.
            self.argument(name)
        }))
    }

    fn given(&self, name: &str) -> Option<&ArgumentTemplate> {
        self.call.arguments.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// An argument as an expression; `None` where only the engine can fill it in.
    fn argument(&self, name: &str) -> Option<Expr> {
        let tool = self.parts.inventory.get(usize::from(self.call.tool.0))?;
        match self.given(name)? {
            ArgumentTemplate::Constant(literal) => {
                Some(Expr::constant(&scaled(literal, tool.param(name)?.resolution)?))
            }
            ArgumentTemplate::Now(field) => Some(Expr::path(&["context", "now", field.name()].map(str::to_owned))),
            ArgumentTemplate::Input(of) => Some(Expr::path(&["context", "input", of].map(str::to_owned))),
            // One item stands for all: rules are evaluated for each.
            ArgumentTemplate::Resource => {
                let item = self.parts.model.tool(self.call.tool)?.item.as_ref()?;
                Some(Expr::constant(&item.word(0)?.into()))
            }
            ArgumentTemplate::Merge { .. } => None,
        }
    }
}

/// A condition about the calls' own item as it reads after all of them. The last one has the last word on an attribute:
/// it is put in first.
pub(super) fn after(condition: &Expr, calls: &[Remedied<'_>], entity: EntityIx) -> Expr {
    calls.iter().rev().fold(condition.clone(), |condition, call| call.applied(&condition, entity))
}

/// The tool that `context.session.called.contains("tool")` asks for.
fn called(expr: &Expr) -> Option<String> {
    let (set, tool) = expr.sides("contains")?;
    let path = set.as_path()?;
    let session = path == ["context", "session", "called"] || path == ["context", "session", "reads"];
    session.then(|| tool.as_constant()?.as_str().map(str::to_owned))?
}

fn new_value(change: &Change) -> Option<Expr> {
    match &change.to {
        To::Value(value) => Some(expression(value)),
        To::Same(path) => Some(Expr::path(path)),
        To::Adds(_) | To::Unknown => None,
    }
}

/// A value as Cedar writes it: a list is a set.
pub(super) fn expression(value: &Json) -> Expr {
    match value.as_array() {
        Some(members) => {
            Expr(serde_json::json!({ "Set": members.iter().map(|m| Expr::constant(m).0).collect::<Vec<_>>() }))
        }
        None => Expr::constant(value),
    }
}

fn is_derived(path: &[String], derived: &Derived, before: bool) -> bool {
    match path {
        [context, name] if context == "context" => {
            *name == derived.name || before && name.strip_prefix("before_") == Some(&derived.name)
        }
        _ => false,
    }
}

/// A derived feature after a change, where the change settles it.
fn derive(derived: &Derived, change: &Change) -> Option<Expr> {
    let value = new_value(change);
    match (derived.function, &change.to) {
        (DerivedFn::Any, To::Value(Json::Bool(true))) => Some(Expr::truth(true)),
        (DerivedFn::All, To::Value(Json::Bool(false))) => Some(Expr::truth(false)),
        (DerivedFn::Any | DerivedFn::All | DerivedFn::Min | DerivedFn::Max, _) if change.everywhere => value,
        (DerivedFn::Gap, To::Value(_)) if change.everywhere => Some(Expr::constant(&0.into())),
        _ => None,
    }
}

fn changes(parts: &PolicyParts, call: &CallTemplate, entity: EntityIx) -> Vec<Change> {
    let Some(effect) = parts.model.tool(call.tool) else { return Vec::new() };
    let given = |name: &str| call.arguments.iter().find(|(n, _)| n == name).map(|(_, value)| value);
    let (mut own, mut everywhere) = (true, true);
    if let Some(item) = &effect.item {
        let word = match given(&item.argument) {
            Some(ArgumentTemplate::Constant(Literal::Text(word))) => Some(word.as_str()),
            _ => None,
        };
        everywhere = word.is_some() && word == item.all();
        own = everywhere || item.entity == entity && given(&item.argument) == Some(&ArgumentTemplate::Resource);
    }
    let meets = |(argument, any_of): (&str, &[Literal])| match given(argument) {
        Some(ArgumentTemplate::Constant(literal)) => any_of.contains(literal),
        _ => false,
    };
    let sets = effect.sets.iter().filter(|s| s.when.iter().all(|w| meets((&w.argument, &w.any_of))));
    let set = |s: &crate::state::Set| {
        let attribute = parts.model.attribute(s.attribute)?;
        let to = match &s.from {
            SetFrom::Constant(literal) => constant(literal, attribute),
            SetFrom::Argument { name, map } => given(name).map_or(To::Unknown, |value| argument(value, map, attribute)),
        };
        Some(Change { attribute: s.attribute, to, everywhere })
    };
    let touched = effect.touches.iter().map(|a| Change { attribute: *a, to: To::Unknown, everywhere });
    if own { sets.filter_map(set).chain(touched).collect() } else { Vec::new() }
}

fn argument(value: &ArgumentTemplate, map: &[(String, String)], attribute: &Attribute) -> To {
    let member = |parts: [&str; 3]| To::Same(parts.map(str::to_owned).to_vec());
    match value {
        ArgumentTemplate::Constant(Literal::Text(word)) => {
            let mapped = map.iter().find(|(from, _)| from == word).map_or(word, |(_, to)| to);
            constant(&Literal::Text(mapped.clone()), attribute)
        }
        ArgumentTemplate::Constant(literal) => constant(literal, attribute),
        ArgumentTemplate::Input(name) if map.is_empty() => member(["context", "input", name]),
        ArgumentTemplate::Now(field) => member(["context", "now", field.name()]),
        ArgumentTemplate::Merge { part, .. } => To::Adds(part.clone()),
        ArgumentTemplate::Input(_) | ArgumentTemplate::Resource => To::Unknown,
    }
}

fn constant(literal: &Literal, attribute: &Attribute) -> To {
    constant_of(literal, attribute).map_or(To::Unknown, To::Value)
}

/// A constant as a condition reads the attribute that has it.
pub(super) fn constant_of(literal: &Literal, attribute: &Attribute) -> Option<Json> {
    let value = scaled(literal, attribute.resolution)?;
    Some(match (&attribute.kind, value) {
        (AttrType::Parts(_), Json::String(word)) => word.split('_').map(Json::from).collect(),
        (_, value) => value,
    })
}

/// A constant in resolution units.
pub(super) fn scaled(literal: &Literal, resolution: crate::model::Resolution) -> Option<Json> {
    match literal.to_json() {
        Json::Number(number) => resolution.scale(&number).map(Json::from),
        other => Some(other),
    }
}
