//! `[vss]`: where the car's fields are among its signals.

use std::collections::BTreeMap;

use super::fields::{self, Found};
use super::raw::{Name, RawAlias, RawSignal, RawVss};
use super::{Builder, RawVehicle, VehicleFault, dotted, type_name};
use crate::state::{AttrIx, AttrType, Attribute, Literal, Signal, SignalForm, SignalPath, Vss};

impl Builder<'_> {
    /// The mapping, once attributes and tools are known.
    pub(super) fn add_signals(&mut self, raw: &RawVehicle) {
        let Some(vss) = &raw.vss else { return };
        self.known_places(vss);
        let mut signals = Vec::new();
        for (name, signal) in &vss.signal {
            signals.extend(self.signal(name, signal, vss));
        }
        let (version, driver_side) = (vss.version.clone(), vss.driver_side.clone());
        let location = vss.location.as_ref().map(|at| (at.latitude.clone(), at.longitude.clone()));
        self.model.vss = Some(Vss { version, driver_side, location, signals });
    }

    /// Places of entities and items that there are.
    fn known_places(&mut self, vss: &RawVss) {
        for (entity, places) in &vss.place {
            let found = self.model.entities.iter().find(|e| e.name == *entity.get_ref()).cloned();
            let Some(found) = found else {
                let known: Vec<String> = self.model.entities.iter().map(|e| e.name.clone()).collect();
                self.unknown("entity", entity, known.iter().map(String::as_str));
                continue;
            };
            for item in places.keys().filter(|item| !found.items.contains(item.get_ref())) {
                self.unknown("item", item, found.items.iter().map(String::as_str));
            }
        }
    }

    fn signal(&mut self, name: &Name, raw: &RawSignal, vss: &RawVss) -> Option<Signal> {
        let (ix, attribute) = self.attribute(name)?;
        let patterns: Vec<&str> = match (&raw.path, raw.paths.as_slice()) {
            (Some(path), []) => vec![path],
            (None, paths @ [_, ..]) => paths.iter().map(String::as_str).collect(),
            _ => {
                self.fault(name, VehicleFault::SignalPath(name.get_ref().clone()));
                return None;
            }
        };
        let items = self.paths(name, &attribute, &patterns, vss)?;
        let form = self.form(name, &attribute, raw)?;
        let range = match &form {
            SignalForm::Same { .. } if attribute.kind == AttrType::Int => self.range(name, ix, &attribute, raw)?,
            SignalForm::Levels { numbers, .. } => {
                Some((0, i64::try_from(numbers.len().saturating_sub(1)).unwrap_or(0)))
            }
            _ => None,
        };
        Some(Signal { attribute: ix, items, form, range, sampled: raw.sampled })
    }

    fn paths(
        &mut self,
        name: &Name,
        attribute: &Attribute,
        patterns: &[&str],
        vss: &RawVss,
    ) -> Option<Vec<Vec<SignalPath>>> {
        let entity = self.model.entity(attribute.entity).cloned()?;
        for path in patterns {
            let what = match (path.contains('*'), entity.is_singleton()) {
                (true, true) => "has a `*`, but there is one only; write the whole path",
                (false, false) => "has no `*`, so all items would be one signal; put `*` where their place stands",
                _ => continue,
            };
            let (path, attribute) = ((*path).to_owned(), name.get_ref().clone());
            self.fault(name, VehicleFault::SignalStar { path, attribute, what });
            return None;
        }
        let places = vss.place.iter().find(|(e, _)| *e.get_ref() == entity.name).map(|(_, places)| places);
        let mut items = Vec::with_capacity(entity.items.len());
        for item in &entity.items {
            let place = if entity.is_singleton() { Some(SignalPath::same("")) } else { placed(places, item) };
            let Some(place) = place else {
                let fault = VehicleFault::SignalPlace { entity: entity.name.clone(), item: item.clone() };
                self.fault(name, fault);
                return None;
            };
            let put = |pattern: &str| SignalPath {
                left: pattern.replacen('*', &place.left, 1),
                right: pattern.replacen('*', &place.right, 1),
            };
            items.push(patterns.iter().map(|p| put(p)).collect());
        }
        Some(items)
    }

    fn form(&mut self, name: &Name, attribute: &Attribute, raw: &RawSignal) -> Option<SignalForm> {
        let numbers = attribute.kind == AttrType::Int;
        let increasing = |levels: &[f64]| {
            let rising = |(a, b): (&f64, &f64)| a < b;
            let falling = |(a, b): (&f64, &f64)| a > b;
            let pairs = || levels.iter().zip(levels.iter().skip(1));
            levels.len() > 1 && levels.iter().all(|l| l.is_finite()) && (pairs().all(rising) || pairs().all(falling))
        };
        let what = match (&raw.levels, raw.values.is_empty()) {
            _ if attribute.kind == AttrType::List => Some("no signal carries it"),
            (Some(_), false) => Some("it has `levels` or `values`, not both"),
            (Some(_), true) if !numbers || attribute.resolution.steps() != 1 => {
                Some("it has no `levels`; they belong to whole numbers")
            }
            (Some(levels), true) if !increasing(levels) => Some("its `levels` are several numbers that rise or fall"),
            (Some(levels), true) if !raw.tolerance.is_none_or(|n| tells_apart(levels, n)) => {
                Some("its `tolerance` is less than half the distance of any two `levels`")
            }
            (None, _) if raw.tolerance.is_some() => Some("it has no `tolerance`, which belongs to `levels`"),
            (None, false) if numbers => Some("it has no `values`; a number has `levels` or `per_unit`"),
            _ if raw.per_unit.is_some_and(|n| !n.is_finite() || n == 0.0) => Some("its `per_unit` is a number, not 0"),
            _ if raw.per_unit.is_some() && (!numbers || raw.levels.is_some()) => {
                Some("it has no `per_unit`, which belongs to a number without `levels`")
            }
            _ if raw.range.is_some() && (!numbers || raw.levels.is_some()) => {
                Some("it has no `range`, which belongs to a number without `levels`")
            }
            _ => None,
        };
        if let Some(what) = what {
            let (attribute, kind) = (name.get_ref().clone(), type_name(&attribute.kind));
            self.fault(name, VehicleFault::SignalForm { attribute, kind, what });
            return None;
        }
        if let Some(levels) = &raw.levels {
            let (numbers, tolerance) = (levels.clone(), raw.tolerance.unwrap_or_default());
            return Some(SignalForm::Levels { numbers, tolerance });
        }
        if raw.values.is_empty() {
            return Some(SignalForm::Same { per_unit: raw.per_unit.unwrap_or(1.0) });
        }
        let mut words = Vec::new();
        for (word, written) in &raw.values {
            words.push((self.meant(name, attribute, word)?, written.literals()));
        }
        Some(SignalForm::Words(words))
    }

    /// The value of an attribute that a key of `values` names.
    fn meant(&mut self, name: &Name, attribute: &Attribute, word: &Name) -> Option<Literal> {
        let text = word.get_ref();
        if attribute.kind == AttrType::Bool {
            let Ok(switch) = text.parse() else {
                let (attribute, kind) = (name.get_ref().clone(), type_name(&attribute.kind));
                let what = "its `values` are for `true` and `false`";
                self.fault(word, VehicleFault::SignalForm { attribute, kind, what });
                return None;
            };
            return Some(Literal::Bool(switch));
        }
        self.word_is_read(word, attribute, "values", text);
        Some(Literal::Text(text.clone()))
    }

    /// The bounds of a number: as declared, else those of the reading. What can be set must have some.
    fn range(&mut self, name: &Name, ix: AttrIx, attribute: &Attribute, raw: &RawSignal) -> Option<Option<(i64, i64)>> {
        let scale = |n: f64| attribute.resolution.scale(&serde_json::Number::from_f64(n)?);
        let declared = raw.range.or_else(|| self.read_range(attribute));
        let range = declared.and_then(|(least, most)| Some((scale(least)?, scale(most)?))).filter(|(a, b)| a <= b);
        let set = self.model.tools.iter().any(|t| t.attributes().any(|a| a == ix));
        if range.is_none() && (set || raw.range.is_some()) {
            self.fault(name, VehicleFault::SignalRange(dotted(&self.model, attribute)));
            return None;
        }
        Some(range)
    }

    fn read_range(&self, attribute: &Attribute) -> Option<(f64, f64)> {
        let schema = self.output(attribute.read?)?;
        let first = self.model.entity(attribute.entity)?.items.first()?;
        let path = attribute.field.replacen('*', first, 1);
        let Found::Declared(declared) = fields::find(&schema, self.payload(), &path) else { return None };
        Some((declared.get("minimum")?.as_f64()?, declared.get("maximum")?.as_f64()?))
    }
}

