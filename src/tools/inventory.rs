//! The inventory and what is known of each tool.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{ImportError, Members, Schema};
use crate::model::{Resolution, ToolName};

/// What a tool does to the world (design §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Observes; changes nothing.
    Read,
    /// Changes the car or the outside world.
    Write,
    /// Computes from its arguments alone.
    Compute,
    /// The student's own notes and plans.
    Planning,
}

/// Position of a tool in its inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolIx(pub u16);

/// Basic type of a parameter, as the grammar, the Cedar schema and the gates need it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ParamType {
    /// `true` or `false`.
    Bool,
    /// A whole number or a multiple of a fraction.
    Number,
    /// Any text.
    Text,
    /// One of these words.
    Enum(Vec<String>),
    /// A list of items.
    List(Box<ParamType>),
    /// Named members.
    Object(Vec<Param>),
    /// Anything else the schema allows.
    Any,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Type.
    pub kind: ParamType,
    /// Whether a call must carry it.
    pub required: bool,
    /// Smallest value in natural units.
    pub minimum: Option<f64>,
    /// Largest value in natural units.
    pub maximum: Option<f64>,
    /// Step in natural units.
    pub multiple_of: Option<f64>,
    /// Steps per natural unit in which rules see a number.
    pub resolution: Resolution,
}

/// A tool and what the policy's effect model says of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tool {
    /// Name.
    pub name: ToolName,
    /// Description, as the student sees it.
    pub description: String,
    /// What it does to the world.
    pub kind: Kind,
    /// Whether the driver's explicit consent is due before every call.
    pub needs_consent: bool,
    /// Whether it reaches somebody outside the car.
    pub outward: bool,
    /// Whether it cannot be undone.
    pub irreversible: bool,
    /// Whether a call ends the conversation.
    pub ends_conversation: bool,
    /// Parameters.
    pub params: Vec<Param>,
    /// The full JSON Schema of the arguments, as text: the blob format has no JSON.
    pub schema: String,
    /// The JSON Schema of the result, as text, if declared.
    pub output: Option<String>,
    #[serde(skip)]
    validator: OnceLock<Option<Schema>>,
    #[serde(skip)]
    result_validator: OnceLock<Option<Schema>>,
}

impl Clone for Tool {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            description: self.description.clone(),
            kind: self.kind,
            needs_consent: self.needs_consent,
            outward: self.outward,
            irreversible: self.irreversible,
            ends_conversation: self.ends_conversation,
            params: self.params.clone(),
            schema: self.schema.clone(),
            output: self.output.clone(),
            validator: OnceLock::new(),
            result_validator: OnceLock::new(),
        }
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        let key = |t: &Self| (t.kind, t.needs_consent, t.outward, t.irreversible, t.ends_conversation);
        key(self) == key(other)
            && self.name == other.name
            && self.description == other.description
            && self.params == other.params
            && self.schema == other.schema
            && self.output == other.output
    }
}

impl Tool {
    /// A tool from its imported definition, a write until an effect model says otherwise: what is
    /// not known to be harmless is treated as harmful.
    ///
    /// # Errors
    /// [`ImportError::Schema`] when the parameters are not an object schema.
    pub fn from_import(imported: &super::ImportedTool) -> Result<Self, ImportError> {
        let params = params_of(&imported.parameters).ok_or_else(|| ImportError::Schema {
            tool: imported.name.clone(),
            what: "parameters",
            why: "expected an object with `properties`".to_owned(),
        })?;
        Ok(Self {
            name: imported.name.as_str().into(),
            description: imported.description.clone(),
            kind: if imported.read_only == Some(true) { Kind::Read } else { Kind::Write },
            needs_consent: false,
            outward: imported.open_world == Some(true) && imported.read_only != Some(true),
            irreversible: imported.destructive == Some(true) && imported.read_only != Some(true),
            ends_conversation: false,
            params,
            schema: imported.parameters.to_string(),
            output: imported.output.as_ref().map(Json::to_string),
            validator: OnceLock::new(),
            result_validator: OnceLock::new(),
        })
    }

