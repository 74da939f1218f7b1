//! Whether the unit of a signal is the one that a mapping takes it for.

/// What two units must share to be converted by a factor. Temperatures of different zeros do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Share,
    Speed,
    Length,
    Time,
    Angle,
    Power,
    Energy,
    Pressure,
    Celsius,
    Fahrenheit,
    Kelvin,
}

/// Units by the names that the specification and effect models use, with their size among their kind.
const UNITS: &[(&[&str], Dimension, f64)] = &[
    (&["percent", "%"], Dimension::Share, 1.0),
    (&["ratio"], Dimension::Share, 100.0),
    (&["km/h"], Dimension::Speed, 1.0),
    (&["m/s"], Dimension::Speed, 3.6),
    (&["mi/h", "mph"], Dimension::Speed, 1.609_344),
    (&["km"], Dimension::Length, 1_000.0),
    (&["m"], Dimension::Length, 1.0),
    (&["cm"], Dimension::Length, 0.01),
    (&["mm"], Dimension::Length, 0.001),
    (&["mi", "miles"], Dimension::Length, 1_609.344),
    (&["s"], Dimension::Time, 1.0),
    (&["ms"], Dimension::Time, 0.001),
    (&["min"], Dimension::Time, 60.0),
    (&["h"], Dimension::Time, 3_600.0),
    (&["degrees", "degree", "°"], Dimension::Angle, 1.0),
    (&["W"], Dimension::Power, 1.0),
    (&["kW"], Dimension::Power, 1_000.0),
    (&["Wh"], Dimension::Energy, 1.0),
    (&["kWh"], Dimension::Energy, 1_000.0),
    (&["Pa"], Dimension::Pressure, 1.0),
    (&["mbar"], Dimension::Pressure, 100.0),
    (&["kPa"], Dimension::Pressure, 1_000.0),
    (&["bar"], Dimension::Pressure, 100_000.0),
    (&["celsius", "°C"], Dimension::Celsius, 1.0),
    (&["fahrenheit", "°F"], Dimension::Fahrenheit, 1.0),
    (&["kelvin", "K"], Dimension::Kelvin, 1.0),
];

/// The unit that a signal should have, where it has another one. `unit` is the field's, and `per_unit` of the
/// signal's make one of it. None where they agree, and where one of them has no unit or the field one that is
/// not known here: nothing can be said then.
pub(super) fn other(unit: &str, per_unit: f64, found: &str) -> Option<String> {
    let (dimension, size) = known(unit).filter(|_| !found.is_empty())?;
    let wanted = size / per_unit.abs();
    let close = |size: f64| (size - wanted).abs() <= wanted * 1e-6;
    if known(found).is_some_and(|(other, size)| other == dimension && close(size)) {
        return None;
    }
    let fitting = UNITS.iter().find(|(_, other, size)| *other == dimension && close(*size));
    let name = fitting.and_then(|(names, ..)| names.first());
    Some(name.map_or_else(|| format!("a unit of which {per_unit} make one {unit}"), |name| (*name).to_owned()))
}

fn known(name: &str) -> Option<(Dimension, f64)> {
    UNITS.iter().find(|(names, ..)| names.iter().any(|n| same(n, name))).map(|(_, dimension, size)| (*dimension, *size))
}

/// Whether two names are of one unit. VSS 6.0 writes `Celsius` where the releases before it write `celsius`: the case
/// of a word means nothing, that of a symbol does (`mW`, `MW`).
fn same(one: &str, other: &str) -> bool {
    let is_word = one.len() >= 5 && one.bytes().all(|b| b.is_ascii_alphabetic());
    one == other || is_word && one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_fits_where_the_factor_of_the_mapping_leads_from_one_to_the_other() {
        for (unit, per_unit, found) in [
            ("%", 1.0, "percent"),
            ("°C", 1.0, "celsius"),
            ("°C", 1.0, "Celsius"),
            ("%", 1.0, "Percent"),
            ("km/h", 1.0, "km/h"),
            ("km", 1_000.0, "m"),
            ("km/h", 1.0 / 3.6, "m/s"),
            ("%", -1.0, "percent"),
            // Nothing is said of a unit that the broker does not name, or that nobody knows.
            ("km/h", 1.0, ""),
            ("", 1.0, "percent"),
            ("parsec", 1.0, "m"),
        ] {
            assert_eq!(other(unit, per_unit, found), None, "{per_unit} {found} in one {unit}");
        }
        for (unit, per_unit, found, wanted) in [
            ("km/h", 1.0, "mi/h", "km/h"),
            ("km", 1.0, "m", "km"),
            ("km", 1_000.0, "km", "m"),
            ("°C", 1.0, "fahrenheit", "celsius"),
            ("°C", 1.0, "kelvin", "celsius"),
            ("%", 1.0, "degrees", "percent"),
            ("%", 1.0, "furlong", "percent"),
            ("kW", 1.0, "KW", "kW"),
            ("km", 7.0, "m", "a unit of which 7 make one km"),
        ] {
            assert_eq!(other(unit, per_unit, found).as_deref(), Some(wanted), "{per_unit} {found} in one {unit}");
        }
    }

    #[test]
    fn no_unit_has_two_sizes() {
        let names: Vec<&str> = UNITS.iter().flat_map(|(names, ..)| names.iter().copied()).collect();
        assert!(names.iter().all(|name| names.iter().filter(|other| same(other, name)).count() == 1), "{names:?}");
    }
}
