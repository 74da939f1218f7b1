//! The record of an author's answers: beside its place until the last answer is there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::compile::formalize::{Author, Recording};

/// A record that is being written. What stood in its place before stays there until this one is complete.
pub(super) struct Record {
    path: PathBuf,
    part: PathBuf,
}

impl Record {
    /// Begins a record that will replace `path`.
    pub(super) fn begin(path: &Path) -> Self {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        Self { path: path.to_owned(), part: part.into() }
    }

    /// An author whose answers are written down.
    pub(super) fn listen(&self, author: Box<dyn Author>) -> Result<Box<dyn Author>, CliError> {
        let out = File::create(&self.part).map_err(|source| file(&self.part, source))?;
        Ok(Box::new(Recording::new(author, Flushed(BufWriter::new(out)))))
    }

    /// The last answer is there.
    pub(super) fn complete(self) -> Result<(), CliError> {
        fs::rename(&self.part, &self.path).map_err(|source| file(&self.path, source))
    }

    /// The author failed: answers that came before are kept, and this says where.
    pub(super) fn broken_off(self) -> String {
        if fs::metadata(&self.part).is_ok_and(|found| found.len() > 0) {
            return format!("; the answers so far are in {}", self.part.display());
        }
        // There is nothing in it; one that stays does no harm.
        let _ = fs::remove_file(&self.part);
        String::new()
    }
}

fn file(path: &Path, source: io::Error) -> CliError {
    CliError::File { path: path.display().to_string(), source }
}

/// Writes through after every line, so that a run that ends early leaves whole answers.
struct Flushed<W: Write>(W);

impl<W: Write> Write for Flushed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        if bytes.contains(&b'\n') {
            self.0.flush()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
