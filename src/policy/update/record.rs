//! Small records of ours: what is in which slot, and the floor.
//!
//! ```text
//! magic (8) | SHA-256 of content | content (postcard)
//! ```

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::UpdateError;
use super::disk::{Disk, replace};

/// Largest record, in bytes.
const MOST: u64 = 4096;

/// An update in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    /// SHA-256 of its envelope, which names its file.
    pub(super) digest: [u8; 32],
    /// Its version.
    pub(super) version: u64,
}

/// A policy that is in force and not committed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trial {
    /// How often the service has started with it.
    pub(super) starts: u32,
    /// What was in the slot `previous` before.
    pub(super) older: Option<Held>,
}

/// What is in which slot. An empty `current` is the factory's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Places {
    pub(super) current: Option<Held>,
    pub(super) previous: Option<Held>,
    pub(super) staged: Option<Held>,
    pub(super) trial: Option<Trial>,
}

impl Places {
    /// All that is in a slot.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        let older = self.trial.as_ref().and_then(|trial| trial.older.as_ref());
        self.current.iter().chain(&self.previous).chain(&self.staged).chain(older)
    }

    /// What was committed to last.
    pub(super) fn committed(&self) -> Option<&Held> {
        if self.trial.is_some() { self.previous.as_ref() } else { self.current.as_ref() }
    }

    /// As it was before the trial.
    pub(super) fn undone(self) -> Self {
        match self.trial {
            Some(trial) => Self { current: self.previous, previous: trial.older, trial: None, ..self },
            None => self,
        }
    }
}

/// A record of one kind in one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) path: &'a Path,
    pub(super) magic: &'static [u8; 8],
    /// What helps when it is damaged.
    pub(super) remedy: &'static str,
}

impl Record<'_> {
    /// Reads it; none where there is no such file.
    pub(super) fn read<T: DeserializeOwned>(&self, disk: &dyn Disk) -> Result<Option<T>, UpdateError> {
        let bytes = match disk.read(self.path, MOST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(self.damaged("it is not a small regular file"));
            }
            Err(error) => return Err(UpdateError::io("read", self.path)(error)),
        };
        let rest = bytes.strip_prefix(self.magic).ok_or_else(|| self.damaged("it does not begin as it should"))?;
        let (digest, content) = rest.split_first_chunk::<32>().ok_or_else(|| self.damaged("it is truncated"))?;
        if Sha256::digest(content).as_slice() != digest {
            return Err(self.damaged("its content does not match its digest"));
        }
        match postcard::take_from_bytes(content) {
            Ok((value, [])) => Ok(Some(value)),
            _ => Err(self.damaged("its content cannot be read")),
        }
    }

    /// Replaces it.
    pub(super) fn write<T: Serialize>(&self, disk: &dyn Disk, value: &T) -> Result<(), UpdateError> {
        let content = postcard::to_allocvec(value).map_err(|_| self.damaged("it cannot be written"))?;
        let mut bytes = self.magic.to_vec();
        bytes.extend_from_slice(&Sha256::digest(&content));
        bytes.extend_from_slice(&content);
        replace(disk, self.path, &bytes)
    }

    fn damaged(&self, why: &'static str) -> UpdateError {
        UpdateError::Damaged { path: self.path.to_owned(), why, remedy: self.remedy }
    }
}
