//! Tools: kinds, markers and roles.

use super::{Builder, Place, RawVehicle, VehicleFault, kind_name};
use crate::compile::CompileError;
use crate::tools::{ImportedTool, Kind, Tool};

impl Builder<'_> {
    /// Takes over the inventory and what the effect model adds to each tool.
    pub(super) fn import(&mut self, imported: &[ImportedTool], raw: &RawVehicle, inventory: Place) -> Option<()> {
        for tool in imported {
            match Tool::from_import(tool) {
                Ok(tool) => self.tools.push(tool),
                Err(source) => {
                    self.report.errors.push(CompileError::Tools { place: inventory, source });
                    return None;
                }
            }
        }
        if u16::try_from(self.tools.len()).is_err() {
            self.fault(&raw.id, VehicleFault::TooMany);
            return None;
        }
        for name in raw.tool.keys() {
            self.tool(name);
        }
        let mut marked = vec![false; raw.markers.needs_consent.len()];
        for (tool, import) in self.tools.iter_mut().zip(imported) {
            let first = tool.description.split([' ', ',', '.', ':', ';']).next().unwrap_or_default();
            for (marker, used) in raw.markers.needs_consent.iter().zip(&mut marked) {
                if marker.get_ref() == first {
                    tool.needs_consent = true;
                    *used = true;
                }
            }
            let said = raw.tool.iter().find(|(name, _)| *name.get_ref() == import.name).map(|(_, said)| said);
            if let Some(said) = said {
                tool.needs_consent = said.needs_consent.unwrap_or(tool.needs_consent);
                tool.outward = said.outward.unwrap_or(tool.outward);
                tool.irreversible = said.irreversible.unwrap_or(tool.irreversible);
                tool.ends_conversation = said.ends_conversation.unwrap_or(tool.ends_conversation);
            }
            let kind = said.and_then(|s| s.kind.as_ref());
            match (kind, import.read_only) {
                (None, None) => {
                    let fault = VehicleFault::KindMissing(import.name.clone());
                    self.report.errors.push(CompileError::Vehicle { place: self.file.whole(), fault });
                }
                (Some(kind), hint) => {
                    tool.kind = *kind.get_ref();
                    if hint.is_some_and(|read_only| read_only == (tool.kind == Kind::Write)) {
                        let fault =
                            VehicleFault::KindContradicts { tool: import.name.clone(), kind: kind_name(tool.kind) };
                        let place = self.file.at(kind.span().start);
                        self.report.errors.push(CompileError::Vehicle { place, fault });
                    }
                }
                (None, Some(_)) => {}
            }
        }
        for marker in raw.markers.needs_consent.iter().zip(marked).filter(|(_, used)| !used).map(|(m, _)| m) {
            self.warn(marker, format!("no tool description begins with `{}`, so it marks nothing", marker.get_ref()));
        }
        self.model.roles.preferences = raw.role.preferences.as_ref().and_then(|name| self.tool(name));
        self.model.roles.planner = raw.role.planner.as_ref().and_then(|name| self.tool(name));
        Some(())
    }
}
