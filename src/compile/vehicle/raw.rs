//! The form of `vehicle.toml`, as it is written.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::state::{Literal, Side};
use crate::tools::Kind;

/// A name with the bytes it stands at.
pub(super) type Name = Spanned<String>;

/// Words by language.
pub(super) type ByLanguage = BTreeMap<String, Vec<String>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVehicle {
    pub(super) id: Name,
    #[serde(default)]
    pub(super) driver_side: Side,
    #[serde(default)]
    pub(super) now: BTreeMap<Name, Name>,
    #[serde(default)]
    pub(super) result: RawResult,
    #[serde(default)]
    pub(super) markers: RawMarkers,
    #[serde(default)]
    pub(super) role: RawRoles,
    pub(super) tour: Option<RawTour>,
    #[serde(default)]
    pub(super) group: BTreeMap<Name, Vec<Name>>,
    #[serde(default)]
    pub(super) entity: BTreeMap<Name, RawEntity>,
    #[serde(default)]
    pub(super) observation: BTreeMap<Name, BTreeMap<Name, RawObserved>>,
    #[serde(default)]
    pub(super) listing: BTreeMap<Name, RawListing>,
    #[serde(default)]
    pub(super) derived: BTreeMap<Name, BTreeMap<Name, Name>>,
    #[serde(default)]
    pub(super) tool: BTreeMap<Name, RawTool>,
    pub(super) vss: Option<RawVss>,
}

/// Where the car's fields are among its signals.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVss {
    pub(super) version: String,
    pub(super) driver_side: Option<String>,
    pub(super) location: Option<RawLocation>,
    /// What stands for the `*` of a path, by entity and item.
    #[serde(default)]
    pub(super) place: BTreeMap<Name, BTreeMap<Name, RawAlias>>,
    #[serde(default)]
    pub(super) signal: BTreeMap<Name, RawSignal>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLocation {
    pub(super) latitude: String,
    pub(super) longitude: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSignal {
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    pub(super) per_unit: Option<f64>,
    pub(super) levels: Option<Vec<f64>>,
    pub(super) tolerance: Option<f64>,
    #[serde(default)]
    pub(super) values: BTreeMap<Name, OneOrMany>,
    pub(super) range: Option<(f64, f64)>,
    #[serde(default)]
    pub(super) sampled: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawListing {
    pub(super) reads: Vec<Name>,
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResult {
    pub(super) success: Option<RawSuccess>,
    pub(super) payload: Option<String>,
    #[serde(default)]
    pub(super) errors: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSuccess {
    pub(super) field: String,
    pub(super) is: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMarkers {
    #[serde(default)]
    pub(super) needs_consent: Vec<Name>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRoles {
    pub(super) preferences: Option<Name>,
    pub(super) planner: Option<Name>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEntity {
    pub(super) items: Option<Vec<Name>>,
    #[serde(default)]
    pub(super) names: ByLanguage,
    pub(super) read: Option<Name>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<Name, RawAttribute>,
}

/// The name of an attribute type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawType {
    Bool,
    Int,
    Word,
    Parts,
    List,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAttribute {
    pub(super) field: Name,
    #[serde(rename = "type")]
    pub(super) kind: RawType,
    pub(super) parts: Option<Vec<String>>,
    pub(super) resolution: Option<u32>,
    #[serde(default)]
    pub(super) unit: String,
    pub(super) read: Option<Name>,
    #[serde(default)]
    pub(super) also: BTreeMap<Name, Name>,
}

/// A member of an observation: its read, or one of its fields.
#[derive(Debug)]
pub(super) enum RawObserved {
    Read(String),
    Field(RawField),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawField {
    pub(super) field: Name,
    #[serde(rename = "type")]
    pub(super) kind: RawType,
    pub(super) parts: Option<Vec<String>>,
    pub(super) resolution: Option<u32>,
    #[serde(default)]
    pub(super) unit: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    pub(super) kind: Option<Spanned<Kind>>,
    pub(super) needs_consent: Option<bool>,
    pub(super) outward: Option<bool>,
    pub(super) irreversible: Option<bool>,
    pub(super) ends_conversation: Option<bool>,
    pub(super) item: Option<RawItem>,
    #[serde(default)]
    pub(super) sets: RawSets,
    #[serde(default)]
    pub(super) touches: Vec<Name>,
    pub(super) deadline_ms: Option<u32>,
    #[serde(default)]
    pub(super) verbs: ByLanguage,
    #[serde(default)]
    pub(super) nouns: ByLanguage,
    pub(super) preference: Option<Name>,
    #[serde(default)]
    pub(super) legs: Vec<RawLeg>,
    #[serde(default)]
    pub(super) stops: Vec<Name>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTour {
    pub(super) stops: Name,
    pub(super) leg: RawOffered,
    #[serde(default)]
    pub(super) told: Vec<String>,
    #[serde(default)]
    pub(super) legs: BTreeMap<Name, RawFact>,
}

/// A feature of legs: `{ any = "switch" }` or `{ lacks = "member", word = "word" }`.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "`{ any = \"switch\" }` or `{ lacks = \"member\", word = \"…\" }`")]
pub(super) enum RawFact {
    Any { any: String },
    Lacks { lacks: String, word: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOffered {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLeg {
    pub(super) argument: Name,
    pub(super) from: Option<Name>,
    pub(super) to: Option<Name>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawItem {
    pub(super) argument: Name,
    pub(super) entity: Name,
    pub(super) all: Option<Name>,
    #[serde(default)]
    pub(super) aliases: BTreeMap<Name, RawAlias>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawAlias {
    Item(String),
    Side { left: String, right: String },
}

/// `{ "Window.position" = "percentage" }`, or a list of tables that say more.
#[derive(Debug)]
pub(super) enum RawSets {
    Short(BTreeMap<Name, Name>),
    Long(Vec<RawSet>),
}

impl Default for RawSets {
    fn default() -> Self {
        Self::Long(Vec::new())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSet {
    pub(super) attribute: Name,
    pub(super) argument: Option<Name>,
    pub(super) value: Option<Scalar>,
    #[serde(default)]
    pub(super) map: BTreeMap<Name, String>,
    #[serde(default)]
    pub(super) when: BTreeMap<Name, OneOrMany>,
}

/// A constant.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Bool(bool),
    Int(i64),
    Number(f64),
    Text(String),
}

impl From<Scalar> for Literal {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool(b) => Self::Bool(b),
            Scalar::Int(i) => Self::Int(i),
            Scalar::Number(n) => Self::Number(n),
            Scalar::Text(t) => Self::Text(t),
        }
    }
}

/// One constant or a list of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

impl OneOrMany {
    pub(super) fn literals(&self) -> Vec<Literal> {
        match self {
            Self::One(one) => vec![one.clone().into()],
            Self::Many(many) => many.iter().cloned().map(Literal::from).collect(),
        }
    }
}

// Written by hand: serde's untagged enumerations forget where a name stands.
impl<'de> Deserialize<'de> for RawSets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawSets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`{ \"Entity.attribute\" = \"argument\" }` or a list of tables with `attribute`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawSets, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(RawSets::Short)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<RawSets, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(RawSets::Long)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for RawObserved {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawObserved;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`read = \"tool\"` or a field `{ field = \"…\", type = \"…\" }`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RawObserved, E> {
                Ok(RawObserved::Read(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawObserved, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(RawObserved::Field)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
