//! The file operations of an update, one by one, so that a test can record them and end at any of them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::intake::{read_delivered, refused};
use super::{Owner, UpdateError};

/// What an update needs of a file system. After [`Disk::sync_file`] the content of a file survives a power
/// loss, after [`Disk::sync_folder`] the names in a folder do; [`Disk::rename`] is atomic.
pub trait Disk: Send + Sync {
    /// The content of a regular file of at most that many bytes.
    ///
    /// # Errors
    /// What the system says; `NotFound` where there is no such file.
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>>;
    /// The names in a folder.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes a folder, with those above it, for its owner alone.
    ///
    /// # Errors
    /// What the system says.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;
    /// Writes a whole file, for its owner alone.
    ///
    /// # Errors
    /// What the system says.
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Makes a file's content last.
    ///
    /// # Errors
    /// What the system says.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, in place of the file of that name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the names in a folder last.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        read_delivered(path, most).map_err(refused)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        folder.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags(OFlags::NOFOLLOW));
        options.open(path)?.write_all(content)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Flags as the standard library takes them.
pub(super) fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// Replaces a file as a whole: after a power loss at any moment it is the old one or the new one.
pub(super) fn replace(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<(), UpdateError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(UpdateError::io("write", path)(io::Error::other("this names no file")));
    };
    let fresh = folder.join(format!("{}{FRESH}", name.to_string_lossy()));
    let written = disk.write(&fresh, content).map_err(UpdateError::io("write", &fresh));
    let lasting = written.and_then(|()| disk.sync_file(&fresh).map_err(UpdateError::io("sync", &fresh)));
    let named = lasting.and_then(|()| disk.rename(&fresh, path).map_err(UpdateError::io("rename", &fresh)));
    if let Err(error) = named {
        // Half a file would keep a full disk full.
        let _ = disk.remove(&fresh);
        return Err(error);
    }
    disk.sync_folder(folder).map_err(UpdateError::io("sync", folder))
}

/// What names of files end with that are not whole yet.
pub(super) const FRESH: &str = ".new";

/// The right to work on a folder of slots; one process has it. It goes when this is dropped, also by a
/// crash.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "held, not read")] File);

impl FolderLock {
    /// Takes it.
    ///
    /// # Errors
    /// [`UpdateError::InUse`]; [`UpdateError::NotOurs`] for root in somebody else's folder, who works there
    /// by [`Owner::act`]; [`UpdateError::Io`].
    pub fn take(folder: &Path) -> Result<Self, UpdateError> {
        if let Some(owner) = Owner::other(folder) {
            return Err(UpdateError::NotOurs { folder: folder.to_owned(), owner: owner.uid() });
        }
        RealDisk.make_folder(folder).map_err(UpdateError::io("create", folder))?;
        let path: PathBuf = folder.join("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600).custom_flags(flags(OFlags::NOFOLLOW));
        let file = options.open(&path).map_err(UpdateError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(fs::TryLockError::WouldBlock) => Err(UpdateError::InUse(folder.to_owned())),
            Err(fs::TryLockError::Error(source)) => Err(UpdateError::io("lock", &path)(source)),
        }
    }
}
