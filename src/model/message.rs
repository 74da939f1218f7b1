//! OpenAI chat messages: the form of recorded conversations and of drafts.

use serde::{Deserialize, Serialize};

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The policy and the situation.
    System,
    /// The driver.
    User,
    /// The student.
    Assistant,
    /// The result of a call.
    Tool,
}

impl Role {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// One chat message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// Its text, or the result of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls it asks for.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<RequestedCall>,
    /// The call that this is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Recorded messages carry `"tool_calls": null` as often as they leave the key out.
fn null_is_empty<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Vec<RequestedCall>, D::Error> {
    Ok(Option::<Vec<RequestedCall>>::deserialize(d)?.unwrap_or_default())
}

/// A call as a message asks for it: the arguments are text that may not even be JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub struct RequestedCall {
    /// Identifier.
    pub id: String,
    /// Tool.
    pub tool: String,
    /// Arguments as JSON text.
    pub arguments: String,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default = "function")]
    kind: String,
    function: WireFunction,
}

#[derive(Serialize, Deserialize)]
struct WireFunction {
    name: String,
    #[serde(default)]
    arguments: WireArguments,
}

/// OpenAI sends text, several other servers send the object itself.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WireArguments {
    Text(String),
    Object(serde_json::Value),
}

impl Default for WireArguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

fn function() -> String {
    "function".to_owned()
}

impl From<Wire> for RequestedCall {
    fn from(wire: Wire) -> Self {
        let arguments = match wire.function.arguments {
            WireArguments::Text(text) => text,
            WireArguments::Object(json) => json.to_string(),
        };
        Self { id: wire.id, tool: wire.function.name, arguments }
    }
}

impl From<RequestedCall> for Wire {
    fn from(call: RequestedCall) -> Self {
        Self {
            id: call.id,
            kind: function(),
            function: WireFunction { name: call.tool, arguments: WireArguments::Text(call.arguments) },
        }
    }
}

/// Why a line is no chat message.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is not a chat message: {source}")]
pub struct MessageError {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// What the JSON reader says.
    pub source: serde_json::Error,
}

/// A recorded conversation, system message first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// Its messages.
    pub messages: Vec<Message>,
}

impl Conversation {
    /// Reads one message a line; empty lines are skipped.
    ///
    /// # Errors
    /// [`MessageError`] with the line that cannot be read.
    pub fn from_lines(text: &str) -> Result<Self, MessageError> {
        let mut messages = Vec::new();
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            messages.push(serde_json::from_str(line).map_err(|source| MessageError { line: i + 1, source })?);
        }
        Ok(Self { messages })
    }
}
