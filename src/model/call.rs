//! Tool calls and their canonical form.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

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

impl CallId {
    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

/// The arguments of one call. Draft, plan, clearance and record of a call share one copy of them, and a
/// schema check reads them as the JSON object they are: a check of a draft copies none.
#[derive(Clone, PartialEq)]
pub struct CallArguments(Arc<Json>);

impl CallArguments {
    /// The arguments as a JSON object.
    pub fn as_json(&self) -> &Json {
        &self.0
    }

    /// Sets one of them, for this call alone.
    pub fn insert(&mut self, name: String, value: Json) {
        if let Json::Object(arguments) = Arc::make_mut(&mut self.0) {
            arguments.insert(name, value);
        }
    }

    /// Takes one of them out, for this call alone.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        Arc::make_mut(&mut self.0).as_object_mut()?.remove(name)
    }
}

impl Default for CallArguments {
    fn default() -> Self {
        Arguments::new().into()
    }
}

impl From<Arguments> for CallArguments {
    fn from(arguments: Arguments) -> Self {
        Self(Arc::new(Json::Object(arguments)))
    }
}

impl Deref for CallArguments {
    type Target = Arguments;

    fn deref(&self) -> &Arguments {
        static NONE: LazyLock<Arguments> = LazyLock::new(Arguments::new);
        // Made of a map and nothing else, so the other arm is never taken.
        self.0.as_object().unwrap_or(&NONE)
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

    /// Whether it is the same call, as [`key`](Self::key) tells, without writing either one out.
    pub fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool && same_members(&self.arguments, &other.arguments)
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
    /// A key that was written down.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

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

fn same_members(a: &Arguments, b: &Arguments) -> bool {
    a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
}

fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || number(a) == number(b),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => same_members(a, b),
        _ => a == b,
    }
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
}
