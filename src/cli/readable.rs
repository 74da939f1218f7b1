//! Reading a journal for what it tells: a break is said, and what can be read behind it is read.

use super::CliError;
use super::output::complain;
use crate::journal::{JournalError, Record};

/// What a journal holds.
pub(super) enum Read {
    /// A record.
    Record(Record),
    /// From here on nothing is proved, and something is missing.
    Break,
}

/// Hands everything on that can be read. Returns whether the chain is whole; each break was said then.
///
/// # Errors
/// [`CliError`] when the journal cannot be read, or what `take` says.
pub(super) fn each(
    records: impl Iterator<Item = Result<Record, JournalError>>,
    mut take: impl FnMut(Read) -> Result<(), CliError>,
) -> Result<bool, CliError> {
    let mut whole = true;
    for record in records {
        match record {
            Ok(record) => take(Read::Record(record))?,
            Err(JournalError::Broken(broken)) => {
                whole = false;
                complain(format!("obligato: {broken}; what follows is read and not proved"));
                take(Read::Break)?;
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(whole)
}
