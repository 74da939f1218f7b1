//! What a draft would change in the car, for a person.

use serde::Serialize;

use crate::model::Value;
use crate::state::{CellIx, EffectModel, World};

/// One field of the car that a draft writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// The field as results spell it: `window_driver_position`.
    field: String,
    /// Its value before the draft, in natural units; `unknown` where nothing is known.
    before: String,
    /// Its value after it.
    after: String,
}

/// The fields whose values differ between two states of the car.
pub(super) fn projection(model: &EffectModel, before: &World, after: &World) -> Vec<Change> {
    let changed = before.cells().filter(|(ix, cell)| cell.value != after.get(*ix).value);
    changed
        .filter_map(|(ix, cell)| {
            Some(Change {
                field: model.field_name(ix)?,
                before: spoken(model, ix, &cell.value)?,
                after: spoken(model, ix, &after.get(ix).value)?,
            })
        })
        .collect()
}

/// A value with its unit.
fn spoken(model: &EffectModel, cell: CellIx, value: &Value) -> Option<String> {
    let (attribute, _) = model.owner(cell)?;
    let attribute = model.attribute(attribute)?;
    let text = value.display(attribute.resolution);
    Some(match value {
        Value::Int(_) if !attribute.unit.is_empty() => format!("{text} {}", attribute.unit),
        _ => text,
    })
}
