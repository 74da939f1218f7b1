//! Whose value a call uses: the record that a result gives it in, and the records beside it.

use serde_json::Value as Json;

use super::{Exhausted, View};
use crate::model::{ToolCall, Value, Words};
use crate::policy::{PhraseRole, Reading};
use crate::state::{Identifiers, NowField};
use crate::tools::{Kind, ParamType, ToolIx};

/// Deepest member of a result that is looked at.
const DEPTH: usize = 8;
/// Words between a verb and the name that it is said of: `delete the stop in`.
const REACH: usize = 3;

/// A value of a call, and the name by which the driver asked for another one.
#[derive(Debug)]
pub(super) struct Mistaken {
    /// The argument.
    pub(super) argument: String,
    /// The value.
    pub(super) value: String,
    /// Names of what it belongs to.
    pub(super) is: Vec<String>,
    /// The name that the driver said.
    pub(super) wanted: String,
}

/// A value out of one record where the driver's latest words name a record beside it, and not this one.
pub(super) fn mistaken(view: &View<'_>, call: &ToolCall) -> Result<Option<Mistaken>, Exhausted> {
    let Some(driver) = view.driver() else { return Ok(None) };
    let Some(ix) = view.policy.inventory.position(call.tool.as_str()) else { return Ok(None) };
    let Some(tool) = view.policy.inventory.at(ix).filter(|t| t.kind != Kind::Planning) else { return Ok(None) };
    let spaced = driver.words().spaced();
    for param in tool.params.iter().filter(|p| is_text(&p.kind)) {
        let Some(argument) = call.arguments.get(&param.name) else { continue };
        let values = argument.as_array().map_or(std::slice::from_ref(argument), Vec::as_slice);
        for value in values.iter().filter_map(Json::as_str) {
            view.spend(driver.words().len())?;
            let ids = view.history.identifiers();
            let seen = ids.get(value).and_then(|seen| view.history.call(seen.call?)?.payload());
            let Some((own, others)) = seen.and_then(|payload| record(payload, ids, value, DEPTH)) else { continue };
            let is = names(ids, own);
            for other in others {
                view.spend(8)?;
                let theirs = names(ids, other.1);
                // A name that both carry tells them apart no more than none.
                let mut own = is.iter().filter(|name| !theirs.contains(name)).peekable();
                if own.peek().is_none() || own.any(|name| says(spaced, name)) {
                    continue;
                }
                let Some(wanted) = named(view, driver, spaced, ix, &theirs) else { continue };
                if !is.contains(&wanted) && !used(view, other) {
                    return Ok(Some(Mistaken { argument: param.name.clone(), value: value.to_owned(), is, wanted }));
                }
            }
        }
    }
    Ok(None)
}

/// An identifier of a write where the driver's latest words name another thing of its kind right behind the tool's verb
/// (`navigate to Marlau`), which nothing uses, and nobody named this one: another town, wherever either was shown.
pub(super) fn astray(view: &View<'_>, call: &ToolCall) -> Result<Option<Mistaken>, Exhausted> {
    let Some(driver) = view.driver() else { return Ok(None) };
    let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { return Ok(None) };
    let is_write = view.policy.inventory.at(tool).is_some_and(|t| t.is_write());
    if !is_write || call.by.is_some() || view.history.grants(&call.key()) {
        return Ok(None);
    }
    // The words that may begin a name.
    let first: Vec<&str> = behind(driver, tool).map(|at| driver.words().text(at)).collect();
    let wanted = if first.is_empty() { Vec::new() } else { called(view, driver, &first)? };
    if wanted.is_empty() {
        return Ok(None);
    }
    for (argument, value) in &call.arguments {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for id in values.iter().filter_map(Json::as_str).filter(|id| !is_here(view, id)) {
            view.spend(8)?;
            let Some(title) = view.history.title(id) else { continue };
            let other = |(wanted, name): &&(&str, &str)| kind(id) == kind(wanted) && !title.contains(name);
            let Some((_, name)) = wanted.iter().find(other) else { continue };
            let words = Words::new(title).into_spaced();
            if !view.heard()?.iter().chain(view.spoken()?.iter()).any(|said| said.words().spaced().contains(&words)) {
                let (argument, value, wanted) = (argument.clone(), id.to_owned(), (*name).to_owned());
                return Ok(Some(Mistaken { argument, value, is: vec![title.to_owned()], wanted }));
            }
        }
    }
    Ok(None)
}

/// The things that the driver's words name, beginning with one of these words, and that no write uses.
fn called<'v>(view: &View<'v>, driver: &Reading<'_>, first: &[&str]) -> Result<Vec<(&'v str, &'v str)>, Exhausted> {
    let spaced = driver.words().spaced();
    let mut found = Vec::new();
    for (id, title) in view.history.titled() {
        view.spend(2)?;
        let begin = title.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_first = |word: &&str| word.chars().eq(begin.chars().flat_map(char::to_lowercase));
        let is_said = !begin.is_empty() && first.iter().any(is_first) && says(spaced, title);
        if is_said && !is_here(view, id) && !is_written(view, id) {
            found.push((id, title));
        }
    }
    Ok(found)
}

/// Whether an identifier is that of the place where the car is.
fn is_here(view: &View<'_>, id: &str) -> bool {
    *view.history.now().get(NowField::Location) == Value::word(id)
}

/// What an identifier begins with: that of its kind.
fn kind(id: &str) -> &str {
    id.split('_').next().unwrap_or_default()
}

