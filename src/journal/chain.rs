//! Reading a journal and proving its chain.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::record::GENESIS;
use super::segments::{self, Segment, io};
use super::{BreakKind, ChainBreak, JournalError, Kind, Record};

/// The end of a last segment that holds no whole record: what a power loss leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The segment.
    pub file: PathBuf,
    /// Bytes of whole records before it.
    pub whole: u64,
    /// Bytes of the rest.
    pub bytes: u64,
}

/// What a proof of the chain found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// Number of the oldest one; older ones were dropped for space.
    pub first: u64,
    /// Number of the newest one.
    pub last: u64,
    /// Hash of the newest one: compare it with one kept elsewhere.
    pub head: String,
    /// A torn end, which the next start cuts off and notes.
    pub torn: Option<Torn>,
}

/// All records of a journal, oldest first, each proved against the one before it. A break is an item of its own, and
/// what can be read behind it follows, with [`Record::proved`] false: one changed byte must not hide all that was
/// recorded since.
///
/// # Errors
/// [`JournalError`] when the folder cannot be read; the items carry their own.
pub fn records(folder: &Path) -> Result<impl Iterator<Item = Result<Record, JournalError>> + use<>, JournalError> {
    Ok(Chain::new(segments::list(folder)?))
}

/// Records behind a number, oldest first: what came in since a reader last looked. Segments that hold
/// only older ones are not opened, so these records are proved among themselves only.
///
/// # Errors
/// [`JournalError`] when the folder cannot be read; the items carry their own.
pub fn newer(
    folder: &Path,
    after: u64,
) -> Result<impl Iterator<Item = Result<Record, JournalError>> + use<>, JournalError> {
    let mut segments = segments::list(folder)?;
    let older = segments.iter().filter(|s| s.first <= after.saturating_add(1)).count().saturating_sub(1);
    segments.drain(..older);
    let chain = Chain::new(segments);
    Ok(chain.filter(move |record| record.as_ref().map_or(true, |r| r.seq > after)))
}

/// Proves a whole journal.
///
/// # Errors
/// [`JournalError::Broken`] names the first record that is altered, missing or out of place.
pub fn verify(folder: &Path) -> Result<Verified, JournalError> {
    let mut chain = Chain::new(segments::list(folder)?);
    let mut verified = Verified::default();
    let mut dropped_through = 0;
    let mut oldest = None;
    while let Some(record) = chain.next() {
        let record = record?;
        if record.kind == Kind::Opened {
            dropped_through =
                dropped_through.max(record.body.get("dropped_through").and_then(|n| n.as_u64()).unwrap_or(0));
        }
        if oldest.is_none() {
            oldest = Some(chain.here(record.seq, BreakKind::Beheaded));
            verified.first = record.seq;
        }
        verified.records += 1;
        verified.last = record.seq;
        verified.head = record.hash;
    }
    verified.torn = chain.torn.take();
    match oldest {
        Some(mut missing) if verified.first > 1 && dropped_through.saturating_add(1) < verified.first => {
            missing.seq = verified.first - 1;
            Err(missing.into())
        }
        _ => Ok(verified),
    }
}

/// Walks segments line by line.
pub(super) struct Chain {
    segments: std::vec::IntoIter<Segment>,
    open: Option<(BufReader<File>, PathBuf)>,
    line: usize,
    /// Bytes of whole records read in the open segment.
    whole: u64,
    /// Number and predecessor that the next record must have; none before the first one.
    due: Option<(u64, String)>,
    /// The record that stands where the chain was found to be broken.
    found: Option<Record>,
    /// Whether the record before the next one could not be read.
    lost: bool,
    /// Whether a break was found.
    broken: bool,
    /// What was found where the last segment ends in no whole record.
    pub(super) torn: Option<Torn>,
    finished: bool,
}

impl Chain {
    pub(super) fn new(segments: Vec<Segment>) -> Self {
        Self {
            segments: segments.into_iter(),
            open: None,
            line: 0,
            whole: 0,
            due: None,
            found: None,
            lost: false,
            broken: false,
            torn: None,
            finished: false,
        }
    }

    /// Number and hash of the newest record read, if any.
    pub(super) fn head(&self) -> Option<(u64, &str)> {
        self.due.as_ref().map(|(next, hash)| (next.saturating_sub(1), hash.as_str()))
    }

    fn here(&self, seq: u64, kind: BreakKind) -> ChainBreak {
        let file = self.open.as_ref().map(|(_, path)| path.clone()).unwrap_or_default();
        ChainBreak { file, line: self.line, seq, kind }
    }

    /// The next line of the open segment, or of the next one.
    fn line(&mut self) -> Result<Option<Vec<u8>>, JournalError> {
        loop {
            if let Some((reader, path)) = &mut self.open {
                let mut line = Vec::new();
                if reader.read_until(b'\n', &mut line).map_err(io("read", path))? > 0 {
                    self.line += 1;
                    return Ok(Some(line));
                }
            }
            let Some(segment) = self.segments.next() else { return Ok(None) };
            let file = File::open(&segment.path).map_err(io("open", &segment.path))?;
            self.open = Some((BufReader::new(file), segment.path));
            self.line = 0;
            self.whole = 0;
        }
    }

    /// Whether nothing at all follows what was read.
    fn at_end(&mut self) -> Result<bool, JournalError> {
        let Some((reader, path)) = &mut self.open else { return Ok(true) };
        Ok(reader.fill_buf().map_err(io("read", path))?.is_empty() && self.segments.as_slice().is_empty())
    }

    /// What is wrong here.
    fn breaks(&mut self, seq: u64, kind: BreakKind) -> JournalError {
        self.broken = true;
        self.here(seq, kind).into()
    }

