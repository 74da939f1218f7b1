//! `obligato policy install`: one update through all steps, for update tools. Where a step fails, nothing of
//! this update is left staged or on trial, and nobody else's trial is touched. There is one place for what is staged:
//! what somebody else only staged gives way, and that is said.

use std::path::Path;

use super::way::{Done, Step, Way};
use crate::cli::{CliError, Exit};
use crate::policy::update::{Meant, largest_update, read_delivered};

/// Takes a file through all steps; with `trial` up to the one that is decided on later.
pub(super) fn run(way: &mut Way, path: &Path, trial: bool) -> Result<Done, CliError> {
    let meant = content_of(path);
    give_way(way, meant.as_ref().ok())?;
    let meant = meant?;
    let before = way.status()?.staged;
    let staged = way.take(&Step::Stage(path))?.version;
    if before != 0 && before != staged {
        eprintln!("obligato: version {before}, which was staged and not in force, gave way to version {staged}");
    }
    let tried = way.take(&Step::Verify(meant)).and_then(|_| way.take(&Step::Activate(meant)));
    let activated = match tried {
        Ok(activated) => activated,
        Err(error) => {
            // A health check that failed has dropped it. Why the update is not taken matters more than this.
            let _ = way.take(&Step::Unstage(meant));
            return Err(error);
        }
    };
    if trial {
        return Ok(activated);
    }
    match way.take(&Step::Commit(meant)) {
        Ok(committed) => Ok(Done { tests: activated.tests, ..committed }),
        Err(error) => {
            // Where the answer alone was lost it is committed, and stays.
            let _ = way.take(&Step::Rollback(meant));
            Err(error)
        }
    }
}

/// Another update on trial is decided on first, by whoever put it there. Whether it is this one the service finds
/// out before it puts anything in force; the number tells as much as is needed to say no early.
fn give_way(way: &mut Way, meant: Option<&Meant>) -> Result<(), CliError> {
    let status = way.status()?;
    if !status.on_trial || meant.is_some_and(|meant| meant.version() == status.current) {
        return Ok(());
    }
    let tried = status.current;
    let why = format!("version {tried} is on trial; this update is taken once that is committed or rolled back");
    Err(CliError::Refused { exit: Exit::Undecided, why })
}

/// The very update that was delivered. Nothing is verified: it names what a step means.
pub(super) fn content_of(path: &Path) -> Result<Meant, CliError> {
    Ok(Meant::content(&read_delivered(path, largest_update())?)?)
}
