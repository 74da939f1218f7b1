//! Where the numbers of a draft's writes come from (gates.md X8): judged once, reported by several gates.

use std::sync::Arc;

use serde_json::Value as Json;

use super::lately::MESSAGES;
use super::said::{Said, Scope, Step, Wanted, names, said, same, steps};
use super::{Exhausted, View, stored};
use crate::model::{ToolCall, Value, Words};
use crate::policy::{ArgumentTemplate, Reading, Trigger};
use crate::state::{CellIx, SetFrom};
use crate::tools::{Kind, Param, ParamType, ToolIx};

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The driver, an agreed question, a preference, a rule, a reading or a computation gives it.
    Given,
    /// The driver gave it, for another tool.
    Elsewhere(ToolIx),
    /// It changes a value that was never read, or that stayed unknown.
    Unread(CellIx),
    /// Nothing gives it.
    Nowhere,
}

/// One number of a write and its source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sourced {
    /// The draft's call.
    pub call: usize,
    /// Its tool.
    pub tool: ToolIx,
    /// The argument.
    pub argument: String,
    /// The value, in natural units.
    pub value: f64,
    /// Where it comes from.
    pub source: Source,
}

/// The source of every number in a write that sets a field of the car.
pub(super) fn judge(view: &View<'_>) -> Result<Vec<Sourced>, Exhausted> {
    let mut found = Vec::new();
    if !view.heard()?.iter().any(|said| said.language().is_some()) {
        return Ok(found); // nobody was heard, or in no language that there is a table for
    }
    for (call, drafted) in view.draft.calls.iter().enumerate().filter(|(_, c)| c.by.is_none()) {
        let Some(tool) = view.policy.inventory.position(drafted.tool.as_str()) else { continue };
        let (Some(effect), Some(known)) = (view.policy.model.tool(tool), view.policy.inventory.at(tool)) else {
            continue;
        };
        for (argument, value) in &drafted.arguments {
            view.spend(1)?;
            let sets =
                effect.sets.iter().any(|s| matches!(&s.from, SetFrom::Argument { name, .. } if name == argument));
            let param = known.param(argument).filter(|p| sets && known.is_write() && p.kind == ParamType::Number);
            let (Some(param), Some(number)) = (param, value.as_f64()) else { continue };
            let wanted = Wanted { tool, value: number, minimum: param.minimum, maximum: param.maximum };
            let source = source(view, call, drafted, param, &wanted)?;
            found.push(Sourced { call, tool, argument: argument.clone(), value: number, source });
        }
    }
    Ok(found)
}

fn source(view: &View<'_>, at: usize, call: &ToolCall, param: &Param, wanted: &Wanted) -> Result<Source, Exhausted> {
    if is_rules(view, param, wanted)? || is_computed(view, wanted)? {
        return Ok(Source::Given);
    }
    let now = standing(view, at, call);
    if !now.is_empty() && now.iter().all(|(_, v)| v.is_some_and(|v| same(v, wanted.value))) {
        return Ok(Source::Given); // it changes nothing
    }
    let mut elsewhere = None;
    let mut step = None;
    for reading in view.heard()?.iter() {
        match said(view.policy, reading, wanted, Scope::Segment) {
            Said::Here => return Ok(Source::Given),
            Said::Elsewhere(other) => elsewhere = elsewhere.or(Some(other)),
            Said::Nowhere => {}
        }
        for wish in steps(view.policy, reading, wanted.tool) {
            match stepped(view, &wish, &now, wanted) {
                Source::Given => return Ok(Source::Given),
                other => step = step.or(Some(other)),
            }
        }
    }
    for asked in view.spoken()?.iter().filter(|r| r.words().asks()) {
        if said(view.policy, asked, wanted, Scope::Segment) == Said::Here {
            return Ok(Source::Given);
        }
    }
    for sentence in stored::sentences(view)? {
        if said(view.policy, &read(view, &Arc::new(Words::new(sentence)))?, wanted, Scope::Sentence) == Said::Here {
            return Ok(Source::Given);
        }
    }
    Ok(match (step, elsewhere) {
        (Some(unread @ Source::Unread(_)), _) => unread,
        (_, Some(other)) => Source::Elsewhere(other),
        _ => Source::Nowhere,
    })
}

