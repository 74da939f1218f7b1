//! The effect model: the compiled form of `vehicle.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CellIx, Listing, NowField, Tour, TourEdit, Vss};
use crate::model::{Resolution, Value};
use crate::tools::{ToolIx, Topic};

/// Position of an entity in its model. `EntityIx(0)` is always `Car`, the singleton.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityIx(pub u16);

impl EntityIx {
    /// The singleton that every model has.
    pub const CAR: Self = Self(0);
}

/// Position of an attribute in its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttrIx(pub u16);

/// Position of a tool group in its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupIx(pub u16);

/// Which side the driver sits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Left-hand drive.
    #[default]
    Left,
    /// Right-hand drive.
    Right,
}

/// A part of the car: several items of one kind, or the car itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Name in rules: `Window`.
    pub name: String,
    /// Its items; one unnamed item for a singleton.
    pub items: Vec<String>,
    /// How people call it, by language.
    pub names: BTreeMap<String, Vec<String>>,
}

impl Entity {
    /// Whether there is exactly one, without a name of its own.
    pub fn is_singleton(&self) -> bool {
        matches!(self.items.as_slice(), [only] if only.is_empty())
    }
}

/// Type of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttrType {
    /// A switch.
    Bool,
    /// A scaled integer.
    Int,
    /// A word.
    Word,
    /// A word that joins several parts with `_`, in the order given here.
    Parts(Vec<String>),
    /// A list of words.
    List,
}

/// One observed field of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// The entity.
    pub entity: EntityIx,
    /// Name in rules: `position`.
    pub name: String,
    /// Type.
    pub kind: AttrType,
    /// Steps per unit.
    pub resolution: Resolution,
    /// Unit as people write it, may be empty.
    pub unit: String,
    /// Field in the result of its read; a `*` stands for the item, a dot walks into an object.
    pub field: String,
    /// The read that answers it.
    pub read: Option<ToolIx>,
    /// Other results that carry it.
    pub also: Vec<Also>,
    /// Its first cell; one cell an item follows.
    pub base: CellIx,
}

/// Another result that carries an attribute, such as what a successful write returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Also {
    /// The tool.
    pub tool: ToolIx,
    /// The field in its result.
    pub field: String,
}

/// A constant in a model or a template. JSON itself has no form in the blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Literal {
    /// A switch.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction, in natural units.
    Number(f64),
    /// A word.
    Text(String),
}

impl Literal {
    /// The constant as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool(b) => (*b).into(),
            Self::Int(i) => (*i).into(),
            Self::Number(n) => (*n).into(),
            Self::Text(t) => t.as_str().into(),
        }
    }

    /// The constant as an attribute's value.
    pub fn to_value(&self, resolution: Resolution) -> Value {
        Value::from_json(&self.to_json(), resolution)
    }
}

/// What an item argument's word stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemRef {
    /// One item.
    One(u16),
    /// Every item.
    All,
    /// One item that depends on the driver's side.
    Side {
        /// With the driver on the left.
        left: u16,
        /// With the driver on the right.
        right: u16,
    },
}

/// The argument of a write that names the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemArgument {
    /// The argument's name.
    pub argument: String,
    /// The entity whose items it names.
    pub entity: EntityIx,
    /// Words and what they stand for, plain names first.
    pub words: Vec<(String, ItemRef)>,
}

impl ItemArgument {
    /// What a word stands for.
    pub fn resolve(&self, word: &str) -> Option<ItemRef> {
        self.words.iter().find(|(w, _)| w == word).map(|(_, item)| *item)
    }

    /// The plain word for an item.
    pub fn word(&self, item: u16) -> Option<&str> {
        self.words.iter().find(|(_, r)| *r == ItemRef::One(item)).map(|(w, _)| w.as_str())
    }

    /// The collective word, if there is one.
    pub fn all(&self) -> Option<&str> {
        self.words.iter().find(|(_, r)| *r == ItemRef::All).map(|(w, _)| w.as_str())
    }
}

/// Where the new value of an attribute comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SetFrom {
    /// An argument; words may be mapped to the reading's own.
    Argument {
        /// The argument's name.
        name: String,
        /// Argument word to reading word.
        map: Vec<(String, String)>,
    },
    /// A constant.
    Constant(Literal),
}

/// An effect holds only where each named argument has one of these values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The argument.
    pub argument: String,
    /// Accepted values.
    pub any_of: Vec<Literal>,
}

/// One attribute that a write sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// The attribute.
    pub attribute: AttrIx,
    /// Its new value.
    pub from: SetFrom,
    /// When it is set at all.
    pub when: Vec<Condition>,
}

