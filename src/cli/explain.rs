//! `obligato explain`: what each gate checks and why.

use super::{CliError, Exit};
use crate::gates::{GATES, Gate};

/// List the gates, or explain one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The gate to explain
    gate: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    match &args.gate {
        None => GATES.iter().for_each(|gate| println!("{:<26}{:<10}{}", gate.name, tier(gate), summary(gate))),
        Some(name) => {
            let gate = GATES.iter().find(|g| g.name == name).ok_or_else(|| {
                CliError::Unknown(format!("there is no gate `{name}`; `obligato explain` lists all of them"))
            })?;
            println!("{} ({})\n", gate.name, tier(gate));
            gate.explain.lines().for_each(|line| println!("{}", line.strip_prefix(' ').unwrap_or(line)));
        }
    }
    Ok(Exit::Done)
}

fn tier(gate: &Gate) -> String {
    format!("{:?}", gate.tier).to_lowercase()
}

/// The first line of a gate's documentation.
pub(super) fn summary(gate: &Gate) -> &'static str {
    gate.explain.lines().next().unwrap_or_default().trim()
}
