//! Field patterns against the result schema of their read.

use serde_json::Value as Json;

use crate::compile::names::Near;
use crate::state::AttrType;

/// What a result schema says of a path.
#[derive(Debug, PartialEq)]
pub(in crate::compile) enum Found<'a> {
    /// It does not go into that detail.
    Open,
    /// It has no such field.
    Missing(Near),
    /// It declares the field so.
    Declared(&'a Json),
}

/// Looks a dotted path up in a result schema. Where the schema describes the wrapping as well, the
/// path starts at its payload.
pub(in crate::compile) fn find<'a>(schema: &'a Json, payload: Option<&str>, path: &str) -> Found<'a> {
    let root = payload.and_then(|p| schema.get("properties")?.get(p)).unwrap_or(schema);
    // As in `state::select`: a member whose own name has dots comes first.
    if let Some(whole) = root.get("properties").and_then(|p| p.get(path)) {
        return Found::Declared(whole);
    }
    let mut at = root;
    for key in path.split('.') {
        let Some(properties) = at.get("properties").and_then(Json::as_object) else { return Found::Open };
        match properties.get(key) {
            Some(next) => at = next,
            None if at.get("patternProperties").is_some() || at.get("additionalProperties").is_some_and(is_open) => {
                return Found::Open;
            }
            None => return Found::Missing(Near::among(key, properties.keys().map(String::as_str))),
        }
    }
    Found::Declared(at)
}

fn is_open(additional: &Json) -> bool {
    additional != &Json::Bool(false)
}

/// The JSON type that a schema declares, when it is another one than an attribute type needs.
/// `null` beside it does not matter: an absent reading is unknown.
pub(super) fn disagreement(schema: &Json, kind: &AttrType) -> Option<String> {
    let wanted: &[&str] = match kind {
        AttrType::Bool => &["boolean"],
        AttrType::Int => &["integer", "number"],
        AttrType::Word | AttrType::Parts(_) => &["string"],
        AttrType::List => &["array"],
    };
    let declared: Vec<&str> = match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => return None,
    };
    let plain: Vec<&str> = declared.into_iter().filter(|t| *t != "null").collect();
    (!plain.is_empty() && !plain.iter().any(|t| wanted.contains(t))).then(|| plain.join(" or "))
}

/// The words that a schema admits, when it lists them.
pub(in crate::compile) fn words(schema: &Json) -> Option<Vec<&str>> {
    let words: Vec<&str> = schema.get("enum")?.as_array()?.iter().filter_map(Json::as_str).collect();
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_is_found_directly_and_behind_the_payload() {
        let inner = json!({"properties": {"slot": {"properties": {"condition": {"type": "string"}}}}});
        let wrapped = json!({"properties": {"status": {"type": "string"}, "result": inner}});
        let condition = json!({"type": "string"});
        assert_eq!(find(&inner, None, "slot.condition"), Found::Declared(&condition));
        assert_eq!(find(&wrapped, Some("result"), "slot.condition"), Found::Declared(&condition));
        assert_eq!(find(&inner, Some("result"), "slot.condition"), Found::Declared(&condition));
    }

    #[test]
    fn a_field_that_nothing_declares_is_missing_unless_the_schema_is_open() {
        let closed = json!({"properties": {"oven_on": {}}});
        assert!(matches!(find(&closed, None, "ofen_on"), Found::Missing(n) if n.to_string().contains("oven_on")));
        let open = json!({"properties": {"oven_on": {}}, "additionalProperties": {"type": "string"}});
        assert_eq!(find(&open, None, "ofen_on"), Found::Open);
        assert_eq!(find(&json!({"type": "object"}), None, "ofen_on"), Found::Open);
    }

    #[test]
    fn null_beside_a_type_is_no_disagreement() {
        assert_eq!(disagreement(&json!({"type": ["number", "null"]}), &AttrType::Int), None);
        assert_eq!(disagreement(&json!({"type": "string"}), &AttrType::Int), Some("string".to_owned()));
    }
}
