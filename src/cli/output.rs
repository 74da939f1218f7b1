//! Writing files: whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Replaces a file as a whole: readers see the old one or the new one, and an error leaves the old. What is no
/// file (a terminal, a pipe) is written to; a link stays one, and what it points to is replaced.
#[cfg(any(test, feature = "compile", feature = "bench"))]
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    whole(path, |file| file.write_all(content))
}

/// As [`replace`], with a body that writes bit by bit.
pub(super) fn whole(path: &Path, body: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        let mut file = BufWriter::new(File::options().write(true).open(&target)?);
        return body(&mut file).and_then(|()| file.flush());
    }
    let beside = beside(&target)?;
    let written = File::create(&beside).map(BufWriter::new).and_then(|mut file| {
        body(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()
    });
    let written = written.and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Whether a file can be written there, asked before long work: a folder in its place, or none around it.
pub(super) fn ready(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::metadata(folder)
        .and_then(|found| if found.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) })
}

fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| io::Error::other("this names no file"))?.to_string_lossy();
    Ok(target.with_file_name(format!(".{name}.{}", std::process::id())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_fails_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        replace(&path, b"old").unwrap();
        let failed = whole(&path, |file| {
            file.write_all(b"half of the ne")?;
            Err(io::Error::other("gone"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "gone");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link_and_what_is_no_file_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        replace(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        replace(Path::new("/dev/null"), b"nothing").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(replace(folder.path(), b"x").is_err());
    }

    #[test]
    fn a_place_where_nothing_can_be_written_is_told_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ready(&folder.path().join("new")).is_ok() && ready(Path::new("new")).is_ok());
        assert_eq!(ready(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(ready(&folder.path().join("no/new")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
