//! Where the car's fields are in the signal tree: the compiled form of `[vss]` in `vehicle.toml`.

use serde::{Deserialize, Serialize};

use super::{AttrIx, EffectModel, Literal, Side};

/// The mapping of a policy to one version of the COVESA Vehicle Signal Specification.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Vss {
    /// The version that it was written for: `6.0`.
    pub version: String,
    /// The signal that tells on which side the driver sits.
    pub driver_side: Option<String>,
    /// The signals of the car's latitude and longitude, in degrees.
    pub location: Option<(String, String)>,
    /// Signals by attribute, one entry an attribute.
    pub signals: Vec<Signal>,
}

/// The signals of one attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// The attribute.
    pub attribute: AttrIx,
    /// By item, the paths that carry it. Several paths of one item carry the same value: a write sets
    /// all of them, a reading is one only where all agree.
    pub items: Vec<Vec<SignalPath>>,
    /// How values are written there.
    pub form: SignalForm,
    /// Least and greatest value that is ever sent, in steps of the attribute. It holds beside the
    /// limits of the specification, which has none for many signals.
    pub range: Option<(i64, i64)>,
    /// It is measured all the time (a speed), not switched: a change of it is nobody's doing and makes
    /// no verdict stale; rules that need it new say `@fresh`.
    pub sampled: bool,
}

/// A path that may depend on the driver's side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalPath {
    /// With the driver on the left.
    pub left: String,
    /// With the driver on the right.
    pub right: String,
}

impl SignalPath {
    /// One path for both sides.
    pub fn same(path: &str) -> Self {
        Self { left: path.to_owned(), right: path.to_owned() }
    }

    /// The path for a driver's side.
    pub fn of(&self, side: Side) -> &str {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }
}

/// How the value of an attribute is written in a signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SignalForm {
    /// As it is; a number in other units: so many of the signal's make one of the attribute's.
    Same {
        /// Units of the signal in one unit of the attribute (1000 for metres and kilometres).
        per_unit: f64,
    },
    /// A level counted from 0 and the number that stands for it. What lies beyond level 0 is level 0 too, so
    /// that heating and cooling can share one signal with opposite signs.
    Levels {
        /// The numbers, rising or falling.
        numbers: Vec<f64>,
        /// How far a number may be from that of a level and still stand for it, in units of the signal;
        /// less than half the distance of any two levels. Every other number is no knowledge: it reads as
        /// no level, and confirms none.
        tolerance: f64,
    },
    /// A switch or a word and what is written for it; the first is sent, all of them are understood.
    Words(Vec<(Literal, Vec<Literal>)>),
}

impl EffectModel {
    /// The signals of an attribute, where the policy maps it.
    pub fn signal(&self, attribute: AttrIx) -> Option<&Signal> {
        self.vss.as_ref()?.signals.iter().find(|s| s.attribute == attribute)
    }
}
