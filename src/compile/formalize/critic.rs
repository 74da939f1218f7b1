//! The two critics of a candidate: what can be computed, and what must be judged.

use std::path::PathBuf;

use cedar_policy::Schema;
use serde_json::json;

use super::answer::{Judged, Verified, object};
use super::author::{Ask, Author, AuthorError, Task};
use crate::compile::critic::{CriticFinding, Critique, Level, criticise_rules};
use crate::compile::error::{CompileErrors, Report, Warning};
use crate::compile::ground::Ground;
use crate::compile::rules::{self, Rules};
use crate::compile::schema;
use crate::compile::source::{SetSource, SourceFile};
use crate::policy::{Rule, Trigger};

pub(super) const JUDGE: &str = include_str!("prompt/judge.md");
pub(super) const VERIFIER: &str = include_str!("prompt/verifier.md");

/// What rules are compiled against.
pub(super) struct Desk<'a> {
    pub(super) ground: &'a Ground,
    schema: String,
    cedar: Schema,
    pub(super) prose: &'a SourceFile,
}

impl<'a> Desk<'a> {
    /// # Errors
    /// [`CompileErrors`] where Cedar refuses the schema.
    pub(super) fn new(ground: &'a Ground, prose: &'a SourceFile) -> Result<Self, CompileErrors> {
        let schema = schema::generate(ground);
        let cedar = rules::read_schema(&set(prose, SourceFile::new("rules.cedar", "")), &schema)?;
        Ok(Self { ground, schema, cedar, prose })
    }

    /// Compiles rules strictly.
    ///
    /// # Errors
    /// [`CompileErrors`] with everything that is wrong in them.
    pub(super) fn compile(&self, file: SourceFile) -> Result<(Rules, Vec<Warning>), CompileErrors> {
        let mut report = Report::default();
        let rules = rules::compile(&set(self.prose, file), self.ground, &self.schema, &mut report);
        report.failed().map_or(Ok((rules, report.warnings)), Err)
    }

    /// What the checks find in rules that compile.
    pub(super) fn critique(&self, file: &SourceFile, rules: &Rules) -> Result<Critique, CompileErrors> {
        criticise_rules(self.ground, &self.cedar, file, rules)
    }

    /// The hard critic: everything that can be computed about the rules of one sentence. A warning of the
    /// compiler counts, because nobody is there to weigh it. The rules of other sentences have no part in it:
    /// no sentence decides what becomes of another one.
    pub(super) fn hard(&self, text: &str) -> Result<Rules, Faults> {
        let told = |errors: CompileErrors| {
            let errors = errors.0.iter().map(ToString::to_string).collect();
            Faults { errors, overreach: false }
        };
        let file = SourceFile::new("answer", text);
        let (rules, warnings) = self.compile(file.clone()).map_err(told)?;
        let mut errors: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let too_much: Vec<String> = rules.rules.iter().filter_map(blocks_everything).collect();
        let overreach = !too_much.is_empty();
        errors.extend(too_much);
        // A hint denies nothing, so there is nothing to prove about it.
        if rules.rules.iter().any(|rule| rule.advise.is_none()) {
            let critique = self.critique(&file, &rules).map_err(told)?;
            errors.extend(critique.findings.iter().filter(|f| f.level == Level::Error).map(words));
        }
        if errors.is_empty() { Ok(rules) } else { Err(Faults { errors, overreach }) }
    }
}

/// A finding in one line, as an author is told of it.
pub(super) fn words(finding: &CriticFinding) -> String {
    let example = finding.example.as_ref().map(|e| format!("; for example {e}")).unwrap_or_default();
    format!("{}{example} [{}]", finding.what, finding.check)
}

fn set(prose: &SourceFile, rules: SourceFile) -> SetSource {
    SetSource {
        prose: prose.clone(),
        tools: SourceFile::new("tools.json", ""),
        vehicle: SourceFile::new("vehicle.toml", ""),
        rules,
        tests: Vec::new(),
        folder: PathBuf::new(),
    }
}

/// What the hard critic found.
#[derive(Debug)]
pub(super) struct Faults {
    pub(super) errors: Vec<String>,
    /// Whether a rule takes hold of far more than one sentence can mean.
    pub(super) overreach: bool,
}

/// A plain prohibition without a condition over several tools would take the assistant's hands off the car.
fn blocks_everything(rule: &Rule) -> Option<String> {
    let Trigger::Calls(tools) = &rule.trigger else { return None };
    let resolved =
        !rule.remedy.is_empty() || rule.consent.is_some() || rule.disclose.is_some() || rule.advise.is_some();
    (tools.len() > 1 && rule.when.ops.is_empty() && !resolved).then(|| {
        format!("it denies every call of {} tools whatever the state is; name the tool, or the condition", tools.len())
    })
}

/// The soft critic: a judge by rubric, then a verifier that looks for a case against the judge. Rules pass
/// when both let them; a verdict that cannot be read lets nothing pass.
pub(super) fn soft(
    author: &mut dyn Author,
    sentence: (usize, &str),
    round: u32,
    rules: &[String],
) -> Result<Result<(), String>, AuthorError> {
    let user = json!({"sentence": sentence.1, "rules": rules}).to_string();
    let ask = |task, system| Ask { task, line: sentence.0, sentence: sentence.1, round, system, user: user.clone() };
    let read = |answer: Result<String, AuthorError>| match answer {
        Err(AuthorError::Endless) => Ok(Err(AuthorError::Endless.to_string())),
        Err(error) => Err(error),
        Ok(text) => Ok(Ok(text)),
    };
    let judged = read(author.answer(&ask(Task::Judge, JUDGE)))?.and_then(|text| object::<Judged>(&text));
    let judged = match judged {
        Ok(judged) => judged,
        Err(why) => return Ok(Err(format!("the judge's verdict cannot be read: {why}"))),
    };
    let mut faults: Vec<&str> = Vec::new();
    for (wrong, what) in [
        (!judged.faithful, "not faithful to the sentence"),
        (judged.broader, "broader than the sentence"),
        (judged.narrower, "narrower than the sentence"),
        (!judged.pragmatic, "not pragmatic"),
    ] {
        if wrong {
            faults.push(what);
        }
    }
    if !faults.is_empty() {
        return Ok(Err(format!("judged {}: {}", faults.join(", "), judged.why)));
    }
    let verified = read(author.answer(&ask(Task::Verify, VERIFIER)))?.and_then(|text| object::<Verified>(&text));
    Ok(match verified {
        Ok(Verified { counterexample: None }) => Ok(()),
        Ok(Verified { counterexample: Some(case) }) => Err(format!("a case in which they disagree: {case}")),
        Err(why) => Err(format!("the verifier's answer cannot be read: {why}")),
    })
}