/// Whether a change by so much, or to the same as something else, can end in the wanted number.
fn stepped(view: &View<'_>, wish: &Step, now: &[(CellIx, Option<f64>)], wanted: &Wanted) -> Source {
    if (wish.like || wish.other) && is_copied(view, now, wanted) {
        return Source::Given;
    }
    if wish.other {
        return Source::Nowhere;
    }
    let by = &wish.by;
    let clamp = |v: f64| v.max(wanted.minimum.unwrap_or(v)).min(wanted.maximum.unwrap_or(v));
    let reaches =
        |from: f64| by.iter().any(|n| same(clamp(from + n), wanted.value) || same(clamp(from - n), wanted.value));
    // Nobody who says `a bit` means more than half of what there is.
    let half = wanted.maximum.zip(wanted.minimum).map(|(most, least)| (most - least) / 2.0);
    let open = |from: f64| by.is_empty() && !(wish.small && half.is_some_and(|h| (wanted.value - from).abs() > h));
    // What stands there already says nothing of how far the others may go.
    let moved = |from: &f64| !same(*from, wanted.value);
    if now.iter().filter_map(|(_, v)| *v).filter(moved).any(|from| open(from) || reaches(from)) {
        return Source::Given;
    }
    match now.iter().find(|(_, v)| v.is_none()) {
        Some((cell, _)) => Source::Unread(*cell),
        None => Source::Nowhere,
    }
}

/// Whether a field of the car that is measured as those that the call sets is known to have that value.
fn is_copied(view: &View<'_>, now: &[(CellIx, Option<f64>)], wanted: &Wanted) -> bool {
    let unit = |cell: CellIx| Some(view.policy.model.attribute(view.policy.model.owner(cell)?.0)?.unit.as_str());
    let world = view.history.world();
    world
        .cells()
        .filter(|(cell, _)| now.iter().any(|(set, _)| unit(*set) == unit(*cell)))
        .any(|(cell, _)| natural(view, world, cell).is_some_and(|v| same(v, wanted.value)))
}

/// The fields that a call sets with their values before it.
fn standing(view: &View<'_>, at: usize, call: &ToolCall) -> Vec<(CellIx, Option<f64>)> {
    let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { return Vec::new() };
    let world = view.owed.before.get(at).unwrap_or_else(|| view.history.world());
    let written = view.policy.model.writes(tool, &call.arguments, view.history.side());
    written
        .iter()
        .filter(|w| matches!(w.value, Value::Int(_)))
        .map(|w| (w.cell, natural(view, world, w.cell)))
        .collect()
}

fn natural(view: &View<'_>, world: &crate::state::World, cell: CellIx) -> Option<f64> {
    let Value::Int(steps) = &world.get(cell).value else { return None };
    let resolution = view.policy.model.attribute(view.policy.model.owner(cell)?.0)?.resolution;
    Some(*steps as f64 / f64::from(resolution.steps()))
}

/// Whether a rule demands this number along with something that was done, is drafted or was spoken of.
fn is_rules(view: &View<'_>, param: &Param, wanted: &Wanted) -> Result<bool, Exhausted> {
    let gives = |template: &crate::policy::CallTemplate| {
        template.tool == wanted.tool
            && template.arguments.iter().any(|(name, value)| match value {
                ArgumentTemplate::Constant(c) => {
                    *name == param.name && c.to_json().as_f64().is_some_and(|n| same(n, wanted.value))
                }
                _ => false,
            })
    };
    for rule in view.policy.rules().iter().filter(|r| r.remedy.iter().any(gives)) {
        view.spend(1)?;
        let Trigger::Calls(triggers) = &rule.trigger else { continue };
        for trigger in triggers {
            if is_afoot(view, *trigger)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a tool is drafted, was called, or was spoken of by either side.
fn is_afoot(view: &View<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    let name = view.policy.inventory.at(tool).map(|t| &t.name);
    if view.draft.calls.iter().any(|c| Some(&c.tool) == name) || view.executed(tool) {
        return Ok(true);
    }
    Ok(view.heard()?.iter().chain(view.spoken()?.iter()).any(|reading| names(view.policy, reading, tool)))
}

/// Whether a computation returned this number.
fn is_computed(view: &View<'_>, wanted: &Wanted) -> Result<bool, Exhausted> {
    for past in view.history.calls().iter().rev().take(MESSAGES) {
        view.spend(1)?;
        let computes = past.tool.and_then(|t| view.policy.inventory.at(t)).is_some_and(|t| t.kind == Kind::Compute);
        if computes && past.payload().is_some_and(|json| holds(json, wanted.value)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds(json: &Json, value: f64) -> bool {
    match json {
        Json::Number(n) => n.as_f64().is_some_and(|n| same(n, value)),
        Json::String(text) => text.trim().parse().is_ok_and(|n: f64| same(n, value)),
        Json::Array(items) => items.iter().any(|item| holds(item, value)),
        Json::Object(map) => map.values().any(|member| holds(member, value)),
        _ => false,
    }
}

fn read<'a>(view: &View<'a>, words: &Arc<Words>) -> Result<Reading<'a>, Exhausted> {
    view.spend(words.len())?;
    Ok(view.policy.lexicon().read(Arc::clone(words)))
}
