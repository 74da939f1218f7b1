//! What a set of sources can be told: errors and warnings, each with its line.

use std::fmt;

use super::Place;
use super::coverage::CoverageFault;
use super::rules::RuleFault;
use super::trials::TestFault;
use super::vehicle::VehicleFault;
use crate::policy::BlobError;
use crate::tools::ImportError;

/// One thing that keeps a policy set from compiling.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A file is no text.
    #[error("{place}: not valid UTF-8; save the file as UTF-8")]
    Utf8 {
        /// The line with the first byte that is none.
        place: Place,
    },
    /// A file cannot be read.
    #[error("{file}: cannot be read: {source}; name a file that is there")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A set that is a file.
    #[error(
        "{0}: is a file, and a policy set is a folder with policy.md, tools.json, vehicle.toml and rules.cedar; Cedar policies of another system are given with `--schema FILE`"
    )]
    NoFolder(String),
    /// A file of a set cannot be read.
    #[error("{file}: cannot be read: {source}; a policy set needs it")]
    Lacking {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The tool inventory cannot be imported.
    #[error("{place}: {source}")]
    Tools {
        /// The file.
        place: Place,
        /// What is wrong.
        source: ImportError,
    },
    /// A TOML file is not of its form.
    #[error("{place}: {why}")]
    Toml {
        /// The line.
        place: Place,
        /// What the reader says.
        why: String,
    },
    /// The effect model is wrong.
    #[error("{place}: {fault}")]
    Vehicle {
        /// The line.
        place: Place,
        /// What is wrong.
        fault: VehicleFault,
    },
    /// The names of the set do not make a Cedar schema.
    #[error("{place}: these names do not make a Cedar schema: {why}")]
    Schema {
        /// The file.
        place: Place,
        /// What Cedar says.
        why: String,
    },
    /// The rules are not Cedar, or not of these types.
    #[error("{place}: {why}")]
    Cedar {
        /// The line.
        place: Place,
        /// What Cedar says.
        why: String,
    },
    /// A rule is Cedar, but no rule.
    #[error("{place}: rule `{rule}`: {fault}")]
    Rule {
        /// The line.
        place: Place,
        /// The rule.
        rule: String,
        /// What is wrong.
        fault: RuleFault,
    },
    /// A policy test is wrong.
    #[error("{place}: test `{test}`: {fault}")]
    Test {
        /// The line.
        place: Place,
        /// The test.
        test: String,
        /// What is wrong.
        fault: TestFault,
    },
    /// The sentences of the prose are not accounted for.
    #[error("{place}: {fault}")]
    Coverage {
        /// The line, of the prose or of the entry.
        place: Place,
        /// What is wrong.
        fault: CoverageFault,
    },
    /// A recorded answer is none.
    #[error("{place}: not a recorded answer: {why}; write `{{\"task\", \"begins\", \"answer\"}}` as JSON on one line")]
    Answers {
        /// The line.
        place: Place,
        /// What the reader says.
        why: String,
    },
    /// An import cannot be read.
    #[error("{place}: not a list of compiled rules: {why}; expected `{{\"rules\": [{{\"id\", \"type\", …}}]}}`")]
    Import {
        /// The file.
        place: Place,
        /// What the reader says.
        why: String,
    },
    /// The tests cannot be carried along.
    #[error("{place}: the tests cannot be carried along: {why}")]
    Carried {
        /// The set.
        place: Place,
        /// What is wrong.
        why: String,
    },
    /// The result does not fit into a blob.
    #[error("{place}: {source}")]
    Blob {
        /// The set.
        place: Place,
        /// What is wrong.
        source: BlobError,
    },
}

impl CompileError {
    /// The line it is about; a file that cannot be read has none.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Read { .. } | Self::Lacking { .. } | Self::NoFolder(_) => None,
            Self::Utf8 { place }
            | Self::Tools { place, .. }
            | Self::Toml { place, .. }
            | Self::Vehicle { place, .. }
            | Self::Schema { place, .. }
            | Self::Cedar { place, .. }
            | Self::Rule { place, .. }
            | Self::Test { place, .. }
            | Self::Coverage { place, .. }
            | Self::Answers { place, .. }
            | Self::Import { place, .. }
            | Self::Carried { place, .. }
            | Self::Blob { place, .. } => Some(place),
        }
    }
}

/// Everything that keeps a policy set from compiling, one error a line.
#[derive(Debug)]
pub struct CompileErrors(pub Vec<CompileError>);

impl std::error::Error for CompileErrors {}

impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl From<CompileError> for CompileErrors {
    fn from(error: CompileError) -> Self {
        Self(vec![error])
    }
}

/// Something that compiles and is probably not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The line.
    pub place: Place,
    /// What is odd and what to do.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Collects what is found, so that one run reports everything.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) errors: Vec<CompileError>,
    pub(super) warnings: Vec<Warning>,
}

impl Report {
    pub(super) fn warn(&mut self, place: Place, what: impl Into<String>) {
        let warning = Warning { place, what: what.into() };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The errors, in the order of their lines; `None` when there is none.
    pub(super) fn failed(&mut self) -> Option<CompileErrors> {
        if self.errors.is_empty() {
            return None;
        }
        let mut errors = std::mem::take(&mut self.errors);
        errors.sort_by(|a, b| a.place().cmp(&b.place()));
        errors.dedup_by_key(|e| e.to_string());
        Some(CompileErrors(errors))
    }
}
