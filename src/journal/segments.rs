//! The folder of a journal: segments named after their first record, a lock and the salt.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::JournalError;
use super::redact::SALT;

/// One segment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// Number of its first record, from its name.
    pub(super) first: u64,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its size in bytes.
    pub(super) bytes: u64,
}

/// An error of the file system, with what was tried.
pub(super) fn io<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> JournalError + 'a {
    move |source| JournalError::Io { what, path: path.to_owned(), source }
}

/// The segments in a folder, oldest first. Other files are left alone.
pub(super) fn list(folder: &Path) -> Result<Vec<Segment>, JournalError> {
    let mut segments = Vec::new();
    for item in fs::read_dir(folder).map_err(io("list", folder))? {
        let path = item.map_err(io("list", folder))?.path();
        let first = path
            .file_name()
            .and_then(|n| n.to_str())
            .and_then(|n| n.strip_suffix(".jsonl"))
            .and_then(|n| n.parse().ok());
        let Some(first) = first else { continue };
        let bytes = fs::metadata(&path).map_err(io("look at", &path))?.len();
        segments.push(Segment { first, path, bytes });
    }
    segments.sort_unstable_by_key(|s| s.first);
    Ok(segments)
}

/// Where the segment that starts with a record belongs. Twenty digits sort as numbers do.
fn path_of(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:020}.jsonl"))
}

/// A name that is free: a broken segment may stand where the next record's segment belongs.
pub(super) fn free_path(folder: &Path, first: u64) -> PathBuf {
    (first..).map(|n| path_of(folder, n)).find(|p| !p.exists()).unwrap_or_else(|| folder.join("overflow.jsonl"))
}

/// Makes the folder, readable by its owner alone: it holds what was said in the car.
pub(super) fn prepare(folder: &Path) -> Result<(), JournalError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io("create", folder))
}

/// Takes the folder's lock; it is released when the file is dropped, also by a crash.
pub(super) fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join("lock");
    let file = private().create(true).truncate(false).write(true).open(&path).map_err(io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(JournalError::InUse(folder.to_owned())),
        Err(fs::TryLockError::Error(source)) => Err(io("lock", &path)(source)),
    }
}

/// Starts a segment. An existing file of that name is an error: nothing recorded is overwritten.
pub(super) fn create(path: &Path) -> Result<File, JournalError> {
    private().create_new(true).append(true).open(path).map_err(io("create", path))
}

/// Makes a file's name itself survive a power loss.
pub(super) fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(io("sync", folder))
}

/// The salt of redaction: made once, kept beside the segments, removed to make all hashes
/// meaningless for good.
pub(super) fn salt(folder: &Path) -> Result<[u8; SALT], JournalError> {
    let path = folder.join("salt");
    match File::open(&path) {
        Ok(mut file) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(io("read", &path))?;
            let found = bytes.len();
            bytes.try_into().map_err(|_| JournalError::BadSalt { path, found })
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let mut salt = [0; SALT];
            getrandom::fill(&mut salt).map_err(JournalError::Salt)?;
            // Written beside and moved into place: a power loss leaves no half salt.
            let fresh = folder.join("salt.new");
            let mut file =
                private().create(true).truncate(true).write(true).open(&fresh).map_err(io("create", &fresh))?;
            file.write_all(&salt).and_then(|()| file.sync_all()).map_err(io("write", &fresh))?;
            fs::rename(&fresh, &path).map_err(io("rename", &path))?;
            sync_folder(folder)?;
            Ok(salt)
        }
        Err(source) => Err(io("read", &path)(source)),
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