/// Whether the draft, or a write before it, uses an identifier.
fn is_written(view: &View<'_>, id: &str) -> bool {
    let writes = |call: &&ToolCall| view.policy.inventory.get(call.tool.as_str()).is_some_and(|t| t.is_write());
    let earlier = view.history.calls().iter().rev().take(super::lately::MESSAGES).map(|past| &past.call);
    let mut arguments = earlier.chain(&view.draft.calls).filter(writes).flat_map(|call| call.arguments.values());
    let is_it = |value: &Json| value.as_str() == Some(id);
    arguments.any(|value| is_it(value) || value.as_array().is_some_and(|items| items.iter().any(is_it)))
}

fn is_text(kind: &ParamType) -> bool {
    match kind {
        ParamType::Text => true,
        ParamType::List(item) => **item == ParamType::Text,
        _ => false,
    }
}

/// A record with the key that it stands under, empty in a list.
type Record<'a> = (&'a str, &'a Json);

/// The innermost record of a list, or of a map by identifiers, that holds a value; with its neighbours.
fn record<'a>(json: &'a Json, ids: &Identifiers, value: &str, depth: usize) -> Option<(&'a Json, Vec<Record<'a>>)> {
    let depth = depth.checked_sub(1)?;
    match json {
        Json::Array(items) => {
            let inner = items.iter().find_map(|item| record(item, ids, value, depth));
            inner.or_else(|| {
                let own = items.iter().find(|item| item.is_object() && holds(item, value, depth))?;
                Some((own, items.iter().filter(|i| !std::ptr::eq(*i, own)).map(|i| ("", i)).collect()))
            })
        }
        Json::Object(map) => {
            let inner = map.values().find_map(|v| record(v, ids, value, depth));
            inner.or_else(|| {
                let mut entries = map.iter().filter(|(key, _)| ids.looks_like_one(key));
                let (key, own) = entries.find(|(key, v)| *key == value || holds(v, value, depth))?;
                let others = map.iter().filter(|(k, _)| *k != key && ids.looks_like_one(k));
                Some((own, others.map(|(k, v)| (k.as_str(), v)).collect()))
            })
        }
        _ => None,
    }
}

fn holds(json: &Json, value: &str, depth: usize) -> bool {
    match json {
        Json::String(text) => text == value,
        Json::Object(map) if depth > 0 => map.values().any(|v| holds(v, value, depth - 1)),
        _ => false,
    }
}

/// What a record is called: its texts that are neither identifiers nor numbers.
fn names(ids: &Identifiers, record: &Json) -> Vec<String> {
    match record {
        Json::String(text) => {
            let letters = text.chars().filter(|c| c.is_alphabetic()).count();
            let is_name = letters >= 3
                && text.len() <= 64
                && !text.contains(|c: char| c.is_ascii_digit() || c == '@')
                && !ids.looks_like_one(text);
            if is_name { vec![text.to_lowercase()] } else { Vec::new() }
        }
        Json::Object(map) => map
            .values()
            .flat_map(|value| match value {
                Json::Object(inner) => inner.values().filter(|v| v.is_string()).flat_map(|v| names(ids, v)).collect(),
                Json::String(_) => names(ids, value),
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn says(spaced: &str, name: &str) -> bool {
    let name = Words::new(name).into_spaced();
    !name.trim().is_empty() && spaced.contains(&name)
}

/// The name by which the driver asks for a record: one of several words, two that belong together, or one
/// right behind the tool's verb (`remove Essen`; not `remove the stop after Essen`).
fn named(view: &View<'_>, driver: &Reading<'_>, spaced: &str, tool: ToolIx, names: &[String]) -> Option<String> {
    let said: Vec<&String> = names.iter().filter(|name| says(spaced, name)).collect();
    if let Some(full) = said.iter().find(|name| name.contains(' ')) {
        return Some((*full).clone());
    }
    if let [first, last, ..] = said.as_slice()
        && says(spaced, &format!("{first} {last}"))
    {
        return Some(format!("{first} {last}"));
    }
    let is_write = view.policy.inventory.at(tool).is_some_and(|t| t.is_write());
    let place = |name: &str| driver.words().iter().position(|(_, word)| word == name);
    let is_behind = |name: &str| place(name).is_some_and(|at| behind(driver, tool).any(|behind| behind == at));
    said.into_iter().find(|name| is_write && is_behind(name)).cloned()
}

/// The places right behind the tool's verb, where what it is said of stands.
fn behind(driver: &Reading<'_>, tool: ToolIx) -> impl Iterator<Item = usize> {
    let verbs = driver.hits().iter().filter(move |h| h.verbs().any(|t| t == tool));
    verbs.flat_map(move |verb| {
        let after = driver.role(PhraseRole::Contingent).map(|c| c.start).filter(|start| *start >= verb.end).min();
        verb.end..=(verb.end + REACH).min(after.unwrap_or(usize::MAX))
    })
}

/// Whether the draft or an earlier call uses a value of a record, its names aside: what was asked of it is
/// seen to.
fn used(view: &View<'_>, (key, record): Record<'_>) -> bool {
    let names = names(view.history.identifiers(), record);
    let calls = view.history.calls().iter().rev().take(super::lately::MESSAGES).map(|past| &past.call);
    let mut arguments = calls.chain(&view.draft.calls).flat_map(|c| c.arguments.values());
    let is_its = |value: &Json| {
        value.as_str().is_some_and(|v| v == key || (holds(record, v, DEPTH) && !names.contains(&v.to_lowercase())))
    };
    arguments.any(|value| is_its(value) || value.as_array().is_some_and(|items| items.iter().any(is_its)))
}
