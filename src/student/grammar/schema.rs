//! A parameter's JSON Schema as a grammar.

use serde_json::Value as Json;

use super::number::{Bounds, number};
use super::{Node, Rules};
use crate::model::canonical;
use crate::student::{Branch, Slot};
use crate::tools::Removed;

/// Longest text argument, in characters: a short mail fits, a runaway does not.
pub(super) const MAX_TEXT_CHARS: usize = 300;
/// Most items of a list whose schema sets no bound.
const MAX_ITEMS: usize = 4;
/// Nesting beyond which a schema is cut off with an empty object; no known tool goes past three.
const MAX_DEPTH: usize = 8;

/// Characters of a text: printable, without the two that JSON escapes, without control, format and
/// private characters. An escape or a control character in an argument is never meant and is a way
/// to hide something from whoever reads a journal.
const TEXT: &[(char, char)] = &[
    (' ', '!'),
    ('#', '['),
    (']', '~'),
    ('\u{A1}', '\u{AC}'),
    ('\u{AE}', '\u{5FF}'),
    ('\u{1E00}', '\u{1FFF}'),
    ('\u{2010}', '\u{2027}'),
    ('\u{20A0}', '\u{20C0}'),
    ('\u{3040}', '\u{D7A3}'),
];

/// Builds the values of one tool's arguments.
pub(super) struct Values<'a> {
    pub(super) rules: &'a mut Rules,
    pub(super) tool: &'a str,
    pub(super) removed: &'a Removed,
    /// Identifiers that were observed, where nothing else may stand for one.
    pub(super) identifiers: Option<&'a [String]>,
}

impl Values<'_> {
    /// The members of an object schema between its braces: required ones in the order in which the
    /// schema requires them, then any of the optional ones in the order of their declaration.
    pub(super) fn members(&mut self, schema: &Json, path: &str, depth: usize) -> Node {
        let required: Vec<&str> = required(schema);
        let (mut always, mut optional) = (Vec::new(), Vec::new());
        for name in order(schema) {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            if self.removed.parameter(self.tool, &path) {
                continue;
            }
            let property = schema.get("properties").and_then(|p| p.get(name)).unwrap_or(&Json::Null);
            if *property == Json::Bool(false) {
                continue; // a schema that nothing satisfies: no value can be written for it
            }
            let value = self.value(property, &path, depth + 1);
            let member = Node::Sequence(vec![Node::literal(format!("{}:", Json::from(name))), value]);
            if required.contains(&name) { always.push(member) } else { optional.push(member) }
        }
        let mut parts = Vec::new();
        for member in always {
            if !parts.is_empty() {
                parts.push(Node::literal(","));
            }
            parts.push(member);
        }
        let (first, tails) = self.optional(optional);
        parts.push(if parts.is_empty() { first } else { tails });
        Node::Sequence(parts)
    }

    /// Any of these members in their order: once where nothing stands before them, once where a
    /// comma is due.
    fn optional(&mut self, members: Vec<Node>) -> (Node, Node) {
        let mut rest = Node::Sequence(Vec::new());
        let mut starts = Vec::new();
        for member in members.into_iter().rev() {
            starts.push(Node::Sequence(vec![member.clone(), rest.clone()]));
            let follows = Node::optional(Node::Sequence(vec![Node::literal(","), member]));
            rest = self.rules.add(Node::Sequence(vec![follows, rest]));
        }
        if starts.is_empty() {
            return (Node::Sequence(Vec::new()), rest);
        }
        starts.reverse();
        (Node::optional(Node::one_of(starts)), rest)
    }

    /// A call's arguments out of a tree of lists.
    pub(super) fn branches(&mut self, schema: &Json, branches: &[Branch], comma: bool) -> Node {
        let ways = branches.iter().map(|branch| {
            let Some((name, slot)) = &branch.argument else { return Node::Sequence(Vec::new()) };
            let value = match slot {
                Slot::Value(value) => Node::literal(canonical(value)),
                Slot::Open => {
                    let property = schema.get("properties").and_then(|p| p.get(name)).unwrap_or(&Json::Null);
                    self.value(property, name, 1)
                }
            };
            let comma = if comma { "," } else { "" };
            let rest = self.branches(schema, &branch.rest, true);
            Node::Sequence(vec![Node::literal(format!("{comma}{}:", Json::from(name.as_str()))), value, rest])
        });
        let mut ways: Vec<Node> = ways.collect();
        let node = match (ways.len(), ways.pop()) {
            (1, Some(only)) => only,
            (_, last) => Node::weighed(branches.iter().map(|b| b.weight).zip(ways.into_iter().chain(last)).collect()),
        };
        self.rules.add(node)
    }

    /// One value.
    fn value(&mut self, schema: &Json, path: &str, depth: usize) -> Node {
        if let Some(members) = schema.get("enum").and_then(Json::as_array).filter(|m| !m.is_empty()) {
            let words = members.iter().map(|member| Node::literal(member.to_string())).collect();
            return self.rules.add(Node::one_of(words));
        }
        if let Some(only) = schema.get("const") {
            return Node::literal(only.to_string());
        }
        match schema.get("type") {
            Some(Json::String(kind)) => self.typed(kind, schema, path, depth),
            Some(Json::Array(kinds)) => {
                let ways = kinds.iter().filter_map(Json::as_str).map(|kind| self.typed(kind, schema, path, depth));
                let ways = ways.collect();
                self.rules.add(Node::one_of(ways))
            }
            _ => self.typed("string", schema, path, depth),
        }
    }

    fn typed(&mut self, kind: &str, schema: &Json, path: &str, depth: usize) -> Node {
        match kind {
            "boolean" => self.rules.add(Node::Choice(vec![Node::literal("true"), Node::literal("false")])),
            "integer" | "number" => {
                let bounds = bounds(schema, kind == "integer");
                self.rules.add(number(bounds))
            }
            "null" => Node::literal("null"),
            "array" if depth < MAX_DEPTH => self.list(schema, path, depth),
            "object" if depth < MAX_DEPTH => {
                let members = self.members(schema, path, depth);
                self.rules.add(Node::Sequence(vec![Node::literal("{"), members, Node::literal("}")]))
            }
            "array" => Node::literal("[]"),
            "object" => Node::literal("{}"),
            _ => {
                if let Some(seen) = self.identifiers.filter(|_| is_identifier(path)) {
                    let seen = seen.iter().map(|word| Node::literal(Json::from(word.as_str()).to_string())).collect();
                    return self.rules.add(Node::one_of(seen));
                }
                let min = length(schema, "minLength").unwrap_or(1);
                let max = length(schema, "maxLength").unwrap_or(MAX_TEXT_CHARS).clamp(min, MAX_TEXT_CHARS.max(min));
                text(self.rules, min, max)
            }
        }
    }

    fn list(&mut self, schema: &Json, path: &str, depth: usize) -> Node {
        let item = match schema.get("items") {
            Some(items) => self.value(items, path, depth + 1),
            None => self.value(&Json::Null, path, depth + 1),
        };
        let min = length(schema, "minItems").unwrap_or(0);
        let max = length(schema, "maxItems").unwrap_or(MAX_ITEMS).max(min);
        let more = Node::Repeat {
            node: Box::new(Node::Sequence(vec![Node::literal(","), item.clone()])),
            min: min.saturating_sub(1),
            max: max.saturating_sub(1),
        };
        let items = Node::Sequence(vec![item, more]);
        let items = match (min, max) {
            (_, 0) => Node::Sequence(Vec::new()),
            (0, _) => Node::optional(items),
            _ => items,
        };
        self.rules.add(Node::Sequence(vec![Node::literal("["), items, Node::literal("]")]))
    }
}

