//! `obligato diff`: what a new policy set changes, in its rules and in recorded conversations.

mod expect;
mod flips;
mod rules;
mod shadowed;

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::json;

use super::verify::Apply;
use super::{CliError, Exit, load, replay};
use crate::cli::output::screen;
use crate::model::ToolCall;
use crate::policy::Policy;
use expect::Expectation;
use flips::{Flip, flips};
pub(super) use flips::{Reason, reasons};
use rules::{RuleDiff, Told};

/// Compare two compiled policies: their rules, and what they make of recorded conversations
///
/// Exit code 1 when a recorded message is judged otherwise and the expectation does not name the rule
/// (or gate) that is responsible, or when the journal is broken somewhere.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Compiled policy as it was
    old: PathBuf,
    /// Compiled policy as it would be
    new: PathBuf,
    /// Recorded conversations, one JSON object a line, `.gz` or plain
    #[arg(long, value_name = "FILE", num_args = 1..)]
    replay: Vec<PathBuf>,
    /// Journal of a service that had the new policy in shadow (`[shadow] policy`): its verdicts are compared
    #[arg(long, value_name = "FOLDER", conflicts_with = "replay")]
    journal: Option<PathBuf>,
    /// Flips that are meant: `[[flip]]` with `rule` or `gate`, and `from` and `to` where that matters
    #[arg(long, value_name = "FILE.toml")]
    expect: Option<PathBuf>,
    /// Leave companions to the student instead of inserting them
    #[arg(long, value_enum, default_value_t = Apply::Remedies)]
    apply: Apply,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let (old, new) = (load::policy(&args.old)?, load::policy(&args.new)?);
    let expectation = args.expect.as_deref().map_or_else(|| Ok(Expectation::default()), Expectation::read)?;
    expectation.fit(&old, &new)?;
    let mut whole = true;
    let (was, is) = match &args.journal {
        Some(folder) => {
            let read = shadowed::read(folder, &old, &new)?;
            whole = read.whole;
            (read.was, read.is)
        }
        None => {
            let recorded = replay::recorded(&args.replay)?;
            replay::belong(&recorded, &[&old, &new])?;
            let judged = |policy: &Policy| replay::judged(policy, args.apply.into(), &recorded);
            (judged(&old), judged(&new))
        }
    };
    let mut flips = flips(&was, &is);
    let unused = expectation.mark(&mut flips);
    let rules = RuleDiff::of(&old, &new);
    let turns = was.iter().map(|one| one.turns.len()).sum();
    let diff = Diff { old: &old, new: &new, rules: &rules, flips: &flips, unused: &unused, turns };
    let mut out = screen();
    let printed = if args.json { writeln!(out, "{}", diff.json()) } else { diff.print(&mut out) };
    printed.map_err(CliError::output)?;
    Ok(if whole && flips.iter().all(|f| f.intended) { Exit::Done } else { Exit::No })
}

struct Diff<'a> {
    old: &'a Policy,
    new: &'a Policy,
    rules: &'a RuleDiff,
    flips: &'a [Flip],
    unused: &'a [String],
    turns: usize,
}

impl Diff<'_> {
    fn json(&self) -> serde_json::Value {
        let set = |policy: &Policy| json!({"id": policy.id, "hash": policy.hash.to_string()});
        json!({
            "old": set(self.old), "new": set(self.new), "rules": self.rules, "messages": self.turns,
            "flips": self.flips, "unintended": self.flips.iter().filter(|f| !f.intended).count(),
            "unused": self.unused,
        })
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for (what, rules) in [("added", &self.rules.added), ("removed", &self.rules.removed)] {
            for rule in rules {
                writeln!(out, "{what:<8} {}", rule.id)?;
                print_rule(out, rule)?;
            }
        }
        for changed in &self.rules.changed {
            writeln!(out, "{:<8} {}", "changed", changed.rule.id)?;
            writeln!(out, "         {}", changed.rule.sentence)?;
            for edit in &changed.edits {
                writeln!(out, "         {}:", edit.what)?;
                writeln!(out, "           - {}", edit.old)?;
                writeln!(out, "           + {}", edit.new)?;
            }
        }
        if self.rules.is_empty() {
            writeln!(out, "the rules are the same")?;
        }
        for flip in self.flips {
            let mark = if flip.intended { "flip" } else { "UNINTENDED" };
            writeln!(out, "{mark} {}[{}] {} -> {}", flip.id, flip.index, flip.old.as_str(), flip.new.as_str())?;
            for reason in &flip.reasons {
                let sign = if reason.set == "new" { '+' } else { '-' };
                writeln!(out, "  {sign} {}: {}", reason.cause, reason.because)?;
            }
            for (sign, calls, others) in
                [('-', &flip.old_calls, &flip.new_calls), ('+', &flip.new_calls, &flip.old_calls)]
            {
                for call in calls.iter().filter(|call| !others.contains(call)) {
                    writeln!(out, "  {sign} {}", ToolCall::new(&call.tool, call.arguments.clone()))?;
                }
            }
            if flip.reasons.is_empty() {
                writeln!(out, "  no finding of either set explains it")?;
            }
        }
        self.unused.iter().try_for_each(|entry| writeln!(out, "{entry}"))?;
        let unintended = self.flips.iter().filter(|f| !f.intended).count();
        let counts = (self.rules.added.len(), self.rules.removed.len(), self.rules.changed.len());
        let (added, removed, changed) = counts;
        writeln!(out, "rules: {added} added, {removed} removed, {changed} changed")?;
        writeln!(out, "{} of {} messages flip, {unintended} of them unintended", self.flips.len(), self.turns)
    }
}

fn print_rule(out: &mut impl Write, rule: &Told) -> io::Result<()> {
    writeln!(out, "         {}", rule.sentence)?;
    writeln!(out, "         when {}", rule.condition)?;
    rule.rest.iter().try_for_each(|(what, text)| writeln!(out, "         {what}: {text}"))
}
