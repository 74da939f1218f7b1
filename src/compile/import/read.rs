//! Compiled rules of paper 1, as its reference writes them.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::compile::error::{CompileError, CompileErrors};
use crate::compile::source::SourceFile;

/// The file.
#[derive(Debug, Deserialize)]
struct File {
    rules: Vec<Foreign>,
}

/// A rule: what it is about in words, and an executable form where its compiler found one.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Foreign {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) trigger_tools: Vec<String>,
    pub(super) requirement: String,
    #[serde(default)]
    pub(super) exec: Option<Exec>,
}

/// The executable form (paper 1, eq. 1).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Exec {
    pub(super) read: String,
    pub(super) field_pattern: String,
    pub(super) op: String,
    pub(super) value: Json,
    pub(super) obligation: Obligation,
}

/// The call that is owed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Obligation {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) args: Map<String, Json>,
}

/// Reads a file.
pub(super) fn read(file: &SourceFile) -> Result<Vec<Foreign>, CompileErrors> {
    let read: Result<File, serde_json::Error> = serde_json::from_str(file.text());
    read.map(|file| file.rules).map_err(|error| {
        let line = file.text().split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        CompileError::Import { place: file.at(line), why: error.to_string() }.into()
    })
}