/// Whether no number is within reach of two levels.
fn tells_apart(levels: &[f64], tolerance: f64) -> bool {
    let gaps = levels.iter().zip(levels.iter().skip(1)).map(|(a, b)| (a - b).abs());
    tolerance >= 0.0 && gaps.into_iter().all(|gap| tolerance * 2.0 < gap)
}

fn placed(places: Option<&BTreeMap<Name, RawAlias>>, item: &str) -> Option<SignalPath> {
    let (_, place) = places?.iter().find(|(name, _)| name.get_ref() == item)?;
    Some(match place {
        RawAlias::Item(place) => SignalPath::same(place),
        RawAlias::Side { left, right } => SignalPath { left: left.clone(), right: right.clone() },
    })
}

#[cfg(test)]
mod tests {
    use crate::compile::testing::{VEHICLE, compiled_vehicle, vehicle_errors};
    use crate::state::{Literal, SignalForm};

    /// The greenhouse with signals.
    fn vehicle(signals: &str) -> String {
        format!(
            "{VEHICLE}\n[vss]\nversion = \"6.0\"\n[vss.place.Vent]\nnorth = \"Row1.Left\"\nsouth = {{ left = \"Row2.Left\", right = \"Row2.Right\" }}\n[vss.signal]\n{signals}\n"
        )
    }

