//! `obligato replay`: every assistant message of recorded conversations, verified as a draft.

#[cfg(feature = "compile")]
mod firings;
mod foreign;
mod html;
mod journal;
mod judge;
mod projection;
mod summary;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::verify::Apply;
use super::{CliError, Exit, load, output};
use crate::model::Message;
use crate::policy::foreign::ForeignSet;
use crate::policy::{Advice, Policy};
#[cfg(feature = "compile")]
pub(super) use firings::{Firings, firings};
pub(super) use judge::Judged;
use summary::Summary;

/// Check every message of recorded conversations
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Compiled policy
    #[arg(long)]
    policy: PathBuf,
    /// Recorded conversations, one JSON object a line, `.gz` or plain
    #[arg(required_unless_present = "journal")]
    files: Vec<PathBuf>,
    /// Journal of a service instead of files: its drafts are judged again on the ground they were judged on,
    /// and what comes out otherwise is told with the reason (exit code 1)
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["files", "tools", "apply", "features", "html"])]
    journal: Option<PathBuf>,
    /// Tools of the recorded car, where it had fewer than the policy was compiled with
    #[arg(long, value_name = "T.json", conflicts_with = "features")]
    tools: Option<PathBuf>,
    /// Leave companions to the student instead of inserting them
    #[arg(long, value_enum, default_value_t = Apply::Remedies)]
    apply: Apply,
    /// Write the full report here
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// How recorded calls become requests; for a foreign Cedar set
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    features: Option<PathBuf>,
    /// Write a page for reviewers here: one file, opened by any browser, offline
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

/// One recorded conversation; fields beyond these are the recorder's own.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    id: String,
    messages: Vec<Message>,
    #[serde(default)]
    removed_part: Option<Parts>,
    #[serde(default)]
    reward: Option<f64>,
}

impl Recorded {
    /// Whether the recorder counts it as a success; none: it was not scored.
    fn passed(&self) -> Option<bool> {
        self.reward.map(|reward| reward >= 1.0)
    }

    /// Takes more from this conversation's car.
    fn lack(&mut self, parts: &[String]) {
        let all = self.removed().iter().chain(parts).cloned().collect();
        self.removed_part = Some(Parts::Many(all));
    }

    /// What this conversation's car lacks.
    fn removed(&self) -> &[String] {
        match &self.removed_part {
            Some(Parts::One(part)) => std::slice::from_ref(part),
            Some(Parts::Many(parts)) => parts,
            None => &[],
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Parts {
    One(String),
    Many(Vec<String>),
}

/// The report as JSON (design §8).
#[derive(Debug, Serialize)]
struct Report<'a> {
    summary: &'a Summary,
    trajectories: &'a [Judged],
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let journal = args.journal.as_deref().map(output::inside).unwrap_or_default();
    let inputs = args.files.iter().chain([&args.policy]).chain(&args.tools).chain(&args.features).chain(&journal);
    output::apart(inputs, args.json.iter().chain(&args.html))?;
    if let Some(features) = &args.features {
        return foreign::run(args, features);
    }
    let policy = load::policy(&args.policy).map_err(|error| hint(&args.policy, error))?;
    if let Some(folder) = &args.journal {
        return journal::run(&policy, folder, args.json.as_deref());
    }
    let lacks = args.tools.as_deref().map_or(Ok(Vec::new()), |tools| load::lacks(tools, &policy))?;
    let mut recorded = recorded(&args.files)?;
    belong(&recorded, &[&policy])?;
    recorded.iter_mut().for_each(|one| one.lack(&lacks));
    let judged = judge::all(&policy, args.apply.into(), &recorded);
    let summary = Summary::of(&judged);
    if let Some(out) = &args.json {
        let report = Report { summary: &summary, trajectories: &judged };
        write(out, |file| Ok(serde_json::to_writer(file, &report)?))?;
    }
    if let Some(out) = &args.html {
        let names = args.files.iter().map(|f| f.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let page = html::Page::new(&policy, args.apply.into(), names.collect(), &recorded, &judged, &summary);
        write(out, |file| page.write(file))?;
    }
    summary.print(&mut output::screen()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// Says of a foreign set what it needs here.
fn hint(path: &Path, error: CliError) -> CliError {
    match load::bytes(path) {
        Ok(blob) if ForeignSet::is_blob(&blob) => {
            let what = "is a foreign Cedar set; `--features FILE` says how recorded calls become its requests";
            CliError::Unknown(format!("{}: {what}", path.display()))
        }
        _ => error,
    }
}

/// The conversations of the files.
///
/// # Errors
/// [`CliError`] for a file that cannot be read.
pub(super) fn recorded(files: &[PathBuf]) -> Result<Vec<Recorded>, CliError> {
    let mut recorded = Vec::new();
    files.iter().try_for_each(|path| read(path, &mut recorded))?;
    if recorded.is_empty() && !files.is_empty() {
        return Err(nothing(files));
    }
    Ok(recorded)
}

/// The error for files that hold no recording.
fn nothing(files: &[PathBuf]) -> CliError {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    CliError::Unknown(format!(
        "{}: no recorded conversation is in there, so there is nothing to judge",
        files.join(", ")
    ))
}

/// Every assistant message of the conversations, judged as a draft.
pub(super) fn judged(policy: &Policy, advice: Advice, recorded: &[Recorded]) -> Vec<Judged> {
    judge::all(policy, advice, recorded)
}

/// Refuses recordings none of whose calls is one of a tool that these policies know: what is judged of another car says
/// nothing.
pub(super) fn belong(recorded: &[Recorded], policies: &[&Policy]) -> Result<(), CliError> {
    let mut calls = recorded.iter().flat_map(|one| &one.messages).flat_map(|m| &m.tool_calls).map(|c| c.tool.as_str());
    let known = |tool: &str| policies.iter().any(|policy| policy.inventory.get(tool).is_some());
    let Some(first) = calls.next() else { return Ok(()) };
    if known(first) || calls.any(known) {
        return Ok(());
    }
    let what = "none of the recorded calls is one of a tool that the policy knows";
    Err(CliError::Unknown(format!("{what} (`{first}`, …): these are recordings of another car")))
}

/// Adds the conversations of a file.
fn read(path: &Path, recorded: &mut Vec<Recorded>) -> Result<(), CliError> {
    for (line, text) in load::text(path)?.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        recorded.push(serde_json::from_str(text).map_err(|e| CliError::Transcript {
            path: path.display().to_string(),
            why: format!(
                "line {} is not a recorded conversation: {e}; it is one JSON object with `id` and `messages`",
                line + 1
            ),
        })?);
    }
    Ok(())
}

/// Writes a file whole, or says which one could not be written.
fn write(path: &Path, body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), CliError> {
    output::whole(path, body).map_err(|source| CliError::File { path: path.display().to_string(), source })
}
