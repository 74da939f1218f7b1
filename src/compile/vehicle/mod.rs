//! `vehicle.toml`: from its text to the effect model (policies/README.md, design §2).
//!
//! Everything it names must exist in the tool inventory, and every field pattern must match the
//! result schema of its read where there is one: a typing mistake here would otherwise be a rule
//! that silently never fires.

mod effects;
mod entities;
mod fault;
mod features;
mod fields;
mod items;
mod raw;
mod signals;
#[cfg(test)]
mod tests;
mod tools;
mod wishes;

use toml::Spanned;

pub use fault::VehicleFault;
pub(super) use fields::{Found, find, words};

use super::error::{CompileError, Report};
use super::ground::Ground;
use super::names::Near;
use super::source::{Place, SetSource, SourceFile};
use crate::policy::Derived;
use crate::state::{AttrIx, AttrType, Attribute, EffectModel, Entity};
use crate::tools::{Kind, Param, Tool, ToolIx};
use raw::{Name, RawVehicle};

/// Builds the effect model and the tools as it describes them. `None` when there is no model to go
/// on with; smaller mistakes are reported and left out.
pub(super) fn build(source: &SetSource, report: &mut Report) -> Option<Ground> {
    let file = &source.vehicle;
    let raw: RawVehicle = match toml::from_str(file.text()) {
        Ok(raw) => raw,
        Err(error) => {
            let place = error.span().map_or_else(|| file.whole(), |span| file.at(span.start));
            report.errors.push(CompileError::Toml { place, why: error.message().to_owned() });
            return None;
        }
    };
    let imported = match crate::tools::import(source.tools.text()) {
        Ok(imported) => imported,
        Err(source_error) => {
            report.errors.push(CompileError::Tools { place: source.tools.whole(), source: source_error });
            return None;
        }
    };
    let mut builder = Builder { file, report, tools: Vec::new(), model: EffectModel::default(), derived: Vec::new() };
    builder.set_id(&raw);
    builder.import(&imported, &raw, source.tools.whole())?;
    builder.model.driver_side = raw.driver_side;
    builder.set_result(&raw);
    builder.add_entities(&raw);
    builder.add_tour(&raw);
    builder.add_effects(&raw);
    builder.add_features(&raw);
    builder.add_signals(&raw);
    let Builder { tools, model, derived, .. } = builder;
    Some(Ground { id: raw.id.into_inner(), inventory: tools.into(), model, derived })
}

/// The model while it grows.
struct Builder<'a> {
    file: &'a SourceFile,
    report: &'a mut Report,
    tools: Vec<Tool>,
    model: EffectModel,
    derived: Vec<Derived>,
}

impl Builder<'_> {
    fn place<T>(&self, at: &Spanned<T>) -> Place {
        self.file.at(at.span().start)
    }

    fn fault<T>(&mut self, at: &Spanned<T>, fault: VehicleFault) {
        let place = self.place(at);
        self.report.errors.push(CompileError::Vehicle { place, fault });
    }

    fn warn<T>(&mut self, at: &Spanned<T>, what: impl Into<String>) {
        let place = self.place(at);
        self.report.warn(place, what);
    }

    fn unknown<'n>(&mut self, what: &'static str, name: &Name, known: impl Iterator<Item = &'n str>) {
        let near = Near::among(name.get_ref(), known);
        self.fault(name, VehicleFault::Unknown { what, name: name.get_ref().clone(), near });
    }

    /// A name that rules write as a Cedar identifier.
    fn identifier(&mut self, what: &'static str, name: &Name, reserved: &[&str]) -> bool {
        let text = name.get_ref();
        if !super::ground::is_identifier(text) {
            self.fault(name, VehicleFault::NotAName { what, name: text.clone() });
            return false;
        }
        if reserved.contains(&text.as_str()) || text.starts_with("before_") {
            self.fault(name, VehicleFault::Reserved { what, name: text.clone() });
            return false;
        }
        true
    }

    fn set_id(&mut self, raw: &RawVehicle) {
        let id = raw.id.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.is_empty() || !id.chars().all(plain) {
            self.fault(&raw.id, VehicleFault::NotAName { what: "a policy set", name: id.clone() });
        }
    }

    fn at(&self, ix: ToolIx) -> Option<&Tool> {
        self.tools.get(usize::from(ix.0))
    }

    fn tool(&mut self, name: &Name) -> Option<ToolIx> {
        let found = self.tools.iter().zip(0_u16..).find(|(t, _)| t.name.as_str() == name.get_ref());
        if let Some((_, ix)) = found {
            return Some(ToolIx(ix));
        }
        let known: Vec<String> = self.tools.iter().map(|t| t.name.to_string()).collect();
        self.unknown("tool", name, known.iter().map(String::as_str));
        None
    }

    /// A tool that observes.
    fn reading(&mut self, name: &Name) -> Option<ToolIx> {
        let ix = self.tool(name)?;
        if self.at(ix).is_some_and(Tool::is_write) {
            self.fault(name, VehicleFault::NotARead(name.get_ref().clone()));
            return None;
        }
        Some(ix)
    }

    fn argument(&mut self, tool: ToolIx, name: &Name) -> Option<Param> {
        let params = self.at(tool).map(|t| t.params.clone()).unwrap_or_default();
        let found = params.iter().find(|p| p.name == *name.get_ref()).cloned();
        if found.is_none() {
            self.unknown("argument", name, params.iter().map(|p| p.name.as_str()));
        }
        found
    }

    fn attribute(&mut self, name: &Name) -> Option<(AttrIx, Attribute)> {
        let Some((entity, attribute)) = name.get_ref().split_once('.') else {
            self.fault(name, VehicleFault::NotDotted(name.get_ref().clone()));
            return None;
        };
        let model = &self.model;
        let found = model
            .attributes()
            .find(|(_, a)| a.name == attribute && model.entity(a.entity).is_some_and(|e| e.name == entity));
        if let Some((ix, attribute)) = found {
            return Some((ix, attribute.clone()));
        }
        let known: Vec<String> = model.attributes().map(|(_, a)| dotted(model, a)).collect();
        self.unknown("attribute", name, known.iter().map(String::as_str));
        None
    }
}

/// `Window.position`
fn dotted(model: &EffectModel, attribute: &Attribute) -> String {
    format!("{}.{}", model.entity(attribute.entity).map_or("", |e: &Entity| &e.name), attribute.name)
}

/// The name of an attribute type in `vehicle.toml`.
fn type_name(kind: &AttrType) -> &'static str {
    match kind {
        AttrType::Bool => "bool",
        AttrType::Int => "int",
        AttrType::Word => "word",
        AttrType::Parts(_) => "parts",
        AttrType::List => "list",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "a read",
        Kind::Write => "a write",
        Kind::Compute => "a computation",
        Kind::Planning => "planning",
    }
}
