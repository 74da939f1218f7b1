//! Tool calls and their canonical form.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::RuleId;

/// Arguments by name, as the student wrote them.
pub type Arguments = Map<String, Json>;

/// Name of a tool, exactly as the inventory spells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ToolName {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Identifier by which a result finds its call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

/// What identifiers of readings begin with that follow a write to see what became of it.
const READ_BACK: &str = "readback_";

impl CallId {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The identifier of a reading that follows a write to see what became of it.
    pub fn of_read_back(read: &ToolName) -> Self {
        Self::from(format!("{READ_BACK}{read}").as_str())
    }

    /// Whether it is such a reading.
    pub fn is_read_back(&self) -> bool {
        self.0.starts_with(READ_BACK)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

/// The arguments of one call. Draft, plan, clearance and record of a call share one copy of them, and a
/// schema check reads them as the JSON object they are: a check of a draft copies none.
#[derive(Clone)]
pub struct CallArguments(Arc<Held>);

#[derive(Clone)]
struct Held {
    /// Always an object.
    json: Json,
    print: OnceLock<u64>,
}

impl CallArguments {
    /// The arguments as a JSON object.
    pub fn as_json(&self) -> &Json {
        &self.0.json
    }

    /// Sets one of them, for this call alone.
    pub fn insert(&mut self, name: String, value: Json) {
        self.edit().map(|arguments| arguments.insert(name, value));
    }

    /// Takes one of them out, for this call alone.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.edit()?.remove(name)
    }

    fn edit(&mut self) -> Option<&mut Arguments> {
        let held = Arc::make_mut(&mut self.0);
        held.print = OnceLock::new();
        held.json.as_object_mut()
    }

    /// A number that is the same for the same arguments, in whatever order and form they were written; others
    /// have another one, but for one pair in 2^64. Counted once for all who hold these arguments.
    fn print(&self) -> u64 {
        *self.0.print.get_or_init(|| print(&self.0.json))
    }
}

/// [`CallArguments::print`] of any value. Members count in any order, so their numbers are added up.
fn print(json: &Json) -> u64 {
    let mut hasher = DefaultHasher::new();
    match json {
        Json::Null => hasher.write_u8(0),
        Json::Bool(on) => hasher.write_u8(1 + u8::from(*on)),
        Json::Number(n) => match number(n).as_i64() {
            Some(whole) => hasher.write_i64(whole),
            None => hasher.write_u64(n.as_f64().unwrap_or_default().to_bits()),
        },
        Json::String(text) => hasher.write(text.as_bytes()),
        Json::Array(items) => items.iter().for_each(|item| hasher.write_u64(print(item))),
        Json::Object(members) => hasher.write_u64(members.iter().fold(0, |sum, (name, value)| {
            let mut member = DefaultHasher::new();
            member.write(name.as_bytes());
            member.write_u64(print(value));
            sum.wrapping_add(member.finish())
        })),
    }
    // What a value is counts too: `1` is not `"1"`, and an empty list is no empty text.
    hasher.write_u8(match json {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Number(_) => 2,
        Json::String(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    });
    hasher.finish()
}

impl PartialEq for CallArguments {
    fn eq(&self, other: &Self) -> bool {
        self.0.json == other.0.json
    }
}

impl Default for CallArguments {
    fn default() -> Self {
        Arguments::new().into()
    }
}

impl From<Arguments> for CallArguments {
    fn from(arguments: Arguments) -> Self {
        Self(Arc::new(Held { json: Json::Object(arguments), print: OnceLock::new() }))
    }
}

impl Deref for CallArguments {
    type Target = Arguments;

    fn deref(&self) -> &Arguments {
        static NONE: LazyLock<Arguments> = LazyLock::new(Arguments::new);
        // Made of a map and nothing else, so the other arm is never taken.
        self.0.json.as_object().unwrap_or(&NONE)
    }
}

impl<'a> IntoIterator for &'a CallArguments {
    type Item = (&'a String, &'a Json);
    type IntoIter = serde_json::map::Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for CallArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// One proposed or executed call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Identifier given by the student or by the harness.
    pub id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Its arguments.
    pub arguments: CallArguments,
    /// The rule that demanded it; none when the student wrote it. No part of its identity.
    pub by: Option<RuleId>,
}

impl ToolCall {
    /// A call of the harness itself: the identifier is set when it is placed into a draft.
    pub fn new(tool: &str, arguments: Arguments) -> Self {
        Self { id: CallId::from(""), tool: tool.into(), arguments: arguments.into(), by: None }
    }

    /// Whether it is the same call, as [`key`](Self::key) tells, without writing either one out: told by
    /// numbers made of both, which two different calls share once in 2^64. Where a wrong yes would let
    /// something pass, keys are compared.
    pub fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool && self.arguments.print() == other.arguments.print()
    }

    /// What makes two calls the same call.
    pub fn key(&self) -> CallKey {
        let mut text = String::with_capacity(96);
        text.push_str(self.tool.as_str());
        text.push('(');
        write_members(&self.arguments, &mut text);
        text.push(')');
        CallKey(text)
    }
}

impl fmt::Display for ToolCall {
    /// `open_close_window(percentage: 0, window: "DRIVER")`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.tool)?;
        for (i, (name, value)) in self.arguments.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name}: {}", canonical(value))?;
        }
        f.write_str(")")
    }
}