    /// The parameter of that name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| p.name == name)
    }

    /// Whether it changes the car or the outside world.
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }

    /// The members that its arguments can have; `None` when the text is no schema. Nothing of it is kept.
    pub fn takes(&self) -> Option<Members> {
        compiled(&self.schema).map(|schema| schema.members(true))
    }

    /// The same for its result; `None` also where no schema of it is declared.
    pub fn answers(&self) -> Option<Members> {
        compiled(self.output.as_ref()?).map(|schema| schema.members(false))
    }

    /// The compiled schema, built on first use unless [`Inventory::warm`] came before: a blob of sixty tools loads without paying for the
    /// tools that a drive never calls. `None` when the text is no schema, which `compile` excludes.
    pub(super) fn validator(&self) -> Option<&Schema> {
        self.validator.get_or_init(|| compiled(&self.schema)).as_ref()
    }

    /// The same for the result; `None` also where no schema of it is declared.
    pub(super) fn result_validator(&self) -> Option<&Schema> {
        self.result_validator.get_or_init(|| compiled(self.output.as_ref()?)).as_ref()
    }
}

impl Param {
    /// The members of the enumeration, if it is one (directly or as a list's item).
    pub fn members(&self) -> &[String] {
        match &self.kind {
            ParamType::Enum(members) => members,
            ParamType::List(item) => match item.as_ref() {
                ParamType::Enum(members) => members,
                _ => &[],
            },
            _ => &[],
        }
    }
}

fn compiled(schema: &str) -> Option<Schema> {
    Schema::read(&serde_json::from_str(schema).ok()?).ok()
}

fn params_of(schema: &Json) -> Option<Vec<Param>> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties") else { return Some(Vec::new()) };
    properties
        .as_object()?
        .iter()
        .map(|(name, property)| {
            Some(Param {
                name: name.clone(),
                description: property.get("description").and_then(Json::as_str).unwrap_or_default().to_owned(),
                kind: type_of(property)?,
                required: required.contains(&name.as_str()),
                minimum: property.get("minimum").and_then(Json::as_f64),
                maximum: property.get("maximum").and_then(Json::as_f64),
                multiple_of: property.get("multipleOf").and_then(Json::as_f64),
                resolution: Resolution::per_unit(steps_of(property.get("multipleOf").and_then(Json::as_f64))),
            })
        })
        .collect()
}

/// A step of 0.5 needs tenths, so that 22.5 stays whole; a step of 0.25 needs hundredths.
fn steps_of(multiple_of: Option<f64>) -> u32 {
    let step = multiple_of.unwrap_or(1.0);
    [1_u32, 10, 100, 1000].into_iter().find(|scale| (step * f64::from(*scale)).fract() == 0.0).unwrap_or(1000)
}

fn type_of(property: &Json) -> Option<ParamType> {
    if let Some(members) = property.get("enum").and_then(Json::as_array) {
        let words: Option<Vec<String>> = members.iter().map(|m| m.as_str().map(str::to_owned)).collect();
        if let Some(words) = words {
            return Some(ParamType::Enum(words));
        }
    }
    Some(match property.get("type").and_then(Json::as_str) {
        Some("boolean") => ParamType::Bool,
        Some("number" | "integer") => ParamType::Number,
        Some("string") => ParamType::Text,
        Some("array") => ParamType::List(Box::new(match property.get("items") {
            Some(items) => type_of(items)?,
            None => ParamType::Any,
        })),
        Some("object") => ParamType::Object(params_of(property)?),
        _ => ParamType::Any,
    })
}

/// All tools a policy knows, present or removed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Tool>", into = "Vec<Tool>")]
pub struct Inventory {
    tools: Vec<Tool>,
    index: FxHashMap<ToolName, ToolIx>,
}

impl From<Vec<Tool>> for Inventory {
    fn from(tools: Vec<Tool>) -> Self {
        let index = tools.iter().zip(0_u16..).map(|(tool, ix)| (tool.name.clone(), ToolIx(ix))).collect();
        Self { tools, index }
    }
}

impl From<Inventory> for Vec<Tool> {
    fn from(inventory: Inventory) -> Self {
        inventory.tools
    }
}

impl Inventory {
    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.at(*self.index.get(name)?)
    }

    /// The position of the tool of that name.
    pub fn position(&self, name: &str) -> Option<ToolIx> {
        self.index.get(name).copied()
    }

    /// The tool at that position.
    pub fn at(&self, ix: ToolIx) -> Option<&Tool> {
        self.tools.get(usize::from(ix.0))
    }

    /// Compiles every schema, so that no call has to wait for its own.
    pub fn warm(&self) {
        self.tools.iter().for_each(|tool| {
            let _ = tool.validator();
        });
    }

    /// All tools, in the order of the inventory.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}
