//! The expectation file: which rules and gates may change verdicts.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::flips::{Cause, Flip};
use crate::cli::CliError;
use crate::gates::GATES;
use crate::model::Decision;
use crate::policy::Policy;

/// What the author of a change expects.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectation {
    #[serde(default)]
    flip: Vec<Spanned<Expected>>,
    #[serde(skip)]
    path: String,
    #[serde(skip)]
    lines: Vec<usize>,
}

/// One expected kind of flip.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The rule that is responsible.
    #[serde(default)]
    rule: Option<String>,
    /// The gate, where no rule is.
    #[serde(default)]
    gate: Option<String>,
    /// Verdict of the old set; none: any.
    #[serde(default)]
    from: Option<Decision>,
    /// Verdict of the new set; none: any.
    #[serde(default)]
    to: Option<Decision>,
}

impl Expectation {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let shown = path.display().to_string();
        let text = super::super::load::text(path)?;
        let line = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let wrong = |at: usize, why: String| CliError::Expectation { path: shown.clone(), line: line(at), why };
        let mut read: Self =
            toml::from_str(&text).map_err(|e| wrong(e.span().map_or(0, |span| span.start), e.message().to_owned()))?;
        for expected in &read.flip {
            let Expected { rule, gate, .. } = expected.get_ref();
            if rule.is_some() == gate.is_some() {
                let why = "a [[flip]] names one `rule` or one `gate` that is responsible; write exactly one of them";
                return Err(wrong(expected.span().start, why.to_owned()));
            }
        }
        read.lines = read.flip.iter().map(|e| line(e.span().start)).collect();
        read.path = shown;
        Ok(read)
    }

    /// Holds every name against both sets: a name that neither has expects nothing.
    pub(super) fn fit(&self, old: &Policy, new: &Policy) -> Result<(), CliError> {
        for (expected, line) in self.flip.iter().zip(&self.lines) {
            let cause = expected.get_ref().cause();
            let known = match &cause {
                Cause::Rule(id) => [old, new].iter().any(|set| set.rules().iter().any(|rule| rule.id.as_str() == id)),
                Cause::Gate(name) => GATES.iter().any(|gate| gate.name == name),
            };
            if !known {
                let why = format!("neither policy has the {cause}; correct the name");
                return Err(CliError::Expectation { path: self.path.clone(), line: *line, why });
            }
        }
        Ok(())
    }

    /// Marks the flips whose every cause is named. The answer tells the entries that no flip bears out.
    pub(super) fn mark(&self, flips: &mut [Flip]) -> Vec<String> {
        let mut used = vec![false; self.flip.len()];
        for flip in flips {
            let causes = flip.causes();
            let mut named = !causes.is_empty();
            for cause in causes {
                let mut this = false;
                for (expected, used) in self.flip.iter().zip(&mut used) {
                    if expected.get_ref().fits(cause, flip) {
                        (this, *used) = (true, true);
                    }
                }
                named &= this;
            }
            flip.intended = named;
        }
        let unused = self.flip.iter().zip(&self.lines).zip(used).filter(|(_, used)| !used);
        unused
            .map(|((expected, line), _)| format!("{}:{line}: no flip by {}", self.path, expected.get_ref().cause()))
            .collect()
    }
}

impl Expected {
    fn cause(&self) -> Cause {
        match (&self.rule, &self.gate) {
            (Some(rule), _) => Cause::Rule(rule.clone()),
            (None, gate) => Cause::Gate(gate.clone().unwrap_or_default()),
        }
    }

    fn fits(&self, cause: &Cause, flip: &Flip) -> bool {
        self.cause() == *cause
            && self.from.is_none_or(|from| from == flip.old)
            && self.to.is_none_or(|to| to == flip.new)
    }
}
