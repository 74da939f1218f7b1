//! What one inventory has and another has not.

use serde_json::Value as Json;

use super::{Inventory, Param, ParamType, Removed, Tool};

/// What the tools of a car lack against those that a policy was compiled with: whole tools, parameters, and
/// result fields where both declare their results.
pub fn lacking(policy: &Inventory, car: &Inventory) -> Removed {
    let mut removed = Removed::default();
    for tool in policy.iter() {
        let name = tool.name.as_str();
        let Some(there) = car.get(name) else {
            removed.insert(name);
            continue;
        };
        parameters(name, &tool.params, &there.params, &mut removed);
        if let Some((ours, theirs)) = output(tool).zip(output(there)) {
            fields(&format!("result.{name}"), &ours, &theirs, &mut removed);
        }
    }
    removed
}

fn parameters(path: &str, ours: &[Param], theirs: &[Param], removed: &mut Removed) {
    for param in ours {
        let path = format!("{path}.{}", param.name);
        match theirs.iter().find(|p| p.name == param.name) {
            None => removed.insert(&path),
            Some(there) => {
                if let (ParamType::Object(ours), ParamType::Object(theirs)) = (&param.kind, &there.kind) {
                    parameters(&path, ours, theirs, removed);
                }
            }
        }
    }
}

fn output(tool: &Tool) -> Option<Json> {
    serde_json::from_str(tool.output.as_ref()?).ok()
}

/// The nesting of a schema ends with its text, which has a cap.
fn fields(path: &str, ours: &Json, theirs: &Json, removed: &mut Removed) {
    let properties = |schema: &Json| schema.get("properties").and_then(Json::as_object).cloned();
    let (Some(ours), Some(theirs)) = (properties(ours), properties(theirs)) else { return };
    for (name, schema) in &ours {
        let path = format!("{path}.{name}");
        match theirs.get(name) {
            None => removed.insert(&path),
            Some(there) => fields(&path, schema, there, removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::import;

    fn inventory(text: &str) -> Inventory {
        import(text).unwrap().iter().map(|t| Tool::from_import(t).unwrap()).collect::<Vec<_>>().into()
    }

    #[test]
    fn tools_parameters_and_result_fields_that_are_not_there_are_named_and_what_is_new_is_not() {
        let policy = inventory(
            r#"{"tools": [
            {"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}, "o": {"type": "object", "properties": {"in": {"type": "integer"}, "out": {"type": "integer"}}}}},
             "outputSchema": {"type": "object", "properties": {"f": {"type": "integer"}, "g": {"type": "object", "properties": {"h": {"type": "integer"}}}}}},
            {"name": "b", "inputSchema": {"type": "object"}}]}"#,
        );
        let car = inventory(
            r#"{"tools": [
            {"name": "a", "inputSchema": {"type": "object", "properties": {"o": {"type": "object", "properties": {"in": {"type": "integer"}}}, "more": {"type": "integer"}}},
             "outputSchema": {"type": "object", "properties": {"g": {"type": "object", "properties": {}}}}},
            {"name": "c", "inputSchema": {"type": "object"}}]}"#,
        );
        let found = lacking(&policy, &car);
        assert_eq!(found.iter().collect::<Vec<_>>(), ["a.o.out", "a.x", "b", "result.a.f", "result.a.g.h"]);
        assert!(lacking(&policy, &policy).is_empty());
    }
}
