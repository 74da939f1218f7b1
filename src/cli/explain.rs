//! `obligato explain`: what each gate and each check of the critic looks for, and why.

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
        None => {
            GATES.iter().for_each(|gate| println!("{:<26}{:<10}{}", gate.name, tier(gate), summary(gate)));
            #[cfg(feature = "compile")]
            CHECKS.iter().for_each(|check| println!("{:<26}{:<10}{}", check.name, "critic", first_line(check.explain)));
            Ok(Exit::Done)
        }
        Some(name) => one(name),
    }
}

/// Explains the gate or the check of that name.
pub(super) fn one(name: &str) -> Result<Exit, CliError> {
    if let Some(gate) = GATES.iter().find(|g| g.name == name) {
        print(gate.name, &tier(gate), gate.explain);
        return Ok(Exit::Done);
    }
    #[cfg(feature = "compile")]
    if let Some(check) = CHECKS.iter().find(|c| c.name == name) {
        print(check.name, "critic", check.explain);
        return Ok(Exit::Done);
    }
    Err(CliError::Unknown(format!("there is no gate or check `{name}`; `obligato explain` lists all of them")))
}

fn print(name: &str, kind: &str, text: &str) {
    println!("{name} ({kind})\n");
    text.lines().for_each(|line| println!("{}", line.strip_prefix(' ').unwrap_or(line)));
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
