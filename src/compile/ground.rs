//! What rules stand on: the tools, the effect model and the derived features of a set.

use crate::policy::{Derived, DerivedFn};
use crate::state::{AttrIx, AttrType, Attribute, EffectModel, EntityIx};
use crate::tools::{Inventory, Kind, Tool, ToolIx};

/// Members of `context` that every set has.
pub(super) const CONTEXT: [&str; 10] =
    ["input", "before", "car", "draft", "session", "now", "reply", "legs", "told", "untold"];
/// Members of `context.legs` that every set with a tour has.
pub(super) const LEGS: [&str; 2] = ["open", "others"];
/// Groups that follow from kinds, roles and markers.
pub(super) const GROUPS: [&str; 4] = ["write", "read", "outward", "needs_consent"];
/// The action of a spoken reply.
pub(super) const REPLY: &str = "reply";

/// Everything a rule may name.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) id: String,
    pub(super) inventory: Inventory,
    pub(super) model: EffectModel,
    pub(super) derived: Vec<Derived>,
}

impl Ground {
    /// The entity of that name.
    pub(super) fn entity(&self, name: &str) -> Option<EntityIx> {
        let at = self.model.entities.iter().position(|e| e.name == name)?;
        u16::try_from(at).ok().map(EntityIx)
    }

    /// The attributes of an entity.
    pub(super) fn attributes(&self, entity: EntityIx) -> impl Iterator<Item = (AttrIx, &Attribute)> {
        self.model.attributes().filter(move |(_, a)| a.entity == entity)
    }

    /// The attribute of that name.
    pub(super) fn attribute(&self, entity: EntityIx, name: &str) -> Option<(AttrIx, &Attribute)> {
        self.attributes(entity).find(|(_, a)| a.name == name)
    }

    /// Whether a tool belongs to a built-in group.
    pub(super) fn in_group(tool: &Tool, group: &str) -> bool {
        match group {
            "write" => tool.is_write(),
            "read" => tool.kind == Kind::Read,
            "outward" => tool.outward,
            "needs_consent" => tool.needs_consent,
            _ => false,
        }
    }

    /// The tools of a group, built-in or named; `None` when there is no such group.
    pub(super) fn group(&self, name: &str) -> Option<Vec<ToolIx>> {
        if GROUPS.contains(&name) {
            let tools = self.inventory.iter().zip(0_u16..);
            return Some(tools.filter(|(t, _)| Self::in_group(t, name)).map(|(_, ix)| ToolIx(ix)).collect());
        }
        self.model.groups.iter().find(|(n, _)| n == name).map(|(_, tools)| tools.clone())
    }

    /// The type of a derived feature.
    pub(super) fn derived_type(derived: &Derived) -> AttrType {
        match derived.function {
            DerivedFn::Count | DerivedFn::Min | DerivedFn::Max | DerivedFn::Gap => AttrType::Int,
            DerivedFn::First | DerivedFn::Last => AttrType::Word,
            DerivedFn::Any | DerivedFn::All => AttrType::Bool,
        }
    }
}

/// Words that Cedar keeps for itself.
const CEDAR_WORDS: [&str; 9] = ["true", "false", "if", "then", "else", "in", "is", "like", "has"];

/// Whether a name can stand in Cedar as it is.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !CEDAR_WORDS.contains(&name)
        && name != "__cedar"
}
