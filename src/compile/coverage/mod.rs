//! The account of a policy: what becomes of each sentence of its prose.
//!
//! A rule accounts for the sentence of its `@source`. Everything else stands in `coverage.toml`, by line
//! and beginning, so that a sentence that was moved, changed or added is an error until somebody looked
//! at it.

mod account;
mod fault;
mod file;
mod sentences;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use account::{Account, Standing};
pub use fault::CoverageFault;
pub use sentences::{Sentence, sentences};

use super::error::{CompileErrors, Report};
use super::source::{SetSource, SourceFile};
use crate::policy::Rule;

/// Name of the file in the folder of a set.
pub const FILE: &str = "coverage.toml";

/// Accounts for every sentence of a set's prose.
///
/// # Errors
/// [`CompileErrors`] with every sentence that nothing accounts for and every entry that does not fit.
pub fn coverage(set: &SetSource, rules: &[Rule]) -> Result<Vec<Account>, CompileErrors> {
    let file = entries(&set.folder)?;
    account_for(&set.prose, &file, rules)
}

/// The entries of a set; a set without the file has none.
fn entries(folder: &Path) -> Result<SourceFile, CompileErrors> {
    let path = folder.join(FILE);
    if path.exists() { Ok(SourceFile::read(&path)?) } else { Ok(SourceFile::new(&path.display().to_string(), "")) }
}

/// The same from texts.
pub(super) fn account_for(
    prose: &SourceFile,
    file: &SourceFile,
    rules: &[Rule],
) -> Result<Vec<Account>, CompileErrors> {
    let mut report = Report::default();
    let entries = file::read(file, &mut report);
    let accounts = account::all(prose, sentences(prose), entries, rules, &mut report);
    report.failed().map_or(Ok(accounts), Err)
}
