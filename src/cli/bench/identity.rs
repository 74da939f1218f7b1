//! Identifiers that a student gets wrong.

use serde_json::Value as Json;

use super::fault::{Fault, Planned, draw};
use super::place::{Here, with};
use crate::model::ToolCall;

/// A faulty run for each identifier of a write: an invented one in its place, or that of something else.
pub(super) fn swaps(here: Here<'_>, fault: Fault) -> Vec<Planned> {
    let Some(call) = here.right.calls.first() else { return Vec::new() };
    if here.policy.inventory.get(call.tool.as_str()).is_none_or(|tool| !tool.is_write()) {
        return Vec::new();
    }
    let plan = |(name, value): (&String, &Json)| {
        let word = word(value).filter(|w| here.course.history.identifiers().looks_like_one(w))?;
        let other = match fault {
            Fault::InventedId => format!("{word}9"),
            _ => another(here, call, name, word)?,
        };
        let other = if value.is_array() { Json::from(vec![other]) } else { other.into() };
        here.instead(with(call, name, other))
    };
    call.arguments.iter().filter_map(plan).collect()
}

/// The identifier that an argument holds: itself, or the only one of its list.
fn word(value: &Json) -> Option<&str> {
    match value.as_array().map(Vec::as_slice) {
        Some([only]) => only.as_str(),
        Some(_) => None,
        None => value.as_str(),
    }
}

/// An identifier of something else of the same kind, from the recording. Another leg between the same
/// two stops is left out: that is another choice, not another thing.
fn another(here: Here<'_>, call: &ToolCall, name: &str, word: &str) -> Option<String> {
    let head = word.split_once('_')?.0;
    let alike = |other: &str| other != word && other.split_once('_').is_some_and(|(h, _)| h == head);
    let seen = here.course.history.identifiers().iter().map(|(w, _)| w);
    let mut others: Vec<&str> =
        seen.filter(|w| alike(w) && !(ends(here, w).is_some() && ends(here, w) == ends(here, word))).collect();
    others.sort_unstable();
    let key = format!("{}/{}/{name}/{word}", here.course.id, call.tool);
    others.get(draw(&key, others.len())?).map(|w| (*w).to_owned())
}

/// The stops that a leg joins, as some result describes it.
fn ends<'h>(here: Here<'h>, leg: &str) -> Option<(&'h str, &'h str)> {
    let tour = here.policy.model.tour.as_ref()?;
    let found = here.course.history.calls().iter().find_map(|past| tour.find(past.payload()?, leg));
    found.map(|(leg, _)| (leg.from, leg.to))
}
