//! `obligato verify`: one draft against a history, without a daemon.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{CliError, Exit, load};
use crate::cli::output::screen;
use crate::model::{Conversation, Decision, Draft, Limits, VerdictReport};
use crate::policy::Advice;
use crate::state::History;
use crate::tools::Removed;
use crate::verify::{Binding, SessionId, Step, report};

/// Check one draft against a conversation
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Compiled policy
    #[arg(long)]
    policy: PathBuf,
    /// Conversation so far: OpenAI chat messages, one a line, system first
    #[arg(long)]
    transcript: PathBuf,
    /// The draft: an OpenAI assistant message
    #[arg(long)]
    draft: PathBuf,
    /// What this car lacks: `tool`, `tool.parameter` or `result.tool.field`
    #[arg(long, value_name = "PART")]
    removed: Vec<String>,
    /// Hard limits of the image
    #[arg(long)]
    limits: Option<PathBuf>,
    /// Leave companions to the student instead of inserting them
    #[arg(long, value_enum, default_value_t = Apply::Remedies)]
    apply: Apply,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Whether companions are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Apply {
    /// Computed remedies are inserted.
    Remedies,
    /// They are findings.
    None,
}

impl From<Apply> for Advice {
    fn from(apply: Apply) -> Self {
        match apply {
            Apply::Remedies => Self::Remedies,
            Apply::None => Self::None,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let policy = load::policy(&args.policy)?;
    let limits = load::limits(args.limits.as_deref(), &policy)?;
    let caps = Limits::default();
    let name = args.transcript.display().to_string();
    let conversation = Conversation::from_lines(&load::text(&args.transcript)?)
        .map_err(|e| CliError::Transcript { path: name.clone(), why: e.to_string() })?;
    let draft = Draft::from_bytes(&load::bytes(&args.draft)?, &caps)
        .map_err(|source| CliError::Draft { path: args.draft.display().to_string(), source })?;
    for part in &args.removed {
        let tool = part.strip_prefix("result.").unwrap_or(part).split('.').next().unwrap_or_default();
        if policy.inventory.get(tool).is_none() {
            eprintln!("obligato: --removed {part}: the policy has no tool `{tool}`, so nothing is taken away");
        }
    }
    let mut history = History::new(&policy.model);
    history.set_removed(Removed::from_iter(&args.removed));
    history
        .read(&policy.model, &policy.inventory, &conversation, &caps)
        .map_err(|e| CliError::Transcript { path: name, why: e.to_string() })?;
    policy.warm();
    policy.attend(&history);
    let step = Step {
        policy: &policy,
        limits: &limits,
        history: &history,
        advice: args.apply.into(),
        binding: Binding { session: SessionId::from("verify"), policy: policy.hash, epoch: 0 },
        critic: None,
        valve: None,
    };
    let report = report(&step.check(&draft));
    let mut out = screen();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report).unwrap_or_default())
    } else {
        print(&mut out, &report)
    }
    .map_err(CliError::output)?;
    Ok(match report.verdict {
        Decision::Clear | Decision::Amend => Exit::Done,
        _ => Exit::No,
    })
}

/// The report for a person.
fn print(out: &mut impl Write, report: &VerdictReport) -> io::Result<()> {
    writeln!(out, "{}", report.verdict.as_str())?;
    for finding in &report.findings {
        let rule = finding.rule.as_ref().map(|r| format!(" rule {r}")).unwrap_or_default();
        let source = finding.source.as_ref().map(|s| format!(" ({s})")).unwrap_or_default();
        writeln!(out, "  [{}]{rule}{source} {}", finding.gate, finding.because)?;
        for call in &finding.remedy {
            writeln!(out, "      → {}({})", call.tool, serde_json::to_string(&call.arguments).unwrap_or_default())?;
        }
    }
    for call in &report.amended {
        writeln!(out, "  call {}({})", call.tool, serde_json::to_string(&call.arguments).unwrap_or_default())?;
    }
    if let Some(text) = &report.question {
        writeln!(out, "  ask  {text}")?;
    }
    if let Some(text) = &report.speak {
        writeln!(out, "  say  {text}")?;
    }
    writeln!(out, "  {:.1} µs", report.micros)
}
