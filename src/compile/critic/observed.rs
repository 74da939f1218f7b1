//! What tools really answered: results of recorded conversations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::policy::PolicyParts;
use crate::state::ResultShape;

/// Result texts by tool, as recorded.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    results: BTreeMap<String, Vec<String>>,
}

/// A line that is no recorded conversation.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is no recorded conversation: {source}; each line is an object with `messages`")]
pub struct RecordingError {
    /// The line, counted from 1.
    pub line: usize,
    source: serde_json::Error,
}

#[derive(Deserialize)]
struct Recorded {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Option<Json>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Asked>>,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

impl Observed {
    /// Whether no result was recorded at all.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Adds the conversations of a text, one JSON object a line.
    ///
    /// # Errors
    /// [`RecordingError`] with the first line that is none.
    pub fn add(&mut self, text: &str) -> Result<(), RecordingError> {
        for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let recorded: Recorded =
                serde_json::from_str(line).map_err(|source| RecordingError { line: at + 1, source })?;
            let mut asked: BTreeMap<String, String> = BTreeMap::new();
            for message in recorded.messages {
                for call in message.tool_calls.into_iter().flatten() {
                    asked.extend(call.id.map(|id| (id, call.function.name)));
                }
                let Some(Json::String(content)) = message.content.filter(|_| message.role == "tool") else { continue };
                let by_id = message.tool_call_id.and_then(|id| asked.get(&id).cloned());
                if let Some(tool) = by_id.or(message.name) {
                    self.results.entry(tool).or_default().push(content);
                }
            }
        }
        Ok(())
    }

    /// What successful calls of a tool returned.
    pub(super) fn payloads<'a>(&'a self, shape: &'a ResultShape, tool: &str) -> impl Iterator<Item = Json> + 'a {
        self.results.get(tool).into_iter().flatten().filter_map(|text| shape.success(text)).filter(|p| !p.is_string())
    }

    /// All payloads of the tools of a set.
    pub(super) fn of(&self, parts: &PolicyParts) -> BTreeMap<String, Vec<Json>> {
        let tools = parts.inventory.iter().map(|t| t.name.as_str());
        tools.map(|name| (name.to_owned(), self.payloads(&parts.model.result, name).collect())).collect()
    }
}
