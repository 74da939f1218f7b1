//! A value against a schema.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::fault::What;
use super::number::{compare, equal, is_multiple};
use super::{At, Clause, Object, Schema, Violation, Why};

/// Members of an enumeration that a sentence names.
const NAMED: usize = 3;

/// Whether the value is valid. With a list it gets everything that is wrong; without, the first decides.
pub(super) fn judge<'a>(schema: &Schema, value: &'a Json, found: Option<&mut Vec<Violation<'a>>>) -> bool {
    let mut judge = Judge { schema, found };
    judge.node(At(0), value, &Trail::Root)
}

/// The way to a value, without allocation while everything is valid.
enum Trail<'t> {
    Root,
    Member(&'t Trail<'t>, &'t str),
    Item(&'t Trail<'t>, usize),
}

impl Trail<'_> {
    fn dotted(&self) -> String {
        match self {
            Trail::Root => String::new(),
            Trail::Member(above, name) => joined(above.dotted(), &name.replace('~', "~0").replace('/', "~1")),
            Trail::Item(above, index) => joined(above.dotted(), &index.to_string()),
        }
    }
}

fn joined(above: String, step: &str) -> String {
    if above.is_empty() { step.to_owned() } else { format!("{above}.{step}") }
}

struct Judge<'s, 'v, 'a> {
    schema: &'s Schema,
    found: Option<&'v mut Vec<Violation<'a>>>,
}

impl<'a> Judge<'_, '_, 'a> {
    fn node(&mut self, at: At, value: &'a Json, trail: &Trail<'_>) -> bool {
        let schema = self.schema;
        let Some(node) = schema.nodes.get(at.0) else { return false };
        if node.never {
            return self.fault(value, trail, Why::Clause, || What::OfValue("is not allowed here".to_owned()));
        }
        let mut valid = true;
        for clause in &node.clauses {
            valid &= self.clause(clause, value, trail);
            if !valid && self.found.is_none() {
                return false;
            }
        }
        valid
    }

    /// Whether a subschema holds, when what is wrong would say nothing about the value as a whole.
    fn quietly(&self, at: At, value: &'a Json) -> bool {
        Judge { schema: self.schema, found: None }.node(at, value, &Trail::Root)
    }

    fn fault(&mut self, value: &'a Json, trail: &Trail<'_>, why: Why, what: impl FnOnce() -> What) -> bool {
        if let Some(found) = &mut self.found {
            found.push(Violation { path: trail.dotted(), found: value, why, what: what() });
        }
        false
    }

    fn breach(&mut self, value: &'a Json, trail: &Trail<'_>, is: impl FnOnce() -> String) -> bool {
        self.fault(value, trail, Why::Clause, || What::OfValue(is()))
    }

    fn every(&mut self, parts: &[At], value: &'a Json, trail: &Trail<'_>) -> bool {
        let mut valid = true;
        for part in parts {
            valid &= self.node(*part, value, trail);
        }
        valid
    }

    fn clause(&mut self, clause: &Clause, value: &'a Json, trail: &Trail<'_>) -> bool {
        match clause {
            Clause::Types(types) => {
                types.iter().any(|of| of.has(value)) || self.breach(value, trail, || not_of_type(types))
            }
            Clause::Members(members) => {
                members.iter().any(|member| equal(member, value)) || self.breach(value, trail, || no_member(members))
            }
            Clause::Constant(constant) => {
                equal(constant, value)
                    || self.fault(value, trail, Why::Clause, || What::Sentence(format!("{constant} was expected")))
            }
            Clause::All(parts) => self.every(parts, value, trail),
            Clause::Refers(to) => self.node(*to, value, trail),
            Clause::Any(parts) => {
                parts.iter().any(|part| self.quietly(*part, value))
                    || self.breach(value, trail, || "is not valid under any of the schemas of `anyOf`".to_owned())
            }
            Clause::One(parts) => match parts.iter().filter(|part| self.quietly(**part, value)).take(2).count() {
                1 => true,
                0 => self.breach(value, trail, || "is not valid under any of the schemas of `oneOf`".to_owned()),
                _ => self.breach(value, trail, || "is valid under more than one of the schemas of `oneOf`".to_owned()),
            },
            Clause::Not(part) => {
                !self.quietly(*part, value) || self.breach(value, trail, || "is what `not` excludes".to_owned())
            }
            Clause::If(condition, then, otherwise) => {
                let part = if self.quietly(*condition, value) { then } else { otherwise };
                part.is_none_or(|part| self.node(part, value, trail))
            }
            _ => match value {
                Json::Number(_) => self.number(clause, value, trail),
                Json::String(text) => self.text(clause, text, value, trail),
                Json::Array(items) => self.list(clause, items, value, trail),
                Json::Object(members) => self.object(clause, members, value, trail),
                Json::Null | Json::Bool(_) => true,
            },
        }
    }

    fn number(&mut self, clause: &Clause, value: &'a Json, trail: &Trail<'_>) -> bool {
        let Json::Number(number) = value else { return true };
        let (holds, is, limit) = match clause {
            Clause::AtLeast(limit) => (compare(number, limit) != Ordering::Less, "less than the minimum of", limit),
            Clause::AtMost(limit) => {
                (compare(number, limit) != Ordering::Greater, "greater than the maximum of", limit)
            }
            Clause::Above(limit) => {
                (compare(number, limit) == Ordering::Greater, "less than or equal to the minimum of", limit)
            }
            Clause::Below(limit) => {
                (compare(number, limit) == Ordering::Less, "greater than or equal to the maximum of", limit)
            }
            Clause::MultipleOf(step) => (is_multiple(number, step), "not a multiple of", step),
            _ => return true,
        };
        holds || self.breach(value, trail, || format!("is {is} {limit}"))
    }

