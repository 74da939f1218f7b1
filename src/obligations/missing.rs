//! What an undecided condition lacks: a read that would answer it, or nothing that can.

use super::frame::RuleFrame;
use super::render;
use crate::model::ToolCall;
use crate::policy::{Derived, Frame, Rule, Slot, Val, When};
use crate::state::{CellIx, Origin};
use crate::tools::ToolIx;

/// What an undecided rule lacks.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Reads that would answer it, each with the field it answers.
    pub(super) reads: Vec<(ToolCall, String)>,
    /// Fields that no read answers any more, as results spell them.
    pub(super) unreadable: Vec<(Option<CellIx>, String)>,
}

/// Looks at every slot of the condition that is unknown.
pub(super) fn missing(frame: &RuleFrame<'_>, rule: &Rule) -> Missing {
    let mut missing = Missing::default();
    for slot in rule.when.slots() {
        if !matches!(frame.load(slot), Val::Unknown) {
            continue;
        }
        let Some(declared) = frame.policy.tables.slot(slot) else { continue };
        match declared {
            Slot::Observed { observation, .. } => observation_missing(frame, rule, *observation, &mut missing),
            Slot::Derived { derived, when } => {
                if let Some(feature) = frame.policy.derived.get(usize::from(*derived)) {
                    derived_missing(frame, feature, *when, &mut missing);
                }
            }
            _ => match frame.cell(declared) {
                Some((cell, when)) => cell_missing(frame, cell, when, &mut missing),
                None => missing.unreadable.push((None, slot_name(declared))),
            },
        }
    }
    missing
}

fn slot_name(slot: &Slot) -> String {
    match slot {
        Slot::Now(field) => format!("the current {}", field.name()),
        other => format!("{other:?}"),
    }
}

fn derived_missing(frame: &RuleFrame<'_>, feature: &Derived, when: When, missing: &mut Missing) {
    let model = &frame.policy.model;
    let Some(attribute) = model.attribute(feature.attribute) else { return };
    for item in 0..model.items(attribute) {
        let lacks = |c: &CellIx| !frame.world(when).get(*c).value.is_known() || frame.is_old(*c, when);
        let cell = model.cell(feature.attribute, item).filter(lacks);
        if let Some(cell) = cell {
            cell_missing(frame, cell, when, missing);
        }
    }
}

fn cell_missing(frame: &RuleFrame<'_>, cell: CellIx, when: When, missing: &mut Missing) {
    let model = &frame.policy.model;
    let name = model.field_name(cell).unwrap_or_default();
    let read = model.owner(cell).and_then(|(attribute, _)| model.attribute(attribute)).and_then(|a| a.read);
    let answers = match frame.world(when).get(cell).origin {
        // Read, and reported as unknown or as measured too long ago: reading again answers nothing. A
        // reading that is itself too old is made again.
        Origin::Observed(call) => frame.history.call(call).is_none_or(|past| past.tool != read || frame.is_past(past)),
        // The draft itself makes it unknowable until its result is there.
        Origin::Draft(_) => false,
        Origin::Never | Origin::Lost(_) | Origin::Written(_) => true,
    };
    match read.filter(|tool| answers && readable(frame, *tool, None)) {
        Some(tool) => push_read(frame, tool, None, name, missing),
        None => missing.unreadable.push((Some(cell), name)),
    }
}

fn observation_missing(frame: &RuleFrame<'_>, rule: &Rule, observation: u16, missing: &mut Missing) {
    let Some(declared) = frame.policy.model.observations.get(usize::from(observation)) else { return };
    let template = rule.read.as_ref().filter(|t| t.tool == declared.read);
    let read = match template {
        Some(template) => render::call(frame, template),
        None => frame.policy.inventory.at(declared.read).map(|t| ToolCall::new(t.name.as_str(), Default::default())),
    };
    let answered = frame.answered_by(observation).is_some();
    match read.filter(|call| !answered && readable(frame, declared.read, Some(call))) {
        Some(call) => push_read(frame, declared.read, Some(call), declared.name.clone(), missing),
        None => missing.unreadable.push((None, declared.name.clone())),
    }
}

/// Whether a read can be made: it exists here, needs no argument that nobody can give, and did not
/// already fail since the driver last spoke (one try a read a turn: a broken sensor must not loop).
fn readable(frame: &RuleFrame<'_>, tool: ToolIx, call: Option<&ToolCall>) -> bool {
    let Some(declared) = frame.policy.inventory.at(tool) else { return false };
    let removed = frame.history.removed();
    if removed.tool(declared.name.as_str()) {
        return false;
    }
    let given = |name: &str| call.is_some_and(|c| c.arguments.contains_key(name));
    if declared.params.iter().any(|p| p.required && !given(&p.name)) {
        return false;
    }
    let turn = frame.history.turn();
    let failed = |past: &crate::state::PastCall| {
        !past.succeeded() && past.turn == turn && call.is_none_or(|c| c.key() == past.key)
    };
    !frame.history.calls_of(tool).rev().take_while(|(_, past)| past.turn == turn).any(|(_, past)| failed(past))
}

fn push_read(frame: &RuleFrame<'_>, tool: ToolIx, call: Option<ToolCall>, field: String, missing: &mut Missing) {
    let call =
        call.or_else(|| frame.policy.inventory.at(tool).map(|t| ToolCall::new(t.name.as_str(), Default::default())));
    if let Some(call) = call.filter(|c| !missing.reads.iter().any(|(known, _)| known.key() == c.key())) {
        missing.reads.push((call, field));
    }
}
