//! One record and its line.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::{BreakKind, Kind, Place};

/// What the first record of a journal names as its predecessor.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The hash closes the line, so that it covers everything before it exactly as written.
const HASH: &str = r#","hash":""#;

/// One record as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, counted from 1 over the life of the journal.
    pub seq: u64,
    /// Hash of the record before it, in hexadecimal digits.
    pub prev: String,
    /// Milliseconds since 1970 in UTC, for people; it may jump.
    pub time: u64,
    /// Milliseconds since boot, suspend included: what intervals are taken from.
    pub boot: u64,
    /// What it is about.
    pub kind: Kind,
    /// Session and turn, where it belongs to one.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What happened; its members follow from the kind.
    pub body: Json,
    /// Its own hash. Set when the record is written, never taken from a caller.
    #[serde(default, skip_serializing)]
    pub hash: String,
    /// Whether it and all before it were found to be as they were written, when it was read from a journal.
    #[serde(skip)]
    pub proved: bool,
}

impl Record {
    /// Closes the record with its hash and gives its line, line end included.
    ///
    /// # Errors
    /// When the body cannot be written as JSON.
    pub(super) fn seal(&mut self) -> Result<String, serde_json::Error> {
        let mut line = serde_json::to_string(self)?;
        line.pop(); // the closing brace comes after the hash
        self.hash = hex(&Sha256::digest(&line));
        line.push_str(HASH);
        line.push_str(&self.hash);
        line.push_str("\"}\n");
        Ok(line)
    }

    /// Reads a line and proves its own hash. Whether it continues a chain is the reader's business.
    ///
    /// # Errors
    /// [`BreakKind::Unreadable`] or [`BreakKind::Altered`].
    pub(super) fn from_line(line: &[u8]) -> Result<Self, BreakKind> {
        let unreadable = |why: &dyn std::fmt::Display| BreakKind::Unreadable(why.to_string());
        let text = std::str::from_utf8(line).map_err(|e| unreadable(&e))?.trim_end_matches('\n');
        let record: Self = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
        let (content, hash) = text.rsplit_once(HASH).ok_or_else(|| unreadable(&"it has no hash"))?;
        if hash != format!("{}\"}}", record.hash) || hex(&Sha256::digest(content)) != record.hash {
            return Err(BreakKind::Altered);
        }
        Ok(record)
    }
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(place: Option<Place>) -> Record {
        Record {
            seq: 7,
            prev: GENESIS.to_owned(),
            time: 1,
            boot: 2,
            kind: Kind::Reply,
            place,
            body: json!({"text": "done, \"hash\":\""}),
            hash: String::new(),
            proved: false,
        }
    }

    #[test]
    fn a_line_reads_back_as_the_record_that_was_written() {
        for place in [None, Some(Place::new("1", 2))] {
            let mut written = record(place);
            let line = written.seal().unwrap();
            assert_eq!(Record::from_line(line.as_bytes()).unwrap(), written);
        }
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let line = record(None).seal().unwrap().into_bytes();
        for at in 0..line.len() - 1 {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(Record::from_line(&changed).is_err(), "byte {at} of {}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn members_after_the_hash_are_an_alteration() {
        let line = record(None).seal().unwrap();
        let longer = line.replace("\"}\n", "\",\"body\":{}}\n");
        assert!(Record::from_line(longer.as_bytes()).is_err());
    }
}
