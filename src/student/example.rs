//! Examples that a local model drafts after.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::StudentError;
use crate::model::{Draft, ToolCall};

/// One request of a driver and the draft that is right for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// What the driver says.
    pub driver: String,
    /// The draft.
    pub draft: Draft,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    example: Vec<Raw>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    driver: String,
    say: Option<String>,
    #[serde(default)]
    calls: Vec<RawCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Json>,
}

/// Reads a file of `[[example]]` tables: `driver`, and either `calls` or `say`.
///
/// # Errors
/// [`StudentError::Script`], naming the file and what is wrong.
pub fn load(path: &Path) -> Result<Vec<Example>, StudentError> {
    let error = |why: String| StudentError::Script { path: path.display().to_string(), why };
    let text = fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    let file: File = toml::from_str(&text).map_err(|e| error(e.to_string()))?;
    file.example
        .into_iter()
        .map(|raw| {
            if raw.say.is_some() != raw.calls.is_empty() {
                return Err(error(format!("the example “{}” needs either `calls` or `say`", raw.driver)));
            }
            let calls = raw.calls.into_iter().map(|c| ToolCall::new(&c.tool, c.arguments)).collect();
            Ok(Example { driver: raw.driver, draft: Draft { reply: raw.say, calls, malformed: Vec::new() } })
        })
        .collect()
}
