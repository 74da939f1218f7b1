//! `obligato test`: the policy tests of a set.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::json;

use super::{CliError, Exit};
use crate::cli::output::{complain, screen};
use crate::compile::trials::{self, Failure, Trials, Written};
use crate::compile::{CompileErrors, SetSource, SourceFile, compile};
use crate::policy::{Policy, PolicyParts};

/// Run the policy tests of a set, and each of them without the rules it names
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the set, with its tests in tests/*.toml
    folder: PathBuf,
    /// Prose in place of the folder's policy.md
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Tool inventory in place of the folder's tools.json
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Only tests whose name contains this; rules without a test are then not reported
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Compiles the set and runs its tests on all cores.
pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let set = SetSource::read(&args.folder, args.policy.as_deref(), args.tools.as_deref());
    let parts = match set.and_then(|set| compile(&set)) {
        Ok(compiled) => compiled.parts,
        Err(errors) => return Ok(refuse(&errors)),
    };
    let policy = load(args, &parts)?;
    let files = files(args)?;
    let mut tests: Vec<Written> = Vec::new();
    let mut wrong = Vec::new();
    for file in &files {
        match trials::read(file, &policy) {
            Ok(read) => tests.extend(read),
            Err(errors) => wrong.extend(errors.0),
        }
    }
    if !wrong.is_empty() {
        return Ok(refuse(&CompileErrors(wrong)));
    }
    if let Some(part) = &args.filter {
        let all = tests.len();
        tests.retain(|written| written.test.name.contains(part.as_str()));
        if tests.is_empty() {
            return Err(CliError::Unknown(format!(
                "no name of the {all} tests contains `{part}`, so nothing was tried"
            )));
        }
    }
    let mut trials = trials::try_all(&parts, &policy, &tests);
    if args.filter.is_some() {
        trials.weak.retain(|weak| matches!(weak, trials::Weak::Test { .. }));
    }
    let mut out = screen();
    if args.json { print_json(&mut out, &trials) } else { print(&mut out, &policy, &trials) }
        .map_err(CliError::output)?;
    Ok(if trials.good() { Exit::Done } else { Exit::No })
}

fn refuse(errors: &CompileErrors) -> Exit {
    complain(errors);
    Exit::Input
}

fn load(args: &Args, parts: &PolicyParts) -> Result<Policy, CliError> {
    let loaded = parts.to_blob().and_then(|blob| Policy::from_blob(&blob));
    loaded.map_err(|source| CliError::Policy { path: args.folder.display().to_string(), source })
}

/// The test files, by name.
fn files(args: &Args) -> Result<Vec<SourceFile>, CliError> {
    let folder = args.folder.join("tests");
    if !folder.is_dir() {
        let what = format!(
            "{}: is not there, so the set has no tests; write them as policies/README.md says",
            folder.display()
        );
        return Err(CliError::Unknown(what));
    }
    let error = |source| CliError::File { path: folder.display().to_string(), source };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let shown = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Ok(SourceFile::new(&shown, text)),
            Err(source) => Err(CliError::File { path: shown, source }),
        }
    };
    paths.iter().map(read).collect()
}

fn print(out: &mut impl Write, policy: &Policy, trials: &Trials) -> io::Result<()> {
    for Failure { test, mismatches, report } in &trials.failures {
        writeln!(out, "{}: `{}` fails", test.place, test.test.name)?;
        mismatches.iter().try_for_each(|mismatch| writeln!(out, "  {mismatch}"))?;
        for finding in &report.findings {
            let rule = finding.rule.as_ref().map(|r| format!(" {r}")).unwrap_or_default();
            writeln!(out, "    [{}{rule}] {}", finding.gate, finding.because)?;
        }
        if let Some(question) = &report.question {
            writeln!(out, "    asks: {question}")?;
        }
    }
    trials.weak.iter().try_for_each(|weak| writeln!(out, "{weak}"))?;
    let rules = policy.rules().len();
    let held = if trials.weak.is_empty() { "every one fails without its rules" } else { "see above" };
    writeln!(out, "{}: {} of {} tests pass over {rules} rules; {held}", policy.id, trials.passed, trials.tests)
}

fn print_json(out: &mut impl Write, trials: &Trials) -> io::Result<()> {
    let failures: Vec<_> = trials
        .failures
        .iter()
        .map(|Failure { test, mismatches, report }| {
            let mismatches: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
            json!({"test": test.test.name, "at": test.place.to_string(), "mismatches": mismatches, "report": report})
        })
        .collect();
    let weak: Vec<String> = trials.weak.iter().map(ToString::to_string).collect();
    writeln!(out, "{}", json!({"tests": trials.tests, "passed": trials.passed, "failures": failures, "weak": weak}))
}
