//! The state file of the simulated car. Its format is described in policies/README.md.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::car::{Answers, Car};
use super::edit::{Derive, Edit};
use super::fault::Fault;
use crate::state::EffectModel;
use crate::tools::{Inventory, ToolIx};
use crate::vehicle::invariants::{Bound, Invariant};

/// Why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Not TOML.
    #[error("the vehicle state cannot be read: {0}")]
    Parse(#[from] toml::de::Error),
    /// A table for a tool that the policy does not have.
    #[error("the vehicle state has a table `{0}`, but the policy has no such tool")]
    Tool(String),
    /// A part of another shape than documented.
    #[error("`{part}` of the vehicle state is wrong: {source}")]
    Shape {
        /// The table.
        part: String,
        /// What the reader says.
        source: toml::de::Error,
    },
    /// A field that nothing in the file has.
    #[error("`{part}` of the vehicle state names the field `{field}`, which no `[read tool]` table there has")]
    Field {
        /// The part that names it.
        part: String,
        /// The field, as `read tool.path`.
        field: String,
    },
    /// A condition that can never hold.
    #[error("the invariant `{0}` of the vehicle state compares with a table; use a value, `above`, `below` or `not`")]
    Bound(String),
    /// A write whose effect on a field nothing describes.
    #[error(
        "the policy leaves it to the car what `{tool}` makes of `{field}`, and the vehicle state has no `[[edit]]` or `[[derive]]` for it"
    )]
    Untold {
        /// The write.
        tool: String,
        /// The field, as `read tool.path`.
        field: String,
    },
}

/// A simulated car as its state file describes it.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    pub(super) car: Car,
    pub(super) edits: Vec<Edit>,
    pub(super) derived: Vec<Derive>,
    pub(super) faults: Vec<Fault>,
    pub(super) invariants: Vec<Invariant>,
    now: Map<String, Json>,
}

impl Scenario {
    /// Reads a state file for the tools of a policy.
    ///
    /// # Errors
    /// [`ScenarioError`], naming the table or the field that is wrong.
    pub fn parse(text: &str, inventory: &Inventory, model: &EffectModel) -> Result<Self, ScenarioError> {
        let mut scenario = Self::default();
        for (name, value) in toml::from_str::<toml::Table>(text)? {
            match name.as_str() {
                "now" => scenario.now = shaped(&name, value)?,
                "otherwise" => scenario.car.otherwise = shaped(&name, value)?,
                "edit" => scenario.edits = shaped(&name, value)?,
                "derive" => scenario.derived = shaped(&name, value)?,
                "fault" => scenario.faults = shaped(&name, value)?,
                "invariant" => scenario.invariants = shaped(&name, value)?,
                tool if inventory.get(tool).is_none() => return Err(ScenarioError::Tool(name)),
                _ => {
                    let answers = if value.is_array() {
                        Answers::Cases(shaped(&name, value)?)
                    } else {
                        Answers::Table(shaped(&name, value)?)
                    };
                    scenario.car.answers.insert(name, answers);
                }
            }
        }
        scenario.check_tools(inventory)?;
        scenario.check_fields()?;
        scenario.check_writes(inventory, model)?;
        scenario.derived.iter().for_each(|derive| derive.settle(&mut scenario.car));
        Ok(scenario)
    }

    /// Place and time at the start, in the form that a system message gives them: `NAME = {json}`, one
    /// a line.
    pub fn situation(&self) -> String {
        self.now.iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
    }

    fn check_tools(&self, inventory: &Inventory) -> Result<(), ScenarioError> {
        let struck = self.faults.iter().filter_map(|f| f.tool.as_ref()).map(|t| t.as_str());
        let failing = self.car.otherwise.keys().map(String::as_str);
        let editing = self.edits.iter().map(|e| e.tool.as_str());
        match struck.chain(failing).chain(editing).find(|t| inventory.get(t).is_none()) {
            Some(tool) => Err(ScenarioError::Tool(tool.to_owned())),
            None => Ok(()),
        }
    }

    fn check_fields(&self) -> Result<(), ScenarioError> {
        let edited = self.edits.iter().map(|e| ("edit", e.list.as_str()));
        let derived = self.derived.iter().flat_map(|d| [("derive", d.field.as_str()), ("derive", d.of.as_str())]);
        let judged = self.invariants.iter().flat_map(|i| i.never.keys().map(|f| (i.name.as_str(), f.as_str())));
        if let Some((part, field)) = edited.chain(derived).chain(judged).find(|(_, f)| self.car.get(f).is_none()) {
            return Err(ScenarioError::Field { part: part.to_owned(), field: field.to_owned() });
        }
        match self.invariants.iter().find(|i| i.never.values().any(Bound::is_dead)) {
            Some(dead) => Err(ScenarioError::Bound(dead.name.clone())),
            None => Ok(()),
        }
    }

    /// Every write must have a known effect on what can be read: a write that answers "done" and
    /// changes nothing would show a defect that no car has.
    fn check_writes(&self, inventory: &Inventory, model: &EffectModel) -> Result<(), ScenarioError> {
        for (effect, tool) in model.tools.iter().zip((0_u16..).map(ToolIx)) {
            let Some(tool) = inventory.at(tool) else { continue };
            for attribute in effect.touches.iter().filter_map(|a| model.attribute(*a)) {
                let Some(read) = attribute.read.and_then(|r| inventory.at(r)) else { continue };
                let field = format!("{}.{}", read.name, attribute.field);
                let told = self.edits.iter().any(|e| e.tool == tool.name.as_str() && e.list == field)
                    || self.derived.iter().any(|d| d.field == field);
                if self.car.get(&field).is_some() && !told {
                    return Err(ScenarioError::Untold { tool: tool.name.to_string(), field });
                }
            }
        }
        Ok(())
    }
}

fn shaped<T: DeserializeOwned>(part: &str, value: toml::Value) -> Result<T, ScenarioError> {
    value.try_into().map_err(|source| ScenarioError::Shape { part: part.to_owned(), source })
}