    fn text(&mut self, clause: &Clause, text: &str, value: &'a Json, trail: &Trail<'_>) -> bool {
        match clause {
            Clause::Length(count) => {
                let length = text.chars().count();
                count.holds(length) || self.breach(value, trail, || off("is", length, count, "character", "characters"))
            }
            Clause::Pattern(pattern) => {
                pattern.matches(text) || self.breach(value, trail, || format!("does not match \"{}\"", pattern.text()))
            }
            _ => true,
        }
    }

    fn list(&mut self, clause: &Clause, items: &'a [Json], value: &'a Json, trail: &Trail<'_>) -> bool {
        match clause {
            Clause::Items(count) => {
                count.holds(items.len())
                    || self.breach(value, trail, || off("has", items.len(), count, "item", "items"))
            }
            Clause::Unique => !has_twins(items) || self.breach(value, trail, || "has non-unique elements".to_owned()),
            Clause::Contains(what, count) => {
                count.holds(items.iter().filter(|item| self.quietly(*what, item)).count())
                    || self.breach(value, trail, || "does not hold as many items of a kind as it must".to_owned())
            }
            Clause::Each(first, rest) => {
                let mut valid = true;
                for (index, item) in items.iter().enumerate() {
                    let Some(part) = first.get(index).or(rest.as_ref()) else { break };
                    valid &= self.node(*part, item, &Trail::Item(trail, index));
                }
                valid
            }
            _ => true,
        }
    }

    fn object(
        &mut self,
        clause: &Clause,
        members: &'a serde_json::Map<String, Json>,
        value: &'a Json,
        trail: &Trail<'_>,
    ) -> bool {
        match clause {
            Clause::Size(count) => {
                count.holds(members.len())
                    || self.breach(value, trail, || off("has", members.len(), count, "property", "properties"))
            }
            Clause::Required(names) => {
                let mut valid = true;
                for name in names.iter().filter(|name| !members.contains_key(*name)) {
                    valid = self.lacks(name, value, trail);
                }
                valid
            }
            Clause::Needs(name, others) => {
                let mut valid = true;
                if members.contains_key(name) {
                    for other in others.iter().filter(|other| !members.contains_key(*other)) {
                        valid = self.lacks(other, value, trail);
                    }
                }
                valid
            }
            Clause::Then(name, part) => !members.contains_key(name) || self.node(*part, value, trail),
            Clause::Names(part) => {
                let bad = members.keys().find(|name| {
                    let name = Json::String((*name).clone());
                    !Judge { schema: self.schema, found: None }.node(*part, &name, &Trail::Root)
                });
                bad.is_none_or(|name| {
                    self.breach(value, trail, || format!("has a property of a name that it may not have, \"{name}\""))
                })
            }
            Clause::Object(object) => self.members(object, members, value, trail),
            _ => true,
        }
    }

    fn lacks(&mut self, name: &str, value: &'a Json, trail: &Trail<'_>) -> bool {
        self.fault(value, trail, Why::Missing, || What::Sentence(format!("\"{name}\" is a required property")))
    }

    fn members(
        &mut self,
        object: &Object,
        members: &'a serde_json::Map<String, Json>,
        value: &'a Json,
        trail: &Trail<'_>,
    ) -> bool {
        let never = |part: &At| self.schema.nodes.get(part.0).is_some_and(|node| node.never);
        let closed = object.others.as_ref().is_some_and(never);
        let mut valid = true;
        let mut unexpected = Vec::new();
        for (name, member) in members {
            let inside = Trail::Member(trail, name);
            let mut named = false;
            if let Some((_, part)) = object.named.iter().find(|(known, _)| known == name) {
                named = true;
                valid &= self.node(*part, member, &inside);
            }
            for (_, part) in object.alike.iter().filter(|(pattern, _)| pattern.matches(name)) {
                named = true;
                valid &= self.node(*part, member, &inside);
            }
            match object.others {
                Some(_) if !named && closed => unexpected.push(name.as_str()),
                Some(part) if !named => valid &= self.node(part, member, &inside),
                _ => {}
            }
        }
        if unexpected.is_empty() {
            return valid;
        }
        self.fault(value, trail, Why::Unexpected, || {
            let names: Vec<String> = unexpected.iter().map(|name| format!("'{name}'")).collect();
            let were = if names.len() == 1 { "was" } else { "were" };
            What::Sentence(format!("Additional properties are not allowed ({} {were} unexpected)", names.join(", ")))
        })
    }
}

fn has_twins(items: &[Json]) -> bool {
    items.iter().enumerate().any(|(at, item)| items.iter().skip(at + 1).any(|other| equal(item, other)))
}

fn not_of_type(types: &[super::Type]) -> String {
    let names: Vec<String> = types.iter().map(|of| format!("\"{}\"", of.name())).collect();
    format!("is not of type{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

fn no_member(members: &[Json]) -> String {
    let named = if members.len() > NAMED { NAMED - 1 } else { members.len() };
    let mut words: Vec<String> = members.iter().take(named).map(Json::to_string).collect();
    if members.len() > named {
        words.push(format!("{} other candidates", members.len() - named));
    }
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        format!("is not one of {last}")
    } else {
        format!("is not one of {} or {last}", words.join(", "))
    }
}

fn off(verb: &str, found: usize, count: &super::Count, one: &str, many: &str) -> String {
    let is_text = one == "character";
    let (limit, how) = match count.most {
        Some(most) if u64::try_from(found).unwrap_or(u64::MAX) > most => {
            (most, if is_text { "longer" } else { "more" })
        }
        _ => (count.least, if is_text { "shorter" } else { "less" }),
    };
    format!("{verb} {how} than {limit} {}", if limit == 1 { one } else { many })
}
