//! Conversations, with whatever tools are said to have answered.

use obligato::model::{Conversation, Draft, Limits, ToolCall};
use obligato::state::History;
use serde_json::{Value as Json, json};

use super::scene::{cabin, judge};

fn drafts() -> Vec<Draft> {
    let call = |tool: &str, arguments: Json| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        ToolCall::new(tool, arguments.into_iter().collect())
    };
    vec![
        Draft::calls(vec![call("set_air_conditioning", json!({"on": true}))]),
        Draft::calls(vec![call("open_close_sunroof", json!({"percentage": 50}))]),
        Draft::calls(vec![call("get_weather", json!({})), call("open_close_trunk_door", json!({"action": "OPEN"}))]),
        Draft::reply("The window is at 25 percent, and I've sent the mail. Shall I close it?"),
    ]
}

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(conversation) = Conversation::from_lines(text) else { return };
    let (policy, mut history) = (cabin(), History::new(&cabin().model));
    // What came before the line that makes no sense was read.
    let _ = history.read(&policy.model, &policy.inventory, &conversation, &Limits::default());
    for draft in drafts() {
        let _ = judge(policy, &history, &draft);
    }
}