    fn step(&mut self) -> Result<Option<Record>, JournalError> {
        if let Some(found) = self.found.take() {
            return Ok(Some(found));
        }
        let Some(line) = self.line()? else { return Ok(None) };
        let due = self.due.clone();
        // A write that the power cut leaves a line without end, or a hole of zeros in it.
        let cut = !line.ends_with(b"\n") || line.contains(&0);
        if cut && self.at_end()? {
            let file = self.open.as_ref().map(|(_, path)| path.clone()).unwrap_or_default();
            self.torn = Some(Torn { file, whole: self.whole, bytes: line.len() as u64 });
            return Ok(None);
        }
        self.whole += line.len() as u64;
        let seq = due.as_ref().map_or(1, |(seq, _)| *seq);
        let mut record = match Record::from_line(&line) {
            Ok(record) => record,
            Err(kind) => {
                self.lost = true;
                self.due = due.map(|(seq, hash)| (seq.saturating_add(1), hash));
                return Err(self.breaks(seq, kind));
            }
        };
        // What does not fit to a record that could not be read was said with that one.
        let wrong = match due {
            _ if self.lost => None,
            Some((seq, _)) if record.seq != seq => Some((seq, BreakKind::Gap { found: record.seq })),
            Some((seq, prev)) if record.prev != prev => Some((seq, BreakKind::Unchained)),
            None if record.seq == 1 && record.prev != GENESIS => Some((1, BreakKind::Unchained)),
            _ => None,
        };
        self.lost = false;
        self.due = Some((record.seq.saturating_add(1), record.hash.clone()));
        let broken = wrong.map(|(seq, kind)| self.breaks(seq, kind));
        record.proved = !self.broken;
        match broken {
            Some(broken) => {
                self.found = Some(record);
                Err(broken)
            }
            None => Ok(Some(record)),
        }
    }
}

impl Iterator for Chain {
    type Item = Result<Record, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let item = self.step().transpose();
        self.finished = !matches!(item, Some(Ok(_) | Err(JournalError::Broken(_))));
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Entry, Journal, Place, Settings};
    use crate::state::ManualClock;
    use std::sync::Arc;

    /// What `verify` says after `damage` was done to the lines of a journal of five records.
    fn damaged(damage: impl FnOnce(&mut Vec<String>)) -> ChainBreak {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(Settings::new(folder.path()), Arc::new(ManualClock::default())).unwrap();
        for i in 0..4 {
            journal.append(Entry::reply(Place::new("1", 1), &format!("reply {i}"))).unwrap();
        }
        let path = segments::list(folder.path()).unwrap().remove(0).path;
        let mut lines: Vec<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        damage(&mut lines);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        match verify(folder.path()) {
            Err(JournalError::Broken(broken)) => broken,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_removed_record_leaves_a_gap() {
        let broken = damaged(|lines| drop(lines.remove(2)));
        assert_eq!((broken.seq, broken.kind), (3, BreakKind::Gap { found: 4 }));
    }

    #[test]
    fn a_swapped_record_is_out_of_place() {
        let broken = damaged(|lines| lines.swap(1, 2));
        assert_eq!((broken.seq, broken.kind), (2, BreakKind::Gap { found: 3 }));
    }

    #[test]
    fn a_forged_record_with_a_right_hash_of_its_own_breaks_the_one_after_it() {
        let broken = damaged(|lines| {
            let mut forged = Record::from_line(lines[2].as_bytes()).unwrap();
            forged.body = serde_json::json!({"reply": "forged"});
            lines[2] = forged.seal().unwrap().trim_end().to_owned();
        });
        assert_eq!((broken.seq, broken.kind), (4, BreakKind::Unchained));
    }

    #[test]
    fn what_stands_behind_a_break_is_read_and_not_proved() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { segment_bytes: 600, ..Settings::new(folder.path()) };
        let mut journal = Journal::open(settings, Arc::new(ManualClock::default())).unwrap();
        for i in 0..12 {
            journal.append(Entry::reply(Place::new("1", 1), &format!("reply {i}"))).unwrap();
        }
        let all: Vec<Record> = records(folder.path()).unwrap().map(Result::unwrap).collect();
        assert!(segments::list(folder.path()).unwrap().len() > 3 && all.iter().all(|r| r.proved));
        for segment in segments::list(folder.path()).unwrap() {
            let whole = std::fs::read(&segment.path).unwrap();
            for line in 0..whole.iter().filter(|b| **b == b'\n').count() {
                let mut lines: Vec<Vec<u8>> = whole.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                lines[line][20] ^= 1;
                std::fs::write(&segment.path, lines.concat()).unwrap();
                let hit = segment.first + line as u64;
                let (read, broken): (Vec<_>, Vec<_>) = records(folder.path()).unwrap().partition(Result::is_ok);
                let read: Vec<Record> = read.into_iter().map(Result::unwrap).collect();
                let others: Vec<u64> = all.iter().map(|r| r.seq).filter(|seq| *seq != hit).collect();
                assert_eq!(read.iter().map(|r| r.seq).collect::<Vec<_>>(), others, "record {hit}");
                assert!(read.iter().all(|r| r.proved == (r.seq < hit)), "record {hit}");
                assert_eq!(broken.len(), 1, "record {hit}: {broken:?}");
            }
            std::fs::write(&segment.path, whole).unwrap();
        }
    }

    #[test]
    fn garbage_in_the_middle_is_named_with_its_line() {
        let broken = damaged(|lines| lines[3] = "garbage".to_owned());
        assert_eq!((broken.seq, broken.line), (4, 4));
        assert!(matches!(broken.kind, BreakKind::Unreadable(_)), "{broken}");
    }
}
