//! Reading what was delivered. Whoever may put something there may put anything there.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::UpdateError;
use super::disk::flags;
use super::error::DELIVERED;

/// Reads a delivered file. A symbolic link is not followed, a pipe is not waited for, a device is not
/// opened for good, and no more than `most` bytes are read (design §9).
///
/// # Errors
/// [`UpdateError::NotAFile`], [`UpdateError::Oversized`], [`UpdateError::Io`].
pub fn read_delivered(path: &Path, most: u64) -> Result<Vec<u8>, UpdateError> {
    read_open(open_delivered(path)?, path, most)
}

/// Opens a delivered file for somebody else to read.
///
/// # Errors
/// As of [`read_delivered`].
pub fn open_delivered(path: &Path) -> Result<File, UpdateError> {
    let io = UpdateError::io(DELIVERED, path);
    // What it is is looked at before it is opened, and again once it is open: a pipe or a device may act
    // on being opened, and the name may mean something else by then.
    let kind = match path.symlink_metadata() {
        Ok(seen) => seen.file_type(),
        Err(error) => return Err(io(error)),
    };
    regular(kind, path)?;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY));
    match options.open(path) {
        Ok(file) => {
            let seen = file.metadata().map_err(UpdateError::io("look at", path))?;
            regular(seen.file_type(), path).map(|()| file)
        }
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Err(UpdateError::NotAFile { path: path.to_owned(), what: "a symbolic link" })
        }
        Err(error) => Err(io(error)),
    }
}

/// Reads a file that somebody else has opened; `path` is what to call it.
///
/// # Errors
/// As of [`read_delivered`].
pub fn read_open(file: File, path: &Path, most: u64) -> Result<Vec<u8>, UpdateError> {
    let seen = file.metadata().map_err(UpdateError::io("look at", path))?;
    regular(seen.file_type(), path)?;
    let too_large = |found| UpdateError::Oversized { found, most };
    if seen.len() > most {
        return Err(too_large(seen.len()));
    }
    // It may grow while it is read.
    let mut bytes = Vec::with_capacity(usize::try_from(seen.len()).unwrap_or_default());
    let whole = FromStart { file: &file, at: 0 };
    whole.take(most + 1).read_to_end(&mut bytes).map_err(UpdateError::io(DELIVERED, path))?;
    match bytes.len() as u64 {
        found if found > most => Err(too_large(found)),
        _ => Ok(bytes),
    }
}

/// A file from its first byte on, wherever whoever opened it has read to.
struct FromStart<'f> {
    file: &'f File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn regular(kind: FileType, path: &Path) -> Result<(), UpdateError> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_block_device() || kind.is_char_device() => "a device",
        _ => "something unknown",
    };
    Err(UpdateError::NotAFile { path: path.to_owned(), what })
}

/// The same as an error of the file system, for files of our own.
pub(super) fn refused(error: UpdateError) -> io::Error {
    match error {
        UpdateError::Io { source, .. } => source,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}
