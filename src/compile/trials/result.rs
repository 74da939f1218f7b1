//! Results that a test writes down: only what the tool can say, in part or whole.

use serde_json::Value as Json;

use crate::compile::names::Near;
use crate::state::ResultShape;
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
    /// A result that the set would read as a failure, because nothing marks it as a success.
    #[error(
        "has no `{field}`, by which `vehicle.toml` knows a success (`[result]`); add `{field} = \"{word}\"`{alone}"
    )]
    Unmarked {
        /// The field that marks a success.
        field: String,
        /// What it says then.
        word: String,
        /// What else can be written.
        alone: String,
    },
    /// A result that says that it is none.
    #[error(
        "says `{field} = {found}`, and a success says `\"{word}\"` there; write a failure as `failed = \"why\"` in `history`"
    )]
    Failed {
        /// The field that marks a success.
        field: String,
        /// What it says.
        found: String,
        /// What a success says.
        word: String,
    },
}

/// Holds a result against what the tool declares and what marks a success; fields may be left out. Answers with what
/// rules read of it: where results have a payload of their own, a test writes it alone or with all around it. A tool
/// without a schema of its result takes anything.
pub(super) fn read(tool: &Tool, shape: &ResultShape, result: &Json) -> Result<Json, ResultFault> {
    let payload = shape.payload.as_deref();
    let inner = payload.and_then(|name| result.get(name));
    if result.is_object() && (inner.is_some() || payload.is_none()) {
        marked(shape, result)?;
    }
    let Some(schema) = tool.output.as_ref().and_then(|text| serde_json::from_str::<Json>(text).ok()) else {
        return Ok(inner.unwrap_or(result).clone());
    };
    let declared = |name: &str| schema.get("properties").and_then(|p| p.get(name));
    // Of wrapping and payload the schema may describe both or the payload alone.
    let described = payload.and_then(declared).unwrap_or(&schema);
    let told = inner.unwrap_or(result);
    let mut judged = told.clone();
    if let (Some((field, _)), None, Some(members)) = (&shape.success, inner, judged.as_object_mut())
        && declared(field).is_none()
    {
        // The mark is the car's own, whatever the tool declares.
        members.remove(field);
    }
    misnamed(described, &judged, "").map_or(Ok(()), |(path, near)| Err(ResultFault::Field { path, near }))?;
    let Ok(schema) = Schema::read(described) else { return Ok(told.clone()) };
    match schema.violations(&judged).into_iter().find(|violation| violation.why != Why::Missing) {
        None => Ok(told.clone()),
        Some(violation) => Err(ResultFault::Value { why: violation.sentence(), path: violation.path }),
    }
}

/// Whether a result with all around it says that it is a success.
fn marked(shape: &ResultShape, result: &Json) -> Result<(), ResultFault> {
    let Some((field, word)) = &shape.success else { return Ok(()) };
    match result.get(field) {
        Some(Json::String(found)) if found == word => Ok(()),
        Some(found) => Err(ResultFault::Failed { field: field.clone(), found: found.to_string(), word: word.clone() }),
        None => {
            let alone = shape.payload.as_ref().map(|name| format!(", or write what stands in `{name}` alone"));
            Err(ResultFault::Unmarked { field: field.clone(), word: word.clone(), alone: alone.unwrap_or_default() })
        }
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
