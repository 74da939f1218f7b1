//! `obligato critic`: whether the rules of a set make sense.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::{CliError, Exit, explain, load};
use crate::cli::output::{complain, screen};
use crate::compile::critic::{CHECKS, CriticFinding, Critique, Level, Means, Observed, criticise, criticise_foreign};
use crate::compile::{CompileErrors, SetSource, SourceFile};

/// Find rules that make no sense: that never fire, contradict each other, cannot be satisfied
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the set; with --schema a file of plain Cedar policies
    #[arg(required_unless_present = "explain")]
    set: Option<PathBuf>,
    /// Cedar schema of foreign policies
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "tools", "results"])]
    schema: Option<PathBuf>,
    /// Prose in place of the folder's policy.md
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Tool inventory in place of the folder's tools.json
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Recorded conversations whose results field patterns must match, `.gz` or plain
    #[arg(long, value_name = "FILE", num_args = 1..)]
    results: Vec<PathBuf>,
    /// Do without the solver: what is small is enumerated
    #[arg(long)]
    no_solver: bool,
    /// Also print figures
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Explain a check and do nothing else
    #[arg(long, value_name = "CHECK")]
    explain: Option<String>,
}

/// Prints what is wrong; the answer is no where anything is.
pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    if let Some(name) = &args.explain {
        return explain::one(name);
    }
    let critique = match critique(args)? {
        Ok(critique) => critique,
        Err(errors) => {
            complain(&errors);
            return Ok(Exit::Input);
        }
    };
    let mut out = screen();
    let printed =
        if args.json { writeln!(out, "{}", as_json(&critique)) } else { print(&mut out, &critique, args.verbose) };
    printed.map_err(CliError::output)?;
    Ok(if critique.passes() { Exit::Done } else { Exit::No })
}

fn critique(args: &Args) -> Result<Result<Critique, CompileErrors>, CliError> {
    let mut observed = Observed::default();
    for path in &args.results {
        let shown = path.display().to_string();
        let added = observed.add(&load::text(path)?);
        added.map_err(|e| CliError::Transcript { path: shown, why: e.to_string() })?;
    }
    if !args.results.is_empty() && observed.is_empty() {
        let files: Vec<String> = args.results.iter().map(|path| path.display().to_string()).collect();
        let what = "no result of a tool is recorded in there, so no field pattern can be held against one";
        return Err(CliError::Unknown(format!("{}: {what}", files.join(", "))));
    }
    let observed = (!args.results.is_empty()).then_some(&observed);
    let means = Means { observed, solver: !args.no_solver, only: &[] };
    let set = args.set.clone().unwrap_or_default();
    Ok(match &args.schema {
        Some(schema) => SourceFile::read(&set)
            .and_then(|policies| Ok((policies, SourceFile::read(schema)?)))
            .map(|(policies, schema)| criticise_foreign(&policies, &schema, means))
            .map_err(CompileErrors::from),
        None => SetSource::read(&set, args.policy.as_deref(), args.tools.as_deref()).map(|set| criticise(&set, means)),
    })
}

fn print(out: &mut impl Write, critique: &Critique, verbose: bool) -> io::Result<()> {
    let told = |f: &&CriticFinding| f.level == Level::Error || verbose || f.check == "left-open";
    for finding in critique.findings.iter().filter(told) {
        let place = finding.place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
        let level = if finding.level == Level::Error { "error" } else { "note" };
        writeln!(out, "{place}{level} [{}] {}", finding.check, finding.what)?;
        if let Some(example) = &finding.example {
            writeln!(out, "    for example {example}")?;
        }
    }
    if let Some(why) = &critique.no_solver {
        writeln!(out, "no proofs: {why}; the other checks ran")?;
    }
    let errors = critique.findings.iter().filter(|f| f.level == Level::Error).count();
    let (rules, queries) = (critique.rules, critique.queries);
    writeln!(out, "{rules} rules, {} checks, {queries} questions to the solver: {errors} errors", CHECKS.len())?;
    if errors > 0 {
        writeln!(out, "`obligato explain CHECK` says what a check finds and how to mend it")?;
    }
    Ok(())
}

fn as_json(critique: &Critique) -> Json {
    let finding = |f: &CriticFinding| {
        json!({
            "check": f.check, "level": f.level,
            "file": f.place.as_ref().map(|p| &*p.file), "line": f.place.as_ref().map(|p| p.line),
            "rules": f.rules, "what": f.what, "example": f.example,
        })
    };
    json!({
        "passes": critique.passes(), "rules": critique.rules, "queries": critique.queries,
        "no_solver": critique.no_solver, "findings": critique.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
