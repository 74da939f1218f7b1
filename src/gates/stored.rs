//! Stored preferences: which of them could settle a call, and what those that were read say.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{Exhausted, View, said};
use crate::model::{ToolCall, Words};
use crate::tools::{ToolIx, Topic};

/// The read of the preferences that could settle what the driver left open in a call of this tool.
/// None when there are none, when they were read, or when the read was tried in this turn.
pub(super) fn unread(view: &View<'_>, tool: ToolIx) -> Option<ToolCall> {
    unread_topic(view, view.policy.model.tool(tool)?.preference.as_ref()?)
}

/// The read of one topic of the stored preferences, as [`unread`].
pub(super) fn unread_topic(view: &View<'_>, topic: &Topic) -> Option<ToolCall> {
    let read = view.policy.model.roles.preferences?;
    let tool = view.available(read)?;
    if view.history.removed().parameter(tool.name.as_str(), &topic.dotted()) {
        return None;
    }
    let asked = |arguments| arguments_ask(topic, arguments);
    let tried = view
        .history
        .calls_of(read)
        .any(|(_, past)| asked(&past.call.arguments) && (past.succeeded() || past.turn == view.history.turn()));
    if tried {
        return None;
    }
    let own = view.draft.calls.iter().find(|c| c.tool == tool.name && asked(&c.arguments));
    Some(own.cloned().unwrap_or_else(|| ToolCall::new(tool.name.as_str(), topic.arguments())))
}

/// Whether arguments ask for a topic: by name, or by naming none.
fn arguments_ask(topic: &Topic, arguments: &crate::model::Arguments) -> bool {
    arguments.is_empty() || topic.is_asked_in(arguments)
}

/// Every sentence of the stored preferences that were read, at most [`MOST`], the latest read first.
pub(super) fn sentences<'a>(view: &View<'a>) -> Result<Vec<&'a str>, Exhausted> {
    let mut found = Vec::new();
    let Some(read) = view.policy.model.roles.preferences else { return Ok(found) };
    for (_, past) in view.history.calls_of(read).rev() {
        view.spend(1)?;
        if let Some(payload) = past.payload() {
            texts(payload, &mut found);
        }
        if found.len() >= MOST {
            break;
        }
    }
    Ok(found)
}

/// Whether a stored preference that was read names what a tool acts on.
pub(super) fn names(view: &View<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    for sentence in sentences(view)? {
        let words = Arc::new(Words::new(sentence));
        view.spend(words.len())?;
        if said::names(view.policy, &view.policy.lexicon().read(words), tool) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sentences that are looked at.
const MOST: usize = 16;

fn texts<'a>(json: &'a Json, found: &mut Vec<&'a str>) {
    match json {
        Json::String(text) if found.len() < MOST => found.push(text),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(map) => map.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Whether the stored preferences about a tool were read and say anything.
pub(super) fn speaks(view: &View<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    let topic = view.policy.model.tool(tool).and_then(|e| e.preference.as_ref());
    let (Some(topic), Some(read)) = (topic, view.policy.model.roles.preferences) else { return Ok(false) };
    for (_, past) in view.history.calls_of(read).rev() {
        view.spend(1)?;
        let mut said = Vec::new();
        if let Some(payload) = past.payload().filter(|_| arguments_ask(topic, &past.call.arguments)) {
            texts(payload, &mut said);
        }
        if !said.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
