//! The observed facts that a finding rests on, as a sentence.

use super::frame::RuleFrame;
use super::render::{resolution_of, spoken};
use crate::policy::{Compare, Frame, LegFeature, Op, Rule, Slot, SlotIx, Val};
use crate::state::{CallRef, Origin};

/// `window_driver_position = 25 > 20 (read by get_vehicle_window_positions)`, one clause a field,
/// six at most: more is not read by anybody.
pub(super) fn evidence(frame: &RuleFrame<'_>, rule: &Rule) -> String {
    let mut clauses: Vec<String> = Vec::new();
    for (at, op) in rule.when.ops.iter().enumerate() {
        let Op::Load(slot) = op else { continue };
        let Some(name) = name(frame, *slot) else { continue };
        let bound = bound(frame, rule, at, *slot);
        let clause = format!("{name} = {}{bound}{}", spoken(frame, *slot), provenance(frame, *slot));
        if !clauses.contains(&clause) && clauses.len() < 6 {
            clauses.push(clause);
        }
    }
    clauses.join(", ")
}

/// The name of a slot that evidence speaks of; the call's own arguments are before the reader.
fn name(frame: &RuleFrame<'_>, slot: SlotIx) -> Option<String> {
    let declared = frame.policy.tables.slot(slot)?;
    match declared {
        Slot::Resource { .. } | Slot::Car { .. } => {
            let (cell, _) = frame.cell(declared)?;
            frame.policy.model.field_name(cell)
        }
        Slot::Observed { observation, field } => {
            let observation = frame.policy.model.observations.get(usize::from(*observation))?;
            Some(format!("{} {}", observation.name, observation.fields.get(usize::from(*field))?.name))
        }
        Slot::Legs(feature) => match feature {
            LegFeature::Open => None,
            LegFeature::Others => Some("other legs".to_owned()),
            LegFeature::Declared(at) => {
                let facts = frame.policy.model.tour.as_ref().map(|tour| &tour.facts);
                Some(facts?.get(usize::from(*at))?.name.replace('_', " "))
            }
        },
        Slot::Listed { listing, told: false } => {
            Some(format!("{} left out", frame.policy.model.listings.get(usize::from(*listing))?.name))
        }
        Slot::Derived { derived, .. } => Some(frame.policy.derived.get(usize::from(*derived))?.name.clone()),
        _ => None,
    }
}

/// ` > 20` where the program compares the slot with a constant.
fn bound(frame: &RuleFrame<'_>, rule: &Rule, at: usize, slot: SlotIx) -> String {
    let ops = &rule.when.ops;
    let constant = |op: Option<&Op>| match op {
        Some(Op::Constant(c)) => frame.policy.tables.constants.get(usize::from(*c)),
        _ => None,
    };
    let follows = |n: usize| ops.get(at + n);
    let (literal, how, flipped, negated) = if let (Some(l), Some(Op::Compare(how))) = (constant(follows(1)), follows(2))
    {
        (l, *how, false, follows(3) == Some(&Op::Not))
    } else if let (Some(l), Some(Op::Compare(how))) = (at.checked_sub(1).and_then(|p| constant(ops.get(p))), follows(1))
    {
        (l, *how, true, follows(2) == Some(&Op::Not))
    } else {
        return String::new();
    };
    let sign = match (how, flipped, negated) {
        (Compare::Eq, _, false) => return String::new(),
        (Compare::Eq, _, true) => "≠",
        (Compare::Lt, false, false) | (Compare::Le, true, true) => "<",
        (Compare::Le, false, false) | (Compare::Lt, true, true) => "≤",
        (Compare::Lt, true, false) | (Compare::Le, false, true) => ">",
        (Compare::Le, true, false) | (Compare::Lt, false, true) => "≥",
    };
    let sign = if fails(frame, slot, literal, sign) { opposite(sign) } else { sign };
    match literal {
        crate::state::Literal::Int(i) => format!(" {sign} {}", resolution_of(frame, slot).natural(*i)),
        other => format!(" {sign} {}", other.to_json()),
    }
}

/// Whether a comparison of the program does not hold for the value at hand: evidence states what is,
/// also where it speaks of an item that the condition exempts.
fn fails(frame: &RuleFrame<'_>, slot: SlotIx, literal: &crate::state::Literal, sign: &str) -> bool {
    let (Val::Int(value), crate::state::Literal::Int(bound)) = (frame.load(slot), literal) else { return false };
    !match sign {
        "<" => value < *bound,
        "≤" => value <= *bound,
        ">" => value > *bound,
        "≥" => value >= *bound,
        "≠" => value != *bound,
        _ => true,
    }
}

fn opposite(sign: &'static str) -> &'static str {
    match sign {
        "<" => "≥",
        "≤" => ">",
        ">" => "≤",
        "≥" => "<",
        other => other,
    }
}

/// Where the value comes from.
fn provenance(frame: &RuleFrame<'_>, slot: SlotIx) -> String {
    let Some(declared) = frame.policy.tables.slot(slot) else { return String::new() };
    let call = match declared {
        Slot::Observed { observation, .. } => frame.answered_by(*observation),
        _ => match frame.cell(declared).map(|(cell, when)| frame.world(when).get(cell).origin) {
            Some(Origin::Observed(call) | Origin::Written(call)) => Some(call),
            Some(Origin::Draft(_)) => return " after this draft".to_owned(),
            _ => None,
        },
    };
    match call.and_then(|c| frame.history.call(c)) {
        Some(past) => {
            let age = past.at.zip(frame.history.clock()).map(|(then, now)| now.saturating_sub(then));
            match age {
                Some(age) => format!(" ({:.1} s ago by {})", age.as_secs_f64(), past.call.tool),
                None => format!(" (by {})", past.call.tool),
            }
        }
        None => String::new(),
    }
}

/// The latest call whose result brought news that the rule's condition rests on: a yes must follow it.
pub(super) fn since(frame: &RuleFrame<'_>, rule: &Rule) -> Option<CallRef> {
    rule.when
        .slots()
        .filter_map(|slot| {
            let declared = frame.policy.tables.slot(slot)?;
            if let Slot::Observed { observation, .. } = declared {
                return frame.answered_by(*observation);
            }
            if matches!(frame.load(slot), Val::Unknown) {
                return None;
            }
            let (cell, when) = frame.cell(declared)?;
            frame.world(when).get(cell).since
        })
        .max()
}
