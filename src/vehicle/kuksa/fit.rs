//! Whether a mapping fits what the broker says of its signals.

use serde::Serialize;

use super::convert;
use super::plan::Watched;
use super::proto::{DataType, EntryType};
use super::raw::{Raw, is_number};
use super::units;
use crate::state::{AttrType, Attribute, Side, Signal, SignalForm};

/// How a mapped signal fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fit", rename_all = "kebab-case")]
pub enum Fit {
    /// As mapped.
    Fits,
    /// The broker has no such signal.
    Missing,
    /// It carries values of another type.
    Type {
        /// What it carries.
        found: String,
        /// What the field is.
        wanted: String,
    },
    /// Its numbers are in another unit than the mapping takes them to be.
    Unit {
        /// The broker's unit.
        found: String,
        /// The unit that the field and its `per_unit` come to.
        wanted: String,
    },
    /// It should say on which side the driver sits, and does not: what depends on that is refused.
    NoSide {
        /// What it says.
        found: String,
    },
    /// Which signal it is depends on the driver's side, which nobody knows.
    EitherSide,
    /// It can be read, but a tool would have to set it.
    ReadOnly {
        /// What it is: `sensor`, `attribute`.
        found: String,
    },
    /// It does not take a word or level of the mapping.
    Values {
        /// The values that it does not take.
        refused: Vec<String>,
    },
    /// Its limits are narrower than the field's; what is outside is refused when it comes.
    Range {
        /// Its limits.
        found: String,
        /// The field's.
        wanted: String,
    },
}

impl Fit {
    /// Whether the signal can be read.
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Fits | Self::ReadOnly { .. } | Self::Range { .. })
    }

    /// Whether the signal can be set.
    pub fn is_writable(&self) -> bool {
        matches!(self, Self::Fits | Self::Range { .. })
    }
}

impl std::fmt::Display for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fits => f.write_str("fits"),
            Self::Missing => f.write_str("the broker has no such signal"),
            Self::Type { found, wanted } => write!(f, "it is {found}, and the field is {wanted}"),
            Self::Unit { found, wanted } => write!(f, "it is in {found}, and the mapping takes it for {wanted}"),
            Self::NoSide { found } => {
                write!(f, "it says {found}, not LEFT or RIGHT; calls that depend on the driver's side are refused")
            }
            Self::EitherSide => f.write_str("which of them it is depends on the driver's side, and that is not known"),
            Self::ReadOnly { found } => write!(f, "it is read only ({found}), and a tool would set it"),
            Self::Values { refused } => write!(f, "it does not take {}", refused.join(", ")),
            Self::Range { found, wanted } => write!(f, "it takes {found}, narrower than {wanted}"),
        }
    }
}

/// One mapped signal and how it fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The path.
    pub path: String,
    /// The field that it carries, as results spell it: `window_driver_position`.
    pub field: String,
    /// How it fits.
    #[serde(flatten)]
    pub fit: Fit,
}

