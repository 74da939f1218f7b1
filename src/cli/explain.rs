//! `obligato explain`: what each gate and each check of the critic looks for, and why.

use std::io::{self, Write};

use super::{CliError, Exit};
#[cfg(feature = "compile")]
use crate::compile::critic::CHECKS;
use crate::gates::{GATES, Gate};

/// List the gates and the checks of `critic`, or explain one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The gate or check to explain
    name: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    match &args.name {
        None => list(&mut io::stdout().lock()).map_err(CliError::output)?,
        Some(name) => return one(name),
    }
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
    let mut out = io::stdout().lock();
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
