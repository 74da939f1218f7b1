//! Stored preferences and the tour: what settles a choice that the driver left open.

use super::fault::VehicleFault;
use super::raw::{Name, RawFact, RawLeg, RawTool, RawTour};
use super::{Builder, RawVehicle, dotted};
use crate::compile::ground::LEGS;
use crate::compile::names::Near;
use crate::state::{AttrType, Leg, LegFact, LegFn, Stop, Tour, TourEdit};
use crate::tools::{ToolIx, Topic};

impl Builder<'_> {
    /// The tour as a whole. Its attributes must be known by now.
    pub(super) fn add_tour(&mut self, raw: &RawVehicle) {
        let Some(RawTour { stops, leg, told, legs }) = &raw.tour else { return };
        let Some((attribute, declared)) = self.attribute(stops) else { return };
        if declared.kind != AttrType::List {
            return self.fault(stops, VehicleFault::TourStops(dotted(&self.model, &declared)));
        }
        let (id, from, to) = (leg.id.clone(), leg.from.clone(), leg.to.clone());
        let facts = legs.iter().filter_map(|(name, fact)| self.leg_fact(name, fact)).collect();
        self.model.tour = Some(Tour { stops: attribute, id, from, to, told: told.clone(), facts });
    }

    fn leg_fact(&mut self, name: &Name, raw: &RawFact) -> Option<LegFact> {
        let function = match raw {
            RawFact::Any { any } => LegFn::Any { field: any.clone() },
            RawFact::Lacks { lacks, word } => LegFn::Lacks { field: lacks.clone(), word: word.clone() },
        };
        let fact = LegFact { name: name.get_ref().clone(), function };
        self.identifier("a feature of legs", name, &LEGS).then_some(fact)
    }

    /// The category of stored preferences that a tool names, by its plain or dotted name.
    pub(super) fn preference(&mut self, raw: &RawTool) -> Option<Topic> {
        let name = raw.preference.as_ref()?;
        let Some(read) = self.model.roles.preferences else {
            self.fault(name, VehicleFault::NoPreferences(name.get_ref().clone()));
            return None;
        };
        let topics = self.at(read).map(crate::tools::Tool::topics).unwrap_or_default();
        let wanted = name.get_ref();
        let mut found = topics.iter().filter(|t| t.name() == wanted || t.dotted().ends_with(&format!(".{wanted}")));
        match (found.next(), found.next()) {
            (Some(topic), None) => Some(topic.clone()),
            (Some(first), Some(second)) => {
                let (first, second) = (first.dotted(), second.dotted());
                self.fault(name, VehicleFault::PreferenceTwice { name: wanted.clone(), first, second });
                None
            }
            (None, _) => {
                let near = Near::among(wanted, topics.iter().map(Topic::name));
                let fault = VehicleFault::Unknown { what: "category of preferences", name: wanted.clone(), near };
                self.fault(name, fault);
                None
            }
        }
    }

    /// What a tool does to the tour.
    pub(super) fn tour_edit(&mut self, tool: ToolIx, raw: &RawTool) -> TourEdit {
        let legs = raw.legs.iter().filter_map(|leg| self.leg(tool, leg)).collect();
        let present = raw.stops.iter().filter_map(|name| Some(self.argument(tool, name)?.name)).collect();
        TourEdit { legs, present }
    }

    fn leg(&mut self, tool: ToolIx, raw: &RawLeg) -> Option<Leg> {
        let argument = self.argument(tool, &raw.argument)?.name;
        let mut stop = |name: &Option<Name>| name.as_ref().and_then(|name| self.stop(tool, name));
        Some(Leg { argument, from: stop(&raw.from), to: stop(&raw.to) })
    }

    fn stop(&mut self, tool: ToolIx, name: &Name) -> Option<Stop> {
        let text = name.get_ref().as_str();
        let (place, argument) = text.split_once(' ').map_or((None, text), |(place, rest)| (Some(place), rest));
        let mut named = |argument: &str| {
            let name = toml::Spanned::new(name.span(), argument.to_owned());
            Some(self.argument(tool, &name)?.name)
        };
        Some(match (place, argument) {
            (None, "here") => Stop::Here,
            (Some("before"), "last") => Stop::BeforeLast,
            (Some("before"), argument) => Stop::Before(named(argument)?),
            (Some("after"), argument) => Stop::After(named(argument)?),
            (None, argument) => Stop::Argument(named(argument)?),
            _ => {
                self.fault(name, VehicleFault::Stop(text.to_owned()));
                return None;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::testing::{VEHICLE, compiled_vehicle, vehicle_errors};
    use crate::state::{LegFn, Stop};

    /// The greenhouse with roles and a tour in front and more members of its last tool behind.
    fn vehicle(head: &str, tail: &str) -> String {
        VEHICLE.replacen('\n', &format!("\n{head}\n"), 1) + tail
    }

    const TOUR: &str = "[tour]\nstops = \"Car.log\"\nleg = { id = \"id\", from = \"a\", to = \"b\" }";

    #[test]
    fn a_leg_says_where_it_begins_and_ends() {
        let legs = "legs = [{ argument = \"degrees\", from = \"before last\", to = \"after degrees\" }]\nstops = [\"degrees\"]";
        let model = compiled_vehicle(&vehicle(TOUR, legs)).parts.model;
        let edit = &model.tools[5].tour;
        assert_eq!(model.tour.unwrap().from, "a");
        assert_eq!(edit.legs[0].from, Some(Stop::BeforeLast));
        assert_eq!(edit.legs[0].to, Some(Stop::After("degrees".into())));
        assert_eq!(edit.present, ["degrees"]);
    }

    #[test]
    fn features_of_legs_are_read_as_members_of_the_context() {
        let facts = "told = [\"via\"]\n[tour.legs]\ndear = { any = \"dear\" }\nlacks_short = { lacks = \"alias\", word = \"short\" }";
        let compiled = compiled_vehicle(&vehicle(&format!("{TOUR}\n{facts}"), ""));
        let legs = "legs: { open: Long, others: Long, dear: Bool, lacks_short: Bool }";
        assert!(compiled.schema.contains(legs), "{}", compiled.schema);
        let tour = compiled.parts.model.tour.unwrap();
        assert_eq!(
            (tour.told, tour.facts[0].function.clone()),
            (vec!["via".to_owned()], LegFn::Any { field: "dear".into() })
        );
        let errors = vehicle_errors(&vehicle(&format!("{TOUR}\n{}", facts.replace("dear =", "open =")), ""));
        assert!(errors.contains("`open`"), "{errors}");
    }

    #[test]
    fn stops_must_be_a_list_and_a_stop_must_have_a_known_form() {
        let errors = vehicle_errors(&vehicle(&TOUR.replace("log", "warmth"), ""));
        assert!(errors.contains("`Car.warmth` is no list"), "{errors}");
        let legs = "legs = [{ argument = \"degrees\", from = \"beside degrees\" }]";
        assert!(vehicle_errors(&vehicle(TOUR, legs)).contains("`beside degrees` names no stop"));
    }

    #[test]
    fn a_category_of_preferences_is_found_by_its_name() {
        let roles = "[role]\npreferences = \"get_air\"";
        let errors = vehicle_errors(&vehicle(roles, "preference = \"heat\""));
        assert!(errors.contains("there is no category of preferences `heat`"), "{errors}");
        let errors = vehicle_errors(&vehicle("", "preference = \"heat\""));
        assert!(errors.contains("needs the tool that reads preferences"), "{errors}");
    }
}
