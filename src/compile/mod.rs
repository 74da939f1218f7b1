//! The policy compiler: from the sources of a set to the parts of its blob. Host only.
//!
//! ```text
//! tools.json ─┐
//! vehicle.toml ┴▶ vehicle ─▶ ground ─▶ schema ─▶ rules.cedarschema
//!                              │          │
//! rules.cedar ─▶ Cedar ────────┴──────────┴─▶ rules ─▶ PolicyParts
//! policy.md ─▶ sentences ─────────────────────┘
//! ```
//!
//! Nothing is guessed: a name that does not exist, a field that no result has, an operator that the
//! engine lacks is an error with file and line. One run reports everything that is wrong.

pub(crate) mod beside;
mod compare;
pub mod coverage;
#[cfg_attr(not(feature = "solver"), allow(dead_code, reason = "proofs are taken apart by the solver alone"))]
pub mod critic;
mod error;
pub mod formalize;
mod format;
mod ground;
pub mod import;
mod names;
mod offer;
mod phrases;
mod rules;
mod schema;
mod source;
mod templates;
#[cfg(test)]
mod testing;
pub mod trials;
mod vehicle;

pub use compare::{Against, Comparison, Held, Quality, Relation, quality};
pub use error::{CompileError, CompileErrors, Warning};
pub use format::format;
pub use names::Near;
pub use offer::{Offered, offer};
pub use rules::{ForeignCompiled, RuleFault, compile_foreign};
pub use source::{Place, SetSource, SourceFile};
pub use templates::{SyntaxError, TemplateFault};
pub use vehicle::VehicleFault;

use crate::model::PolicyHash;
use crate::policy::{PackedTests, Policy, PolicyParts};
use error::Report;

/// A compiled set.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What the blob carries.
    pub parts: PolicyParts,
    /// The Cedar schema of the set.
    pub schema: String,
    /// What compiles and is probably not meant.
    pub warnings: Vec<Warning>,
}

/// The Cedar schema of a set, from its effect model and its tools; the rules have no part in it.
///
/// # Errors
/// [`CompileErrors`] with everything that is wrong in the effect model and the tools.
pub fn schema(set: &SetSource) -> Result<String, CompileErrors> {
    ground(set).map(|ground| schema::generate(&ground))
}

/// What rules of a set may name.
fn ground(set: &SetSource) -> Result<ground::Ground, CompileErrors> {
    let mut report = Report::default();
    let ground = vehicle::build(set, &mut report);
    match (report.failed(), ground) {
        (None, Some(ground)) => Ok(ground),
        (errors, _) => Err(errors.unwrap_or(CompileErrors(Vec::new()))),
    }
}

/// The tests that a set brings along, as its blob carries them.
fn tests(set: &SetSource, parts: &PolicyParts) -> Result<PackedTests, CompileErrors> {
    if set.tests.is_empty() {
        return Ok(PackedTests::default());
    }
    let unusable = |why: String| CompileErrors(vec![CompileError::Carried { place: set.rules.whole(), why }]);
    let policy = Policy::new(parts.clone(), PolicyHash::default());
    let policy = policy.map_err(|(rule, error)| unusable(format!("rule `{rule}` cannot be run: {error}")))?;
    let mut report = Report::default();
    let mut tests = Vec::new();
    for file in &set.tests {
        match trials::read(file, &policy) {
            Ok(written) => tests.extend(written.into_iter().map(|w| w.test)),
            Err(errors) => report.errors.extend(errors.0),
        }
    }
    report.failed().map_or(Ok(()), Err)?;
    crate::trials::pack(&tests).map_err(|e| unusable(e.to_string()))
}

/// Compiles a set. The same sources give the same parts, byte for byte.
///
/// # Errors
/// [`CompileErrors`] with everything that is wrong, in the order of the files and lines.
pub fn compile(set: &SetSource) -> Result<Compiled, CompileErrors> {
    let mut report = Report::default();
    let phrases = phrases::all(&mut report);
    let Some(ground) = vehicle::build(set, &mut report) else {
        return Err(report.failed().unwrap_or(CompileErrors(Vec::new())));
    };
    // Rules over a model with mistakes would only repeat them.
    if let Some(errors) = report.failed() {
        return Err(errors);
    }
    let schema = schema::generate(&ground);
    let rules = rules::compile(set, &ground, &schema, &mut report);
    if let Some(errors) = report.failed() {
        return Err(errors);
    }
    let mut parts = PolicyParts {
        id: ground.id,
        inventory: ground.inventory.into(),
        model: ground.model,
        derived: ground.derived,
        rules: rules.rules,
        tables: rules.tables,
        phrases,
        prose: set.prose.text().lines().map(str::to_owned).collect(),
        tests: PackedTests::default(),
    };
    parts.tests = tests(set, &parts)?;
    Ok(Compiled { parts, schema, warnings: report.warnings })
}
