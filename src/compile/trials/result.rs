//! Results that a test writes down: only what the tool can say, in part or whole.

use serde_json::Value as Json;

use crate::compile::names::Near;
use crate::tools::{Schema, Tool, Why};

/// What no result of the tool can be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultFault {
    /// A field that its schema does not have.
    #[error("has no field `{path}`; {near}")]
    Field {
        /// Where, dotted.
        path: String,
        /// What was probably meant.
        near: Near,
    },
    /// A value that its schema does not admit.
    #[error("cannot say that: `{path}`: {why}")]
    Value {
        /// Where, dotted.
        path: String,
        /// What is wrong.
        why: String,
    },
}

/// Holds a result against what the tool declares; fields may be left out. A tool without a schema of its result takes
/// anything.
pub(super) fn check(tool: &Tool, payload: Option<&str>, result: &Json) -> Result<(), ResultFault> {
    let Some(schema) = tool.output.as_ref().and_then(|text| serde_json::from_str::<Json>(text).ok()) else {
        return Ok(());
    };
    let wrapped = payload.and_then(|name| schema.get("properties")?.get(name));
    let inner = payload.and_then(|name| result.get(name));
    // Of wrapping and payload the schema may describe both or the payload alone.
    let result = if wrapped.is_some() { result } else { inner.unwrap_or(result) };
    misnamed(&schema, result, "").map_or(Ok(()), |(path, near)| Err(ResultFault::Field { path, near }))?;
    let Ok(schema) = Schema::read(&schema) else { return Ok(()) };
    match schema.violations(result).into_iter().find(|violation| violation.why != Why::Missing) {
        None => Ok(()),
        Some(violation) => Err(ResultFault::Value { why: violation.sentence(), path: violation.path }),
    }
}

/// The first field that a schema with closed objects does not have.
fn misnamed(schema: &Json, value: &Json, at: &str) -> Option<(String, Near)> {
    let open = |key: &str| schema.get(key).is_some_and(|found| found != &Json::Bool(false));
    match value {
        Json::Object(members) => {
            let properties = schema.get("properties")?.as_object()?;
            members.iter().find_map(|(name, value)| {
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                match properties.get(name) {
                    Some(inner) => misnamed(inner, value, &path),
                    None if open("additionalProperties") || open("patternProperties") => None,
                    None => Some((path, Near::among(name, properties.keys().map(String::as_str)))),
                }
            })
        }
        Json::Array(items) => {
            let inner = schema.get("items")?;
            items.iter().enumerate().find_map(|(ix, item)| misnamed(inner, item, &format!("{at}.{ix}")))
        }
        _ => None,
    }
}
