//! Filling templates: calls ready to execute, sentences ready to speak.

use serde_json::Value as Json;

use super::frame::RuleFrame;
use crate::model::{Resolution, ToolCall};
use crate::policy::{ArgumentTemplate, CallTemplate, Frame, Piece, Slot, TextTemplate, Val};
use crate::state::{AttrIx, AttrType, EntityIx, select};

/// The call of a template; `None` when a hole cannot be filled with something certain.
pub(super) fn call(frame: &RuleFrame<'_>, template: &CallTemplate) -> Option<ToolCall> {
    let tool = frame.policy.inventory.at(template.tool)?;
    let mut call = ToolCall::new(tool.name.as_str(), Default::default());
    for (name, argument) in &template.arguments {
        call.arguments.insert(name.clone(), fill(frame, template, name, argument)?);
    }
    Some(call)
}

fn fill(frame: &RuleFrame<'_>, template: &CallTemplate, name: &str, argument: &ArgumentTemplate) -> Option<Json> {
    match argument {
        ArgumentTemplate::Constant(literal) => Some(literal.to_json()),
        ArgumentTemplate::Resource => {
            let effect = frame.policy.model.tool(template.tool)?;
            effect.item.as_ref()?.word(frame.item).map(Json::from)
        }
        ArgumentTemplate::Input(path) => {
            let arguments = &frame.call?.arguments;
            let (head, rest) = path.split_once('.').map_or((path.as_str(), None), |(h, r)| (h, Some(r)));
            let value = arguments.get(head)?;
            rest.map_or(Some(value), |rest| select(value, rest)).cloned()
        }
        ArgumentTemplate::Now(field) => {
            let value = frame.history.now().get(*field);
            value.is_known().then(|| value.to_json(Resolution::ONE))
        }
        ArgumentTemplate::Merge { slot, part } => {
            let (Val::Parts(joined), Some(attribute)) = (frame.load(*slot), attribute_of(frame, *slot)) else {
                return None;
            };
            let AttrType::Parts(order) = &frame.policy.model.attribute(attribute)?.kind else { return None };
            let present: Vec<&str> = joined.split('_').collect();
            let wanted = |p: &&String| p.as_str() == part || present.contains(&p.as_str());
            let member = order.iter().filter(wanted).map(String::as_str).collect::<Vec<_>>().join("_");
            // Only a member that the tool takes: the parts' order is the enumeration's own.
            let tool = frame.policy.inventory.at(template.tool)?;
            tool.param(name)?.members().contains(&member).then(|| member.into())
        }
    }
}

fn attribute_of(frame: &RuleFrame<'_>, slot: crate::policy::SlotIx) -> Option<AttrIx> {
    match frame.policy.tables.slot(slot)? {
        Slot::Resource { attribute, .. } | Slot::Car { attribute, .. } => Some(*attribute),
        _ => None,
    }
}

/// The language that rules write their sentences in.
const LANGUAGE: &str = "en";

/// The sentence of a template; `resource` is how the items are called.
pub(super) fn text(frame: &RuleFrame<'_>, template: &TextTemplate, resource: &str) -> String {
    let mut out = String::new();
    for piece in &template.pieces {
        match piece {
            // A hole that ends in a full stop of its own needs no second one.
            Piece::Text(words) if out.ends_with('.') => out.push_str(words.strip_prefix('.').unwrap_or(words)),
            Piece::Text(words) => out.push_str(words),
            Piece::Resource => out.push_str(resource),
            Piece::Call => {
                let words = frame.call.map(|call| frame.policy.call_words(LANGUAGE, call, frame.history));
                out.push_str(&words.unwrap_or_default());
            }
            Piece::Slot(slot) => out.push_str(&spoken(frame, *slot)),
        }
    }
    out
}

/// A slot's value in natural units; words lose their underscores, because they are spoken.
pub(super) fn spoken(frame: &RuleFrame<'_>, slot: crate::policy::SlotIx) -> String {
    let resolution = resolution_of(frame, slot);
    match frame.load(slot) {
        Val::Bool(true) => "on".to_owned(),
        Val::Bool(false) => "off".to_owned(),
        Val::Int(i) => resolution.natural(i).to_string(),
        Val::Word(w) | Val::Parts(w) => w.replace('_', " "),
        Val::List(items) => items.join(", "),
        Val::Json(items) => {
            items.iter().map(|i| i.as_str().map_or_else(|| i.to_string(), str::to_owned)).collect::<Vec<_>>().join(", ")
        }
        Val::Unknown | Val::Absent | Val::Error | Val::Record(_) => "unknown".to_owned(),
    }
}

/// Steps per unit of a slot's numbers.
pub(super) fn resolution_of(frame: &RuleFrame<'_>, slot: crate::policy::SlotIx) -> Resolution {
    let model = &frame.policy.model;
    match frame.policy.tables.slot(slot) {
        Some(Slot::Input { resolution, .. }) => *resolution,
        Some(Slot::Resource { attribute, .. } | Slot::Car { attribute, .. }) => {
            model.attribute(*attribute).map(|a| a.resolution).unwrap_or_default()
        }
        Some(Slot::Derived { derived, .. }) => frame
            .policy
            .derived
            .get(usize::from(*derived))
            .filter(|d| d.function != crate::policy::DerivedFn::Count)
            .and_then(|d| model.attribute(d.attribute))
            .map(|a| a.resolution)
            .unwrap_or_default(),
        Some(Slot::Observed { observation, field }) => model
            .observations
            .get(usize::from(*observation))
            .and_then(|o| o.fields.get(usize::from(*field)))
            .map(|f| f.resolution)
            .unwrap_or_default(),
        _ => Resolution::ONE,
    }
}

/// How people call some items of an entity: `driver and passenger window`, `all windows`.
pub(super) fn items(policy: &crate::policy::Policy, entity: EntityIx, items: &[u16]) -> String {
    let Some(declared) = policy.model.entity(entity).filter(|e| !e.is_singleton()) else { return "car".to_owned() };
    let noun =
        declared.names.get(LANGUAGE).and_then(|n| n.first()).cloned().unwrap_or_else(|| declared.name.to_lowercase());
    if items.len() > 1 && items.len() == declared.items.len() {
        return format!("all {noun}s");
    }
    let words: Vec<String> =
        items.iter().filter_map(|i| declared.items.get(usize::from(*i))).map(|name| name.replace('_', " ")).collect();
    format!("{} {noun}", words.join(" and "))
}
