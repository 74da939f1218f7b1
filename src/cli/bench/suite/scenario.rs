//! Scenarios: what a driver says to a car in some state, and what must come of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::cli::{CliError, load};
use crate::model::ToolCall;
use crate::policy::Policy;
use crate::vehicle::Scenario as Car;

/// The folder of the half that nobody tunes on.
const HELD_OUT: &str = "held_out";

/// One request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// Its name, unique in the suite.
    pub(super) id: String,
    /// What sort of request it is.
    pub(super) category: String,
    /// Whether it is a single plain request.
    #[serde(default)]
    pub(super) simple: bool,
    /// What the driver says, one turn each.
    pub(super) says: Vec<String>,
    /// Fields of the car that start otherwise than in the state file.
    #[serde(default)]
    start: BTreeMap<String, Json>,
    /// Hour of the day, where it matters.
    hour: Option<i64>,
    /// What this car lacks.
    #[serde(default)]
    pub(super) removed: Vec<String>,
    /// The calls that the driver wants; what a rule adds does not belong here.
    #[serde(default)]
    calls: Vec<Wanted>,
    /// Fields that must have changed; no other may.
    #[serde(default)]
    pub(super) end: BTreeMap<String, Json>,
    /// What the driver answers to the question that must come; none where none may come.
    pub(super) answer: Option<String>,
    /// Whether nothing may be done.
    #[serde(default)]
    pub(super) refused: bool,
    /// Words of which the last reply must have one.
    #[serde(default)]
    pub(super) said: Vec<String>,
    /// Whether it belongs to the untouched half.
    #[serde(skip)]
    pub(super) held_out: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    scenario: Vec<Scenario>,
}

impl Scenario {
    /// The calls that the driver wants.
    pub(super) fn wanted(&self) -> Vec<ToolCall> {
        self.calls.iter().map(|c| ToolCall::new(&c.tool, c.arguments.clone())).collect()
    }

    /// The car that it starts with, out of the text of a state file.
    ///
    /// # Errors
    /// [`CliError::Unknown`] naming the scenario and the field that the car does not have.
    pub(super) fn car(&self, state: &str, policy: &Policy) -> Result<Car, CliError> {
        let wrong = |why: String| CliError::Unknown(format!("the scenario `{}`: {why}", self.id));
        let mut table: toml::Table = toml::from_str(state).map_err(|e| wrong(e.to_string()))?;
        for (field, value) in &self.start {
            let slot = table.iter_mut().filter(|(name, _)| policy.inventory.get(name).is_some());
            let mut slots = slot.filter_map(|(_, read)| read.get_mut(field.as_str()));
            let slot = slots.next().ok_or_else(|| wrong(format!("the car has no field `{field}`")))?;
            *slot = toml::Value::try_from(value).map_err(|e| wrong(e.to_string()))?;
        }
        if let Some(hour) = self.hour {
            let time = table.get_mut("now").and_then(|now| now.get_mut("DATETIME")).and_then(|t| t.get_mut("hour"));
            *time.ok_or_else(|| wrong("the car has no clock".to_owned()))? = toml::Value::Integer(hour);
        }
        Car::parse(&table.to_string(), &policy.inventory, &policy.model).map_err(|e| wrong(e.to_string()))
    }
}

/// Every scenario in a folder and the folders below it, in the order of the files' names.
///
/// # Errors
/// [`CliError`] naming the file and what is wrong with it.
pub(super) fn load(folder: &Path, policy: &Policy) -> Result<Vec<Scenario>, CliError> {
    let mut files = Vec::new();
    gather(folder, &mut files)?;
    files.sort();
    let mut all: Vec<Scenario> = Vec::new();
    for file in &files {
        let wrong = |why: String| CliError::Unknown(format!("{}: {why}", file.display()));
        let read: File = toml::from_str(&load::text(file)?).map_err(|e| wrong(e.to_string()))?;
        let held_out = file.components().any(|part| part.as_os_str() == HELD_OUT);
        for scenario in read.scenario {
            if all.iter().any(|s| s.id == scenario.id) {
                return Err(wrong(format!("there are two scenarios `{}`", scenario.id)));
            }
            if let Some(unknown) = scenario.calls.iter().find(|c| policy.inventory.get(&c.tool).is_none()) {
                return Err(wrong(format!("`{}` calls `{}`, which is no tool", scenario.id, unknown.tool)));
            }
            all.push(Scenario { held_out, ..scenario });
        }
    }
    Ok(all)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let error = |source| CliError::File { path: folder.display().to_string(), source };
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        match path.is_dir() {
            true => gather(&path, files)?,
            false if path.extension().is_some_and(|e| e == "toml") => files.push(path),
            false => {}
        }
    }
    Ok(())
}
