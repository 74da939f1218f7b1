//! The rollback floor: what the car has committed to and never goes below.
//!
//! It lives in the state directory, outside of anything that an A/B update of the image switches, so that
//! an older image does not bring an older floor along.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::UpdateError;
use super::disk::{Disk, FRESH};
use super::record::Record;

/// What the car has committed to. Every number only rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Floor {
    /// The committed version of the policy; 0: none but the factory's.
    pub policy: u64,
    /// SHA-256 of the envelope that has that version.
    pub digest: [u8; 32],
    /// The version of the list of keys in use; 0: none.
    pub keys: u64,
    /// A time that has passed, in seconds since 1970, UTC: when the latest committed policy became valid, as
    /// its signer says. Never what a clock said: one wrong reading would be believed for ever.
    pub seen: u64,
}

/// A monotonic counter of the hardware: a TPM's NV counter, an RPMB's. It keeps the floor where the state
/// directory can be rewritten.
pub trait Counter: Send + Sync {
    /// Its value; 0 when it was never raised.
    ///
    /// # Errors
    /// What the hardware says. Updates are then refused: nobody knows the floor.
    fn value(&self) -> io::Result<u64>;
    /// Raises it to a value, if that is greater.
    ///
    /// # Errors
    /// What the hardware says.
    fn raise(&self, to: u64) -> io::Result<()>;
}

/// Where the floor is kept.
#[derive(Clone)]
pub struct Floors {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    counter: Option<Arc<dyn Counter>>,
}

impl Floors {
    /// A floor in a file, and in a counter of the hardware where there is one.
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf, counter: Option<Arc<dyn Counter>>) -> Self {
        Self { disk, path, counter }
    }

    /// The floor.
    ///
    /// # Errors
    /// [`UpdateError::Damaged`] or [`UpdateError::Io`].
    pub fn load(&self) -> Result<Floor, UpdateError> {
        let mut floor: Floor = self.record().read(self.disk.as_ref())?.unwrap_or_default();
        if let Some(counter) = &self.counter {
            let counted = counter.value().map_err(UpdateError::io("read the counter behind", &self.path))?;
            if counted > floor.policy {
                // The file was put back; which content had that version is not known any more.
                floor = Floor { policy: counted, digest: [0; 32], ..floor };
            }
        }
        Ok(floor)
    }

    /// Raises the floor. Nothing of it is lowered, whatever is asked for.
    ///
    /// # Errors
    /// [`UpdateError::Damaged`] or [`UpdateError::Io`].
    pub(super) fn raise(&self, to: Floor) -> Result<Floor, UpdateError> {
        let old = self.load()?;
        let content = if to.policy >= old.policy { (to.policy, to.digest) } else { (old.policy, old.digest) };
        let (policy, digest) = content;
        let floor = Floor { policy, digest, keys: to.keys.max(old.keys), seen: to.seen.max(old.seen) };
        if floor != old {
            if let Some(folder) = self.path.parent() {
                self.disk.make_folder(folder).map_err(UpdateError::io("create", folder))?;
            }
            self.record().write(self.disk.as_ref(), &floor)?;
        }
        if let Some(counter) = &self.counter {
            counter.raise(floor.policy).map_err(UpdateError::io("raise the counter behind", &self.path))?;
        }
        Ok(floor)
    }

    /// Removes what a crash left half written.
    pub(super) fn tidy(&self) {
        let mut half = self.path.clone().into_os_string();
        half.push(FRESH);
        // As a rule there is none.
        let _ = self.disk.remove(half.as_ref());
    }

    fn record(&self) -> Record<'_> {
        Record {
            path: &self.path,
            magic: b"OBLFLOOR",
            remedy: "the policy in force stays; restore the state directory in the workshop",
        }
    }
}
