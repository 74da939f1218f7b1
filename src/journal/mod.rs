//! The decision journal: what was said, proposed, judged, asked, executed and answered.
//!
//! A journal is a folder of segments, each a file of JSON lines. Every record carries the hash of the
//! one before it and its own, so that an altered, missing or reordered record is found and named
//! ([`verify`]). The chain shows tampering by whoever cannot rewrite all of it; against somebody who
//! can, its newest hash ([`Journal::head`]) has to be kept elsewhere.
//!
//! The folder never grows beyond its cap (the oldest segments go first, and a record says so), power
//! loss costs at most the records after the last sync, and personal content is replaced by a salted
//! hash before it is written ([`Settings::redact`]).

mod chain;
mod entry;
mod error;
mod judgement;
mod names;
mod quotes;
mod record;
mod redact;
mod resume;
mod segments;
mod sink;
mod writer;

pub use chain::{Torn, Verified, newer, records, verify};
pub use entry::{Entry, Kind, Place};
pub use error::{BreakKind, ChainBreak, JournalError};
pub use judgement::{Drafted, DraftedCall, DraftedFault, Judgement};
pub use names::Names;
pub use record::Record;
pub use sink::{Action, Changed, Note, Sink};
pub use writer::{Durability, Journal, Settings};
