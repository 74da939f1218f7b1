//! The members that valid values can have, by their names.

use std::collections::BTreeSet;

use super::{At, Clause, Schema, Type};

/// Subschemas that are looked at: references may lead to the same ones over and over.
const MOST: usize = 10_000;

/// The members that values of a schema can have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// Each with those that it lies in, outermost first; a list is no step.
    pub paths: BTreeSet<Vec<String>>,
    /// Whether there may be others: a part of the schema does not say what it holds.
    pub open: bool,
}

impl Schema {
    /// The members of its values. `told`: that an object without named members has none, as with arguments.
    pub(in crate::tools) fn members(&self, told: bool) -> Members {
        let mut walk =
            Walk { schema: self, above: Vec::new(), path: Vec::new(), left: MOST, found: Members::default() };
        walk.visit(At(0), told);
        walk.found
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    /// Where the walk came through: what refers to itself has the same members again, deeper.
    above: Vec<At>,
    path: Vec<String>,
    left: usize,
    found: Members,
}

impl Walk<'_> {
    /// `told`: what the value may hold is said beside this subschema.
    fn visit(&mut self, at: At, told: bool) {
        let schema = self.schema;
        let Some(node) = schema.nodes.get(at.0).filter(|node| !node.never) else { return };
        if self.above.contains(&at) {
            return;
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.found.open = true;
            return;
        };
        self.left = left;
        let told = told || node.clauses.iter().any(tells);
        self.found.open |= !told && !node.clauses.iter().any(leads_on);
        self.above.push(at);
        for clause in &node.clauses {
            match clause {
                Clause::Object(object) => {
                    object.named.iter().for_each(|(name, part)| self.member(name, Some(*part)));
                    let others = object.others.and_then(|at| schema.nodes.get(at.0));
                    self.found.open |= !object.alike.is_empty() || others.is_some_and(|others| !others.never);
                }
                Clause::Required(names) => names.iter().for_each(|name| self.member(name, None)),
                Clause::Each(first, rest) => first.iter().chain(rest).for_each(|item| self.visit(*item, false)),
                Clause::Contains(item, _) => self.visit(*item, true),
                Clause::All(parts) | Clause::Any(parts) | Clause::One(parts) => {
                    parts.iter().for_each(|part| self.visit(*part, told));
                }
                Clause::Then(_, part) | Clause::Refers(part) => self.visit(*part, told),
                Clause::If(_, then, otherwise) => {
                    then.iter().chain(otherwise).for_each(|part| self.visit(*part, told));
                }
                _ => {}
            }
        }
        self.above.pop();
    }

    fn member(&mut self, name: &str, part: Option<At>) {
        self.path.push(name.to_owned());
        self.found.paths.insert(self.path.clone());
        if let Some(part) = part {
            self.visit(part, false);
        }
        self.path.pop();
    }
}

/// Whether a clause says what members there are, or that there are none.
fn tells(clause: &Clause) -> bool {
    let plain = |value: &serde_json::Value| !value.is_object() && !value.is_array();
    match clause {
        Clause::Types(types) => !types.contains(&Type::Object) && !types.contains(&Type::Array),
        Clause::Members(values) => values.iter().all(plain),
        Clause::Constant(value) => plain(value),
        Clause::Object(_) | Clause::Required(_) | Clause::Each(..) => true,
        _ => false,
    }
}

/// Whether a clause leads to other subschemas of the same value, which may say it.
fn leads_on(clause: &Clause) -> bool {
    matches!(clause, Clause::All(_) | Clause::Any(_) | Clause::One(_) | Clause::If(..) | Clause::Refers(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn members(schema: &Json) -> (Vec<String>, bool) {
        let found = Schema::read(schema).unwrap().members(false);
        (found.paths.iter().map(|path| path.join(".")).collect(), found.open)
    }

    #[test]
    fn members_are_named_through_lists_choices_and_references() {
        let schema = json!({
            "type": "object",
            "properties": {
                "contacts": {"type": "array", "items": {"$ref": "#/$defs/contact"}},
                "note": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"line": {"type": "string"}}}]},
            },
            "$defs": {"contact": {"type": "object", "properties": {
                "name": {"type": "string"}, "partner": {"$ref": "#/$defs/contact"}
            }}},
        });
        let paths = ["contacts", "contacts.name", "contacts.partner", "note", "note.line"];
        assert_eq!(members(&schema), (paths.map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn a_part_that_does_not_say_what_it_holds_leaves_the_members_open() {
        let object = |part: Json| json!({"type": "object", "properties": {"x": part}});
        for (part, open) in [
            (json!({}), true),
            (json!({"type": "object"}), true),
            (json!({"type": "array"}), true),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), true),
            (json!({"type": "object", "additionalProperties": false}), false),
            (json!({"type": "object", "properties": {}}), false),
            (json!({"type": "array", "items": {"type": "string"}}), false),
            (json!({"type": ["string", "null"]}), false),
            (json!({"enum": ["a", 1]}), false),
            (json!({"allOf": [{"type": "string"}, {"minLength": 1}]}), true),
            (json!({"type": "string", "allOf": [{"minLength": 1}]}), false),
            (json!({"type": "object", "required": ["y"]}), false),
        ] {
            assert_eq!(members(&object(part.clone())).1, open, "{part}");
        }
        assert!(!Schema::read(&json!({"type": "object"})).unwrap().members(true).open, "a tool that takes nothing");
    }
}
