//! Who writes and judges the rules of `obligato formalize`.

use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::compile::formalize::{Author, Recorded};
use crate::compile::{CompileErrors, SetSource, SourceFile};

/// Who writes and judges the rules.
#[derive(Debug, clap::Args)]
pub(super) struct AuthorArgs {
    /// Recorded answers, one JSON object a line
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["endpoint", "model_file"])]
    pub(super) answers: Option<PathBuf>,
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
    pub(super) model_file: Option<PathBuf>,
    /// Write what the author answers here, to be used as --answers again
    #[arg(long, value_name = "FILE.jsonl")]
    pub(super) record: Option<PathBuf>,
}

/// Whoever writes, or what is wrong with its answers.
type Made = Result<Box<dyn Author>, CompileErrors>;

pub(super) fn author(args: &AuthorArgs, set: &SetSource) -> Result<Made, CliError> {
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
    Ok(Ok(author))
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
