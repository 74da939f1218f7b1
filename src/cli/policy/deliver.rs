//! `obligato policy deliver`: a drop folder. Whoever may put something there may put anything there.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::json;

use super::way::{Done, Step, Way};
use super::{install, say};
use crate::cli::{CliError, Exit};
use crate::policy::update::{Class, UpdateError};

/// Files of one user that one run looks at, the newest: those that stay, however many, keep no later one waiting.
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
                let (shown, name) = (shown(&path), if is_list(&path) { "keys" } else { "committed" });
                let json = json!({"file": shown, "version": done.version, "tests": done.tests});
                say(as_json, &json, &format!("{shown}: {}", done.sentence(name)))?;
            }
            Err(error @ CliError::Peer(_)) => return Err(error), // there is nobody to take anything
            Err(error) => {
                exit = error.exit();
                refused(&path, &error, as_json)?;
                if stays(&error) {
                    continue;
                }
            }
        }
        clear(&path);
    }
    Ok(exit)
}

/// Whether a file that is not taken for this reason may be taken another time, as it is, when only the car has
/// changed.
fn stays(error: &CliError) -> bool {
    match error {
        CliError::Update(error) => may_pass(error.class()),
        CliError::NotYet { .. } => true,
        error => waits(error.exit()),
    }
}

fn may_pass(class: Class) -> bool {
    // What the exit codes do not tell from what is for ever: the list of keys comes later, the clock runs ahead, who
    // serves a tool has not connected yet, the image is older than the update.
    matches!(class, Class::UnknownKey | Class::ExpiredByClock | Class::NotYetFit) || waits(class.into())
}

fn waits(exit: Exit) -> bool {
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
        let (user, put) = put(&entry);
        found.push(Found { user, put, path });
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut paths = newest(found, i64::try_from(now).unwrap_or(i64::MAX));
    paths.sort_by_key(|path| (!is_list(path), path.clone()));
    Ok(paths)
}

struct Found {
    /// Whose it is.
    user: u32,
    /// When it got there, in seconds since 1970, UTC, and nanoseconds.
    put: (i64, i64),
    path: PathBuf,
}

/// Who put an entry there, and when, as the kernel knows it: the time of change is whatever a deliverer says.
fn put(entry: &DirEntry) -> (u32, (i64, i64)) {
    entry.metadata().map_or((u32::MAX, (0, 0)), |seen| (seen.uid(), (seen.ctime(), seen.ctime_nsec())))
}

