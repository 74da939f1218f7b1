//! What a call makes of the simulated car.

use serde_json::{Map, Value as Json};

use super::car::Car;
use crate::model::ToolCall;
use crate::state::{Attribute, CellIx, EffectModel, select};
use crate::tools::{Inventory, Kind, ToolIx};

/// The rules by which a simulated car changes: the policy's effect model, and the car's own answers
/// where the model leaves the effect to a result.
#[derive(Debug)]
pub(super) struct Physics<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) model: &'a EffectModel,
}

/// What a call leads to.
#[derive(Debug, PartialEq)]
pub(super) struct Effect {
    /// The car after it; none for a read.
    pub(super) after: Option<Car>,
    /// What it returns.
    pub(super) payload: Json,
}

/// A field of the car that a write reaches.
struct Field<'a> {
    attribute: &'a Attribute,
    /// The item, or the empty text.
    item: &'a str,
}

impl Physics<'_> {
    /// What a call would lead to; the error says why the car refuses it.
    pub(super) fn effect(&self, car: &Car, call: &ToolCall) -> Result<Effect, String> {
        let name = call.tool.as_str();
        let tool = self.inventory.position(name).and_then(|ix| Some((ix, self.inventory.at(ix)?)));
        let Some((ix, tool)) = tool else { return Err(format!("this car has no `{name}`")) };
        match tool.kind {
            Kind::Write => self.write(car, ix, call),
            Kind::Read | Kind::Compute | Kind::Planning => {
                Ok(Effect { after: None, payload: car.read(name, &call.arguments)? })
            }
        }
    }

    fn write(&self, before: &Car, tool: ToolIx, call: &ToolCall) -> Result<Effect, String> {
        let name = call.tool.as_str();
        let told = before.answers.contains_key(name).then(|| before.read(name, &call.arguments)).transpose()?;
        let mut car = before.clone();
        let mut payload = Map::new();
        for written in self.model.writes(tool, &call.arguments, self.model.driver_side) {
            let Some(field) = self.field(written.cell) else { continue };
            let returned = field.returned_by(tool);
            let value = if written.value.is_known() {
                Some(written.value.to_json(field.attribute.resolution))
            } else {
                told.as_ref().and_then(|t| select(t, &returned)).cloned()
            };
            if let Some(value) = value {
                self.set(&mut car, &field, &value);
                payload.insert(returned, value);
            }
        }
        Ok(Effect { after: Some(car), payload: Json::Object(payload) })
    }

    fn field(&self, cell: CellIx) -> Option<Field<'_>> {
        let (attribute, item) = self.model.owner(cell)?;
        let attribute = self.model.attribute(attribute)?;
        let item = self.model.entity(attribute.entity)?.items.get(usize::from(item))?;
        Some(Field { attribute, item })
    }

    /// Sets a field wherever the car can be asked for it.
    fn set(&self, car: &mut Car, field: &Field<'_>, value: &Json) {
        let reads = field.attribute.read.iter().map(|read| (*read, field.attribute.field.as_str()));
        let also = field.attribute.also.iter().map(|also| (also.tool, also.field.as_str()));
        for (tool, path) in reads.chain(also) {
            let Some(read) = self.inventory.at(tool).filter(|t| t.kind == Kind::Read) else { continue };
            car.set(read.name.as_str(), &path.replacen('*', field.item, 1), value);
        }
    }
}

impl Field<'_> {
    /// The name under which a write's result has the field.
    fn returned_by(&self, tool: ToolIx) -> String {
        let also = self.attribute.also.iter().find(|a| a.tool == tool);
        also.map_or(&self.attribute.field, |a| &a.field).replacen('*', self.item, 1)
    }
}
