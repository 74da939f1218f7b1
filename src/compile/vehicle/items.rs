//! Item arguments: which word of a tool stands for which part of the car.

use super::raw::{Name, RawAlias, RawItem};
use super::{Builder, VehicleFault};
use crate::state::{EntityIx, ItemArgument, ItemRef};
use crate::tools::{Param, ParamType, ToolIx};

impl Builder<'_> {
    /// The item argument of a tool. Enumeration members that spell an item's name in any case stand
    /// for it; plain names come first, so that a remedy uses the tool's own word.
    pub(super) fn item(&mut self, tool: ToolIx, raw: &RawItem) -> Option<ItemArgument> {
        let argument = self.argument(tool, &raw.argument)?;
        let (entity, items) = self.entity_items(&raw.entity)?;
        let members: Vec<String> = match &argument.kind {
            ParamType::Enum(members) => members.clone(),
            ParamType::Text => items.clone(),
            _ => {
                let tool = self.at(tool).map(|t| t.name.to_string()).unwrap_or_default();
                self.fault(&raw.argument, VehicleFault::ItemArgument { tool, argument: argument.name });
                return None;
            }
        };
        let mut words: Vec<(String, ItemRef)> = Vec::new();
        for member in &members {
            if let Some(at) = items.iter().position(|i| i.eq_ignore_ascii_case(member)) {
                words.push((member.clone(), ItemRef::One(u16::try_from(at).ok()?)));
            }
        }
        if let Some(all) = &raw.all
            && self.is_member(all, &argument)
        {
            words.push((all.get_ref().clone(), ItemRef::All));
        }
        for (alias, meaning) in &raw.aliases {
            if let (true, Some(meaning)) = (self.is_member(alias, &argument), self.meaning(alias, meaning, &items)) {
                words.push((alias.get_ref().clone(), meaning));
            }
        }
        if words.is_empty() {
            let fault = VehicleFault::NoItemWord {
                argument: argument.name,
                words: members.join(", "),
                entity: raw.entity.get_ref().clone(),
            };
            self.fault(&raw.argument, fault);
            return None;
        }
        for silent in members.iter().filter(|m| !words.iter().any(|(w, _)| w == *m)) {
            let what = format!(
                "`{silent}` of `{}` stands for no item of `{}`, so after it every item is unknown; give it under `aliases`",
                argument.name,
                raw.entity.get_ref()
            );
            self.warn(&raw.argument, what);
        }
        Some(ItemArgument { argument: argument.name, entity, words })
    }

    fn entity_items(&mut self, name: &Name) -> Option<(EntityIx, Vec<String>)> {
        let entities = &self.model.entities;
        if let Some((entity, ix)) = entities.iter().zip(0_u16..).find(|(e, _)| e.name == *name.get_ref()) {
            if !entity.is_singleton() {
                return Some((EntityIx(ix), entity.items.clone()));
            }
            let fault = VehicleFault::Singleton(name.get_ref().clone());
            self.fault(name, fault);
            return None;
        }
        let known: Vec<String> = entities.iter().map(|e| e.name.clone()).collect();
        self.unknown("entity", name, known.iter().map(String::as_str));
        None
    }

    /// A word must be one that the argument can have.
    pub(super) fn is_member(&mut self, word: &Name, argument: &Param) -> bool {
        let members = argument.members();
        if members.is_empty() || members.contains(word.get_ref()) {
            return true;
        }
        self.unknown("enumeration member", word, members.iter().map(String::as_str));
        false
    }

    fn meaning(&mut self, alias: &Name, raw: &RawAlias, items: &[String]) -> Option<ItemRef> {
        let mut item = |name: &str| {
            let found = items.iter().position(|i| i == name).and_then(|at| u16::try_from(at).ok());
            if found.is_none() {
                let named = toml::Spanned::new(alias.span(), name.to_owned());
                self.unknown("item", &named, items.iter().map(String::as_str));
            }
            found
        };
        match raw {
            RawAlias::Item(name) => item(name).map(ItemRef::One),
            RawAlias::Side { left, right } => {
                let (left, right) = (item(left), item(right));
                Some(ItemRef::Side { left: left?, right: right? })
            }
        }
    }
}
