//! What can go wrong with a journal.

use std::path::PathBuf;

/// Why a journal cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system refused.
    #[error("the journal cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Another process writes it.
    #[error("the journal in {0} is in use by another process; one journal has one writer")]
    InUse(PathBuf),
    /// No random numbers for the salt of redaction.
    #[error("no random salt for redaction could be made: {0}; nothing is journalled with a guessable salt")]
    Salt(getrandom::Error),
    /// The salt of redaction is damaged.
    #[error("{path} holds {found} bytes instead of a salt of 32; remove it to start with a fresh salt")]
    BadSalt {
        /// The salt's file.
        path: PathBuf,
        /// Its size.
        found: usize,
    },
    /// An entry that is no JSON.
    #[error("a journal entry cannot be written as JSON: {0}")]
    Encode(#[from] serde_json::Error),
    /// The chain is broken.
    #[error(transparent)]
    Broken(#[from] ChainBreak),
}

/// Where a chain breaks first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: record {seq} {kind}", file = file.display())]
pub struct ChainBreak {
    /// The segment.
    pub file: PathBuf,
    /// Its line, counted from 1.
    pub line: usize,
    /// The sequence number that was due there.
    pub seq: u64,
    /// What is wrong.
    pub kind: BreakKind,
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BreakKind {
    /// No record at all.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// Its content does not have the hash that it states.
    #[error("was altered: its content does not have the hash it states")]
    Altered,
    /// Another record stands in its place.
    #[error("is missing; record {found} stands in its place")]
    Gap {
        /// The number found.
        found: u64,
    },
    /// It does not name the hash of its predecessor.
    #[error("does not continue the record before it: one of the two was replaced")]
    Unchained,
    /// Older records are gone and no record says that they were dropped for space.
    #[error("is missing, as are all before it, and no record says that they were dropped for space")]
    Beheaded,
}
