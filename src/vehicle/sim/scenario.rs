//! The state file of the simulated car. Its format is described in policies/README.md.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::car::{Answers, Car};
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
        "the policy leaves it to the car what `{tool}` makes of `{field}`, and the vehicle state has no `[[{tool}]]` to say it"
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
        scenario.check_names(inventory)?;
        scenario.check_writes(inventory, model)?;
        Ok(scenario)
    }

    /// Place and time at the start, in the form that a system message gives them: `NAME = {json}`, one
    /// a line.
    pub fn situation(&self) -> String {
        self.now.iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
    }

    fn check_names(&self, inventory: &Inventory) -> Result<(), ScenarioError> {
        let struck = self.faults.iter().filter_map(|f| f.tool.as_ref()).map(|t| t.as_str());
        let failing = self.car.otherwise.keys().map(String::as_str);
        if let Some(tool) = struck.chain(failing).find(|t| inventory.get(t).is_none()) {
            return Err(ScenarioError::Tool(tool.to_owned()));
        }
        for invariant in &self.invariants {
            if let Some(field) = invariant.never.keys().find(|f| self.car.get(f).is_none()) {
                return Err(ScenarioError::Field { part: invariant.name.clone(), field: field.clone() });
            }
            if invariant.never.values().any(Bound::is_dead) {
                return Err(ScenarioError::Bound(invariant.name.clone()));
            }
        }
        Ok(())
    }

    /// Every write must have a known effect on what can be read: a write that answers "done" and
    /// changes nothing would show a defect that no car has.
    fn check_writes(&self, inventory: &Inventory, model: &EffectModel) -> Result<(), ScenarioError> {
        for (effect, tool) in model.tools.iter().zip((0_u16..).map(ToolIx)) {
            let Some(tool) = inventory.at(tool).filter(|t| !self.car.answers.contains_key(t.name.as_str())) else {
                continue;
            };
            for attribute in effect.touches.iter().filter_map(|a| model.attribute(*a)) {
                let Some(read) = attribute.read.and_then(|r| inventory.at(r)) else { continue };
                if self.car.answers.contains_key(read.name.as_str()) {
                    let field = format!("{}.{}", read.name, attribute.field);
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
