//! `obligato policy install`: one update through all steps, for update tools. Where a step fails, nothing of
//! this update is left staged or on trial, and nothing of anybody else's is touched.

use std::path::Path;

use super::way::{Done, Step, Way};
use crate::cli::{CliError, Exit};
use crate::policy::update::{largest_update, read_delivered, unverified};

/// Takes a file through all steps; with `trial` up to the one that is decided on later.
pub(super) fn run(way: &mut Way, path: &Path, trial: bool) -> Result<Done, CliError> {
    give_way(way, path)?;
    let version = way.take(&Step::Stage(path))?.version;
    let tried = way.take(&Step::Verify(version)).and_then(|_| way.take(&Step::Activate(version)));
    let activated = match tried {
        Ok(activated) => activated,
        Err(error) => {
            // A health check that failed has dropped it. Why the update is not taken matters more than this.
            let _ = way.take(&Step::Unstage(version));
            return Err(error);
        }
    };
    if trial {
        return Ok(activated);
    }
    match way.take(&Step::Commit(version)) {
        Ok(committed) => Ok(Done { tests: activated.tests, ..committed }),
        Err(error) => {
            // Where the answer alone was lost it is committed, and stays.
            let _ = way.take(&Step::Rollback(version));
            Err(error)
        }
    }
}

/// Another version on trial is decided on first, by whoever put it there.
fn give_way(way: &mut Way, path: &Path) -> Result<(), CliError> {
    let status = way.status()?;
    if !status.on_trial || version_of(path).is_ok_and(|version| version == status.current) {
        return Ok(());
    }
    let tried = status.current;
    let why = format!("version {tried} is on trial; this update is taken once that is committed or rolled back");
    Err(CliError::Refused { exit: Exit::Undecided, why })
}

/// The version that a delivered file says it has. Nothing is verified: it names what a step means.
pub(super) fn version_of(path: &Path) -> Result<u64, CliError> {
    let bytes = read_delivered(path, largest_update())?;
    Ok(unverified(&bytes)?.0.version)
}
