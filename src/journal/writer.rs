//! Writing a journal.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::record::hex;
use super::redact::Redactor;
use super::resume::{cut, last_record};
use super::segments::{self, io};
use super::{Entry, JournalError, Kind, Record};
use crate::state::Clock;

/// When records are forced onto the medium. Flash wears and a sync takes milliseconds, so not every
/// record is worth one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After every record.
    Always,
    /// After records of what changed the car, was granted or was said; drafts and verdicts before
    /// them are synced with them.
    #[default]
    Effects,
    /// When a segment is full and on [`Journal::sync`].
    Segments,
}

/// How a journal is kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it is kept; made when it is missing.
    pub folder: PathBuf,
    /// A segment that has reached this size is followed by the next one.
    pub segment_bytes: u64,
    /// The folder's cap: the oldest segments are removed to stay below it.
    pub total_bytes: u64,
    /// A longer record has its body replaced by its size and hash.
    pub record_bytes: usize,
    /// When records are synced.
    pub durability: Durability,
    /// Personal content to replace: dotted member names such as `utterance` or
    /// `arguments.content_message`, matched wherever they follow one another.
    pub redact: Vec<String>,
}

impl Settings {
    /// Segments of 1 MiB, 64 MiB in all, records up to 256 KiB, synced on effects, nothing redacted.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            segment_bytes: 1 << 20,
            total_bytes: 64 << 20,
            record_bytes: 256 << 10,
            durability: Durability::default(),
            redact: Vec::new(),
        }
    }
}

/// The writer of a journal; there is one a folder.
#[derive(Debug)]
pub struct Journal {
    settings: Settings,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    file: File,
    path: PathBuf,
    /// Bytes of whole records in the open segment: where a failed write is cut back to.
    whole: u64,
    /// Whether a failed write may have left half a record behind the whole ones.
    ragged: bool,
    next: u64,
    head: String,
    _lock: File,
}

impl Journal {
    /// Opens a journal and continues its chain.
    ///
    /// A torn last record is cut off and noted. A break in the newest segment does not keep the
    /// service from recording: a new segment starts and its first record names the break.
    ///
    /// # Errors
    /// [`JournalError`] when the folder cannot be used or another process writes it.
    pub fn open(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, JournalError> {
        let folder = settings.folder.clone();
        segments::prepare(&folder)?;
        let lock = segments::lock(&folder)?;
        let redactor = Redactor::new(&settings.redact, segments::salt(&folder)?);
        let end = last_record(&folder)?;
        let cut = end.torn.as_ref().map(cut).transpose()?;
        let newest = segments::list(&folder)?.pop();
        let fresh = end.broken.is_some() || newest.as_ref().is_none_or(|s| s.bytes >= settings.segment_bytes);
        let (file, path, whole) = match newest {
            Some(segment) if !fresh => {
                let file = OpenOptions::new().append(true).open(&segment.path).map_err(io("open", &segment.path))?;
                (file, segment.path, segment.bytes)
            }
            _ => {
                let path = segments::free_path(&folder, end.next);
                (segments::create(&path)?, path, 0)
            }
        };
        segments::sync_folder(&folder)?;
        let mut journal = Self {
            settings,
            clock,
            redactor,
            file,
            path,
            whole,
            ragged: false,
            next: end.next,
            head: end.head,
            _lock: lock,
        };
        if fresh {
            let broken = end.broken.map(|b| ("broken", b.to_string().into()));
            journal.write(Entry::new(Kind::Opened, None, opened("start", broken)))?;
        }
        if let Some(note) = cut {
            journal.write(Entry::new(Kind::Recovered, None, note))?;
        }
        Ok(journal)
    }

    /// Appends a record and returns its number.
    ///
    /// # Errors
    /// [`JournalError`] when it could not be written (the chain is then as before and the next append
    /// may succeed) or not be synced (it then stands, but a power loss may take it).
    pub fn append(&mut self, entry: Entry) -> Result<u64, JournalError> {
        if self.whole >= self.settings.segment_bytes {
            self.rotate()?;
        }
        self.write(entry)
    }

    /// Forces everything onto the medium.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the system cannot.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(io("sync", &self.path))
    }

    /// Hash of the newest record: kept elsewhere, it proves that the journal's end is all there.
    pub fn head(&self) -> &str {
        &self.head
    }

    fn write(&mut self, mut entry: Entry) -> Result<u64, JournalError> {
        if !entry.is_of_the_program() {
            self.redactor.apply(&mut entry.body);
        }
        let kind = entry.kind;
        let mut record = self.record(entry);
        let mut line = record.seal()?;
        if line.len() > self.settings.record_bytes {
            let body = record.body.to_string();
            record.body = json!({"oversized": body.len(), "sha256": hex(&Sha256::digest(&body))});
            line = record.seal()?;
        }
        self.smooth()?;
        if let Err(source) = self.file.write_all(line.as_bytes()) {
            self.ragged = true;
            return Err(io("write", &self.path)(source));
        }
        self.whole += line.len() as u64;
        self.next += 1;
        self.head = record.hash;
        match self.settings.durability {
            Durability::Always => self.sync()?,
            Durability::Effects if kind.is_effect() => self.sync()?,
            Durability::Effects | Durability::Segments => {}
        }
        Ok(record.seq)
    }