/// How a signal fits a field. `set`: some tool sets the field.
pub(super) fn judge(attribute: &Attribute, signal: &Signal, found: Option<&Watched>, set: bool) -> Fit {
    let Some(found) = found else { return Fit::Missing };
    let written: Vec<Raw> = match &signal.form {
        SignalForm::Words(words) => words.iter().flat_map(|(_, written)| written).map(convert::raw).collect(),
        SignalForm::Levels { numbers, .. } => numbers.iter().map(|n| Raw::Number(*n)).collect(),
        SignalForm::Same { .. } => Vec::new(),
    };
    let carries = match (&signal.form, &attribute.kind) {
        (SignalForm::Words(_), _) => written.first().is_some_and(|w| w.fits(found.data)),
        (SignalForm::Levels { .. }, _) | (_, AttrType::Int) => is_number(found.data),
        (_, AttrType::Bool) => found.data == DataType::Boolean,
        (_, AttrType::Word | AttrType::Parts(_)) => found.data == DataType::String,
        (_, AttrType::List) => false,
    };
    if !carries {
        let wanted = match written.first() {
            Some(Raw::Bool(_)) => "a switch",
            Some(Raw::Number(_)) => "a number",
            Some(Raw::Text(_)) => "a word",
            None => kind(&attribute.kind),
        };
        return Fit::Type { found: data(found.data), wanted: wanted.to_owned() };
    }
    if let SignalForm::Same { per_unit } = &signal.form
        && attribute.kind == AttrType::Int
        && let Some(wanted) = units::other(&attribute.unit, *per_unit, &found.unit)
    {
        return Fit::Unit { found: found.unit.clone(), wanted };
    }
    let refused: Vec<String> = written.iter().filter(|w| !takes(found, w)).map(ToString::to_string).collect();
    if !refused.is_empty() {
        return Fit::Values { refused };
    }
    if set && found.entry != EntryType::Actuator {
        let name = found.entry.as_str_name().trim_start_matches("ENTRY_TYPE_").to_lowercase();
        return Fit::ReadOnly { found: name };
    }
    match (set, bounds(attribute, signal)) {
        (true, Some((least, most))) if !takes(found, &Raw::Number(least)) || !takes(found, &Raw::Number(most)) => {
            let limit = |n: Option<f64>| n.map_or("…".to_owned(), |n| n.to_string());
            Fit::Range {
                found: format!("{} to {}", limit(found.least), limit(found.most)),
                wanted: format!("{least} to {most}"),
            }
        }
        _ => Fit::Fits,
    }
}

/// How a signal fits that is only read, as a number of degrees.
pub(super) fn judge_degrees(found: Option<&Watched>) -> Fit {
    let Some(found) = found else { return Fit::Missing };
    if !is_number(found.data) {
        return Fit::Type { found: data(found.data), wanted: kind(&AttrType::Int).to_owned() };
    }
    match units::other("degrees", 1.0, &found.unit) {
        Some(wanted) => Fit::Unit { found: found.unit.clone(), wanted },
        None => Fit::Fits,
    }
}

/// How a signal fits that says on which side the driver sits.
pub(super) fn judge_side(found: Option<&Watched>) -> Fit {
    let Some(found) = found else { return Fit::Missing };
    if found.data != DataType::String {
        return Fit::Type { found: data(found.data), wanted: kind(&AttrType::Word).to_owned() };
    }
    let sides = ["LEFT", "RIGHT"].map(|side| Raw::Text(side.to_owned()));
    let refused: Vec<String> = sides.iter().filter(|side| !takes(found, side)).map(ToString::to_string).collect();
    if refused.is_empty() { Fit::Fits } else { Fit::Values { refused } }
}

/// The side that a value of such a signal names.
pub(super) fn side_of(said: &Raw) -> Option<Side> {
    match said {
        Raw::Text(word) if word.eq_ignore_ascii_case("LEFT") => Some(Side::Left),
        Raw::Text(word) if word.eq_ignore_ascii_case("RIGHT") => Some(Side::Right),
        _ => None,
    }
}

/// Whether a signal takes a value, as far as the broker says what it takes.
pub(super) fn takes(found: &Watched, value: &Raw) -> bool {
    if let Raw::Number(n) = value
        && (found.least.is_some_and(|least| *n < least) || found.most.is_some_and(|most| *n > most))
    {
        return false;
    }
    let listed = found.allowed.is_empty() || found.allowed.iter().any(|a| convert::same(a, value));
    listed && value.write(found.data).is_some()
}

/// The field's own bounds, as the signal writes them.
fn bounds(attribute: &Attribute, signal: &Signal) -> Option<(f64, f64)> {
    let SignalForm::Same { per_unit } = &signal.form else { return None };
    let (least, most) = signal.range?;
    let sent = |n: i64| n as f64 * per_unit / f64::from(attribute.resolution.steps());
    Some((sent(least), sent(most)))
}

fn data(data: DataType) -> String {
    data.as_str_name().trim_start_matches("DATA_TYPE_").to_lowercase()
}

fn kind(kind: &AttrType) -> &'static str {
    match kind {
        AttrType::Bool => "a switch",
        AttrType::Int => "a number",
        AttrType::Word | AttrType::Parts(_) => "a word",
        AttrType::List => "a list",
    }
}
