//! The hard critic: whether the rules of a set make sense (paper 2, generator and critic).
//!
//! ```text
//! set ──▶ compile ──▶ subject ─┐
//! recorded results ───────────┼▶ checks ──▶ findings
//! cvc5 (feature `solver`) ─────┘
//! ```
//!
//! A check is one file under `checks/`: a name, an explanation and a function of the case. Everything
//! is deterministic: the same sources, recordings and solver give the same findings in the same order.
//! What needs a proof asks the solver through `logic`; without one, what is small is enumerated, and
//! what is left open is said.

mod checks;
mod course;
mod domain;
mod effects;
mod expr;
mod logic;
mod observed;
mod own;
mod relate;
mod rounds;
mod samples;
#[cfg(feature = "solver")]
mod solver;
mod subject;
mod witness;

use std::collections::BTreeSet;

use serde::Serialize;

use super::ground::Ground;
use super::rules::Rules;
use super::source::{Place, SetSource, SourceFile};
use super::{CompileError, CompileErrors, compile_foreign};
use cedar_policy::Schema;
pub use checks::CHECKS;
use logic::{Answer, Logic};
pub use observed::{Observed, RecordingError};
pub(super) use relate::Prover;
pub(super) use subject::Stated;
use subject::{Env, Subject};
use witness::Witness;

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Its name, the same in code, JSON and documentation.
    pub name: &'static str,
    /// Its documentation, also printed by `obligato explain`.
    pub explain: &'static str,
    run: fn(&mut Case<'_>),
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The set is wrong there.
    Error,
    /// A figure or a limit of what was checked; the set passes.
    Note,
}

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticFinding {
    /// The check.
    pub check: &'static str,
    /// Its weight.
    pub level: Level,
    /// The line.
    pub place: Option<Place>,
    /// The rules concerned, the one to mend first.
    pub rules: Vec<String>,
    /// What is wrong, and what to do.
    pub what: String,
    /// A call and a state that show it.
    pub example: Option<String>,
}

/// What the critic says of a set.
#[derive(Debug, Clone, Default)]
pub struct Critique {
    /// Findings: by check in the order of [`CHECKS`], then by line.
    pub findings: Vec<CriticFinding>,
    /// Rules looked at; 0 where the set does not compile.
    pub rules: usize,
    /// Questions put to the solver.
    pub queries: usize,
    /// Why there was no solver.
    pub no_solver: Option<String>,
}

impl Critique {
    /// Whether nothing is wrong.
    pub fn passes(&self) -> bool {
        self.findings.iter().all(|f| f.level == Level::Note)
    }

    /// The findings of a check that count as wrong.
    pub fn errors(&self, check: &str) -> impl Iterator<Item = &CriticFinding> {
        self.findings.iter().filter(move |f| f.check == check && f.level == Level::Error)
    }
}

/// What a critique may use.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    /// Results of recorded conversations.
    pub observed: Option<&'a Observed>,
    /// Whether the solver is asked.
    pub solver: bool,
    /// The checks to run by name; empty: all.
    pub only: &'a [&'a str],
}

/// Criticises a set of ours. A set that does not compile has the compiler's errors as findings of
/// the check `grounding`.
pub fn criticise(set: &SetSource, means: Means<'_>) -> Critique {
    match Subject::compiled(set) {
        Ok(subject) => run(&subject, means),
        Err(errors) => ungrounded(errors, &set.rules),
    }
}

/// Criticises rules that have compiled over a vocabulary, by every check that is about rules alone.
///
/// # Errors
/// [`CompileErrors`] where Cedar refuses a rule.
pub(super) fn criticise_rules(
    ground: &Ground,
    schema: &Schema,
    file: &SourceFile,
    rules: &Rules,
) -> Result<Critique, CompileErrors> {
    let stated = subject::statements(file, schema)?;
    let only: Vec<&str> = CHECKS.iter().map(|c| c.name).filter(|name| !checks::OF_THE_MODEL.contains(name)).collect();
    let means = Means { observed: None, solver: true, only: &only };
    Ok(run(&Subject::over(ground, schema.clone(), stated, rules), means))
}

/// Criticises a foreign Cedar set under its own schema.
pub fn criticise_foreign(policies: &SourceFile, schema: &SourceFile, means: Means<'_>) -> Critique {
    // Whatever keeps it from compiling is told first: of such a set nothing can be proven.
    let compiled = compile_foreign(policies.name(), policies, schema);
    match compiled.and_then(|_| Subject::foreign(policies, schema)) {
        Ok(subject) => run(&subject, means),
        Err(errors) => ungrounded(errors, policies),
    }
}