/// A quoted text of that many characters.
pub(super) fn text(rules: &mut Rules, min: usize, max: usize) -> Node {
    let character = rules.add(Node::Class(TEXT.to_vec()));
    let body = Node::Repeat { node: Box::new(character), min, max };
    rules.add(Node::Sequence(vec![Node::literal("\""), body, Node::literal("\"")]))
}

/// The order in which a call writes the members of an object schema, for the grammar and for
/// whoever writes an example that the grammar would accept.
pub(in crate::student) fn order(schema: &Json) -> Vec<&str> {
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return Vec::new() };
    let mut names: Vec<&str> = required(schema).into_iter().filter(|name| properties.contains_key(*name)).collect();
    // Sorted, so that the order does not hang on how a JSON map was built.
    let mut rest: Vec<&str> = properties.keys().map(String::as_str).filter(|name| !names.contains(name)).collect();
    rest.sort_unstable();
    names.append(&mut rest);
    names
}

fn required(schema: &Json) -> Vec<&str> {
    schema
        .get("required")
        .and_then(Json::as_array)
        .map(|l| l.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default()
}

fn bounds(schema: &Json, whole: bool) -> Bounds {
    let get = |key: &str| schema.get(key).and_then(Json::as_f64);
    // An exclusive bound is the next representable step; a hundredth is the finest that is written.
    let step = get("multipleOf").unwrap_or(if whole { 1.0 } else { 0.01 });
    let minimum = [get("minimum"), get("exclusiveMinimum").map(|m| m + step)].into_iter().flatten().reduce(f64::max);
    let maximum = [get("maximum"), get("exclusiveMaximum").map(|m| m - step)].into_iter().flatten().reduce(f64::min);
    Bounds { minimum, maximum, multiple_of: get("multipleOf"), whole }
}

fn length(schema: &Json, key: &str) -> Option<usize> {
    schema.get(key).and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok())
}

/// Whether a parameter takes an identifier: a part of its name says so.
fn is_identifier(path: &str) -> bool {
    path.rsplit('.').next().unwrap_or(path).split('_').any(|part| part.trim_end_matches('s').eq_ignore_ascii_case("id"))
}
