//! What each tool sets, touches and is called.

use std::collections::HashMap;

use super::fields::{self, Found};
use super::raw::{Name, RawSet, RawSets, RawTool};
use super::{Builder, RawVehicle, VehicleFault, dotted, type_name};
use crate::compile::names::Near;
use crate::state::{AttrIx, AttrType, Attribute, Condition, Literal, Set, SetFrom, ToolEffect};
use crate::tools::{Param, ParamType, ToolIx};

/// Steps per unit that a tool's argument took over from the attribute it sets.
type Steps = HashMap<(ToolIx, String), u32>;

impl Builder<'_> {
    /// The effect of every tool, in the order of the inventory.
    pub(super) fn add_effects(&mut self, raw: &RawVehicle) {
        let mut effects = vec![ToolEffect::default(); self.tools.len()];
        let mut steps = Steps::new();
        for (name, raw) in &raw.tool {
            // An unknown tool has been reported with the inventory.
            let Some(at) = self.tools.iter().position(|t| t.name.as_str() == name.get_ref()) else { continue };
            let Ok(ix) = u16::try_from(at) else { continue };
            if let Some(effect) = effects.get_mut(at) {
                *effect = self.effect(name, ToolIx(ix), raw, &mut steps);
            }
        }
        self.model.tools = effects;
        for ((tool, argument), steps) in steps {
            let tool = self.tools.get_mut(usize::from(tool.0));
            if let Some(param) = tool.and_then(|t| t.params.iter_mut().find(|p| p.name == argument)) {
                param.resolution = crate::model::Resolution::per_unit(steps);
            }
        }
    }

    fn effect(&mut self, name: &Name, tool: ToolIx, raw: &RawTool, steps: &mut Steps) -> ToolEffect {
        let item = raw.item.as_ref().and_then(|item| self.item(tool, item));
        let mut sets = Vec::new();
        match &raw.sets {
            RawSets::Short(pairs) => {
                for (attribute, argument) in pairs {
                    sets.extend(self.set_from_argument(tool, attribute, argument, None, steps));
                }
            }
            RawSets::Long(entries) => {
                for entry in entries {
                    sets.extend(self.set(tool, entry, steps));
                }
            }
        }
        let touches: Vec<AttrIx> = raw.touches.iter().filter_map(|t| Some(self.attribute(t)?.0)).collect();
        let changes = !sets.is_empty() || !touches.is_empty() || !raw.legs.is_empty();
        if changes && !self.at(tool).is_some_and(crate::tools::Tool::is_write) {
            self.fault(name, VehicleFault::NotAWrite(name.get_ref().clone()));
        }
        ToolEffect {
            item,
            sets,
            touches,
            deadline_ms: raw.deadline_ms.unwrap_or_default(),
            verbs: raw.verbs.clone(),
            nouns: raw.nouns.clone(),
            preference: self.preference(raw),
            tour: self.tour_edit(tool, raw),
        }
    }

    fn set(&mut self, tool: ToolIx, raw: &RawSet, steps: &mut Steps) -> Option<Set> {
        match (&raw.argument, &raw.value) {
            (Some(argument), None) => self.set_from_argument(tool, &raw.attribute, argument, Some(raw), steps),
            (None, Some(value)) => {
                let (attribute, declared) = self.attribute(&raw.attribute)?;
                let literal: Literal = value.clone().into();
                self.constant_fits(&raw.attribute, &declared, &literal)?;
                let when = self.conditions(tool, raw);
                Some(Set { attribute, from: SetFrom::Constant(literal), when })
            }
            _ => {
                self.fault(&raw.attribute, VehicleFault::SetSource(raw.attribute.get_ref().clone()));
                None
            }
        }
    }

    fn set_from_argument(
        &mut self,
        tool: ToolIx,
        attribute: &Name,
        argument: &Name,
        long: Option<&RawSet>,
        steps: &mut Steps,
    ) -> Option<Set> {
        let (ix, declared) = self.attribute(attribute)?;
        let param = self.argument(tool, argument)?;
        self.argument_fits(argument, &declared, &param)?;
        let when = long.map(|raw| self.conditions(tool, raw)).unwrap_or_default();
        let mut map = Vec::new();
        for (from, to) in long.iter().flat_map(|raw| &raw.map) {
            if self.is_member(from, &param) {
                map.push((from.get_ref().clone(), to.clone()));
            }
        }
        if declared.kind == AttrType::Int && param.kind == ParamType::Number {
            self.take_steps(tool, argument, &declared, &param, steps);
        }
        self.words_are_read(argument, &declared, &param, &map, &when);
        Some(Set { attribute: ix, from: SetFrom::Argument { name: param.name, map }, when })
    }

    /// Rules compare arguments with what they set, so both count in the same steps.
    fn take_steps(&mut self, tool: ToolIx, at: &Name, attribute: &Attribute, param: &Param, steps: &mut Steps) {
        let wanted = attribute.resolution.steps();
        let own = param.resolution.steps();
        let taken = *steps.entry((tool, param.name.clone())).or_insert(wanted);
        if !wanted.is_multiple_of(own) || taken != wanted {
            let fault = VehicleFault::Steps {
                tool: self.at(tool).map(|t| t.name.to_string()).unwrap_or_default(),
                argument: param.name.clone(),
                argument_steps: if taken == wanted { own } else { taken },
                attribute: dotted(&self.model, attribute),
                attribute_steps: wanted,
            };
            self.fault(at, fault);
        }
    }

    fn argument_fits(&mut self, at: &Name, attribute: &Attribute, param: &Param) -> Option<()> {
        let (fits, found) = match &param.kind {
            ParamType::Bool => (attribute.kind == AttrType::Bool, "a switch"),
            ParamType::Number => (attribute.kind == AttrType::Int, "a number"),
            ParamType::Text | ParamType::Enum(_) => {
                (matches!(attribute.kind, AttrType::Word | AttrType::Parts(_)), "a word")
            }
            ParamType::List(_) => (attribute.kind == AttrType::List, "a list"),
            ParamType::Object(_) => (false, "an object"),
            ParamType::Any => (true, "anything"),
        };
        if fits {
            return Some(());
        }
        let advice = match attribute.kind {
            AttrType::Bool => "give one entry for each value: `value = true, when = { argument = [\"…\"] }`",
            _ => "set it from another argument, or list it under `touches`",
        };
        self.type_fault(at, attribute, format!("the argument `{}`", param.name), found, advice);
        None
    }

    fn constant_fits(&mut self, at: &Name, attribute: &Attribute, literal: &Literal) -> Option<()> {
        let (fits, found) = match literal {
            Literal::Bool(_) => (attribute.kind == AttrType::Bool, "a switch"),
            Literal::Int(_) | Literal::Number(_) => (attribute.kind == AttrType::Int, "a number"),
            Literal::Text(_) => (matches!(attribute.kind, AttrType::Word | AttrType::Parts(_)), "a word"),
        };
        if !fits {
            let what = format!("the value `{}`", literal.to_json());
            self.type_fault(at, attribute, what, found, "correct the value");
            return None;
        }
        if let Literal::Text(word) = literal {
            self.word_is_read(at, attribute, "value", word);
        }
        Some(())
    }

    fn type_fault(
        &mut self,
        at: &Name,
        attribute: &Attribute,
        what: String,
        found: &'static str,
        advice: &'static str,
    ) {
        let expected = type_name(&attribute.kind);
        let attribute = dotted(&self.model, attribute);
        self.fault(at, VehicleFault::SetType { attribute, expected, what, found, advice });
    }

    /// Words that a write sets must be words that its reading shows, else the two never compare.
    fn words_are_read(
        &mut self,
        at: &Name,
        attribute: &Attribute,
        param: &Param,
        map: &[(String, String)],
        when: &[Condition],
    ) {
        for member in param.members() {
            let own = when.iter().find(|c| c.argument == param.name);
            if own.is_some_and(|c| !c.any_of.contains(&Literal::Text(member.clone()))) {
                continue;
            }
            let word = map.iter().find(|(from, _)| from == member).map_or(member, |(_, to)| to);
            self.word_is_read(at, attribute, &param.name, word);
        }
    }

    pub(super) fn word_is_read(&mut self, at: &Name, attribute: &Attribute, argument: &str, word: &str) {
        let Some(read) = attribute.read else { return };
        let Some(schema) = self.output(read) else { return };
        let first = self.model.entity(attribute.entity).and_then(|e| e.items.first()).map_or("", String::as_str);
        let path = attribute.field.replacen('*', first, 1);
        let Found::Declared(declared) = fields::find(&schema, self.payload(), &path) else { return };
        let Some(words) = fields::words(declared) else { return };
        if !words.contains(&word) {
            let fault = VehicleFault::WordNeverRead {
                argument: argument.to_owned(),
                word: word.to_owned(),
                read: self.at(read).map(|t| t.name.to_string()).unwrap_or_default(),
                attribute: dotted(&self.model, attribute),
                words: words.join(", "),
            };
            self.fault(at, fault);
        }
    }

    fn conditions(&mut self, tool: ToolIx, raw: &RawSet) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (name, values) in &raw.when {
            let Some(param) = self.argument(tool, name) else { continue };
            let any_of = values.literals();
            for value in &any_of {
                let possible = match (&param.kind, value) {
                    (ParamType::Bool, Literal::Bool(_))
                    | (ParamType::Number, Literal::Int(_) | Literal::Number(_))
                    | (ParamType::Text, Literal::Text(_))
                    | (ParamType::Any, _) => true,
                    (ParamType::Enum(members), Literal::Text(word)) => members.contains(word),
                    _ => false,
                };
                if !possible {
                    let value = value.to_json().to_string();
                    let near = Near::among(value.trim_matches('"'), param.members().iter().map(String::as_str));
                    let tool = self.at(tool).map(|t| t.name.to_string()).unwrap_or_default();
                    self.fault(name, VehicleFault::Condition { tool, argument: param.name.clone(), value, near });
                }
            }
            conditions.push(Condition { argument: param.name, any_of });
        }
        conditions
    }
}
