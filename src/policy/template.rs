//! Templates of calls and sentences: how a rule says what satisfies it.

use serde::{Deserialize, Serialize};

use super::SlotIx;
use crate::state::{Literal, NowField};
use crate::tools::ToolIx;

/// One argument of a call template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ArgumentTemplate {
    /// A constant.
    Constant(Literal),
    /// `<resource>`: the word by which the tool names the rule's item.
    Resource,
    /// `<input.x>`: an argument of the triggering call.
    Input(String),
    /// `<now.x>`.
    Now(NowField),
    /// `merge(<resource.airflow>, WINDSHIELD)`: the enumeration member that joins the parts that are
    /// there with one more.
    Merge {
        /// Slot of the attribute, a word of parts.
        slot: SlotIx,
        /// The part to add.
        part: String,
    },
}

/// A call with holes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTemplate {
    /// The tool.
    pub tool: ToolIx,
    /// Its arguments by name.
    pub arguments: Vec<(String, ArgumentTemplate)>,
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Words as written.
    Text(String),
    /// `{resource}`: how people call the rule's item.
    Resource,
    /// `{call}`: the triggering call with every argument, as people say it.
    Call,
    /// `{input.x}`, `{weather.condition}`: a slot's value in natural units.
    Slot(SlotIx),
}

/// A sentence with holes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTemplate {
    /// Its pieces.
    pub pieces: Vec<Piece>,
}
