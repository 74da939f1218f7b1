//! The critic's question to a small model: one yes or no a candidate, read off the likelihoods.
//!
//! A small model says yes to much. What counts is therefore not the sign but how much more it leans
//! to yes than for an objection that says nothing, asked in the same words: that difference is its
//! opinion of this objection, and it must be large before it counts.

use crate::critic::{Case, Ruling};
use crate::model::Role;

/// How much more than for the empty objection, in nats, the model must lean to yes: odds of twenty to one.
const CLEARLY: f32 = 3.0;
const INSTRUCTION: &str = "A driver talks with the assistant of a car. A checker objects to the assistant's answer. \
    Is the objection right? Answer yes or no.\n\n\
    Driver: close the window\nAnswer: The window is closed.\nObjection: no window was closed\nRight: yes\n\n\
    Driver: what time is it\nAnswer: It is nine.\nObjection: the driver asked for music\nRight: no\n\n";

/// The fixed text and one tail a candidate; the last tail is the empty objection.
pub(super) fn prompts(case: &Case<'_>) -> (String, Vec<String>) {
    let said = case.conversation.iter().rev().find(|m| m.role == Role::User).and_then(|m| m.content.as_deref());
    let answer = case
        .draft
        .reply
        .clone()
        .unwrap_or_else(|| case.draft.calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tail = |objection: &str| {
        format!(
            "Driver: {}\nAnswer: {}\nObjection: {}\nRight:",
            line(said.unwrap_or_default()),
            line(&answer),
            line(objection)
        )
    };
    let mut tails: Vec<String> = case.candidates.iter().map(|c| tail(&c.because)).collect();
    tails.push(tail("nothing"));
    (INSTRUCTION.to_owned(), tails)
}

/// One ruling a candidate from the leanings, the last of which is the empty objection's.
pub(super) fn rulings(leaning: &[f32]) -> Vec<Ruling> {
    let Some((base, leaning)) = leaning.split_last() else { return Vec::new() };
    leaning.iter().map(|l| if l - base > CLEARLY { Ruling::Confirm } else { Ruling::Discard }).collect()
}
