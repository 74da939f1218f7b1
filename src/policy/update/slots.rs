//! The slots: factory (read-only, in the image), current, previous, staged.
//!
//! Each update is a file named by its digest, and one small record says which is in which slot. A step of
//! an update writes what it needs and then replaces that record as a whole: at every moment the record
//! names files that are whole, and the step has happened or has not.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::accept::{Accepted, Installed, accept};
use super::disk::{Disk, FRESH};
use super::floor::{Floor, Floors};
use super::record::{Held, Places, Record};
use super::trust::Trust;
use super::{Reading, UpdateError, hex};
use crate::policy::Policy;

/// What files of updates end with.
const FILE: &str = ".policy";

/// What is asked about a policy before it is in force.
pub trait Checkup: Send + Sync {
    /// Whether the car, as it is configured, can run a policy: asked whenever the policy to go on with is
    /// chosen.
    ///
    /// # Errors
    /// [`UpdateError`] with what does not fit.
    fn usable(&self, policy: &Policy) -> Result<(), UpdateError>;
    /// Whether a policy does what its own tests say: how many tests passed.
    ///
    /// # Errors
    /// What failed, in a sentence.
    fn check(&self, policy: &Policy) -> Result<usize, String>;
}

/// What slots are made of.
pub struct Setup {
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// Folder of the slots.
    pub folder: PathBuf,
    /// The rollback floor.
    pub floors: Floors,
    /// What the image says.
    pub trust: Trust,
    /// What is asked about a policy.
    pub checkup: Arc<dyn Checkup>,
}

/// The slots and everything that happens to them.
pub struct Slots {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) floors: Floors,
    pub(super) trust: Trust,
    pub(super) checkup: Arc<dyn Checkup>,
    /// What is on trial and was passed over by the start, because that could not be recorded: it is not in force
    /// until it is activated or started anew, whatever the record says.
    passed: Mutex<Option<[u8; 32]>>,
}

/// The state of slots and floor, to see whether a step has changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(Places, Floor);

/// What is in which slot; 0 stands for the factory's policy, or for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Version in force.
    pub current: u64,
    /// Version before it.
    pub previous: u64,
    /// Version that is staged.
    pub staged: u64,
    /// Whether the current one waits to be committed.
    pub on_trial: bool,
    /// The rollback floor.
    pub floor: u64,
    /// Version of the list of keys in use.
    pub keys: u64,
}

impl Slots {
    /// Slots in a folder. Nothing is read yet.
    pub fn new(setup: Setup) -> Self {
        let Setup { disk, folder, floors, trust, checkup } = setup;
        Self { disk, folder, floors, trust, checkup, passed: Mutex::new(None) }
    }

    /// What is in which slot.
    ///
    /// # Errors
    /// [`UpdateError::Damaged`] or [`UpdateError::Io`].
    pub fn status(&self) -> Result<Status, UpdateError> {
        let (places, floor) = (self.decided()?, self.floors.load()?);
        let version = |held: Option<Held>| held.map_or(0, |held| held.version);
        Ok(Status {
            current: version(places.current),
            previous: version(places.previous),
            staged: version(places.staged),
            on_trial: places.trial.is_some(),
            floor: floor.policy,
            keys: floor.keys,
        })
    }

    /// Where slots and floor stand; none where that cannot be read.
    pub fn mark(&self) -> Option<Mark> {
        Some(Mark(self.places().ok()?, self.floors.load().ok()?))
    }

    /// Remembers what the start has passed over; none: nothing.
    pub(super) fn pass_over(&self, held: Option<&Held>) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = held.map(|held| held.digest);
    }

    /// Whether the start has passed this over.
    pub(super) fn passed_over(&self, held: &Held) -> bool {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) == Some(held.digest)
    }

    /// Accepts bytes against what the car has committed to.
    pub(super) fn accept(&self, bytes: &[u8], places: &Places, now: Reading) -> Result<Accepted, UpdateError> {
        let mut floor = self.floors.load()?;
        // A floor that was lost is at least what is in force.
        if let Some(committed) = places.committed().filter(|held| held.version > floor.policy) {
            floor = Floor { policy: committed.version, digest: committed.digest, ..floor };
        }
        let trust = self.trust.with_list(self.list(&floor)?);
        accept(bytes, &trust, &Installed { floor }, now)
    }

    /// What is in which slot, as the record says.
    pub(super) fn places(&self) -> Result<Places, UpdateError> {
        self.recorded().map(Option::unwrap_or_default)
    }

    /// The same; none where there is no record.
    pub(super) fn recorded(&self) -> Result<Option<Places>, UpdateError> {
        self.record(&self.record_file()).read(self.disk.as_ref())
    }

    /// What is in which slot for a step to work on. A trial that the floor has risen to is decided: only its
    /// record could not be written any more. To undo it would lead below the floor.
    pub(super) fn decided(&self) -> Result<Places, UpdateError> {
        let places = self.places()?;
        let decided = match (places.current, places.trial) {
            (Some(current), Some(_)) => self.floors.load()?.policy >= current.version,
            _ => false,
        };
        Ok(if decided { Places { trial: None, ..places } } else { places })
    }

    /// Replaces the record, then removes what no slot names any more.
    pub(super) fn save(&self, places: &Places) -> Result<(), UpdateError> {
        self.record(&self.record_file()).write(self.disk.as_ref(), places)?;
        self.sweep(places);
        Ok(())
    }

    /// Removes files that no slot names and such as are not whole. What stays costs space, nothing else.
    pub(super) fn sweep(&self, places: &Places) {
        let named: Vec<PathBuf> = places.held().map(|held| self.file(held)).collect();
        for name in self.disk.list(&self.folder).unwrap_or_default() {
            let path = self.folder.join(&name);
            if name.ends_with(FRESH) || (name.ends_with(FILE) && !named.contains(&path)) {
                let _ = self.disk.remove(&path);
            }
        }
    }

    pub(super) fn file(&self, held: &Held) -> PathBuf {
        self.folder.join(format!("{}{FILE}", hex(&held.digest)))
    }

    pub(super) fn record_file(&self) -> PathBuf {
        self.folder.join("slots")
    }

    fn record<'a>(&self, path: &'a Path) -> Record<'a> {
        Record { path, magic: b"OBLSLOTS", remedy: "the service restores what it can when it starts" }
    }
}