    /// Removes what a failed write left behind: half a line would break the chain for every later
    /// record.
    fn smooth(&mut self) -> Result<(), JournalError> {
        if self.ragged {
            self.file.set_len(self.whole).map_err(io("cut back", &self.path))?;
            self.ragged = false;
        }
        Ok(())
    }

    fn record(&self, entry: Entry) -> Record {
        let millis = |d: std::time::Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        Record {
            seq: self.next,
            prev: self.head.clone(),
            time: millis(self.clock.unix()),
            boot: millis(self.clock.since_boot()),
            kind: entry.kind,
            place: entry.place,
            body: Json::Object(entry.body),
            hash: String::new(),
            proved: false,
        }
    }

    /// Starts the next segment and makes room for it. The record that says what was dropped is
    /// written first: a power loss in between leaves too much, never an unexplained gap.
    fn rotate(&mut self) -> Result<(), JournalError> {
        self.smooth()?;
        self.sync()?;
        let folder = self.settings.folder.clone();
        let path = segments::free_path(&folder, self.next);
        self.file = segments::create(&path)?;
        self.path = path;
        self.whole = 0;
        segments::sync_folder(&folder)?;
        let listed = segments::list(&folder)?;
        let mut bytes: u64 = listed.iter().map(|s| s.bytes).sum::<u64>().saturating_add(self.settings.segment_bytes);
        let mut dropped = Vec::new();
        let mut kept_from = None;
        for segment in listed.iter().filter(|s| s.path != self.path) {
            if bytes <= self.settings.total_bytes {
                kept_from = Some(segment.first);
                break;
            }
            bytes = bytes.saturating_sub(segment.bytes);
            dropped.push(segment.path.clone());
        }
        let first_kept = kept_from.unwrap_or(self.next);
        let note = (!dropped.is_empty()).then(|| ("dropped_through", first_kept.saturating_sub(1).into()));
        self.write(Entry::new(Kind::Opened, None, opened("full", note)))?;
        for path in dropped {
            fs::remove_file(&path).map_err(io("remove", &path))?;
        }
        Ok(())
    }
}

