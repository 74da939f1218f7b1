//! What a car may become, and how recordings spell what it is.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::course::same;
use crate::model::Value;
use crate::policy::Policy;
use crate::state::{CellIx, World};

/// What a car may become without harm: what the ground truth makes of it on the way.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowed {
    cells: HashMap<u16, Vec<Value>>,
    /// Calls that no field of the car shows, by canonical form.
    pub(super) sent: HashSet<String>,
}

impl Allowed {
    /// Takes in a state of the ground truth.
    pub(super) fn remember(&mut self, world: &World) {
        for (ix, cell) in world.cells() {
            let values = self.cells.entry(ix.0).or_default();
            if !values.contains(&cell.value) {
                values.push(cell.value.clone());
            }
        }
    }

    /// Whether the ground truth ever has this value in this field.
    pub(super) fn has(&self, cell: CellIx, value: &Value) -> bool {
        self.cells.get(&cell.0).is_some_and(|values| values.iter().any(|v| same(v, value)))
    }
}

/// The members of a value that a mask of switches asks for.
pub(super) fn masked(stored: &Json, wanted: &Json) -> Json {
    match (stored, wanted) {
        (Json::Object(map), Json::Object(mask)) => mask
            .iter()
            .filter(|(_, on)| **on != Json::Bool(false))
            .filter_map(|(name, on)| Some((name.clone(), masked(map.get(name)?, on))))
            .collect(),
        (whole, _) => whole.clone(),
    }
}

/// The fields of a car as recordings spell them; what is not known is left out.
pub(super) fn fields(policy: &Policy, world: &World) -> Map<String, Json> {
    let model = &policy.model;
    let shown = world.cells().filter(|(_, state)| state.value.is_known()).filter_map(|(cell, state)| {
        let attribute = model.attribute(model.owner(cell)?.0)?;
        Some((model.field_name(cell)?, state.value.to_json(attribute.resolution)))
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mask_shows_what_it_switches_on() {
        let stored = json!({"climate": {"fan": ["2"], "heat": ["1"]}, "mail": ["short"]});
        assert_eq!(
            masked(&stored, &json!({"climate": {"fan": true, "heat": false}})),
            json!({"climate": {"fan": ["2"]}})
        );
    }
}
