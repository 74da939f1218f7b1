//! `obligato policy deliver`: a drop folder. Whoever may put something there may put anything there.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::json;

use super::way::{Done, Step, Way};
use super::{install, say};
use crate::cli::{CliError, Exit};
use crate::policy::update::UpdateError;

/// Files that one run looks at, the newest: those that stay, however many, keep no later one waiting.
const MOST: usize = 64;

/// Takes what lies in a folder through all steps, in the order of the names, lists of keys first. What was
/// taken is removed, and what this car will never take as it is; what it cannot take now stays, because
/// nobody delivers it again. Ends with the code of the last file that was not taken.
pub(super) fn run(
    open: impl FnOnce() -> Result<Way, CliError>,
    folder: &Path,
    as_json: bool,
) -> Result<Exit, CliError> {
    let paths = deliveries(folder, as_json)?;
    if paths.is_empty() {
        return Ok(Exit::Done); // nobody is woken for nothing
    }
    let (mut way, mut exit) = (open()?, Exit::Done);
    for path in paths {
        match take(&mut way, &path) {
            Ok(done) => {
                let shown = shown(&path);
                let json = json!({"file": shown, "version": done.version, "tests": done.tests});
                say(as_json, &json, &format!("{shown}: {}", done.sentence("committed")))?;
            }
            Err(error @ CliError::Peer(_)) => return Err(error), // there is nobody to take anything
            Err(error) => {
                exit = error.exit();
                refused(&path, &error, as_json)?;
                if stays(exit) {
                    continue;
                }
            }
        }
        clear(&path);
    }
    Ok(exit)
}

/// Whether a file that is not taken for this reason may be taken another time, as it is.
fn stays(exit: Exit) -> bool {
    match exit {
        // Its time comes, the clock will be set, the trial is decided, somebody else is through.
        Exit::NotYetValid | Exit::ClockUnset | Exit::Undecided | Exit::OtherVersion | Exit::NothingToDo => true,
        // The car is at fault, or how it is set up.
        Exit::Storage | Exit::NotAllowed | Exit::NoUpdates | Exit::Peer | Exit::Input | Exit::No => true,
        Exit::Malformed
        | Exit::NotAuthentic
        | Exit::Rollback
        | Exit::Expired
        | Exit::DoesNotFit
        | Exit::Unhealthy
        | Exit::Done => false,
    }
}

/// What is to be looked at: `*.policy` and `*.keys`. A name that begins with a dot is still being written; who
/// delivers renames the whole file. Folders are no deliveries and are cleared away where they are empty.
fn deliveries(folder: &Path, as_json: bool) -> Result<Vec<PathBuf>, CliError> {
    let error = |source| CliError::File { path: folder.display().to_string(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?;
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden || !(has_ending(&path, "policy") || is_list(&path)) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            refused(&path, &UpdateError::NotAFile { path: path.clone(), what: "a folder" }.into(), as_json)?;
            clear(&path);
            continue;
        }
        found.push((written(&entry), path));
    }
    found.sort_by(|(one, _), (other, _)| other.cmp(one));
    found.truncate(MOST);
    let mut paths: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).collect();
    paths.sort_by_key(|path| (!is_list(path), path.clone()));
    Ok(paths)
}

fn written(entry: &DirEntry) -> SystemTime {
    entry.metadata().and_then(|seen| seen.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn is_list(path: &Path) -> bool {
    has_ending(path, "keys")
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

fn take(way: &mut Way, path: &Path) -> Result<Done, CliError> {
    match is_list(path) {
        true => way.take(&Step::Keys(path)),
        false => install::run(way, path, false),
    }
}

/// The name of an entry. It may hold anything that a terminal obeys.
fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().escape_debug().to_string()
}

fn refused(path: &Path, error: &CliError, as_json: bool) -> Result<(), CliError> {
    let (shown, code, why) = (shown(path), error.exit() as u8, error.to_string());
    let json = json!({"file": shown, "error": why, "exit": code});
    say(as_json, &json, &format!("{shown}: not taken ({code}): {why}"))
}

/// Removes an entry: the link, not what it leads to; a folder only when it is empty.
fn clear(path: &Path) {
    let kind = path.symlink_metadata().map(|seen| seen.is_dir());
    let removed = match kind {
        Ok(true) => fs::remove_dir(path),
        Ok(false) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if let Err(error) = removed {
        eprintln!("obligato: {} stays in the drop folder: {error}", shown(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::update::Class;

    #[test]
    fn what_the_file_itself_is_to_blame_for_goes_and_everything_else_stays() {
        let gone = [
            Class::Malformed,
            Class::NotAuthentic,
            Class::Rollback,
            Class::Expired,
            Class::DoesNotFit,
            Class::Unhealthy,
        ];
        let kept = [
            Class::NotYetValid,
            Class::ClockUnset,
            Class::NothingToDo,
            Class::OtherVersion,
            Class::Busy,
            Class::Storage,
        ];
        assert!(gone.into_iter().all(|class| !stays(class.into())));
        assert!(kept.into_iter().all(|class| stays(class.into())));
        // What the bus and the service say besides: not allowed, no updates, stopping, too often, broken down.
        assert!([Exit::NotAllowed, Exit::NoUpdates, Exit::Peer].into_iter().all(stays));
    }

    #[test]
    fn the_newest_files_are_looked_at_in_the_order_of_their_names_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            let when = SystemTime::now() - std::time::Duration::from_secs(age);
            file.set_modified(when).unwrap();
        };
        (0..200).for_each(|at| put(&format!("old-{at}.policy"), 1_000 + at));
        put("z.policy", 10);
        put("y.keys", 20);
        for name in [".z.policy", "z.policy.tmp", "readme"] {
            put(name, 0);
        }
        let found = deliveries(folder.path(), true).unwrap();
        let names: Vec<String> = found.iter().map(|path| shown(path)).collect();
        assert_eq!(names.len(), MOST);
        assert_eq!((names[0].as_str(), names[MOST - 1].as_str()), ("y.keys", "z.policy"));
        assert!(names[1..MOST - 1].iter().all(|name| name.starts_with("old-")), "{names:?}");
        assert!(names.contains(&"old-0.policy".to_owned()) && !names.contains(&"old-199.policy".to_owned()));
    }
}