    #[test]
    fn a_path_has_the_place_of_each_item() {
        let model =
            compiled_vehicle(&vehicle("\"Vent.opening\" = { path = \"Vehicle.Vent.*.Position\", range = [0, 100] }"))
                .parts
                .model;
        let signal = &model.vss.unwrap().signals[0];
        let paths: Vec<_> = signal.items.iter().flatten().map(|p| (p.left.as_str(), p.right.as_str())).collect();
        let north = ("Vehicle.Vent.Row1.Left.Position", "Vehicle.Vent.Row1.Left.Position");
        assert_eq!(paths, [north, ("Vehicle.Vent.Row2.Left.Position", "Vehicle.Vent.Row2.Right.Position")]);
        assert_eq!(signal.range, Some((0, 100)));
    }

    #[test]
    fn words_levels_and_units_are_forms_of_their_types() {
        let form = |signal: &str| compiled_vehicle(&vehicle(signal)).parts.model.vss.unwrap().signals[0].form.clone();
        let switch = "\"Car.fan\" = { path = \"V.Fan\", values = { true = [\"ON\", \"AUTO\"], false = \"OFF\" } }";
        let SignalForm::Words(words) = form(switch) else { panic!("words") };
        let on = vec![Literal::Text("ON".into()), Literal::Text("AUTO".into())];
        assert_eq!(words[1], (Literal::Bool(true), on));
        let levels = "\"Vent.opening\" = { path = \"V.*.Step\", levels = [0, -50, -100] }";
        let numbers = vec![0.0, -50.0, -100.0];
        assert_eq!(form(levels), SignalForm::Levels { numbers: numbers.clone(), tolerance: 0.0 });
        let wide = levels.replace("] }", "], tolerance = 24.9 }");
        assert_eq!(form(&wide), SignalForm::Levels { numbers, tolerance: 24.9 });
    }

    #[test]
    fn every_mistake_in_a_mapping_is_named() {
        for (signal, says) in [
            ("\"Vent.width\" = { path = \"V.*\" }", "there is no attribute `Vent.width`"),
            ("\"Vent.opening\" = { }", "needs `path`, or `paths`"),
            ("\"Vent.opening\" = { path = \"V\" }", "has no `*`, so all items would be one signal"),
            ("\"Car.fan\" = { path = \"V.*\" }", "has a `*`, but there is one only"),
            ("\"Car.fan\" = { path = \"V\", levels = [0, 1] }", "it has no `levels`"),
            ("\"Car.fan\" = { path = \"V\", values = { on = 1 } }", "for `true` and `false`"),
            ("\"Vent.opening\" = { path = \"V.*\", levels = [0, 50, 20] }", "numbers that rise or fall"),
            (
                "\"Vent.opening\" = { path = \"V.*\", levels = [0, 9, 20], tolerance = 4.5 }",
                "less than half the distance",
            ),
            ("\"Vent.opening\" = { path = \"V.*\", levels = [0, 9], tolerance = -1 }", "less than half the distance"),
            ("\"Vent.opening\" = { path = \"V.*\", levels = [0, 9], tolerance = nan }", "less than half the distance"),
            ("\"Vent.opening\" = { path = \"V.*\", tolerance = 1 }", "it has no `tolerance`"),
            ("\"Vent.opening\" = { path = \"V.*\", per_unit = 0 }", "`per_unit` is a number, not 0"),
            ("\"Vent.opening\" = { path = \"V.*\", range = [9, 1] }", "give `range = [least, greatest]`"),
            ("\"Vent.opening\" = { path = \"V.*\" }", "neither `range` nor the result of its read bounds it"),
            ("\"Car.log\" = { path = \"V\" }", "no signal carries it"),
        ] {
            let errors = vehicle_errors(&vehicle(signal));
            assert!(errors.contains(says), "{signal}: {errors}");
        }
        let errors = vehicle_errors(&vehicle("").replace("north = \"Row1.Left\"", "west = \"Row1.Left\""));
        assert!(errors.contains("there is no item `west`"), "{errors}");
        let bare = vehicle("\"Vent.opening\" = { path = \"V.*\" }").replace("north = \"Row1.Left\"", "");
        assert!(vehicle_errors(&bare).contains("does not say where `north` is"));
    }
}
