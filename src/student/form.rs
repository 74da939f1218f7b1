//! The one line of text that a local model writes a draft in.
//!
//! ```text
//! {"calls":[{"tool":"open_close_window","arguments":{"window":"DRIVER","percentage":50}}]}
//! {"say":"Sorry, I cannot play music."}
//! ```
//!
//! The grammar writes exactly this, with required arguments first and in a fixed order, so that
//! examples in the prompt and drafts look alike to the last comma.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::grammar::order;
use crate::model::{Draft, ToolCall, canonical};
use crate::tools::Inventory;

/// Opens the list of calls.
pub const OPEN: &str = "{\"calls\":[";
/// Stands before a tool's name.
pub const CALL_OPEN: &str = "{\"tool\":\"";
/// Stands between a tool's name and its arguments.
pub const CALL_MID: &str = "\",\"arguments\":{";
/// Closes a call.
pub const CALL_CLOSE: &str = "}}";
/// Stands between two calls.
pub const BETWEEN: &str = ",";
/// Closes the list of calls.
pub const CLOSE: &str = "]}";
/// Opens a reply.
pub const SAY_OPEN: &str = "{\"say\":";
/// Closes a reply.
pub const SAY_CLOSE: &str = "}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    calls: Vec<Call>,
    say: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Json>,
}

/// A draft as a line, without its line break.
pub fn write(draft: &Draft, inventory: &Inventory) -> String {
    if draft.calls.is_empty() {
        let text = Json::from(draft.reply.clone().unwrap_or_default());
        return format!("{SAY_OPEN}{text}{SAY_CLOSE}");
    }
    let calls: Vec<String> = draft
        .calls
        .iter()
        .map(|call| format!("{CALL_OPEN}{}{CALL_MID}{}{CALL_CLOSE}", call.tool, members(call, inventory)))
        .collect();
    format!("{OPEN}{}{CLOSE}", calls.join(BETWEEN))
}

/// A line as a draft.
///
/// # Errors
/// What the JSON reader says; the grammar leaves no such line.
pub fn read(line: &str) -> Result<Draft, serde_json::Error> {
    let line: Line = serde_json::from_str(line)?;
    let calls = line.calls.into_iter().map(|c| ToolCall::new(&c.tool, c.arguments)).collect();
    Ok(Draft { reply: line.say, calls, malformed: Vec::new() })
}

/// Arguments in the order of the grammar.
fn members(call: &ToolCall, inventory: &Inventory) -> String {
    let schema = inventory.get(call.tool.as_str()).and_then(|t| serde_json::from_str::<Json>(&t.schema).ok());
    let schema = schema.unwrap_or_default();
    let order = order(&schema);
    let place = |name: &str| order.iter().position(|o| *o == name).unwrap_or(order.len());
    let mut names: Vec<&String> = call.arguments.keys().collect();
    names.sort_by_key(|name| (place(name), name.as_str()));
    let member =
        |name: &String| Some(format!("{}:{}", Json::from(name.as_str()), canonical(call.arguments.get(name)?)));
    names.into_iter().filter_map(member).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_reads_back_as_it_was_written() {
        for line in [
            r#"{"calls":[{"tool":"a","arguments":{"x":1,"y":"Z"}},{"tool":"b","arguments":{}}]}"#,
            r#"{"say":"No \"way\"."}"#,
        ] {
            assert_eq!(write(&read(line).unwrap(), &Inventory::default()), line);
        }
        assert!(read("{\"calls\":[").is_err());
    }
}
