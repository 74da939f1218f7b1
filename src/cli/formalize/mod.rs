//! `obligato formalize`: rules from prose, with an account of every sentence.

mod author;
mod record;

use std::path::{Path, PathBuf};

use author::{AuthorArgs, author};
use record::Record;

use super::output::{apart, complain, replace, screen};
use super::{CliError, Exit};
use crate::compile::coverage::sentences;
use crate::compile::formalize::{Account, FormalizeError, formalize};
use crate::compile::import::import;
use crate::compile::{CompileErrors, SetSource, SourceFile, compile, quality};

/// Turn written policy into rules, sentence by sentence
///
/// A model writes each rule, the compiler checks it strictly, a judge and a verifier hold it against its
/// sentence; after three rounds a sentence is executable, advisory or out of reach, with the reason.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy in prose
    policy: PathBuf,
    /// Tool inventory
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// Effect model of the car
    #[arg(long, value_name = "FILE")]
    vehicle: PathBuf,
    /// Where the rules go; without it only the account is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Compiled rules of another system (paper 1), to be held against --against instead of formalising
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["output", "answers", "endpoint", "model_file", "html"])]
    import: Option<PathBuf>,
    /// Rules written by hand that the made ones are held against; for --import rules.cedar beside the effect model
    #[arg(long, value_name = "RULES.cedar")]
    against: Option<PathBuf>,
    #[command(flatten)]
    author: AuthorArgs,
    /// Write the account as JSON here
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Write the account as a page beside the prose here
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let set = match sources(args) {
        Ok(set) => set,
        Err(errors) => return Ok(refuse(&errors)),
    };
    outputs(args)?;
    if let Some(file) = &args.import {
        return hold(args, set, file);
    }
    if sentences(&set.prose).is_empty() {
        return Err(CliError::Unknown(format!(
            "{}: holds no sentence, so there is nothing to formalise",
            args.policy.display()
        )));
    }
    let mut author = match author(&args.author, &set)? {
        Ok(author) => author,
        Err(errors) => return Ok(refuse(&errors)),
    };
    let record = args.author.record.as_deref().map(Record::begin);
    if let Some(record) = &record {
        author = record.listen(author)?;
    }
    // What is wrong with the hand-written rules is told before anybody is asked anything.
    let against = match against(args, &set) {
        Ok(against) => against,
        Err(errors) => return Ok(refuse(&errors)),
    };
    let mut made = match formalize(&set, author.as_mut()) {
        Ok(made) => made,
        Err(FormalizeError::Sources(errors)) => return Ok(refuse(&errors)),
        Err(FormalizeError::Author(error)) => {
            let kept = record.map(Record::broken_off).unwrap_or_default();
            return Err(CliError::Peer(format!("{error}; nothing was written{kept}")));
        }
    };
    if let Some(record) = record {
        record.complete()?;
    }
    if let Some(hand) = against {
        match quality(&hand, &SourceFile::new("made.cedar", made.rules.clone())) {
            Ok(quality) => made.account.hold(quality),
            Err(errors) => return Ok(refuse(&errors)),
        }
    }
    // The rules last: whoever waits for them finds the account beside them.
    write_account(args, &made.account, set.prose.text())?;
    if let Some(output) = &args.output {
        write(output, made.rules.as_bytes())?;
    }
    made.account.print(&mut screen()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// Asks before hours of work whether its outputs can be written, each to a place of its own.
fn outputs(args: &Args) -> Result<(), CliError> {
    let inputs =
        [Some(&args.policy), Some(&args.tools), Some(&args.vehicle), args.against.as_ref(), args.import.as_ref()];
    let inputs = inputs.into_iter().chain([args.author.answers.as_ref(), args.author.model_file.as_ref()]).flatten();
    apart(inputs, [&args.output, &args.json, &args.html, &args.author.record].into_iter().flatten())
}

/// The set with the hand-written rules of --against, which compile.
fn against(args: &Args, set: &SetSource) -> Result<Option<SetSource>, CompileErrors> {
    let Some(path) = &args.against else { return Ok(None) };
    let hand = SetSource { rules: SourceFile::read(path)?, ..set.clone() };
    compile(&hand)?;
    Ok(Some(hand))
}

/// The report on rules of another system.
fn hold(args: &Args, mut set: SetSource, file: &Path) -> Result<Exit, CliError> {
    let hand = args.against.clone().unwrap_or_else(|| args.vehicle.with_file_name("rules.cedar"));
    let report = SourceFile::read(&hand).and_then(|rules| Ok((rules, SourceFile::read(file)?)));
    let report = report.map_err(CompileErrors::from).and_then(|(rules, file)| {
        set.rules = rules;
        import(&set, &file)
    });
    let report = match report {
        Ok(report) => report,
        Err(errors) => return Ok(refuse(&errors)),
    };
    if let Some(out) = &args.json {
        let text = serde_json::to_vec_pretty(&report).map_err(|e| CliError::Unknown(e.to_string()))?;
        write(out, &text)?;
    }
    report.print(&mut screen()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

fn refuse(errors: &CompileErrors) -> Exit {
    complain(errors);
    Exit::Input
}

fn sources(args: &Args) -> Result<SetSource, CompileErrors> {
    Ok(SetSource {
        prose: SourceFile::read(&args.policy)?,
        tools: SourceFile::read(&args.tools)?,
        vehicle: SourceFile::read(&args.vehicle)?,
        rules: SourceFile::new("rules.cedar", ""),
        tests: Vec::new(),
        folder: PathBuf::new(),
    })
}

fn write_account(args: &Args, account: &Account, prose: &str) -> Result<(), CliError> {
    if let Some(out) = &args.json {
        let text = serde_json::to_vec_pretty(account).map_err(|e| CliError::Unknown(e.to_string()))?;
        write(out, &text)?;
    }
    args.html.as_ref().map_or(Ok(()), |out| write(out, account.html(prose).as_bytes()))
}

fn write(path: &Path, content: &[u8]) -> Result<(), CliError> {
    replace(path, content).map_err(|source| CliError::File { path: path.display().to_string(), source })
}
