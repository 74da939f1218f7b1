//! `obligato explain`: what each gate and each check of the critic looks for, and why.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{CliError, Exit, load};
use crate::cli::output::screen;
#[cfg(feature = "compile")]
use crate::compile::critic::CHECKS;
use crate::gates::{GATES, Gate};
use crate::policy::{Policy, Rule};

/// List the gates and the checks of `critic`, or explain one; with a policy, its rules
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The gate, check or rule to explain
    name: Option<String>,
    /// Compiled policy, for its rules
    #[arg(long, value_name = "X.obl")]
    policy: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let policy = args.policy.as_deref().map(load::policy).transpose()?;
    let mut out = screen();
    match (&args.name, &policy) {
        (None, None) => list(&mut out),
        (None, Some(policy)) => policy
            .rules()
            .iter()
            .try_for_each(|rule| writeln!(out, "{:<34}{:<15}{}", rule.id.as_str(), rule.kind.as_str(), rule.sentence)),
        (Some(name), Some(policy)) => match policy.rules().iter().find(|rule| rule.id.as_str() == name) {
            Some(rule) => print_rule(&mut out, policy, rule),
            None => {
                drop(out);
                return one(name);
            }
        },
        (Some(name), None) => {
            drop(out);
            return one(name);
        }
    }
    .map_err(CliError::output)?;
    Ok(Exit::Done)
}

fn list(out: &mut impl Write) -> io::Result<()> {
    GATES.iter().try_for_each(|gate| writeln!(out, "{:<26}{:<10}{}", gate.name, tier(gate), summary(gate)))?;
    #[cfg(feature = "compile")]
    CHECKS.iter().try_for_each(|c| writeln!(out, "{:<26}{:<10}{}", c.name, "critic", first_line(c.explain)))?;
    Ok(())
}

/// Explains the gate or the check of that name.
pub(super) fn one(name: &str) -> Result<Exit, CliError> {
    let mut out = screen();
    if let Some(gate) = GATES.iter().find(|g| g.name == name) {
        print(&mut out, gate.name, &tier(gate), gate.explain).map_err(CliError::output)?;
        return Ok(Exit::Done);
    }
    #[cfg(feature = "compile")]
    if let Some(check) = CHECKS.iter().find(|c| c.name == name) {
        print(&mut out, check.name, "critic", check.explain).map_err(CliError::output)?;
        return Ok(Exit::Done);
    }
    Err(CliError::Unknown(format!("there is no gate or check `{name}`; `obligato explain` lists all of them")))
}

/// What `Policy.Explain` on D-Bus answers (kind, source, sentence), and what the rule demands.
fn print_rule(out: &mut impl Write, policy: &Policy, rule: &Rule) -> io::Result<()> {
    writeln!(out, "{} ({})\n\n{}  {}", rule.id, rule.kind, rule.sentence, rule.source)?;
    writeln!(out, "when {}", policy.vocabulary().condition(&rule.when))?;
    if rule.shadow {
        writeln!(out, "in shadow: judged and recorded, never acted on")?;
    }
    Ok(())
}

fn print(out: &mut impl Write, name: &str, kind: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{name} ({kind})\n")?;
    text.lines().try_for_each(|line| writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(line)))
}

fn tier(gate: &Gate) -> String {
    format!("{:?}", gate.tier).to_lowercase()
}

fn first_line(text: &'static str) -> &'static str {
    text.lines().next().unwrap_or_default().trim()
}

/// The first line of a gate's documentation.
pub(super) fn summary(gate: &Gate) -> &'static str {
    first_line(gate.explain)
}
