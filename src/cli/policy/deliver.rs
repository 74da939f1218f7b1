//! `obligato policy deliver`: a drop folder. Whoever may put something there may put anything there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::say;
use super::way::{Done, Step, Way};
use crate::cli::{CliError, Exit};

/// Entries that one run looks at; the rest waits for the next one.
const MOST: usize = 64;

/// Takes what lies in a folder through all steps, in the order of the names, lists of keys first. Every
/// entry that was looked at is removed, taken or not: a folder that stays full would start this for ever.
/// Ends with the code of the last entry that was not taken.
pub(super) fn run(way: &mut Way, folder: &Path, as_json: bool) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    for path in entries(folder)? {
        // A name may hold anything that a terminal obeys.
        let shown = path.file_name().unwrap_or_default().to_string_lossy().escape_debug().to_string();
        match take(way, &path) {
            Ok(done) => {
                let json = json!({"file": shown, "version": done.version, "tests": done.tests});
                say(as_json, &json, &format!("{shown}: {}", done.sentence("committed")))?;
            }
            Err(error @ CliError::Peer(_)) => return Err(error), // it stays where it is
            Err(error) => {
                exit = error.exit();
                let (code, why) = (exit as u8, error.to_string());
                let json = json!({"file": shown, "error": why, "exit": code});
                say(as_json, &json, &format!("{shown}: not taken ({code}): {why}"))?;
                // The clock will be set, the trial decided: it is taken then.
                if matches!(exit, Exit::ClockUnset | Exit::Undecided | Exit::NotYetValid) {
                    continue;
                }
            }
        }
        clear(&path, &shown);
    }
    Ok(exit)
}

/// What is to be looked at. A name that begins with a dot or ends with `.tmp` is still being written; who
/// delivers renames the whole file (SWUpdate's `atomic-install` does).
fn entries(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let error = |source| CliError::File { path: folder.display().to_string(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if !name.starts_with(b".") && !name.ends_with(b".tmp") {
            found.push(path);
        }
    }
    found.sort_by_key(|path| (!is_list(path), path.clone()));
    found.truncate(MOST);
    Ok(found)
}

fn is_list(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "keys")
}

fn take(way: &mut Way, path: &Path) -> Result<Done, CliError> {
    if is_list(path) {
        return way.take(&Step::Keys(path));
    }
    if way.status()?.on_trial {
        let why = "another policy is on trial; it is taken once that one is committed or rolled back".to_owned();
        return Err(CliError::Refused { exit: Exit::Undecided, why });
    }
    way.take(&Step::Stage(path))?;
    let taken = way.take(&Step::Verify).and_then(|_| way.take(&Step::Activate));
    let activated = match taken {
        Ok(activated) => activated,
        Err(error) => {
            // What cannot be put in force is not left staged. A health check that failed has cleared it.
            let _ = way.take(&Step::Rollback);
            return Err(error);
        }
    };
    match way.take(&Step::Commit) {
        Ok(committed) => Ok(Done { tests: activated.tests, ..committed }),
        // It was delivered before and was committed to then.
        Err(error) if error.exit() == Exit::NothingToDo => Ok(activated),
        Err(error) => Err(error),
    }
}

/// Removes an entry: the link, not what it leads to; a folder only when it is empty.
fn clear(path: &Path, shown: &str) {
    let kind = path.symlink_metadata().map(|seen| seen.is_dir());
    let removed = match kind {
        Ok(true) => fs::remove_dir(path),
        Ok(false) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if let Err(error) = removed {
        eprintln!("obligato: {shown} stays in the drop folder: {error}");
    }
}
