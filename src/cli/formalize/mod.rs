//! `obligato formalize`: rules from prose, with an account of every sentence.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::output::{ready, replace};
use super::{CliError, Exit};
use crate::compile::coverage::sentences;
use crate::compile::formalize::{Account, Author, FormalizeError, Recorded, Recording, formalize};
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

/// Who writes and judges the rules.
#[derive(Debug, clap::Args)]
struct AuthorArgs {
    /// Recorded answers, one JSON object a line
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["endpoint", "model_file"])]
    answers: Option<PathBuf>,
    /// Address of an OpenAI-compatible server, without `/chat/completions`
    #[arg(long, value_name = "URL", requires = "model", conflicts_with = "model_file")]
    endpoint: Option<String>,
    /// Name of the model on that server
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    model: Option<String>,
    /// Environment variable that holds the key of that server
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    key_variable: Option<String>,
    /// A GGUF model in this process; it writes under a grammar
    #[arg(long, value_name = "GGUF")]
    model_file: Option<PathBuf>,
    /// Write what the author answers here, to be used as --answers again
    #[arg(long, value_name = "FILE.jsonl")]
    record: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let set = match sources(args) {
        Ok(set) => set,
        Err(errors) => return Ok(refuse(&errors)),
    };
    if let Some(file) = &args.import {
        return hold(args, set, file);
    }
    outputs(args)?;
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
    // What is wrong with the hand-written rules is told before anybody is asked anything.
    let against = match against(args, &set) {
        Ok(against) => against,
        Err(errors) => return Ok(refuse(&errors)),
    };
    let mut made = match formalize(&set, author.as_mut()) {
        Ok(made) => made,
        Err(FormalizeError::Sources(errors)) => return Ok(refuse(&errors)),
        Err(FormalizeError::Author(error)) => return Err(CliError::Peer(format!("{error}; nothing was written"))),
    };
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
    made.account.print(&mut io::stdout().lock()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// Asks before hours of work whether its outputs can be written, each to a place of its own.
fn outputs(args: &Args) -> Result<(), CliError> {
    let inputs = [Some(&args.policy), Some(&args.tools), Some(&args.vehicle), args.against.as_ref()];
    let inputs = inputs.into_iter().chain([args.author.answers.as_ref(), args.author.model_file.as_ref()]);
    let mut taken: Vec<PathBuf> = inputs.flatten().filter_map(|path| path.canonicalize().ok()).collect();
    let outputs = [&args.output, &args.json, &args.html, &args.author.record];
    for path in outputs.into_iter().flatten() {
        ready(path).map_err(|source| CliError::File { path: path.display().to_string(), source })?;
        // What is there and is no file, as a terminal, may take several texts.
        if path.exists() && !path.is_file() {
            continue;
        }
        let whole = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.clone());
        if taken.contains(&whole) {
            let what = format!("{}: is read or written already; give each output a file of its own", path.display());
            return Err(CliError::Unknown(what));
        }
        taken.push(whole);
    }
    Ok(())
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
    report.print(&mut io::stdout().lock()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

fn refuse(errors: &CompileErrors) -> Exit {
    eprintln!("{errors}");
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

type Made = Result<Box<dyn Author>, CompileErrors>;

fn author(args: &AuthorArgs, set: &SetSource) -> Result<Made, CliError> {
    let author: Box<dyn Author> = match (&args.answers, &args.endpoint, &args.model_file) {
        (Some(answers), ..) => match SourceFile::read(answers).map_err(Into::into).and_then(|f| Recorded::read(&f)) {
            Ok(recorded) => Box::new(recorded),
            Err(errors) => return Ok(Err(errors)),
        },
        (None, Some(endpoint), _) => remote(endpoint, args)?,
        (None, None, Some(file)) => match local(file, set)? {
            Ok(local) => local,
            Err(errors) => return Ok(Err(errors)),
        },
        (None, None, None) => {
            let what = "there is nobody to write rules; give --answers FILE, --endpoint URL and --model NAME, or --model-file GGUF";
            return Err(CliError::Unknown(what.to_owned()));
        }
    };
    let Some(path) = &args.record else { return Ok(Ok(author)) };
    let out = File::create(path).map_err(|source| CliError::File { path: path.display().to_string(), source })?;
    Ok(Ok(Box::new(Recording::new(author, Flushed(BufWriter::new(out))))))
}

/// Writes through after every line, so that a run that ends early leaves whole answers.
struct Flushed<W: Write>(W);

impl<W: Write> Write for Flushed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        if bytes.contains(&b'\n') {
            self.0.flush()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(feature = "llama")]
fn local(file: &Path, set: &SetSource) -> Result<Made, CliError> {
    use crate::compile::formalize::Local;
    use crate::student::{Llama, LlamaConfig};
    let model = Llama::load(LlamaConfig::new(file, Vec::new())).map_err(|e| CliError::Unknown(e.to_string()))?;
    Ok(Local::new(model, set).map(|local| Box::new(local) as Box<dyn Author>))
}

#[cfg(not(feature = "llama"))]
fn local(file: &Path, _: &SetSource) -> Result<Made, CliError> {
    Err(CliError::Unknown(format!("{}: this build runs no model; build it with the feature `llama`", file.display())))
}

#[cfg(feature = "remote")]
fn remote(endpoint: &str, args: &AuthorArgs) -> Result<Box<dyn Author>, CliError> {
    use crate::student::{Remote, RemoteConfig};
    let mut config = RemoteConfig::new(endpoint, args.model.clone().unwrap_or_default());
    config.key_variable.clone_from(&args.key_variable);
    Ok(Box::new(Remote::new(config).map_err(|e| CliError::Peer(e.to_string()))?))
}

#[cfg(not(feature = "remote"))]
fn remote(endpoint: &str, _: &AuthorArgs) -> Result<Box<dyn Author>, CliError> {
    Err(CliError::Unknown(format!("{endpoint}: this build reaches no server; build it with the feature `remote`")))
}
