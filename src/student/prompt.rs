//! The prompt of a local model: a fixed text that is computed once, and a tail for this moment.
//!
//! The fixed text holds the examples; the tail holds the last exchanges and what the driver just
//! said. Nothing that changes stands before something that does not, so that the state of the fixed
//! text is computed once a process.

use super::{Example, Objection, Prompt, form};
use crate::model::{Draft, Limits, Message, Role};
use crate::tools::Inventory;

/// How a request begins.
const LABEL: &str = "Driver: ";
/// What the model is told before the examples.
const INSTRUCTION: &str = "The assistant of a car turns each request of the driver into one line of JSON.\n\n";
/// Exchanges before this one that the model sees: enough for "and mine too", too few to drown in.
const EXCHANGES: usize = 0;

/// The fixed text: the instruction and the examples.
pub(super) fn fixed(inventory: &Inventory, examples: &[Example]) -> String {
    let mut text = INSTRUCTION.to_owned();
    for example in examples {
        shot(&mut text, &example.driver, &example.draft, inventory);
    }
    text
}

/// The tail: the last exchanges, an objection where this is a revision, and the request.
pub(super) fn tail(prompt: &Prompt<'_>) -> String {
    let exchanges = exchanges(prompt.conversation);
    let mut text = String::new();
    let Some(((request, _), before)) = exchanges.split_last() else { return text };
    for (driver, draft) in before.iter().rev().take(EXCHANGES).rev().filter(|(_, d)| !d.calls.is_empty()) {
        shot(&mut text, driver, draft, prompt.inventory);
    }
    if let Some(Objection { draft, findings }) = prompt.objection {
        shot(&mut text, request, draft, prompt.inventory);
        let why: Vec<&str> = findings.iter().take(3).map(|f| f.because.as_str()).collect();
        text.push_str(&format!("That is wrong: {}. Right is:\n\n", why.join("; ").replace('\n', " ")));
    }
    text.push_str(&format!("{LABEL}{}\n", plain(request)));
    text
}

/// What the request is about, latest words first: the driver's sentences with their weights.
pub(super) fn request<'a>(prompt: &Prompt<'a>) -> Vec<(&'a str, f32)> {
    let said = prompt.conversation.iter().filter(|m| m.role == Role::User).filter_map(|m| m.content.as_deref());
    let mut said: Vec<&str> = said.collect();
    said.reverse();
    said.into_iter().take(2).zip([1.0, 0.3]).collect()
}

fn shot(text: &mut String, driver: &str, draft: &Draft, inventory: &Inventory) {
    text.push_str(&format!("{LABEL}{}\n{}\n\n", plain(driver), form::write(draft, inventory)));
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
