//! The prompt of a local model: a fixed part that is computed once, and a tail for this moment.
//!
//! The fixed part holds the examples; the tail holds the last exchanges and what the driver just said. Nothing
//! that changes stands before something that does not, so that the state of the fixed part can be kept.

use super::{Example, Objection, Prompt, form};
use crate::model::{Draft, Limits, Message, Role};
use crate::tools::Inventory;

/// How a request begins where the model has no template of its own.
const LABEL: &str = "Driver: ";
/// What the model is told before the examples.
const INSTRUCTION: &str = "The assistant of a car turns each request of the driver into one line of JSON.";
/// Exchanges before this one that the model sees: enough for "and mine too", too few to drown in.
const EXCHANGES: usize = 1;

/// One request and the line that answers it; the last one of a tail has none yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shot {
    /// What is said.
    pub(crate) request: String,
    /// The line.
    pub(crate) line: Option<String>,
}

/// The fixed part: the examples.
pub(super) fn fixed(inventory: &Inventory, examples: &[Example]) -> Vec<Shot> {
    examples.iter().map(|e| shot(&e.driver, &e.draft, inventory)).collect()
}

/// The tail: the last exchanges, an objection where this is a revision, and the request. What stands first may be
/// dropped first.
pub(super) fn tail(prompt: &Prompt<'_>) -> Vec<Shot> {
    let exchanges = exchanges(prompt.conversation);
    let Some(((request, _), before)) = exchanges.split_last() else { return Vec::new() };
    let spoken = before.iter().rev().filter(|(_, d)| !d.calls.is_empty()).take(EXCHANGES);
    let mut shots: Vec<Shot> = spoken.map(|(driver, draft)| shot(driver, draft, prompt.inventory)).collect();
    shots.reverse();
    let mut request = plain(request);
    if let Some(Objection { draft, findings }) = prompt.objection {
        shots.push(shot(&request, draft, prompt.inventory));
        let why: Vec<&str> = findings.iter().take(3).map(|f| f.because.as_str()).collect();
        request = format!("That is wrong: {}. Again: {request}", plain(&why.join("; ")));
    }
    shots.push(Shot { request, line: None });
    shots
}

/// The instruction and shots as text for a model without a template of its own.
pub(crate) fn text(shots: &[Shot], instruction: bool) -> String {
    let mut text = if instruction { format!("{INSTRUCTION}\n\n") } else { String::new() };
    for shot in shots {
        text.push_str(&format!("{LABEL}{}\n", shot.request));
        if let Some(line) = &shot.line {
            text.push_str(&format!("{line}\n\n"));
        }
    }
    text
}

/// The same as messages: role and content.
pub(crate) fn messages(shots: &[Shot]) -> Vec<(&'static str, String)> {
    let mut messages = vec![("system", INSTRUCTION.to_owned())];
    for shot in shots {
        messages.push(("user", shot.request.clone()));
        messages.extend(shot.line.iter().map(|line| ("assistant", line.clone())));
    }
    messages
}

/// What the request is about, latest words first: the driver's sentences with their weights.
pub(super) fn request<'a>(prompt: &Prompt<'a>) -> Vec<(&'a str, f32)> {
    let said = prompt.conversation.iter().filter(|m| m.role == Role::User).filter_map(|m| m.content.as_deref());
    let mut said: Vec<&str> = said.collect();
    said.reverse();
    said.into_iter().take(2).zip([1.0, 0.3]).collect()
}

fn shot(driver: &str, draft: &Draft, inventory: &Inventory) -> Shot {
    Shot { request: plain(driver), line: Some(form::write(draft, inventory)) }
}

/// One line: a line break would end the request.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the driver said and what was called for it, in order. Calls of the harness stand out by
/// their identifiers; a student that is shown them would learn to draft them itself.
fn exchanges(conversation: &[Message]) -> Vec<(String, Draft)> {
    let mut all: Vec<(String, Draft)> = Vec::new();
    for message in conversation {
        match (message.role, all.last_mut()) {
            (Role::User, _) => all.push((message.content.clone().unwrap_or_default(), Draft::default())),
            (Role::Assistant, Some((_, draft))) => {
                let Ok(made) = Draft::from_message(message, &Limits::default()) else { continue };
                draft.calls.extend(made.calls.into_iter().filter(|c| c.id.as_str().starts_with(super::CALL_PREFIX)));
            }
            _ => {}
        }
    }
    all
}
