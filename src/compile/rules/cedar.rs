//! Cedar's own part: each policy parsed by itself, then all validated strictly.

use std::collections::BTreeSet;

use cedar_policy::{Policy as CedarPolicy, PolicyId, PolicySet, Schema, ValidationError, ValidationMode, Validator};
use miette::Diagnostic;

use super::fault::Refusal;
use super::statements;
use crate::compile::error::{CompileError, Report};
use crate::compile::names::Near;
use crate::compile::source::{Place, SourceFile};

/// One policy of the file.
pub(super) struct Statement<'s> {
    pub(super) text: &'s str,
    pub(super) start: usize,
    pub(super) policy: CedarPolicy,
}

impl Statement<'_> {
    /// The line where a refusal shows, else that of the policy's beginning.
    pub(super) fn place(&self, file: &SourceFile, refusal: Option<&Refusal>) -> Place {
        let condition = ["when", "unless"].into_iter().filter_map(|w| statements::find_code(self.text, w, 0)).min();
        let from = condition.filter(|_| refusal.is_some_and(|r| r.in_condition)).unwrap_or_default();
        let near = refusal.and_then(|r| r.near.as_deref()).filter(|word| !word.is_empty());
        let within = near.and_then(|word| statements::find_code(self.text, word, from)).unwrap_or(from);
        file.at(self.start + within)
    }
}

/// What a Cedar diagnostic says, with its help.
pub(in crate::compile) fn explain(diagnostic: &(impl Diagnostic + ?Sized)) -> String {
    let label = diagnostic.labels().and_then(|mut l| l.next()).and_then(|l| l.label().map(str::to_owned));
    let help = diagnostic.help().map(|h| h.to_string());
    std::iter::once(diagnostic.to_string()).chain(label).chain(help).collect::<Vec<_>>().join("; ")
}

/// The names that a schema declares, sorted: of several that are equally close to a wrong one Cedar suggests any, and
/// the same sources shall give the same words.
struct Names {
    kinds: BTreeSet<String>,
    actions: BTreeSet<String>,
}

impl Names {
    fn of(schema: &Schema) -> Self {
        Self {
            kinds: schema.entity_types().map(ToString::to_string).collect(),
            actions: schema.actions().map(|action| action.id().unescaped().to_owned()).collect(),
        }
    }

    fn explain(&self, error: &ValidationError) -> String {
        let what = error.to_string();
        let (known, quote) = match error {
            ValidationError::UnrecognizedEntityType(_) => (&self.kinds, '`'),
            ValidationError::UnrecognizedActionId(_) => (&self.actions, '"'),
            _ => return explain(error),
        };
        let unknown = what.trim_end_matches(['`', '"']).rsplit(quote).next().unwrap_or_default();
        format!("{what}; {}", Near::among(unknown, known.iter().map(String::as_str)))
    }
}

/// Where a Cedar diagnostic points, within its policy.
pub(super) fn offset(diagnostic: &impl Diagnostic) -> usize {
    diagnostic.labels().and_then(|mut labels| labels.next()).map_or(0, |label| label.offset())
}

/// A schema that may be parsed: Cedar's parser descends as deep as its text nests.
pub(super) fn shallow(schema: &SourceFile) -> Result<(), CompileError> {
    match statements::schema_too_deep(schema.text()) {
        None => Ok(()),
        Some(at) => {
            let why = statements::SCHEMA_TOO_DEEP.to_owned();
            Err(CompileError::Cedar { place: schema.at(at), why })
        }
    }
}

/// The policies of a file; what is none is reported.
pub(super) fn parse<'s>(file: &'s SourceFile, report: &mut Report) -> Vec<Statement<'s>> {
    let mut parsed = Vec::new();
    for range in statements::statements(file.text()) {
        let start = range.start;
        let Some(text) = file.text().get(range) else { continue };
        if let Some(at) = statements::too_deep(text) {
            let place = file.at(start + at);
            report.errors.push(CompileError::Cedar { place, why: statements::TOO_DEEP.to_owned() });
            continue;
        }
        let id = PolicyId::new(parsed.len().to_string());
        match CedarPolicy::parse(Some(id), text) {
            Ok(policy) => parsed.push(Statement { text, start, policy }),
            Err(errors) => {
                for error in errors.iter() {
                    let place = file.at(start + offset(error));
                    report.errors.push(CompileError::Cedar { place, why: explain(error) });
                }
            }
        }
    }
    parsed
}

/// Strict validation of all policies at once, following entities at most `level` times from the request;
/// the answer holds those that failed.
pub(super) fn validate(
    file: &SourceFile,
    statements: &[Statement<'_>],
    schema: Schema,
    level: u32,
    report: &mut Report,
) -> BTreeSet<usize> {
    let mut set = PolicySet::new();
    for statement in statements {
        // Ids are positions, so no two are equal.
        let _ = set.add(statement.policy.clone());
    }
    let position = |id: &PolicyId| id.to_string().parse::<usize>().ok();
    let place = |id: &PolicyId, within: usize| {
        position(id).and_then(|at| statements.get(at)).map_or_else(|| file.whole(), |s| file.at(s.start + within))
    };
    let name = |id: &PolicyId| {
        let statement = position(id).and_then(|at| statements.get(at));
        // Cedar's own name where it has none: `policy` and its position.
        statement.and_then(|s| s.policy.annotation("id")).map_or_else(|| format!("policy{id}"), str::to_owned)
    };
    // Cedar names policies by our positions; people know them by their `@id`.
    let told =
        |id: &PolicyId, why: String| why.replace(&format!("for policy `{id}`, "), &format!("rule `{}`: ", name(id)));
    let names = Names::of(&schema);
    let result = Validator::new(schema).validate_with_level(&set, ValidationMode::Strict, level);
    let mut invalid = BTreeSet::new();
    for error in result.validation_errors() {
        invalid.extend(position(error.policy_id()));
        let place = place(error.policy_id(), offset(error));
        report.errors.push(CompileError::Cedar { place, why: told(error.policy_id(), names.explain(error)) });
    }
    for warning in result.validation_warnings() {
        report.warn(place(warning.policy_id(), offset(warning)), told(warning.policy_id(), explain(warning)));
    }
    invalid
}
