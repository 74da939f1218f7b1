//! What a step is meant for.

use sha2::{Digest, Sha256};

use super::UpdateError;
use super::envelope::unverified;
use super::record::{Held, Places};

/// What a step is meant for. Whoever delivers names its own, so that nobody decides on what somebody else
/// delivered in the meantime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Meant {
    /// Whatever is there: for people who have looked.
    #[default]
    Any,
    /// This version, whatever its content.
    Version(u64),
    /// These bytes. Anybody can write a number into a header; only what was accepted has its digest.
    Content {
        /// The version that they say they have, for people to read.
        version: u64,
        /// Their SHA-256, the whole envelope.
        digest: [u8; 32],
    },
}

impl From<u64> for Meant {
    /// As it is written down: 0, which is no update's version, stands for any.
    fn from(version: u64) -> Self {
        if version == 0 { Self::Any } else { Self::Version(version) }
    }
}

impl Meant {
    /// The very update that was delivered. Nothing of it is verified.
    ///
    /// # Errors
    /// [`UpdateError`] when it is not a whole update: such a one was never staged.
    pub fn content(bytes: &[u8]) -> Result<Self, UpdateError> {
        Ok(Self::Content { version: unverified(bytes)?.0.version, digest: Sha256::digest(bytes).into() })
    }

    /// The version that is meant; 0: none is named.
    pub fn version(self) -> u64 {
        match self {
            Self::Any => 0,
            Self::Version(version) | Self::Content { version, .. } => version,
        }
    }

    /// Whether it is what lies in a slot.
    pub(super) fn is(self, held: &Held) -> bool {
        match self {
            Self::Any => true,
            Self::Version(version) => version == held.version,
            Self::Content { digest, .. } => digest == held.digest,
        }
    }

    /// Why a step finds nothing to work on in a place, or not what is meant.
    pub(super) fn missing(self, place: &'static str, places: &Places, step: &'static str) -> UpdateError {
        if self == Self::Any {
            return UpdateError::NothingToDo(step);
        }
        let meant = self.version();
        let there = if place == "staged" { places.staged } else { places.trial.and(places.current) };
        let found = match there {
            Some(held) if held.version == meant => format!("version {meant} with another content"),
            Some(held) => format!("version {}", held.version),
            None => "nothing".to_owned(),
        };
        UpdateError::OtherVersion { meant, place, found }
    }
}
