//! Import of tool definitions.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Schema, SchemaError};

/// A tool as its definition file describes it; a policy's effect model adds the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedTool {
    /// Name.
    pub name: String,
    /// Description, as the student sees it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Json,
    /// JSON Schema of the result, if declared.
    pub output: Option<Json>,
    /// MCP `readOnlyHint`, if declared.
    pub read_only: Option<bool>,
    /// MCP `openWorldHint`: it reaches somebody outside the car.
    pub open_world: Option<bool>,
    /// MCP `destructiveHint`: it cannot be undone.
    pub destructive: Option<bool>,
}

/// Why definitions cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Not JSON.
    #[error("the tool definitions are not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Neither of the two forms.
    #[error(
        "the tool definitions are neither an MCP `tools/list` result nor a list of OpenAI functions; expected `{{\"tools\": […]}}` or `[…]`"
    )]
    Shape,
    /// One definition is unreadable.
    #[error("tool {index} cannot be read: {source}")]
    Tool {
        /// Position in the list, from 0.
        index: usize,
        /// What the JSON reader says.
        source: serde_json::Error,
    },
    /// A name is used twice.
    #[error("the tool `{0}` is defined twice; a name must be unique")]
    Duplicate(String),
    /// The parameters or the result are not a JSON Schema that can be held against a call.
    #[error("the schema of the {what} of `{tool}` cannot be used: {why}")]
    Schema {
        /// The tool.
        tool: String,
        /// Parameters or result.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
struct Mcp {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(rename = "inputSchema", default = "empty_schema")]
    input: Json,
    #[serde(rename = "outputSchema")]
    output: Option<Json>,
    annotations: Option<Hints>,
}

#[derive(Deserialize, Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Hints {
    read_only_hint: Option<bool>,
    open_world_hint: Option<bool>,
    destructive_hint: Option<bool>,
}

#[derive(Deserialize)]
struct OpenAi {
    function: OpenAiFunction,
}

#[derive(Deserialize)]
struct OpenAiFunction {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default = "empty_schema")]
    parameters: Json,
}

fn empty_schema() -> Json {
    serde_json::json!({"type": "object", "properties": {}})
}

/// Reads MCP `tools/list` (bare, or as the `result` of a response) or a list of OpenAI functions.
///
/// # Errors
/// [`ImportError`] naming the tool that is wrong.
pub fn import(text: &str) -> Result<Vec<ImportedTool>, ImportError> {
    let json: Json = serde_json::from_str(text)?;
    let list = [Some(&json), json.get("tools"), json.pointer("/result/tools")]
        .into_iter()
        .flatten()
        .find_map(Json::as_array)
        .ok_or(ImportError::Shape)?;
    let mut tools: Vec<ImportedTool> = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        let tool = read_one(item).map_err(|source| ImportError::Tool { index, source })?;
        if tools.iter().any(|t| t.name == tool.name) {
            return Err(ImportError::Duplicate(tool.name));
        }
        let unusable = |what, e: SchemaError| ImportError::Schema { tool: tool.name.clone(), what, why: e.to_string() };
        Schema::read(&tool.parameters).map_err(|e| unusable("parameters", e))?;
        tool.output.as_ref().map(Schema::read).transpose().map_err(|e| unusable("result", e))?;
        tools.push(tool);
    }
    Ok(tools)
}

fn read_one(item: &Json) -> Result<ImportedTool, serde_json::Error> {
    if item.get("function").is_some() {
        let OpenAi { function: f } = OpenAi::deserialize(item)?;
        return Ok(ImportedTool {
            name: f.name,
            description: f.description,
            parameters: f.parameters,
            output: None,
            read_only: None,
            open_world: None,
            destructive: None,
        });
    }
    let mcp = Mcp::deserialize(item)?;
    let hints = mcp.annotations.unwrap_or_default();
    Ok(ImportedTool {
        name: mcp.name,
        description: mcp.description,
        parameters: mcp.input,
        output: mcp.output,
        read_only: hints.read_only_hint,
        open_world: hints.open_world_hint,
        destructive: hints.destructive_hint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms() {
        let mcp = r#"{"tools":[{"name":"get_x","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}"#;
        let openai =
            r#"[{"type":"function","function":{"name":"get_x","description":"d","parameters":{"type":"object"}}}]"#;
        assert_eq!(import(mcp).unwrap()[0].read_only, Some(true));
        assert_eq!(import(openai).unwrap()[0].name, "get_x");
    }

    #[test]
    fn says_which_definition_is_wrong() {
        let twice = r#"[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}]"#;
        assert_eq!(import(twice).unwrap_err().to_string(), "the tool `a` is defined twice; a name must be unique");
        assert!(import("{}").unwrap_err().to_string().contains("tools/list"));
        assert!(import(r#"[{"name":"a","inputSchema":{"type":"strng"}}]"#).unwrap_err().to_string().contains("`a`"));
    }
}