/// A call in canonical form: key order, spacing and `1` against `1.0` make no difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(String);

impl CallKey {
    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Canonical JSON text: sorted keys, no spaces, whole numbers as integers.
pub fn canonical(json: &Json) -> String {
    let mut out = String::new();
    write_canonical(json, &mut out);
    out
}

fn write_canonical(json: &Json, out: &mut String) {
    match json {
        Json::Number(n) => out.push_str(&number(n).to_string()),
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Json::Object(map) => write_members(map, out),
        Json::String(text) => write_text(text, out),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Null => out.push_str("null"),
    }
}

fn write_members(map: &Arguments, out: &mut String) {
    let mut members: Vec<(&String, &Json)> = map.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    out.push('{');
    for (i, (name, value)) in members.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write_canonical(value, out);
    }
    out.push('}');
}

fn write_text(text: &str, out: &mut String) {
    // Keys are made of every call that is looked at, and next to no text needs an escape.
    if text.bytes().any(|b| b < b' ' || b == b'"' || b == b'\\') {
        return out.push_str(&Json::from(text).to_string());
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// A number in the form that reports use: whole numbers as integers.
pub fn number(n: &serde_json::Number) -> serde_json::Number {
    match n.as_f64() {
        Some(f) if n.as_i64().is_none() && f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0 => (f as i64).into(),
        _ => n.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(arguments: Json) -> ToolCall {
        let Json::Object(arguments) = arguments else { panic!("an object") };
        ToolCall::new("open_close_window", arguments)
    }

    #[test]
    fn key_order_spacing_and_float_form_do_not_make_another_call() {
        let a = call(json!({"window": "DRIVER", "percentage": 10}));
        let b = call(json!({"percentage": 10.0, "window": "DRIVER"}));
        assert_eq!(a.key(), b.key());
        let other = call(json!({"window": "DRIVER", "percentage": 11}));
        assert_ne!(a.key(), other.key());
        assert!(a.is_same(&b) && !a.is_same(&other));
    }

    #[test]
    fn calls_are_the_same_exactly_where_their_keys_are() {
        let values = [
            json!({}),
            json!({"a": 1}),
            json!({"a": "1"}),
            json!({"a": 1.5}),
            json!({"a": true}),
            json!({"a": null}),
            json!({"a": []}),
            json!({"a": ""}),
            json!({"a": [1, 2]}),
            json!({"a": [2, 1]}),
            json!({"a": [[1], 2]}),
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": 2, "c": 1}}),
            json!({"a": {"c": 2.0, "b": 1.0}}),
            json!({"b": 1}),
        ];
        for a in &values {
            for b in &values {
                let (a, b) = (call(a.clone()), call(b.clone()));
                assert_eq!(a.is_same(&b), a.key() == b.key(), "{a} and {b}");
            }
        }
    }

    #[test]
    fn arguments_that_were_edited_are_other_arguments_for_this_call_alone() {
        let before = call(json!({"window": "DRIVER", "percentage": 10}));
        let mut after = before.clone();
        assert!(after.is_same(&before));
        after.arguments.insert("percentage".to_owned(), json!(20));
        assert!(!after.is_same(&before));
        after.arguments.insert("percentage".to_owned(), json!(10));
        assert!(after.is_same(&before));
        assert_eq!(after.arguments.remove("window"), Some(json!("DRIVER")));
        assert_eq!(before.arguments.len(), 2);
    }
}
