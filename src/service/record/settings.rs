//! What is recorded, where, and which policies judge in shadow.

use std::path::PathBuf;

use serde::Deserialize;

use crate::journal::{Durability, Settings};

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
    /// KiB of one segment.
    pub segment_kib: u64,
    /// MiB of the whole folder: the oldest segments are removed to stay below it.
    pub total_mib: u64,
    /// KiB of one record; a longer one is replaced by its size and hash.
    pub record_kib: usize,
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
            record_kib: 256,
            sync: Sync::Effects,
            redact: Vec::new(),
        }
    }
}

impl JournalConfig {
    pub(super) fn settings(&self) -> Option<Settings> {
        let folder = self.folder.clone()?;
        Some(Settings {
            folder,
            segment_bytes: self.segment_kib.saturating_mul(1 << 10),
            total_bytes: self.total_mib.saturating_mul(1 << 20),
            record_bytes: self.record_kib.saturating_mul(1 << 10),
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
