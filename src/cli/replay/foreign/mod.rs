//! `obligato replay --features`: recorded runs judged by a foreign Cedar set.
//!
//! A line with `messages` is a full run: every call is asked about with its arguments and the session
//! before it. A line with `events` is a skeleton, order and tools alone: what depends on anything else
//! stays open.

mod features;
mod fit;
mod judge;
mod report;
mod session;
mod skeleton;
mod types;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::Args;
use crate::cli::output::{complain, screen};
use crate::cli::{CliError, Exit, load};
use crate::model::Message;
use crate::policy::Policy;
use crate::policy::foreign::ForeignSet;
use features::Features;
use report::Report;

/// One recorded run; fields beyond these are the recorder's own.
#[derive(Debug, Deserialize)]
struct Run {
    id: String,
    #[serde(default, alias = "benchmark")]
    dataset: String,
    #[serde(default)]
    condition: String,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    recorded_result: Value,
    #[serde(default)]
    events: Option<Vec<Event>>,
}

impl Run {
    /// What the recorder says of its calls, in order: whether each was right to make.
    fn marks(&self) -> Vec<Option<bool>> {
        let steps = self.recorded_result.pointer("/safety/golden_hist").and_then(Value::as_array);
        let mark = |step: &Value| step.pointer("/eval_result/safe").and_then(Value::as_bool);
        steps.map_or_else(Vec::new, |steps| steps.iter().map(mark).collect())
    }

    /// The tools it calls.
    fn tools(&self) -> impl Iterator<Item = &str> {
        let events = self.events.iter().flatten().map(|event| event.tool.as_str());
        events.chain(self.messages.iter().flat_map(|m| &m.tool_calls).map(|call| call.tool.as_str()))
    }

    /// Whose numbers it belongs to.
    fn group(&self) -> String {
        format!("{} {}", self.dataset, self.condition)
    }
}

/// One event of a skeleton.
#[derive(Debug, Deserialize)]
struct Event {
    stage: String,
    tool: String,
    /// What somebody else's engine decided.
    #[serde(default)]
    thirdparty_decision: String,
}

/// Judges the files and prints the report.
pub(super) fn run(args: &Args, features: &Path) -> Result<Exit, CliError> {
    let policy = |source| CliError::Policy { path: args.policy.display().to_string(), source };
    let blob = load::bytes(&args.policy)?;
    if !ForeignSet::is_blob(&blob) && Policy::from_blob(&blob).is_ok() {
        let what = "is a set over a car; `--features` is for a foreign Cedar set (`compile --schema`): leave it out";
        return Err(CliError::Unknown(format!("{}: {what}", args.policy.display())));
    }
    let set = ForeignSet::from_blob(&blob).map_err(policy)?;
    let (file, read) = (features, load::text(features)?);
    let features: Features = toml::from_str(&read)
        .map_err(|e| CliError::Transcript { path: file.display().to_string(), why: e.to_string() })?;
    let told = |wrong: &fit::Wrong| format!("{}:{}: {}", file.display(), wrong.line(&read), wrong.misfit);
    refuse(fit::fit(&features, &set).iter().map(told))?;
    let runs = runs(&args.files)?;
    if runs.is_empty() {
        return Err(super::nothing(&args.files));
    }
    let called: BTreeSet<String> = runs.iter().flat_map(Run::tools).map(str::to_owned).collect();
    if !fit::belongs(&features, &set, &called) {
        let known = "none of the recorded calls is one of a tool that the schema or the features file names";
        let tools = called.iter().map(String::as_str).take(5).collect::<Vec<_>>().join(", ");
        return Err(CliError::Unknown(format!("{known} ({tools}, …): these are recordings of another system")));
    }
    let (wrong, astray) = types::against(&features, &set, &runs);
    refuse(wrong.iter().map(told))?;
    for idle in fit::idle(&features, &set, &called).iter().chain(&astray) {
        complain(format_args!("obligato: {}", told(idle)));
    }
    let mut report = Report::new(&set);
    for run in &runs {
        match &run.events {
            Some(events) => skeleton::judge(&set, &features, &run.group(), events, &mut report),
            None => report.run(&run.id, &run.group(), &judge::calls(&set, &features, run)),
        }
    }
    if let Some(out) = &args.json {
        super::write(out, |file| Ok(serde_json::to_writer(file, &report.json())?))?;
    }
    let mut out = screen();
    report.print(&mut out).and_then(|()| out.flush()).map_err(CliError::output)?;
    Ok(Exit::Done)
}

/// Nothing is judged with a features file that does not fit.
fn refuse(wrong: impl Iterator<Item = String>) -> Result<(), CliError> {
    let lines: Vec<String> = wrong.collect();
    if lines.is_empty() { Ok(()) } else { Err(CliError::Unknown(lines.join("\n"))) }
}

/// The recorded runs of all files.
fn runs(files: &[PathBuf]) -> Result<Vec<Run>, CliError> {
    let mut runs = Vec::new();
    for path in files {
        for (line, text) in load::text(path)?.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let run: Run = serde_json::from_str(text).map_err(|e| {
                let form = "it is one JSON object with `id` and `messages` or `events`";
                let why = format!("line {} is not a recorded run: {e}; {form}", line + 1);
                CliError::Transcript { path: path.display().to_string(), why }
            })?;
            runs.push(run);
        }
    }
    Ok(runs)
}
