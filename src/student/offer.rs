//! A tool as this car offers it: its schema without what is removed.

use serde_json::Value as Json;

use crate::tools::{Removed, Tool};

/// The argument schema without removed parameters; `None` for a removed tool, and for one whose
/// schema is no JSON (which `compile` excludes).
pub(super) fn offered(tool: &Tool, removed: &Removed) -> Option<Json> {
    let name = tool.name.as_str();
    if removed.tool(name) {
        return None;
    }
    let mut schema: Json = serde_json::from_str(&tool.schema).ok()?;
    for path in removed.parameters(name) {
        remove(&mut schema, path);
    }
    Some(schema)
}

/// Takes the property at a dotted path out of an object schema, and out of what it requires.
fn remove(schema: &mut Json, path: &str) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) else { return };
    match rest {
        Some(rest) => {
            if let Some(inner) = properties.get_mut(name) {
                remove(inner, rest);
            }
        }
        None => {
            properties.remove(name);
            if let Some(required) = schema.get_mut("required").and_then(Json::as_array_mut) {
                required.retain(|entry| entry != name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::import;
    use serde_json::json;

    fn tool() -> Tool {
        let text = r#"[{"name":"set_light","inputSchema":{"type":"object","required":["on","color"],"properties":{
            "on":{"type":"boolean"},"color":{"type":"string"},
            "fade":{"type":"object","properties":{"seconds":{"type":"integer"},"curve":{"type":"string"}}}}}}]"#;
        Tool::from_import(&import(text).unwrap()[0]).unwrap()
    }

    #[test]
    fn removed_parameters_are_neither_offered_nor_required() {
        let schema = offered(&tool(), &Removed::from_iter(["set_light.color", "set_light.fade.curve"])).unwrap();
        assert_eq!(schema["required"], json!(["on"]));
        assert!(schema["properties"].get("color").is_none());
        assert_eq!(schema["properties"]["fade"]["properties"], json!({"seconds": {"type": "integer"}}));
    }

    #[test]
    fn a_removed_tool_is_not_offered_and_a_removed_result_field_changes_nothing() {
        assert_eq!(offered(&tool(), &Removed::from_iter(["set_light"])), None);
        let whole: Json = serde_json::from_str(&tool().schema).unwrap();
        assert_eq!(offered(&tool(), &Removed::from_iter(["result.set_light.on"])), Some(whole));
    }
}
