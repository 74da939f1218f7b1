//! What a call makes of the simulated car.

use serde_json::{Map, Value as Json};

use super::car::Car;
use super::edit::{Derive, Edit};
use crate::model::ToolCall;
use crate::state::{Attribute, CellIx, EffectModel};
use crate::tools::{Inventory, Kind, ToolIx};

/// The rules by which a simulated car changes: the policy's effect model, and the state file's edits
/// where the model leaves the effect to a result.
#[derive(Debug)]
pub(super) struct Physics<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) model: &'a EffectModel,
    pub(super) edits: &'a [Edit],
    pub(super) derived: &'a [Derive],
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
        let written = self.model.writes(tool, &call.arguments, self.model.driver_side);
        let mut car = before.clone();
        for written in written.iter().filter(|w| w.value.is_known()) {
            if let Some(field) = self.field(written.cell) {
                self.set(&mut car, &field, &written.value.to_json(field.attribute.resolution));
            }
        }
        for edit in self.edits.iter().filter(|e| e.tool == call.tool.as_str()) {
            edit.apply(before, &call.arguments, &mut car)?;
        }
        self.derived.iter().for_each(|derive| derive.settle(&mut car));
        let payload = written.iter().filter_map(|w| self.field(w.cell)).filter_map(|field| {
            let read = self.inventory.at(field.attribute.read?)?;
            let value = car.get(&format!("{}.{}", read.name, field.read_as()))?;
            Some((field.returned_by(tool), value.clone()))
        });
        let payload = Json::Object(payload.collect::<Map<_, _>>());
        Ok(Effect { after: Some(car), payload })
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
    /// The name under which the attribute's read has the field.
    fn read_as(&self) -> String {
        self.attribute.field.replacen('*', self.item, 1)
    }

    /// The name under which a write's result has the field.
    fn returned_by(&self, tool: ToolIx) -> String {
        let also = self.attribute.also.iter().find(|a| a.tool == tool);
        also.map_or(&self.attribute.field, |a| &a.field).replacen('*', self.item, 1)
    }
}