/// The body of a segment's first record.
fn opened(reason: &str, detail: Option<(&str, Json)>) -> Map<String, Json> {
    let detail = detail.map(|(name, value)| (name.to_owned(), value));
    std::iter::once(("reason".to_owned(), reason.into())).chain(detail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{BreakKind, Place, records, verify};
    use crate::state::ManualClock;
    use std::path::Path;

    fn place() -> Place {
        Place::new("1", 1)
    }

    fn open(settings: Settings) -> Journal {
        Journal::open(settings, Arc::new(ManualClock::default())).unwrap()
    }

    fn said(journal: &mut Journal, count: usize) {
        for i in 0..count {
            journal.append(Entry::turn(place(), &format!("sentence {i}"))).unwrap();
        }
    }

    fn only_segment(folder: &Path) -> PathBuf {
        let [segment] = &segments::list(folder).unwrap()[..] else { panic!("one segment") };
        segment.path.clone()
    }

    fn kinds(folder: &Path) -> Vec<Kind> {
        records(folder).unwrap().map(|r| r.unwrap().kind).collect()
    }

    #[test]
    fn a_reopened_journal_continues_its_chain() {
        let folder = tempfile::tempdir().unwrap();
        said(&mut open(Settings::new(folder.path())), 3);
        let mut journal = open(Settings::new(folder.path()));
        said(&mut journal, 2);
        let verified = verify(folder.path()).unwrap();
        assert_eq!((verified.first, verified.last, verified.records), (1, 6, 6), "an opening record and five turns");
        assert_eq!(verified.head, journal.head());
    }

    #[test]
    fn a_line_torn_by_power_loss_is_cut_and_noted() {
        let folder = tempfile::tempdir().unwrap();
        said(&mut open(Settings::new(folder.path())), 3);
        let segment = only_segment(folder.path());
        let text = fs::read(&segment).unwrap();
        fs::write(&segment, &text[..text.len() - 40]).unwrap();
        assert!(verify(folder.path()).unwrap().torn.is_some());

        open(Settings::new(folder.path()));
        assert_eq!(kinds(folder.path()), [Kind::Opened, Kind::Turn, Kind::Turn, Kind::Recovered]);
        assert_eq!(verify(folder.path()).unwrap().torn, None);
    }

    #[test]
    fn a_hole_of_zeros_at_the_end_is_torn_too() {
        let folder = tempfile::tempdir().unwrap();
        said(&mut open(Settings::new(folder.path())), 2);
        let segment = only_segment(folder.path());
        let mut text = fs::read(&segment).unwrap();
        text.extend([0; 100]);
        text.push(b'\n');
        fs::write(&segment, text).unwrap();
        open(Settings::new(folder.path()));
        assert_eq!(kinds(folder.path()), [Kind::Opened, Kind::Turn, Kind::Turn, Kind::Recovered]);
    }

    #[test]
    fn a_journal_whose_only_record_is_torn_starts_again_at_one() {
        let folder = tempfile::tempdir().unwrap();
        drop(open(Settings::new(folder.path())));
        let segment = only_segment(folder.path());
        fs::write(&segment, b"{\"seq\":1,").unwrap();
        said(&mut open(Settings::new(folder.path())), 1);
        assert_eq!(kinds(folder.path()), [Kind::Recovered, Kind::Turn]);
        assert_eq!(verify(folder.path()).unwrap().first, 1);
    }

    #[test]
    fn an_altered_record_is_named_and_recording_goes_on_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        said(&mut open(Settings::new(folder.path())), 3);
        let segment = only_segment(folder.path());
        let text = fs::read_to_string(&segment).unwrap().replace("sentence 1", "sentence 9");
        fs::write(&segment, text).unwrap();

        let mut journal = open(Settings::new(folder.path()));
        said(&mut journal, 1);
        assert_eq!(segments::list(folder.path()).unwrap().len(), 2);
        let JournalError::Broken(broken) = verify(folder.path()).unwrap_err() else { panic!("broken") };
        assert_eq!((broken.seq, broken.line, broken.kind), (3, 3, BreakKind::Altered));
        assert!(fs::read_to_string(&journal.path).unwrap().contains("record 3 was altered"));
    }

    #[test]
    fn the_folder_stays_below_its_cap_and_says_what_was_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { segment_bytes: 2_000, total_bytes: 8_000, ..Settings::new(folder.path()) };
        let mut journal = open(settings.clone());
        said(&mut journal, 200);
        let listed = segments::list(folder.path()).unwrap();
        let bytes: u64 = listed.iter().map(|s| s.bytes).sum();
        assert!(bytes <= 8_000, "{bytes} bytes");
        let verified = verify(folder.path()).unwrap();
        assert!(verified.first > 100 && verified.last > 200, "{verified:?}");

        drop(journal);
        fs::remove_file(&listed[0].path).unwrap();
        let JournalError::Broken(broken) = verify(folder.path()).unwrap_err() else { panic!("broken") };
        assert_eq!((broken.seq, broken.kind), (listed[1].first - 1, BreakKind::Beheaded));
    }

    #[test]
    fn a_failed_write_leaves_no_half_record_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(Settings::new(folder.path()));
        let good = journal.file.try_clone().unwrap();
        journal.file = File::open(&journal.path).unwrap(); // cannot be written: as a full disk would refuse
        assert!(matches!(journal.append(Entry::turn(place(), "lost")), Err(JournalError::Io { what: "write", .. })));
        journal.file = good;
        journal.file.write_all(b"{\"seq\":2,\"half").unwrap(); // what a full disk lets through
        said(&mut journal, 1);
        assert_eq!(kinds(folder.path()), [Kind::Opened, Kind::Turn]);
    }

    #[test]
    fn a_second_writer_is_turned_away() {
        let folder = tempfile::tempdir().unwrap();
        let _first = open(Settings::new(folder.path()));
        let second = Journal::open(Settings::new(folder.path()), Arc::new(ManualClock::default()));
        assert!(matches!(second, Err(JournalError::InUse(_))));
    }

    #[test]
    fn redacted_content_never_reaches_the_medium() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { redact: vec!["utterance".to_owned()], ..Settings::new(folder.path()) };
        let mut journal = open(settings);
        journal.append(Entry::turn(place(), "write to Ada that I love her")).unwrap();
        journal.append(Entry::fault(None, "student", "cannot parse `write to Ada that I love her`")).unwrap();
        assert!(!fs::read_to_string(&journal.path).unwrap().contains("love"));
        assert!(verify(folder.path()).is_ok());
    }

    #[test]
    fn an_oversized_body_is_replaced_by_its_size_and_hash() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(Settings { record_bytes: 1_000, ..Settings::new(folder.path()) });
        journal.append(Entry::turn(place(), &"x".repeat(5_000))).unwrap();
        let last = records(folder.path()).unwrap().last().unwrap().unwrap();
        assert_eq!(last.body["oversized"], 5_000 + r#"{"utterance":""}"#.len());
        assert_eq!(last.kind, Kind::Turn);
    }
}
