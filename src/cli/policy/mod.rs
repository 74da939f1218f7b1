//! `obligato policy`: the steps of an update, for people and for update tools.

mod deliver;
mod way;

use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value as Json, json};

use super::{CliError, Exit};
use crate::cli::output::screen;
use crate::service::Bus;
use way::{Step, Way};

/// Update the policy: stage, verify, activate, commit, roll back
///
/// The steps are taken by the running service, which verifies the update itself; exit codes 10 to 22 say
/// why one is not taken (README, "Updates").
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    step: StepArgs,
    /// Bus of the service: `system`, `session` or a D-Bus address
    #[arg(long, global = true, conflicts_with = "offline")]
    bus: Option<Bus>,
    /// Work on the slots of the configuration, while the service does not run
    #[arg(long, global = true)]
    offline: bool,
    /// Configuration of the service, for --offline
    #[arg(long, global = true, value_name = "FILE", default_value = "/etc/obligato/obligato.toml")]
    config: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum StepArgs {
    /// Accept an update and keep it; nothing changes for the driver
    Stage {
        /// The update, as `obligato sign` wrote it
        file: PathBuf,
    },
    /// Take a list of keys into use
    Keys {
        /// The list, as `obligato sign --list` wrote it
        file: PathBuf,
    },
    /// Verify what is staged and run its own tests; nothing changes
    Verify,
    /// Put what is staged in force, on trial, between two turns
    Activate,
    /// Commit to the policy on trial: no older one is taken from now on
    Commit,
    /// Take the policy on trial out of force; without one, drop what is staged
    Rollback,
    /// Show what is in which slot
    Status,
    /// Take everything that lies in a drop folder through all steps, and clear the folder
    Deliver {
        /// The folder; names that begin with a dot or end with `.tmp` are left alone
        folder: PathBuf,
    },
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let mut way = match args.offline {
        true => Way::offline(&args.config)?,
        false => Way::service(&args.bus.clone().unwrap_or_else(Bus::of_environment))?,
    };
    let step = match &args.step {
        StepArgs::Deliver { folder } => return deliver::run(&mut way, folder, args.json),
        StepArgs::Stage { file } => Step::Stage(file),
        StepArgs::Keys { file } => Step::Keys(file),
        StepArgs::Verify => Step::Verify,
        StepArgs::Activate => Step::Activate,
        StepArgs::Commit => Step::Commit,
        StepArgs::Rollback => Step::Rollback,
        StepArgs::Status => return status(&mut way, args.json),
    };
    let done = way.take(&step)?;
    say(args.json, &done.json(step.name()), &done.sentence(step.name()))?;
    Ok(Exit::Done)
}

fn say(as_json: bool, json: &Json, sentence: &str) -> Result<(), CliError> {
    let mut out = screen();
    if as_json { writeln!(out, "{json}") } else { writeln!(out, "{sentence}") }.map_err(CliError::output)
}

fn status(way: &mut Way, as_json: bool) -> Result<Exit, CliError> {
    let status = way.status()?;
    let named = |version: u64| if version == 0 { "factory".to_owned() } else { format!("version {version}") };
    let staged = if status.staged == 0 { "nothing".to_owned() } else { named(status.staged) };
    let trial = if status.on_trial { ", on trial" } else { "" };
    let sentence = format!(
        "current   {}{trial}\nprevious  {}\nstaged    {staged}\nfloor     {}\nkeys      list {}",
        named(status.current),
        named(status.previous),
        status.floor,
        status.keys
    );
    let json = json!({
        "current": status.current, "previous": status.previous, "staged": status.staged,
        "on_trial": status.on_trial, "floor": status.floor, "keys": status.keys,
    });
    say(as_json, &json, &sentence)?;
    Ok(Exit::Done)
}
