//! Entities and their attributes.

use serde_json::Value as Json;

use super::fields::{self, Found};
use super::raw::{Name, RawAttribute, RawEntity, RawType};
use super::{Builder, RawVehicle, VehicleFault, type_name};
use crate::model::Resolution;
use crate::state::{Also, AttrType, Attribute, CellIx, Entity, EntityIx};
use crate::tools::ToolIx;

/// Names that the generated schema uses beside the entities.
const TAKEN: [&str; 10] =
    ["Assistant", "Action", "CarState", "Draft", "Session", "Now", "Reply", "Bool", "Long", "String"];

impl Builder<'_> {
    /// All entities, `Car` first, then by name.
    pub(super) fn add_entities(&mut self, raw: &RawVehicle) {
        self.model.entities.push(Entity {
            name: "Car".to_owned(),
            items: vec![String::new()],
            names: Default::default(),
        });
        let is_car = |name: &Name| name.get_ref() == "Car";
        if let Some((name, car)) = raw.entity.iter().find(|(name, _)| is_car(name)) {
            if car.items.is_some() {
                // The singleton of all sets: `context.car` could not say which one is meant.
                self.fault(name, VehicleFault::Reserved { what: "an entity with items", name: "Car".to_owned() });
            }
            self.add_entity(name, car, EntityIx::CAR);
        }
        for (name, entity) in raw.entity.iter().filter(|(name, _)| !is_car(name)) {
            if !self.identifier("an entity", name, &TAKEN) {
                continue;
            }
            let items = match &entity.items {
                Some(items) if items.is_empty() => {
                    self.fault(name, VehicleFault::NoItems(name.get_ref().clone()));
                    continue;
                }
                Some(items) => items.iter().map(|i| i.get_ref().clone()).collect(),
                None => vec![String::new()],
            };
            let Ok(ix) = u16::try_from(self.model.entities.len()) else { break };
            let names = Default::default();
            self.model.entities.push(Entity { name: name.get_ref().clone(), items, names });
            self.add_entity(name, entity, EntityIx(ix));
        }
    }

    fn add_entity(&mut self, name: &Name, raw: &RawEntity, ix: EntityIx) {
        if let Some(entity) = self.model.entities.get_mut(usize::from(ix.0)) {
            entity.names = raw.names.clone();
        }
        let read = raw.read.as_ref().and_then(|read| self.reading(read));
        for (attribute_name, attribute) in &raw.attributes {
            if self.identifier("an attribute", attribute_name, &["addressed"]) {
                self.add_attribute(name.get_ref(), ix, attribute_name, attribute, read);
            }
        }
    }

    fn add_attribute(&mut self, entity: &str, ix: EntityIx, name: &Name, raw: &RawAttribute, shared: Option<ToolIx>) {
        let Some(kind) = self.attribute_type(name, raw.kind, raw.parts.as_ref(), raw.resolution) else { return };
        let items = self.model.entity(ix).map(|e| e.items.clone()).unwrap_or_default();
        let read = raw.read.as_ref().map_or(shared, |read| self.reading(read));
        if read.is_none() && raw.read.is_none() && raw.also.is_empty() {
            let what =
                format!("no tool reads `{entity}.{}`; it stays unknown unless the car reports it", name.get_ref());
            self.warn(name, what);
        }
        if let Some(read) = read {
            self.check_field(&raw.field, read, &kind, entity, &items);
        }
        let mut also = Vec::new();
        for (tool_name, field) in &raw.also {
            if let Some(tool) = self.tool(tool_name) {
                self.check_field(field, tool, &kind, entity, &items);
                also.push(Also { tool, field: field.get_ref().clone() });
            }
        }
        let base = CellIx(self.model.cells);
        let count = u16::try_from(items.len()).unwrap_or(u16::MAX);
        let Some(cells) = self.model.cells.checked_add(count) else {
            return self.fault(name, VehicleFault::TooMany);
        };
        self.model.cells = cells;
        self.model.attributes.push(Attribute {
            entity: ix,
            name: name.get_ref().clone(),
            kind,
            resolution: Resolution::per_unit(raw.resolution.unwrap_or(1)),
            unit: raw.unit.clone(),
            field: raw.field.get_ref().clone(),
            read,
            also,
            base,
        });
    }

    /// The type that `type`, `parts` and `resolution` declare together.
    pub(super) fn attribute_type(
        &mut self,
        at: &Name,
        kind: RawType,
        parts: Option<&Vec<String>>,
        resolution: Option<u32>,
    ) -> Option<AttrType> {
        if resolution.is_some_and(|steps| steps == 0 || kind != RawType::Int) {
            self.fault(at, VehicleFault::Resolution);
            return None;
        }
        match (kind, parts) {
            (RawType::Parts, Some(parts)) if !parts.is_empty() => Some(AttrType::Parts(parts.clone())),
            (RawType::Parts, _) | (_, Some(_)) => {
                self.fault(at, VehicleFault::Parts);
                None
            }
            (RawType::Bool, None) => Some(AttrType::Bool),
            (RawType::Int, None) => Some(AttrType::Int),
            (RawType::Word, None) => Some(AttrType::Word),
            (RawType::List, None) => Some(AttrType::List),
        }
    }

    /// A field pattern must fit its entity, and the result schema of its tool where there is one.
    fn check_field(&mut self, field: &Name, tool: ToolIx, kind: &AttrType, entity: &str, items: &[String]) {
        let pattern = field.get_ref();
        let singleton = matches!(items, [only] if only.is_empty());
        if singleton && pattern.contains('*') {
            let fault = VehicleFault::Star { field: pattern.clone(), entity: entity.to_owned() };
            return self.fault(field, fault);
        }
        if !singleton && !pattern.contains('*') {
            let fault = VehicleFault::NoStar { field: pattern.clone(), entity: entity.to_owned(), items: items.len() };
            return self.fault(field, fault);
        }
        for item in items {
            self.check_path(field, &pattern.replacen('*', item, 1), tool, kind);
        }
    }

    /// A path must be in the result schema of its tool, with a type that fits.
    pub(super) fn check_path(&mut self, at: &Name, path: &str, tool: ToolIx, kind: &AttrType) {
        let Some(schema) = self.output(tool) else { return };
        let tool = self.at(tool).map(|t| t.name.to_string()).unwrap_or_default();
        let fault = match fields::find(&schema, self.payload(), path) {
            Found::Open => return,
            Found::Missing(near) => VehicleFault::FieldMissing { tool, field: path.to_owned(), near },
            Found::Declared(declared) => match fields::disagreement(declared, kind) {
                None => return,
                Some(found) => {
                    VehicleFault::FieldType { tool, field: path.to_owned(), found, declared: type_name(kind) }
                }
            },
        };
        self.fault(at, fault);
    }

    /// The result schema of a tool.
    pub(super) fn output(&self, tool: ToolIx) -> Option<Json> {
        serde_json::from_str(self.at(tool)?.output.as_deref()?).ok()
    }

    pub(super) fn payload(&self) -> Option<&str> {
        self.model.result.payload.as_deref()
    }
}
