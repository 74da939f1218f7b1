//! Call templates: `@remedy`, `@read`, `@on_failure`.

use super::constants::literal;
use super::fault::TemplateFault;
use super::syntax::{self, CallText, ValueText};
use crate::compile::ground::Ground;
use crate::compile::names::Near;
use crate::compile::rules::{Scope, TableBuilder};
use crate::policy::{ArgumentTemplate, CallTemplate, Op, Program, Slot, When};
use crate::state::{AttrType, ItemRef, NowField};
use crate::tools::{Kind, Param, ParamType, Tool};

/// What a template is checked against.
pub(crate) struct Templates<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) scope: &'a Scope,
    pub(crate) tables: &'a mut TableBuilder,
    /// The rule's condition: `has` in it makes an optional argument certain.
    pub(crate) when: &'a Program,
}

impl Templates<'_> {
    /// Calls separated by `;`.
    pub(crate) fn calls(&mut self, text: &str) -> Result<Vec<CallTemplate>, TemplateFault> {
        syntax::calls(text)?.iter().map(|call| self.call(call)).collect()
    }

    /// One call that only observes.
    pub(crate) fn read(&mut self, text: &str) -> Result<CallTemplate, TemplateFault> {
        let mut calls = self.calls(text)?;
        let (Some(call), true) = (calls.pop(), calls.is_empty()) else { return Err(TemplateFault::OneRead) };
        match self.ground.inventory.at(call.tool) {
            Some(tool) if matches!(tool.kind, Kind::Read | Kind::Compute) => Ok(call),
            tool => Err(TemplateFault::NotARead(tool.map(|t| t.name.to_string()).unwrap_or_default())),
        }
    }

    fn call(&mut self, call: &CallText) -> Result<CallTemplate, TemplateFault> {
        let inventory = &self.ground.inventory;
        let (Some(ix), Some(tool)) = (inventory.position(&call.tool), inventory.get(&call.tool)) else {
            let near = Near::among(&call.tool, inventory.iter().map(|t| t.name.as_str()));
            return Err(TemplateFault::Unknown { what: "tool", name: call.tool.clone(), near });
        };
        let mut arguments: Vec<(String, ArgumentTemplate)> = Vec::new();
        for (name, value) in &call.arguments {
            let Some(param) = tool.param(name) else {
                let near = Near::among(name, tool.params.iter().map(|p| p.name.as_str()));
                return Err(TemplateFault::Unknown { what: "argument", name: name.clone(), near });
            };
            if arguments.iter().any(|(given, _)| given == name) {
                return Err(TemplateFault::Twice(name.clone()));
            }
            arguments.push((name.clone(), self.argument(tool, param, value)?));
        }
        let missing = tool.params.iter().find(|p| p.required && !arguments.iter().any(|(name, _)| *name == p.name));
        if let Some(param) = missing {
            return Err(TemplateFault::Required { tool: call.tool.clone(), argument: param.name.clone() });
        }
        Ok(CallTemplate { tool: ix, arguments })
    }

    fn argument(&mut self, tool: &Tool, param: &Param, value: &ValueText) -> Result<ArgumentTemplate, TemplateFault> {
        match value {
            ValueText::Hole(path) => self.hole(tool, param, path),
            ValueText::Merge { hole, part } => self.merge(tool, param, hole, part),
            constant => literal(constant, tool, param).map(ArgumentTemplate::Constant),
        }
    }

    fn hole(&self, tool: &Tool, param: &Param, path: &str) -> Result<ArgumentTemplate, TemplateFault> {
        match path.split_once('.') {
            None if path == "resource" => self.resource(tool, param),
            Some(("input", input)) => self.input(tool, param, input),
            Some(("now", name)) => {
                let Some(field) = NowField::by_name(name) else {
                    let near = Near::among(name, NowField::ALL.iter().map(|f| f.name()));
                    return Err(TemplateFault::Unknown { what: "field of `now`", name: name.to_owned(), near });
                };
                let found = if field == NowField::Location { "a word" } else { "a number" };
                self.same_type(tool, param, path, found).map(|()| ArgumentTemplate::Now(field))
            }
            _ => Err(TemplateFault::Hole(path.to_owned())),
        }
    }

    /// `<resource>` fills the argument that names the item, and only where every item has a word.
    fn resource(&self, tool: &Tool, param: &Param) -> Result<ArgumentTemplate, TemplateFault> {
        let model = &self.ground.model;
        let entity = model.entity(self.scope.entity);
        let name = entity.map(|e| e.name.clone()).unwrap_or_default();
        let position = self.ground.inventory.position(tool.name.as_str());
        let item = position.and_then(|ix| model.tool(ix)).and_then(|effect| effect.item.as_ref());
        let Some(item) = item.filter(|i| i.argument == param.name && i.entity == self.scope.entity) else {
            return Err(TemplateFault::NotTheItem {
                tool: tool.name.to_string(),
                argument: param.name.clone(),
                entity: name,
            });
        };
        let worded = |ix: u16| item.words.iter().any(|(_, r)| *r == ItemRef::One(ix));
        let silent = entity.into_iter().flat_map(|e| &e.items).zip(0_u16..).find(|(_, ix)| !worded(*ix));
        match silent {
            Some((silent, _)) => {
                Err(TemplateFault::NoWord { tool: tool.name.to_string(), item: silent.clone(), entity: name })
            }
            None => Ok(ArgumentTemplate::Resource),
        }
    }

    fn input(&self, tool: &Tool, param: &Param, path: &str) -> Result<ArgumentTemplate, TemplateFault> {
        let parts: Vec<&str> = path.split('.').collect();
        let inputs = self.scope.inputs(self.ground, &parts);
        let certain = self.asks_for(path);
        if inputs.iter().flatten().next().is_none() {
            let known = self.scope.tools(self.ground).flat_map(|t| &t.params).map(|p| p.name.as_str());
            let near = Near::among(path, known);
            return Err(TemplateFault::Unknown { what: "argument of the call", name: path.to_owned(), near });
        }
        for input in inputs {
            match input {
                Some(input) if input.required || certain || !param.required => {
                    let found = type_word(&input.kind);
                    self.same_type(tool, param, &format!("input.{path}"), found)?;
                }
                _ if certain || !param.required => {}
                _ => return Err(TemplateFault::Optional(path.to_owned())),
            }
        }
        Ok(ArgumentTemplate::Input(path.to_owned()))
    }

    /// Whether the condition holds only where the argument is given.
    fn asks_for(&self, input: &str) -> bool {
        let is_input = |slot: &Slot| matches!(slot, Slot::Input { path, .. } if path == input);
        let tables = self.tables.tables();
        self.when.ops.iter().any(|op| matches!(op, Op::Has(ix) if tables.slot(*ix).is_some_and(is_input)))
    }

    fn same_type(&self, tool: &Tool, param: &Param, hole: &str, found: &'static str) -> Result<(), TemplateFault> {
        let wanted = type_word(&param.kind);
        if found == wanted || wanted == "anything" || found == "anything" {
            return Ok(());
        }
        Err(TemplateFault::Type {
            hole: hole.to_owned(),
            found,
            argument: param.name.clone(),
            tool: tool.name.to_string(),
            wanted,
        })
    }

    /// `merge(<resource.airflow>, WINDSHIELD)`: whatever parts are there, the tool must take them
    /// joined with one more.
    fn merge(&mut self, tool: &Tool, param: &Param, hole: &str, part: &str) -> Result<ArgumentTemplate, TemplateFault> {
        let attribute = hole.strip_prefix("resource.").and_then(|name| self.ground.attribute(self.scope.entity, name));
        let Some((attribute, declared)) = attribute else {
            let known = self.ground.attributes(self.scope.entity).map(|(_, a)| a.name.as_str());
            let near = Near::among(hole.strip_prefix("resource.").unwrap_or(hole), known);
            return Err(TemplateFault::Unknown { what: "attribute of the resource", name: hole.to_owned(), near });
        };
        let AttrType::Parts(parts) = &declared.kind else { return Err(TemplateFault::NotParts(hole.to_owned())) };
        if !parts.iter().any(|p| p == part) {
            let near = Near::among(part, parts.iter().map(String::as_str));
            return Err(TemplateFault::Unknown { what: "part", name: part.to_owned(), near });
        }
        for member in param.members() {
            let present: Vec<&str> = member.split('_').collect();
            let joined: Vec<&str> =
                parts.iter().map(String::as_str).filter(|p| *p == part || present.contains(p)).collect();
            let joined = joined.join("_");
            if present.iter().all(|p| parts.iter().any(|known| known == p)) && !param.members().contains(&joined) {
                return Err(TemplateFault::Merge {
                    part: part.to_owned(),
                    joined,
                    argument: param.name.clone(),
                    tool: tool.name.to_string(),
                });
            }
        }
        let slot = Slot::Resource { attribute, when: When::After };
        let slot = self.tables.slot(slot).map_err(|_| TemplateFault::Hole(hole.to_owned()))?;
        Ok(ArgumentTemplate::Merge { slot, part: part.to_owned() })
    }
}

fn type_word(kind: &ParamType) -> &'static str {
    match kind {
        ParamType::Bool => "a switch",
        ParamType::Number => "a number",
        ParamType::Text | ParamType::Enum(_) => "a word",
        ParamType::List(_) => "a list",
        ParamType::Object(_) => "an object",
        ParamType::Any => "anything",
    }
}
