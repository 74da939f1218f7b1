//! Results, place and time, groups, observations and derived features.

use std::collections::BTreeMap;

use super::raw::{Name, RawObserved};
use super::{Builder, RawVehicle, VehicleFault, dotted};
use crate::compile::ground::{CONTEXT, GROUPS, REPLY};
use crate::model::Resolution;
use crate::policy::{Derived, DerivedFn};
use crate::state::{AttrType, Listing, NowField, Observation, ObservationField};

impl Builder<'_> {
    pub(super) fn set_result(&mut self, raw: &RawVehicle) {
        let result = &mut self.model.result;
        result.success = raw.result.success.as_ref().map(|s| (s.field.clone(), s.is.clone()));
        result.payload = raw.result.payload.clone();
        result.errors = raw.result.errors.clone();
    }

    /// What rules read beside the car: place and time, groups, observations, derived features.
    pub(super) fn add_features(&mut self, raw: &RawVehicle) {
        for (name, path) in &raw.now {
            self.add_now(name, path);
        }
        for (name, tools) in &raw.group {
            self.add_group(name, tools);
        }
        for (name, members) in &raw.observation {
            self.add_observation(name, members);
        }
        for (name, listing) in &raw.listing {
            let reads: Vec<_> = listing.reads.iter().filter_map(|read| self.reading(read)).collect();
            if self.identifier("a listing", name, &[]) {
                let (name, field) = (name.get_ref().clone(), listing.name.clone());
                self.model.listings.push(Listing { name, reads, field });
            }
        }
        for (name, function) in &raw.derived {
            self.add_derived(name, function);
        }
    }

    fn add_now(&mut self, name: &Name, path: &Name) {
        let Some(field) = NowField::by_name(name.get_ref()) else {
            return self.unknown("field of `now`", name, NowField::ALL.iter().map(|f| f.name()));
        };
        match path.get_ref().split_once('.') {
            Some((assignment, member)) if !assignment.is_empty() && !member.is_empty() => {
                self.model.now.fields.push((field, assignment.to_owned(), member.to_owned()));
            }
            _ => self.fault(path, VehicleFault::NowPath(path.get_ref().clone())),
        }
    }

    fn add_group(&mut self, name: &Name, tools: &[Name]) {
        let named: Vec<String> = self.tools.iter().map(|t| t.name.to_string()).collect();
        // A group is an action and a member of `context.draft` at once.
        let mut reserved = vec!["calls", "writes", REPLY];
        reserved.extend(GROUPS);
        reserved.extend(named.iter().map(String::as_str));
        if self.identifier("a group", name, &reserved) {
            let tools = tools.iter().filter_map(|t| self.tool(t)).collect();
            self.model.groups.push((name.get_ref().clone(), tools));
        }
    }

    fn add_observation(&mut self, name: &Name, members: &BTreeMap<Name, RawObserved>) {
        if !self.identifier("an observation", name, &CONTEXT) {
            return;
        }
        let read = members.iter().find_map(|(key, member)| match member {
            RawObserved::Read(tool) => (key.get_ref() == "read").then(|| toml::Spanned::new(key.span(), tool.clone())),
            RawObserved::Field(_) => None,
        });
        let Some(read) = read else {
            return self.fault(name, VehicleFault::ObservationRead(name.get_ref().clone()));
        };
        let Some(read) = self.reading(&read) else { return };
        let mut fields = Vec::new();
        for (key, member) in members {
            let RawObserved::Field(raw) = member else {
                if key.get_ref() != "read" {
                    self.fault(key, VehicleFault::ObservationField(key.get_ref().clone()));
                }
                continue;
            };
            let kind = self.attribute_type(key, raw.kind, raw.parts.as_ref(), raw.resolution);
            if let (true, Some(kind)) = (self.identifier("a field", key, &[]), kind) {
                self.check_path(&raw.field, raw.field.get_ref(), read, &kind);
                fields.push(ObservationField {
                    name: key.get_ref().clone(),
                    field: raw.field.get_ref().clone(),
                    kind,
                    resolution: Resolution::per_unit(raw.resolution.unwrap_or(1)),
                    unit: raw.unit.clone(),
                });
            }
        }
        self.model.observations.push(Observation { name: name.get_ref().clone(), read, fields });
    }

    fn add_derived(&mut self, name: &Name, function: &BTreeMap<Name, Name>) {
        let observations: Vec<String> = self.model.observations.iter().map(|o| o.name.clone()).collect();
        let mut reserved = CONTEXT.to_vec();
        reserved.extend(observations.iter().map(String::as_str));
        if !self.identifier("a derived feature", name, &reserved) {
            return;
        }
        let mut functions = function.iter();
        let (Some((function, of)), None) = (functions.next(), functions.next()) else {
            return self.fault(name, VehicleFault::DerivedForm(name.get_ref().clone()));
        };
        let Some((word, function)) = DerivedFn::ALL.into_iter().find(|(word, _)| word == function.get_ref()) else {
            return self.unknown("function", function, DerivedFn::ALL.iter().map(|(word, _)| *word));
        };
        let Some((attribute, declared)) = self.attribute(of) else { return };
        let (fits, wanted) = match function {
            DerivedFn::Count | DerivedFn::First | DerivedFn::Last => (declared.kind == AttrType::List, "a list"),
            DerivedFn::Any | DerivedFn::All => (declared.kind == AttrType::Bool, "switches"),
            DerivedFn::Min | DerivedFn::Max | DerivedFn::Gap => (declared.kind == AttrType::Int, "numbers"),
        };
        if !fits {
            let attribute = dotted(&self.model, &declared);
            return self.fault(of, VehicleFault::DerivedType { function: word, wanted, attribute });
        }
        self.derived.push(Derived { name: name.get_ref().clone(), function, attribute });
    }
}
