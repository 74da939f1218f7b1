//! Writing: files whole or not at all, and text that cannot take over a terminal.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use super::CliError;

/// Standard output for text. Policies, recordings and journals are written by others; what would move the cursor,
/// recolour the screen or turn the reading order is shown and not obeyed.
pub(super) fn screen() -> Plain<StdoutLock<'static>> {
    Plain(io::stdout().lock())
}

/// A line on standard error, as [`screen`] shows text.
pub(super) fn complain(what: impl fmt::Display) {
    // Who hears nothing of an error cannot be told that either.
    let _ = writeln!(Plain(io::stderr().lock()), "{what}");
}

/// What keeps a set from compiling: a line each on standard error, or for machines one object on standard output.
#[cfg(feature = "compile")]
pub(super) fn complain_as(errors: &crate::compile::CompileErrors, json: bool) -> io::Result<()> {
    if !json {
        complain(errors);
        return Ok(());
    }
    let told = |error: &crate::compile::CompileError| {
        let place = error.place();
        let (file, line) = (place.map(|p| &*p.file), place.map(|p| p.line));
        serde_json::json!({"file": file, "line": line, "error": error.to_string()})
    };
    let list: Vec<_> = errors.0.iter().map(told).collect();
    writeln!(screen(), "{}", serde_json::json!({ "errors": list }))
}

/// Writes text with control characters escaped; lines and tabs stay.
pub(super) struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        if text.chars().any(is_order) {
            for c in text.chars() {
                // As JSON writes them, so that JSON stays JSON.
                if is_order(c) { write!(self.0, "\\u{:04x}", u32::from(c)) } else { write!(self.0, "{c}") }?;
            }
        } else {
            self.0.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What a terminal obeys: control characters, and those that turn the reading order (Unicode standard annex 9).
fn is_order(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

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

/// Asks before any work whether outputs can be written, each to a file of its own that nothing is read from. What is
/// no file, as a terminal, may take several texts.
pub(super) fn apart<I: AsRef<Path>, O: AsRef<Path>>(
    inputs: impl IntoIterator<Item = I>,
    outputs: impl IntoIterator<Item = O>,
) -> Result<(), CliError> {
    let mut taken: Vec<PathBuf> = inputs.into_iter().filter_map(|path| path.as_ref().canonicalize().ok()).collect();
    for path in outputs {
        let path = path.as_ref();
        ready(path).map_err(|source| CliError::File { path: path.display().to_string(), source })?;
        if path.exists() && !path.is_file() {
            continue;
        }
        let whole = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
        if taken.contains(&whole) {
            let what = format!("{}: is read or written already; give each output a file of its own", path.display());
            return Err(CliError::Unknown(what));
        }
        taken.push(whole);
    }
    Ok(())
}

/// The files of a folder, which is read as a whole.
pub(super) fn inside(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Whether a file can be written there: no folder in its place, and one around it.
fn ready(path: &Path) -> io::Result<()> {
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
    fn text_of_others_cannot_take_over_a_terminal() {
        let mut out = Vec::new();
        write!(Plain(&mut out), "a\tb\n\u{1b}[2J\u{9b}\u{202e}ä\r\n").unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown, "a\tb\n\\u001b[2J\\u009b\\u202eä\\u000d\n");
    }

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

    #[test]
    fn an_output_is_no_input_and_no_other_output_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let [input, link, new] = ["in", "link", "new"].map(|name| folder.path().join(name));
        fs::write(&input, "what is read").unwrap();
        std::os::unix::fs::symlink(&input, &link).unwrap();
        let around = folder.path().join("../").join(folder.path().file_name().unwrap()).join("in");
        for output in [&input, &link, &around] {
            let told = apart([&input], [output]).unwrap_err().to_string();
            assert!(told.ends_with("is read or written already; give each output a file of its own"), "{told}");
        }
        assert!(apart([&input], [&new, &new]).is_err() && apart([&input], [&new]).is_ok());
        assert!(apart(["/dev/null"], ["/dev/null", "/dev/null"]).is_ok());
    }
}
