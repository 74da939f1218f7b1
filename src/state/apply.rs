//! Projection: what a call would make of the car (paper 1, §2.3, step 1).

use serde_json::Value as Json;

use super::{CellIx, Condition, EffectModel, ItemRef, Origin, Set, SetFrom, Side, ToolEffect, World};
use crate::model::{Arguments, Resolution, Value, canonical};
use crate::tools::ToolIx;

/// One field that a call writes, with its new value ([`Value::Unknown`] when that cannot be told).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The field.
    pub cell: CellIx,
    /// Its new value.
    pub value: Value,
}

impl EffectModel {
    /// The fields that a call writes, in the order of its effect.
    pub fn writes(&self, tool: ToolIx, arguments: &Arguments, side: Side) -> Vec<Written> {
        let mut written = Vec::new();
        let Some(effect) = self.tool(tool) else { return written };
        for set in effect.sets.iter().filter(|s| s.when.iter().all(|c| holds(c, arguments))) {
            let Some(attribute) = self.attribute(set.attribute) else { continue };
            let value = new_value(set, arguments, attribute.resolution);
            for (item, certain) in self.targets(effect, set, arguments, side) {
                if let Some(cell) = self.cell(set.attribute, item) {
                    written.push(Written { cell, value: if certain { value.clone() } else { Value::Unknown } });
                }
            }
        }
        for touched in &effect.touches {
            let items = self.attribute(*touched).map_or(0, |a| self.items(a));
            written.extend(
                (0..items).filter_map(|i| self.cell(*touched, i)).map(|cell| Written { cell, value: Value::Unknown }),
            );
        }
        written
    }

    /// The items a set reaches, each with whether the new value is certain there: an item argument
    /// that names no item may have meant any of them.
    fn targets(&self, effect: &ToolEffect, set: &Set, arguments: &Arguments, side: Side) -> Vec<(u16, bool)> {
        let Some(attribute) = self.attribute(set.attribute) else { return Vec::new() };
        let every = 0..self.items(attribute);
        let Some(item) = effect.item.as_ref().filter(|i| i.entity == attribute.entity) else {
            // Without an item argument a write on a singleton is certain; on several items it sets all.
            return every.map(|i| (i, true)).collect();
        };
        match arguments.get(&item.argument).and_then(Json::as_str).and_then(|word| item.resolve(word)) {
            Some(ItemRef::One(i)) => vec![(i, true)],
            Some(ItemRef::Side { left, right }) => vec![(if side == Side::Left { left } else { right }, true)],
            Some(ItemRef::All) => every.map(|i| (i, true)).collect(),
            None => every.map(|i| (i, false)).collect(),
        }
    }
}

impl World {
    /// Applies a call that succeeds.
    pub fn apply(&mut self, model: &EffectModel, tool: ToolIx, arguments: &Arguments, side: Side, origin: Origin) {
        for Written { cell, value } in model.writes(tool, arguments, side) {
            let origin = match (value.is_known(), origin) {
                (false, Origin::Written(call)) => Origin::Lost(call),
                (_, origin) => origin,
            };
            self.set(cell, value, origin);
        }
    }

    /// Applies a call of which nobody knows whether it did anything: its fields become unknown.
    pub fn lose(&mut self, model: &EffectModel, tool: ToolIx, arguments: &Arguments, side: Side, origin: Origin) {
        for Written { cell, .. } in model.writes(tool, arguments, side) {
            self.set(cell, Value::Unknown, origin);
        }
    }
}

fn holds(condition: &Condition, arguments: &Arguments) -> bool {
    arguments
        .get(&condition.argument)
        .is_some_and(|given| condition.any_of.iter().any(|l| canonical(&l.to_json()) == canonical(given)))
}

fn new_value(set: &Set, arguments: &Arguments, resolution: Resolution) -> Value {
    match &set.from {
        SetFrom::Constant(literal) => literal.to_value(resolution),
        SetFrom::Argument { name, map } => match arguments.get(name) {
            Some(Json::String(word)) => {
                Value::word(map.iter().find(|(from, _)| from == word).map_or(word, |(_, to)| to))
            }
            Some(other) => Value::from_json(other, resolution),
            None => Value::Unknown,
        },
    }
}
