//! `obligato explain`: what each gate checks and why.

use std::io::{self, Write};

use super::{CliError, Exit};
use crate::gates::{GATES, Gate};

/// List the gates, or explain one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The gate to explain
    gate: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let mut out = io::stdout().lock();
    match &args.gate {
        None => GATES.iter().try_for_each(|g| writeln!(out, "{:<26}{:<10}{}", g.name, tier(g), summary(g))),
        Some(name) => {
            let gate = GATES.iter().find(|g| g.name == name).ok_or_else(|| {
                CliError::Unknown(format!("there is no gate `{name}`; `obligato explain` lists all of them"))
            })?;
            explain(&mut out, gate)
        }
    }
    .map_err(CliError::output)?;
    Ok(Exit::Done)
}

fn explain(out: &mut impl Write, gate: &Gate) -> io::Result<()> {
    writeln!(out, "{} ({})\n", gate.name, tier(gate))?;
    gate.explain.lines().try_for_each(|line| writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(line)))
}

fn tier(gate: &Gate) -> String {
    format!("{:?}", gate.tier).to_lowercase()
}

/// The first line of a gate's documentation.
pub(super) fn summary(gate: &Gate) -> &'static str {
    gate.explain.lines().next().unwrap_or_default().trim()
}
