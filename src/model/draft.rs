//! A draft: what the student wants to do or say next.

use serde_json::Value as Json;

use super::{CallId, Limits, Message, RequestedCall, Role, ToolCall};

/// A proposal: a spoken reply, tool calls, or both. Nothing in it has been checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// What would be said.
    pub reply: Option<String>,
    /// What would be called, in order.
    pub calls: Vec<ToolCall>,
    /// Calls whose arguments could not be read; the schema gate reports each.
    pub malformed: Vec<Malformed>,
}

/// A call that has no readable arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Identifier, by which a recorded result finds it.
    pub id: CallId,
    /// The tool that was to be called.
    pub tool: String,
    /// What is wrong with it.
    pub why: String,
}

/// Why a message is no draft at all.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// Not UTF-8.
    #[error("the draft is not valid UTF-8 at byte {0}; send UTF-8 JSON")]
    Encoding(usize),
    /// Not JSON, or not an assistant message.
    #[error("the draft is not an OpenAI assistant message: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another role.
    #[error("the draft has the role `{0}`; only an assistant message can be a draft")]
    Role(String),
    /// Too many calls.
    #[error("the draft has {found} calls, more than the {limit} that one draft may hold")]
    Calls {
        /// Calls found.
        found: usize,
        /// The cap.
        limit: usize,
    },
    /// An argument that is too large.
    #[error("the arguments of `{tool}` take {found} bytes, more than the {limit} that one call may carry")]
    Arguments {
        /// The tool.
        tool: String,
        /// Bytes found.
        found: usize,
        /// The cap.
        limit: usize,
    },
    /// A reply that is too long.
    #[error("the reply takes {found} bytes, more than the {limit} that can be spoken")]
    Reply {
        /// Bytes found.
        found: usize,
        /// The cap.
        limit: usize,
    },
}

impl Draft {
    /// A draft that only speaks.
    pub fn reply(text: impl Into<String>) -> Self {
        Self { reply: Some(text.into()), ..Self::default() }
    }

    /// A draft that only acts.
    pub fn calls(calls: Vec<ToolCall>) -> Self {
        Self { calls, ..Self::default() }
    }

    /// Reads an OpenAI assistant message from bytes that nobody has checked.
    ///
    /// # Errors
    /// [`DraftError`], naming what is wrong; nothing of a bad draft is kept.
    pub fn from_bytes(bytes: &[u8], limits: &Limits) -> Result<Self, DraftError> {
        let text = std::str::from_utf8(bytes).map_err(|e| DraftError::Encoding(e.valid_up_to()))?;
        let message: Message = serde_json::from_str(text)?;
        if message.role != Role::Assistant {
            return Err(DraftError::Role(message.role.as_str().to_owned()));
        }
        Self::from_message(&message, limits)
    }

    /// Reads a recorded assistant message.
    ///
    /// # Errors
    /// [`DraftError`] when a cap is exceeded.
    pub fn from_message(message: &Message, limits: &Limits) -> Result<Self, DraftError> {
        let reply = message.content.clone().filter(|text| !text.is_empty());
        if let Some(text) = reply.as_ref().filter(|t| t.len() > limits.reply_bytes) {
            return Err(DraftError::Reply { found: text.len(), limit: limits.reply_bytes });
        }
        if message.tool_calls.len() > limits.calls {
            return Err(DraftError::Calls { found: message.tool_calls.len(), limit: limits.calls });
        }
        let mut draft = Self { reply, ..Self::default() };
        for requested in &message.tool_calls {
            if requested.arguments.len() > limits.argument_bytes {
                return Err(DraftError::Arguments {
                    tool: requested.tool.clone(),
                    found: requested.arguments.len(),
                    limit: limits.argument_bytes,
                });
            }
            match parse_call(requested, limits) {
                Ok(call) => draft.calls.push(call),
                Err(why) => draft.malformed.push(Malformed {
                    id: requested.id.as_str().into(),
                    tool: requested.tool.clone(),
                    why,
                }),
            }
        }
        Ok(draft)
    }
}

/// The call that a message asks for; the error says why its arguments cannot be read.
fn parse_call(requested: &RequestedCall, limits: &Limits) -> Result<ToolCall, String> {
    let text = requested.arguments.trim();
    // Models write nothing at all for a tool without parameters.
    let json = if text.is_empty() {
        Json::Object(Default::default())
    } else {
        serde_json::from_str(text).map_err(|e| format!("the arguments are not JSON: {e}"))?
    };
    let Json::Object(arguments) = json else {
        return Err("the arguments are not a JSON object".to_owned());
    };
    if depth(&arguments) > limits.depth {
        return Err(format!("the arguments are nested deeper than {} levels", limits.depth));
    }
    Ok(ToolCall {
        id: requested.id.as_str().into(),
        tool: requested.tool.as_str().into(),
        arguments: arguments.into(),
        by: None,
    })
}

fn depth(map: &super::Arguments) -> usize {
    fn of(json: &Json) -> usize {
        match json {
            Json::Array(items) => 1 + items.iter().map(of).max().unwrap_or(0),
            Json::Object(map) => 1 + map.values().map(of).max().unwrap_or(0),
            _ => 0,
        }
    }
    1 + map.values().map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Draft, DraftError> {
        Draft::from_bytes(json.as_bytes(), &Limits::default())
    }

    #[test]
    fn names_the_byte_that_is_not_utf8() {
        let error = Draft::from_bytes(b"{\"role\xff", &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "the draft is not valid UTF-8 at byte 6; send UTF-8 JSON");
    }

    #[test]
    fn refuses_an_argument_of_a_megabyte_by_name() {
        let text = format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"a","function":{{"name":"send_email","arguments":"{{\"content_message\":\"{}\"}}"}}}}]}}"#,
            "x".repeat(1 << 20)
        );
        assert!(read(&text).unwrap_err().to_string().starts_with("the arguments of `send_email` take 1048"));
    }

    #[test]
    fn keeps_a_call_with_unreadable_arguments_as_malformed() {
        let draft =
            read(r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":"{oops"}}]}"#)
                .unwrap();
        assert!(draft.calls.is_empty());
        assert_eq!(draft.malformed.len(), 1);
    }

    #[test]
    fn a_driver_message_is_no_draft() {
        assert!(matches!(read(r#"{"role":"user","content":"hi"}"#), Err(DraftError::Role(_))));
    }
}
