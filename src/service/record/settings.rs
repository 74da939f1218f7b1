//! What is recorded, where, and which policies judge in shadow.

use std::path::PathBuf;

use serde::Deserialize;

use crate::journal::{Durability, Settings};

/// KiB of a record where no setting says it and a segment is larger.
const RECORD: u64 = 256;

/// When records are forced onto the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// After every record.
    Always,
    /// After records of what changed the car, was granted or was said.
    #[default]
    Effects,
    /// When a segment is full and at the end.
    Segments,
}

/// The journal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalConfig {
    /// Its folder; none: nothing is written, only counted.
    pub folder: Option<PathBuf>,
    /// KiB of one segment, at least 1.
    pub segment_kib: u64,
    /// MiB of the whole folder, at least two segments and a record: the oldest segments are removed to stay below it.
    pub total_mib: u64,
    /// KiB of one record, between 1 and a segment; a longer one is replaced by its size and hash. None: 256, or a
    /// segment where that is smaller.
    pub record_kib: Option<u64>,
    /// When records are forced onto the medium.
    pub sync: Sync,
    /// Personal content to replace by a salted hash: dotted member names such as `utterance`.
    pub redact: Vec<String>,
}

impl Default for JournalConfig {
    /// The sizes of [`Settings::new`].
    fn default() -> Self {
        Self {
            folder: None,
            segment_kib: 1_024,
            total_mib: 64,
            record_kib: None,
            sync: Sync::Effects,
            redact: Vec::new(),
        }
    }
}

impl JournalConfig {
    /// Looks whether a journal can be kept so.
    ///
    /// # Errors
    /// A sentence that names the key, what was found and what to write.
    pub(in crate::service) fn check(&self) -> Result<(), String> {
        let (segment, record) = (self.segment_kib, self.record());
        if segment == 0 {
            return Err("`journal.segment_kib` is 0, and no record fits into such a segment; write the KiB of one \
                        segment, such as 1024"
                .to_owned());
        }
        if record == 0 {
            return Err(
                "`journal.record_kib` is 0, and nothing of a record would be kept; write the KiB of the longest \
                        record, such as 256, or remove the setting"
                    .to_owned(),
            );
        }
        if record > segment {
            return Err(format!(
                "`journal.record_kib` is {record}, more than a segment holds (`journal.segment_kib` is {segment}); \
                 write at most {segment}, or make the segments larger"
            ));
        }
        // A segment may end with a record that goes beyond it.
        let least = segment.saturating_mul(2).saturating_add(record);
        if self.total_mib.saturating_mul(1 << 10) < least {
            return Err(format!(
                "`journal.total_mib` is {}, less than two segments and a record take (`journal.segment_kib` is \
                 {segment}, a record up to {record} KiB), so that a full segment would be removed as soon as the next \
                 one begins; write at least {}, or make the segments smaller",
                self.total_mib,
                least.div_ceil(1 << 10)
            ));
        }
        match self.redact.iter().find(|name| name.split('.').any(str::is_empty)) {
            Some(name) => Err(format!(
                "`journal.redact` holds `{name}`, which names no member of a record; write names of members, joined by \
                 dots where one lies in the other, such as `utterance` or `arguments.text`"
            )),
            None => Ok(()),
        }
    }

    /// KiB of one record.
    fn record(&self) -> u64 {
        self.record_kib.unwrap_or(RECORD.min(self.segment_kib))
    }

    pub(super) fn settings(&self) -> Option<Settings> {
        let folder = self.folder.clone()?;
        Some(Settings {
            folder,
            segment_bytes: self.segment_kib.saturating_mul(1 << 10),
            total_bytes: self.total_mib.saturating_mul(1 << 20),
            record_bytes: usize::try_from(self.record().saturating_mul(1 << 10)).unwrap_or(usize::MAX),
            durability: match self.sync {
                Sync::Always => Durability::Always,
                Sync::Effects => Durability::Effects,
                Sync::Segments => Durability::Segments,
            },
            redact: self.redact.clone(),
        })
    }
}

/// What judges and records without ever acting. Rules that are marked `@shadow` always do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShadowConfig {
    /// A whole compiled policy.
    pub policy: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        toml::from_str::<JournalConfig>(text).unwrap().check()
    }

    #[test]
    fn sizes_in_which_no_journal_can_be_kept_are_named_with_what_to_write() {
        for (text, key, remedy) in [
            ("segment_kib = 0", "`journal.segment_kib` is 0", "such as 1024"),
            ("record_kib = 0", "`journal.record_kib` is 0", "or remove the setting"),
            ("segment_kib = 64\nrecord_kib = 65", "`journal.record_kib` is 65", "write at most 64"),
            ("total_mib = 0", "`journal.total_mib` is 0", "write at least 3"),
            ("total_mib = 2", "`journal.total_mib` is 2", "write at least 3"),
            ("segment_kib = 9223372036854775807", "`journal.total_mib` is 64", "or make the segments smaller"),
            ("redact = [\"utterance\", \"\"]", "`journal.redact` holds ``", "such as `utterance`"),
            ("redact = [\"arguments..text\"]", "`journal.redact` holds `arguments..text`", "joined by dots"),
        ] {
            let why = checked(text).unwrap_err();
            assert!(why.contains(key) && why.contains(remedy), "{text}: {why}");
        }
    }

    #[test]
    fn the_smallest_journal_that_can_be_kept_is_kept() {
        for text in ["", "total_mib = 3", "segment_kib = 1\ntotal_mib = 1", "segment_kib = 64\ntotal_mib = 1"] {
            checked(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        }
        let small: JournalConfig = toml::from_str("folder = \"j\"\nsegment_kib = 64\ntotal_mib = 1").unwrap();
        assert_eq!(small.settings().unwrap().record_bytes, 64 << 10, "a record is no longer than a segment");
    }
}