fn ungrounded(errors: CompileErrors, rules: &SourceFile) -> Critique {
    let finding = |error: CompileError| CriticFinding {
        check: checks::GROUNDING,
        level: Level::Error,
        place: error.place().cloned(),
        rules: match &error {
            CompileError::Rule { rule, .. } => vec![rule.clone()],
            CompileError::Cedar { place, .. } => rule_at(rules, place).into_iter().collect(),
            _ => Vec::new(),
        },
        what: bare(&error),
        example: None,
    };
    Critique { findings: errors.0.into_iter().map(finding).collect(), ..Critique::default() }
}

/// What an error says without its place, which a finding has beside it.
fn bare(error: &CompileError) -> String {
    let text = error.to_string();
    let place = error.place().map(|place| format!("{place}: ")).unwrap_or_default();
    text.strip_prefix(&place).map(str::to_owned).unwrap_or(text)
}

/// The rule whose text reaches over a line: the last one named above it.
fn rule_at(rules: &SourceFile, place: &Place) -> Option<String> {
    let lines: Vec<&str> = rules.text().lines().take(place.line).collect();
    let named = |line: &&str| Some(line.split_once("@id(\"")?.1.split_once('"')?.0.to_owned());
    (rules.whole().file == place.file).then(|| lines.iter().rev().find_map(named))?
}

fn run(subject: &Subject, means: Means<'_>) -> Critique {
    let logic = Logic::start(means.solver);
    let had_solver = logic.absent().is_none();
    let critique = with(logic, subject, means);
    match &critique.no_solver {
        // Checks that ran before the solver was lost have its word, those after have not: once more, all alike.
        Some(lost) if had_solver => with(Logic::without(lost.clone()), subject, means),
        _ => critique,
    }
}

fn with(logic: Logic, subject: &Subject, means: Means<'_>) -> Critique {
    let (findings, live, open) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut case = Case { subject, logic, observed: means.observed, findings, live, open, now: "" };
    for check in CHECKS.iter().filter(|c| means.only.is_empty() || means.only.contains(&c.name)) {
        case.now = check.name;
        let before = case.findings.len();
        (check.run)(&mut case);
        if let Some(new) = case.findings.get_mut(before..) {
            new.sort_by(|a, b| (a.level, &a.place, &a.rules).cmp(&(b.level, &b.place, &b.rules)));
        }
    }
    if case.proves() {
        case.now = checks::UNDECIDED;
        for (why, times) in std::mem::take(&mut case.logic.undecided) {
            case.note(None, format!("{times} questions were left open by the solver: {why}"));
        }
    }
    let no_solver = case.logic.absent().map(str::to_owned);
    Critique { findings: case.findings, rules: subject.rules.len(), queries: case.logic.queries, no_solver }
}

/// What a check works on.
pub(crate) struct Case<'a> {
    subject: &'a Subject,
    logic: Logic,
    observed: Option<&'a Observed>,
    findings: Vec<CriticFinding>,
    /// For each rule the requests under which it can fire, once asked for.
    live: Vec<Vec<Env>>,
    /// Rules of which the solver cannot tell whether they ever fire.
    open: BTreeSet<String>,
    now: &'static str,
}

impl<'a> Case<'a> {
    /// Whether proofs are to be had.
    fn proves(&self) -> bool {
        self.logic.absent().is_none()
    }

    /// Reports that rules are wrong; the first is where to mend.
    fn error(&mut self, rules: &[&Stated], what: String, example: Option<Witness>) {
        let example = example.map(|witness| witness.describe(self.subject));
        let place = rules.first().map(|r| r.place.clone());
        let rules = rules.iter().map(|r| r.id.clone()).collect();
        self.findings.push(CriticFinding { check: self.now, level: Level::Error, place, rules, what, example });
    }

    /// Reports a figure.
    fn note(&mut self, rule: Option<&Stated>, what: String) {
        let (place, rules) = (rule.map(|r| r.place.clone()), rule.map(|r| r.id.clone()).into_iter().collect());
        let finding = CriticFinding { check: self.now, level: Level::Note, place, rules, what, example: None };
        self.findings.push(finding);
    }

    /// The requests under which each rule can fire, by its position. An open question counts as yes.
    fn live(&mut self) -> Vec<Vec<Env>> {
        if self.live.len() != self.subject.rules.len() {
            let subject: &'a Subject = self.subject;
            self.live = subject.rules.iter().map(|rule| self.live_envs(rule)).collect();
        }
        self.live.clone()
    }

    fn live_envs(&mut self, rule: &Stated) -> Vec<Env> {
        let possible = |env: &&Env| match self.logic.possible(self.subject, env, &rule.condition) {
            Answer::Never => false,
            Answer::Possible(_) => true,
            Answer::Undecided(_) => {
                self.open.insert(rule.id.clone());
                true
            }
        };
        rule.envs.iter().filter(possible).cloned().collect()
    }
}
