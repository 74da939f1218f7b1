//! How much memory a note holds, roughly and without writing it out.

use serde_json::Value as Json;

use crate::journal::{Drafted, Entry, Note};

/// What a note takes besides its texts.
const BASE: usize = 1_024;

/// Bytes of a note: its texts, and a fixed sum for the rest.
pub(super) fn weight(note: &Note) -> usize {
    let texts = match note {
        Note::Entry(entry) => body(entry),
        // What the ground holds was heard or said by the session, whose own caps bound it.
        Note::Judged { judgement, .. } => draft(&judgement.draft).saturating_mul(2),
        Note::Acted(action) => action.call.arguments.iter().map(|(name, value)| name.len() + json(value)).sum(),
    };
    BASE.saturating_add(texts)
}

/// Bytes of a record, roughly.
pub(super) fn record(entry: &Entry) -> usize {
    BASE / 4 + body(entry)
}

fn body(entry: &Entry) -> usize {
    entry.body.iter().map(|(name, value)| name.len() + json(value)).sum()
}

fn draft(draft: &Drafted) -> usize {
    let calls = draft.calls.iter().flat_map(|c| &c.arguments).map(|(name, value)| name.len() + json(value));
    let faults = draft.malformed.iter().map(|m| m.tool.len() + m.why.len());
    draft.reply.as_ref().map_or(0, String::len) + calls.sum::<usize>() + faults.sum::<usize>()
}

fn json(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len() + 24,
        Json::Array(items) => 24 + items.iter().map(json).sum::<usize>(),
        Json::Object(map) => 24 + map.iter().map(|(name, value)| name.len() + 48 + json(value)).sum::<usize>(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 32,
    }
}