/// The newest files of each user, so that nobody's crowd hides what somebody else delivers. What a clock that ran
/// ahead dated later than now comes last.
fn newest(mut found: Vec<Found>, now: i64) -> Vec<PathBuf> {
    found.sort_by_key(|file| Reverse((file.put.0 <= now, file.put)));
    let mut taken: HashMap<u32, usize> = HashMap::new();
    found.retain(|file| {
        let taken = taken.entry(file.user).or_default();
        *taken += 1;
        *taken <= MOST
    });
    found.into_iter().map(|file| file.path).collect()
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
    use crate::policy::HardLimitError;
    use crate::policy::update::SecretKey;

    /// Each error with whether the same file can be taken later, when only the car has changed.
    fn table() -> Vec<(bool, UpdateError)> {
        let key = SecretKey::generate().unwrap().public().id();
        let text = || "x".to_owned();
        let io = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let inventory = |against| UpdateError::Inventory { signed: text(), against, found: text() };
        let blob = crate::policy::Policy::from_blob(b"x").unwrap_err();
        let limits = HardLimitError::Empty(text());
        vec![
            (false, UpdateError::NotAFile { path: "x".into(), what: "a pipe" }),
            (false, UpdateError::Oversized { found: 2, most: 1 }),
            (true, UpdateError::Slow(5)),
            (false, UpdateError::NotAnUpdate { expected: "x" }),
            (false, UpdateError::Truncated { found: 1, expected: 2 }),
            (false, UpdateError::Trailing(1)),
            (true, UpdateError::NewerFormat { what: "blob", found: 2, known: 1 }),
            (false, UpdateError::OlderFormat { found: 1, known: 2 }),
            (false, UpdateError::Header(text())),
            (true, UpdateError::UnknownKey(key)),
            (false, UpdateError::RevokedKey(key)),
            (false, UpdateError::BadSignature(key)),
            (false, UpdateError::WrongTarget { found: text(), expected: text() }),
            (false, UpdateError::WrongPolicy { found: text(), expected: text() }),
            (false, UpdateError::Rollback { found: 1, floor: 2 }),
            (false, UpdateError::SameVersion(1)),
            (false, UpdateError::KeysRollback { found: 1, floor: 2 }),
            (true, UpdateError::KeysForget(key)),
            (true, UpdateError::Expired { expires: 1, now: 2, clock: true }),
            (false, UpdateError::Expired { expires: 1, now: 2, clock: false }),
            (true, UpdateError::NotYetValid(1)),
            (true, UpdateError::ClockUnset { reading: None, passed: 1 }),
            (false, UpdateError::Blob(blob)),
            (false, inventory("the inventory inside it")),
            (true, inventory("the inventory of this image")),
            (true, UpdateError::UnknownPart(text())),
            (true, UpdateError::BrokenRule { rule: text(), tool: text() }),
            (true, UpdateError::Car(text())),
            (true, UpdateError::Limits(limits)),
            (false, UpdateError::Unhealthy { version: 1, why: text(), back: 0 }),
            (false, UpdateError::Unfit { version: 1, why: text() }),
            (true, UpdateError::NothingStaged),
            (true, UpdateError::NothingToDo("commit")),
            (true, UpdateError::OtherVersion { meant: 1, place: "staged", found: text() }),
            (true, UpdateError::Committed(1)),
            (true, UpdateError::PassedOver(1)),
            (true, UpdateError::OnTrial(1)),
            (true, UpdateError::InUse("x".into())),
            (true, UpdateError::NotOurs { folder: "x".into(), owner: 1 }),
            (true, UpdateError::Damaged { path: "x".into(), why: "x", remedy: "x" }),
            (true, UpdateError::Trust(text())),
            (true, UpdateError::Key(text())),
            (true, UpdateError::Io { what: "write", path: "x".into(), source: io }),
        ]
    }

    #[test]
    fn what_the_file_itself_is_to_blame_for_goes_and_everything_else_stays() {
        for (later, error) in table() {
            let (class, told) = (error.class(), error.to_string());
            assert_eq!(stays(&CliError::Update(error)), later, "{told}");
            assert_eq!(may_pass(class), later, "{told}");
        }
        // What the bus and the service say besides: not allowed, no updates, stopping, too often, broken down.
        assert!([Exit::NotAllowed, Exit::NoUpdates, Exit::Peer].into_iter().all(waits));
    }

    #[test]
    fn what_the_service_says_decides_as_the_error_itself_does() {
        for (later, error) in table() {
            let told = error.to_string();
            let over_the_bus = super::super::way::refused(error.into());
            assert_eq!(stays(&over_the_bus), later, "{told}");
        }
    }

    #[test]
    fn every_error_of_an_update_is_in_the_table() {
        let named = |error: &UpdateError| format!("{error:?}").split([' ', '(', '{']).next().unwrap().to_owned();
        let listed: std::collections::BTreeSet<String> = table().iter().map(|(_, error)| named(error)).collect();
        let source = include_str!("../../policy/update/error.rs");
        let body = source.split("pub enum UpdateError {").nth(1).unwrap().split("\n}\n").next().unwrap();
        let variant = |line: &str| {
            let name = line.strip_prefix("    ")?.split([' ', '(', ',']).next()?;
            name.starts_with(|first: char| first.is_ascii_uppercase()).then(|| name.to_owned())
        };
        let all: std::collections::BTreeSet<String> = body.lines().filter_map(variant).collect();
        assert_eq!(listed, all);
    }

    #[test]
    fn the_newest_files_of_each_user_are_looked_at_and_those_of_a_time_to_come_last() {
        const NOW: i64 = 1_000;
        let file = |user, at: i64, name: String| Found { user, put: (at, 0), path: name.into() };
        let crowd = (0..200).map(|at| file(7, NOW - at, format!("crowd-{at}.policy")));
        let ahead = (0..70).map(|at| file(8, NOW + 1 + at, format!("ahead-{at}.policy")));
        let single = [file(8, NOW, "late.policy".into()), file(9, NOW - 900, "old.policy".into())];
        let found = newest(crowd.chain(ahead).chain(single).collect(), NOW);
        let names: Vec<String> = found.iter().map(|path| shown(path)).collect();
        let of = |begin: &str| names.iter().filter(|name| name.starts_with(begin)).count();
        assert_eq!((of("crowd-"), of("ahead-"), of("late"), of("old")), (MOST, MOST - 1, 1, 1), "{names:?}");
        assert!(names.contains(&"crowd-0.policy".to_owned()) && !names.contains(&"crowd-199.policy".to_owned()));
    }

    #[test]
    fn files_are_looked_at_in_the_order_of_their_names_lists_first_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.policy", "z.policy", "y.keys", ".z.policy", "z.policy.tmp", "readme"] {
            fs::File::create(folder.path().join(name)).unwrap();
        }
        let found = deliveries(folder.path(), true).unwrap();
        let names: Vec<String> = found.iter().map(|path| shown(path)).collect();
        assert_eq!(names, ["y.keys", "a.policy", "z.policy"]);
    }
}