/// What one tool does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolEffect {
    /// The argument that names the item.
    pub item: Option<ItemArgument>,
    /// Attributes it sets.
    pub sets: Vec<Set>,
    /// Attributes it changes in a way that only a result can tell.
    pub touches: Vec<AttrIx>,
    /// Milliseconds until the reading must confirm the write.
    pub deadline_ms: u32,
    /// How people say that it was done, by language.
    pub verbs: BTreeMap<String, Vec<String>>,
    /// How people call what it acts on, by language.
    pub nouns: BTreeMap<String, Vec<String>>,
    /// The stored preferences that can settle what the driver left open in a call.
    pub preference: Option<Topic>,
    /// What it does to the tour.
    pub tour: TourEdit,
}

impl ToolEffect {
    /// The attributes it sets or touches.
    pub fn attributes(&self) -> impl Iterator<Item = AttrIx> + '_ {
        self.sets.iter().map(|s| s.attribute).chain(self.touches.iter().copied())
    }
}

/// A field of an observation that no entity holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservationField {
    /// Name in rules.
    pub name: String,
    /// Path in the result.
    pub field: String,
    /// Type.
    pub kind: AttrType,
    /// Steps per unit.
    pub resolution: Resolution,
    /// Unit that a result writes behind the number, as in `323.0km`; may be empty.
    pub unit: String,
}

/// An observation that rules read by name: `context.weather.condition`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Name in rules.
    pub name: String,
    /// The read that answers it.
    pub read: ToolIx,
    /// Its fields.
    pub fields: Vec<ObservationField>,
}

/// How tool results are wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultShape {
    /// Field and value that mark success; none: every result that is not an error text.
    pub success: Option<(String, String)>,
    /// Member that holds the result proper.
    pub payload: Option<String>,
    /// Beginnings of an error text.
    pub errors: Vec<String>,
}

/// Tools with a role in the protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// Reads learned preferences.
    pub preferences: Option<ToolIx>,
    /// Keeps the student's plan.
    pub planner: Option<ToolIx>,
}

/// Where a system message says what the time and the place are: `NAME = {json}`, then a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NowPaths {
    /// Field, name of the assignment, path in its object.
    pub fields: Vec<(NowField, String, String)>,
}

/// What tools read and write: compiled from `vehicle.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectModel {
    /// Entities; the first is `Car`.
    pub entities: Vec<Entity>,
    /// Attributes of all entities.
    pub attributes: Vec<Attribute>,
    /// Effects, by tool.
    pub tools: Vec<ToolEffect>,
    /// Observations by name.
    pub observations: Vec<Observation>,
    /// Lists that searches return.
    pub listings: Vec<Listing>,
    /// Named groups of tools.
    pub groups: Vec<(String, Vec<ToolIx>)>,
    /// Wrapping of results.
    pub result: ResultShape,
    /// Roles.
    pub roles: Roles,
    /// The tour that navigation runs on.
    pub tour: Option<Tour>,
    /// Place and time in a system message.
    pub now: NowPaths,
    /// Which side the driver sits on, where no signal tells.
    pub driver_side: Side,
    /// Where its fields are among the car's signals.
    pub vss: Option<Vss>,
    /// How many cells a world of this model has.
    pub cells: u16,
}

impl EffectModel {
    /// The entity at that position.
    pub fn entity(&self, ix: EntityIx) -> Option<&Entity> {
        self.entities.get(usize::from(ix.0))
    }

    /// The attribute at that position.
    pub fn attribute(&self, ix: AttrIx) -> Option<&Attribute> {
        self.attributes.get(usize::from(ix.0))
    }

    /// All attributes with their positions.
    pub fn attributes(&self) -> impl Iterator<Item = (AttrIx, &Attribute)> {
        (0_u16..).map(AttrIx).zip(&self.attributes)
    }

    /// How many items the attribute's entity has.
    pub fn items(&self, attribute: &Attribute) -> u16 {
        self.entity(attribute.entity).map_or(0, |e| u16::try_from(e.items.len()).unwrap_or(u16::MAX))
    }

    /// The cell of an attribute for one item.
    pub fn cell(&self, attribute: AttrIx, item: u16) -> Option<CellIx> {
        let attribute = self.attribute(attribute)?;
        (item < self.items(attribute)).then(|| CellIx(attribute.base.0.saturating_add(item)))
    }

    /// The effect of a tool.
    pub fn tool(&self, ix: ToolIx) -> Option<&ToolEffect> {
        self.tools.get(usize::from(ix.0))
    }

    /// The attribute and item that a cell belongs to.
    pub fn owner(&self, cell: CellIx) -> Option<(AttrIx, u16)> {
        self.attributes().find_map(|(ix, a)| {
            let item = cell.0.checked_sub(a.base.0)?;
            (item < self.items(a)).then_some((ix, item))
        })
    }

    /// The field name of a cell as results spell it: `window_driver_position`.
    pub fn field_name(&self, cell: CellIx) -> Option<String> {
        let (attribute, item) = self.owner(cell)?;
        let attribute = self.attribute(attribute)?;
        let item = self.entity(attribute.entity)?.items.get(usize::from(item))?;
        Some(attribute.field.replacen('*', item, 1))
    }
}
