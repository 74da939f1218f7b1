//! JSON Schema, as far as tools use it: read once from the signed inventory, then held against calls and results.
//!
//! What is not understood is refused when a schema is read, never passed over: `compile` refuses such a tool, and of a
//! blob that has one no call of that tool is made. Understood is version 2020-12 without `unevaluatedItems`,
//! `unevaluatedProperties`, dynamic references and references to other documents. A format is a note, as that version
//! says. The published validators bring regular expressions with the tables of Unicode, big fractions and every
//! version of JSON Schema, too much for what a head unit stores; `tests` holds this one against one of them.

mod fault;
mod judge;
mod members;
mod number;
mod pattern;
mod read;
#[cfg(test)]
mod tests;

pub use fault::{SchemaError, Violation, Why};
pub use members::Members;

use serde_json::{Number, Value as Json};

use pattern::Pattern;

/// A JSON Schema that is ready to judge values.
#[derive(Debug)]
pub struct Schema {
    nodes: Vec<Node>,
}

/// Position of a subschema. The first is the schema as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct At(usize);

/// A subschema: a value is valid when every clause holds.
#[derive(Debug, Default)]
struct Node {
    /// The schema `false`.
    never: bool,
    clauses: Vec<Clause>,
}

/// One clause. Each speaks of one type of value, or of all; the others it lets pass.
#[derive(Debug)]
enum Clause {
    Types(Vec<Type>),
    Members(Vec<Json>),
    Constant(Json),
    AtLeast(Number),
    AtMost(Number),
    Above(Number),
    Below(Number),
    MultipleOf(Number),
    /// Characters of a text.
    Length(Count),
    Pattern(Pattern),
    /// Items of a list.
    Items(Count),
    Unique,
    /// The items that stand first, and all after them.
    Each(Vec<At>, Option<At>),
    /// Items of that kind.
    Contains(At, Count),
    /// Members of an object.
    Size(Count),
    Required(Vec<String>),
    Object(Object),
    Names(At),
    /// With that member, these as well.
    Needs(String, Vec<String>),
    /// With that member, the object is of that kind.
    Then(String, At),
    All(Vec<At>),
    Any(Vec<At>),
    One(Vec<At>),
    Not(At),
    If(At, Option<At>, Option<At>),
    Refers(At),
}

/// What the members of an object must be.
#[derive(Debug, Default)]
struct Object {
    named: Vec<(String, At)>,
    alike: Vec<(Pattern, At)>,
    others: Option<At>,
}

/// How many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Count {
    least: u64,
    most: Option<u64>,
}

impl Count {
    fn holds(self, found: usize) -> bool {
        let found = u64::try_from(found).unwrap_or(u64::MAX);
        self.least <= found && self.most.is_none_or(|most| found <= most)
    }
}

/// Types of JSON values; a whole number is a number as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    String,
    Integer,
}

impl Type {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Null, "null"),
        (Self::Boolean, "boolean"),
        (Self::Object, "object"),
        (Self::Array, "array"),
        (Self::Number, "number"),
        (Self::String, "string"),
        (Self::Integer, "integer"),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(of, _)| *of)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(of, _)| *of == self).map_or("", |(_, name)| name)
    }

    fn has(self, value: &Json) -> bool {
        match (self, value) {
            (Self::Null, Json::Null)
            | (Self::Boolean, Json::Bool(_))
            | (Self::Object, Json::Object(_))
            | (Self::Array, Json::Array(_))
            | (Self::Number, Json::Number(_))
            | (Self::String, Json::String(_)) => true,
            (Self::Integer, Json::Number(number)) => number::is_whole(number),
            _ => false,
        }
    }
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// [`SchemaError`]: the first clause that is wrong or not understood, with its place.
    pub fn read(schema: &Json) -> Result<Self, SchemaError> {
        read::read(schema)
    }

    /// Whether the value is valid.
    pub fn accepts(&self, value: &Json) -> bool {
        judge::judge(self, value, None)
    }

    /// What is wrong with the value; empty when it is valid.
    pub fn violations<'a>(&self, value: &'a Json) -> Vec<Violation<'a>> {
        let mut found = Vec::new();
        judge::judge(self, value, Some(&mut found));
        found
    }
}
