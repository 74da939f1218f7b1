//! `obligato policy`: the steps of an update, for people and for update tools.

mod deliver;
mod install;
mod way;

use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value as Json, json};

use super::{CliError, Exit};
use crate::cli::output::screen;
use crate::policy::update::Meant;
use crate::service::Bus;
use way::{Step, Way};

/// Update the policy: stage, verify, activate, commit, roll back
///
/// The steps are taken by the running service, which verifies the update itself; exit codes 10 to 23 say
/// why one is not taken (README, "Updates"). Several tools may deliver at a time: with --number or --file a
/// step is taken on that version or that very update, or not at all.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    step: StepArgs,
    /// Bus of the service: `system`, `session` or a D-Bus address
    #[arg(long, global = true, conflicts_with = "offline")]
    bus: Option<Bus>,
    /// Work on the slots of the configuration, while the service does not run; root does so as their owner
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
    Verify(MeantArgs),
    /// Put what is staged in force, on trial, between two turns
    Activate(MeantArgs),
    /// Commit to the policy on trial: no older one is taken from now on
    ///
    /// A version that is named and committed to already is done; one that was undone is not (exit code 23).
    Commit(MeantArgs),
    /// Take the policy on trial out of force
    ///
    /// A version that is named and not in force is done; one that is committed cannot be rolled back.
    Rollback(MeantArgs),
    /// Drop what is staged; what is in force stays
    Unstage(MeantArgs),
    /// Take an update through all steps; where one fails, nothing of it is left
    Install {
        /// The update, as `obligato sign` wrote it
        file: PathBuf,
        /// Leave it on trial, for a tool that decides later (commit --file, rollback --file)
        #[arg(long)]
        trial: bool,
    },
    /// Show what is in which slot
    Status,
    /// Take everything that lies in a drop folder through all steps
    ///
    /// What was taken is removed, and what this car will never take; what it cannot take yet stays.
    Deliver {
        /// The folder; only `*.policy` and `*.keys` are looked at, and none whose name begins with a dot
        folder: PathBuf,
    },
}

/// Which update a step is meant for; whichever is there where none is named.
#[derive(Debug, clap::Args)]
struct MeantArgs {
    /// The version that is meant
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    number: Option<u64>,
    /// This very update; a file that says the same number and is another one is not meant
    #[arg(long, value_name = "UPDATE", conflicts_with = "number")]
    file: Option<PathBuf>,
}

impl MeantArgs {
    fn meant(&self) -> Result<Meant, CliError> {
        match &self.file {
            Some(file) => install::content_of(file),
            None => Ok(self.number.unwrap_or_default().into()),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let open = || match args.offline {
        true => Way::offline(&args.config),
        false => Way::service(&args.bus.clone().unwrap_or_else(Bus::of_environment)),
    };
    let step = match &args.step {
        StepArgs::Deliver { folder } => return deliver::run(open, folder, args.json),
        StepArgs::Install { file, trial } => {
            let done = install::run(&mut open()?, file, *trial)?;
            let name = if *trial { "activated" } else { "committed" };
            say(args.json, &done.json(name), &done.sentence(name))?;
            return Ok(Exit::Done);
        }
        StepArgs::Stage { file } => Step::Stage(file),
        StepArgs::Keys { file } => Step::Keys(file),
        StepArgs::Verify(meant) => Step::Verify(meant.meant()?),
        StepArgs::Activate(meant) => Step::Activate(meant.meant()?),
        StepArgs::Commit(meant) => Step::Commit(meant.meant()?),
        StepArgs::Rollback(meant) => Step::Rollback(meant.meant()?),
        StepArgs::Unstage(meant) => Step::Unstage(meant.meant()?),
        StepArgs::Status => return status(&mut open()?, args.json),
    };
    let done = open()?.take(&step)?;
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
