//! Where an earlier run left off: the newest whole record, a torn end, a break.

use std::fs::{self, OpenOptions};
use std::path::Path;

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::chain::Chain;
use super::record::{GENESIS, hex};
use super::segments::{self, io};
use super::{ChainBreak, JournalError, Torn};

/// Where an earlier run left off.
pub(super) struct End {
    /// Number of the next record.
    pub(super) next: u64,
    /// Hash of the newest whole record.
    pub(super) head: String,
    /// What a power loss left behind.
    pub(super) torn: Option<Torn>,
    /// The first break in the newest segment.
    pub(super) broken: Option<ChainBreak>,
}

/// Finds the newest whole record. Only the newest segment is read, so that a start takes the same
/// time with a full journal; [`super::verify`] proves all of it.
pub(super) fn last_record(folder: &Path) -> Result<End, JournalError> {
    let mut older = segments::list(folder)?;
    let mut torn = None;
    let mut broken = None;
    while let Some(segment) = older.pop() {
        let first = segment.first;
        let mut chain = Chain::new(vec![segment]);
        for record in chain.by_ref() {
            match record {
                Ok(_) => {}
                Err(JournalError::Broken(b)) => broken = broken.or(Some(b)),
                Err(other) => return Err(other),
            }
        }
        torn = torn.or(chain.torn.take());
        if let Some((last, hash)) = chain.head() {
            return Ok(End { next: last.saturating_add(1), head: hash.to_owned(), torn, broken });
        }
        if older.is_empty() {
            return Ok(End { next: first.max(1), head: GENESIS.to_owned(), torn, broken });
        }
    }
    Ok(End { next: 1, head: GENESIS.to_owned(), torn, broken })
}

/// Cuts a torn end off and says what was cut.
pub(super) fn cut(torn: &Torn) -> Result<Map<String, Json>, JournalError> {
    let bytes = fs::read(&torn.file).map_err(io("read", &torn.file))?;
    let lost = bytes.get(usize::try_from(torn.whole).unwrap_or(usize::MAX)..).unwrap_or_default();
    let note = Map::from_iter([
        ("cut_bytes".to_owned(), lost.len().into()),
        ("sha256".to_owned(), hex(&Sha256::digest(lost)).into()),
    ]);
    let file = OpenOptions::new().write(true).open(&torn.file).map_err(io("open", &torn.file))?;
    file.set_len(torn.whole).and_then(|()| file.sync_all()).map_err(io("cut", &torn.file))?;
    Ok(note)
}
