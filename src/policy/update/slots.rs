//! The slots: factory (read-only, in the image), current, previous, staged.
//!
//! Each update is a file named by its digest, and one small record says which is in which slot. A step of
//! an update writes what it needs and then replaces that record as a whole: at every moment the record
//! names files that are whole, and the step has happened or has not.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::accept::{Accepted, Installed, accept};
use super::disk::{Disk, FRESH, replace};
use super::floor::{Floor, Floors};
use super::record::{Held, Places, Record, Trial};
use super::trust::{Standing, Trust};
use super::{Header, KeyList, Reading, UpdateError, hex, largest_list, largest_update};
use crate::policy::Policy;

/// What files of updates end with.
const FILE: &str = ".policy";

/// Looks whether a policy does what its own tests say.
pub trait Checkup: Send + Sync {
    /// How many tests passed.
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
    /// The health check.
    pub checkup: Box<dyn Checkup>,
}

/// The slots and everything that happens to them.
pub struct Slots {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) floors: Floors,
    pub(super) trust: Trust,
    checkup: Box<dyn Checkup>,
}

/// A policy that was put in force.
#[derive(Debug)]
pub struct Activated {
    /// What its signer says of it.
    pub header: Header,
    /// The policy.
    pub policy: Policy,
    /// How many of its own tests passed.
    pub tests: usize,
    /// Whether it now waits to be committed; else it was committed before.
    pub on_trial: bool,
}

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
        Self { disk, folder, floors, trust, checkup }
    }

    /// Accepts an update and keeps it in the slot `staged`.
    ///
    /// # Errors
    /// [`UpdateError`]; what was staged before stays.
    pub fn stage(&self, bytes: &[u8], now: Reading) -> Result<Header, UpdateError> {
        let places = self.places()?;
        let accepted = self.accept(bytes, &places, now)?;
        let held = Held { digest: *accepted.digest(), version: accepted.header().version };
        self.disk.make_folder(&self.folder).map_err(UpdateError::io("create", &self.folder))?;
        replace(self.disk.as_ref(), &self.file(&held), accepted.envelope())?;
        self.save(&Places { staged: Some(held), ..places })?;
        Ok(accepted.into_policy().0)
    }

    /// Takes a list of keys into use.
    ///
    /// # Errors
    /// [`UpdateError`]; the list in use stays.
    pub fn keys(&self, bytes: &[u8]) -> Result<KeyList, UpdateError> {
        let (places, floor) = (self.places()?, self.floors.load()?);
        let list = KeyList::verify(bytes, &self.trust)?;
        // A list that cannot be used any more is what a new one is delivered for.
        list.follows(floor.keys, self.list(&floor).ok().flatten().as_ref())?;
        let trust = self.trust.with_list(Some(list.clone()));
        for held in places.held() {
            // A file that is gone is no reason to keep a compromised key.
            let Ok((header, _)) = self.open(held, &self.trust_at_start(&floor)) else { continue };
            if trust.standing(header.key) == Standing::Unknown {
                return Err(UpdateError::KeysForget(header.key));
            }
        }
        self.disk.make_folder(&self.folder).map_err(UpdateError::io("create", &self.folder))?;
        replace(self.disk.as_ref(), &self.list_file(), list.bytes())?;
        self.floors.raise(Floor { keys: list.version(), ..floor })?;
        Ok(list)
    }

    /// Verifies what is staged once more and runs its own tests. Nothing changes.
    ///
    /// # Errors
    /// [`UpdateError`].
    pub fn verify(&self, now: Reading) -> Result<(Header, usize), UpdateError> {
        let accepted = self.staged(&self.places()?, now)?;
        let version = accepted.header().version;
        let tests = self.checkup.check(accepted.policy()).map_err(|why| UpdateError::Unfit { version, why })?;
        Ok((accepted.into_policy().0, tests))
    }

    /// Puts what is staged in force, on trial, and runs its own tests there; when they fail, the last good
    /// policy is in force again. Not to be called while a turn runs. `fits` says whether the car can run a
    /// policy: [`LiveCar::fits`](super::LiveCar::fits).
    ///
    /// # Errors
    /// [`UpdateError`]; the policy in force stays, or is in force again.
    pub fn activate(
        &self,
        now: Reading,
        fits: &dyn Fn(&Policy) -> Result<(), UpdateError>,
    ) -> Result<Activated, UpdateError> {
        let places = self.places()?;
        if let (Some(_), Some(current)) = (places.trial, places.current) {
            return Err(UpdateError::OnTrial(current.version));
        }
        let accepted = self.staged(&places, now)?;
        fits(accepted.policy())?;
        let (on_trial, staged) = (places.current != places.staged, places.staged);
        match on_trial {
            true => {
                let trial = Some(Trial { starts: 0, older: places.previous });
                self.save(&Places { current: staged, previous: places.current, staged: None, trial })?;
            }
            // A delivery that was repeated: it is in force, and was committed to.
            false => self.save(&Places { staged: None, ..places })?,
        }
        let (header, policy) = accepted.into_policy();
        match self.checkup.check(&policy) {
            Ok(tests) => Ok(Activated { header, policy, tests, on_trial }),
            Err(why) => Err(self.fall_back(header.version, why)?),
        }
    }

    /// Commits to the policy on trial after running its own tests again: the floor rises to it.
    ///
    /// # Errors
    /// [`UpdateError`]; when the tests fail, the last good policy is in force again
    /// ([`UpdateError::Unhealthy`]).
    pub fn commit(&self, now: Reading) -> Result<Header, UpdateError> {
        let places = self.places()?;
        let (Some(current), Some(_)) = (places.current, places.trial) else {
            return Err(UpdateError::NothingToDo("commit"));
        };
        let (header, policy) = self.open(&current, &self.trust_at_start(&self.floors.load()?))?;
        if let Err(why) = self.checkup.check(&policy) {
            return Err(self.fall_back(current.version, why)?);
        }
        self.finish(&places, &current, now)?;
        Ok(header)
    }

    /// Takes the policy on trial out of force; without one, drops what is staged. The policy in force is
    /// then that of [`Slots::in_force`].
    ///
    /// # Errors
    /// [`UpdateError::NothingToDo`], or what the file system says.
    pub fn roll_back(&self) -> Result<Status, UpdateError> {
        let places = self.places()?;
        if places.trial.is_none() && places.staged.is_none() {
            return Err(UpdateError::NothingToDo("roll back"));
        }
        let next = match places.trial {
            Some(_) => places.undone(),
            None => Places { staged: None, ..places },
        };
        self.save(&next)?;
        self.status()
    }

    /// What is in which slot.
    ///
    /// # Errors
    /// [`UpdateError::Damaged`] or [`UpdateError::Io`].
    pub fn status(&self) -> Result<Status, UpdateError> {
        let (places, floor) = (self.places()?, self.floors.load()?);
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

    /// The policy of the slot `current`; none: the factory's.
    ///
    /// # Errors
    /// [`UpdateError`] when it cannot be read any more.
    pub fn in_force(&self) -> Result<Option<(Header, Policy)>, UpdateError> {
        let trust = self.trust_at_start(&self.floors.load()?);
        self.places()?.current.map(|held| self.open(&held, &trust)).transpose()
    }

    /// The floor first: from then on there is no way back, and a start that finds the trial undecided
    /// sees that it was decided.
    pub(super) fn finish(&self, places: &Places, current: &Held, now: Reading) -> Result<(), UpdateError> {
        let floor = self.floors.load()?;
        let seen = now.0.unwrap_or_default();
        self.floors.raise(Floor { policy: current.version, digest: current.digest, seen, ..floor })?;
        self.save(&Places { trial: None, ..*places })
    }

    /// Undoes a trial after its health check failed; the error says so.
    fn fall_back(&self, version: u64, why: String) -> Result<UpdateError, UpdateError> {
        let next = self.places()?.undone();
        self.save(&next)?;
        let back = next.current.map_or(0, |held| held.version);
        Ok(UpdateError::Unhealthy { version, why, back })
    }

    /// Accepts bytes against what the car has committed to.
    fn accept(&self, bytes: &[u8], places: &Places, now: Reading) -> Result<Accepted, UpdateError> {
        let mut floor = self.floors.load()?;
        // A floor that was lost is at least what is in force.
        if let Some(committed) = places.committed().filter(|held| held.version > floor.policy) {
            floor = Floor { policy: committed.version, digest: committed.digest, ..floor };
        }
        let trust = self.trust.with_list(self.list(&floor)?);
        accept(bytes, &trust, &Installed { floor }, now)
    }

    /// What is staged, accepted anew: the file may have changed, time has passed, keys may be revoked.
    fn staged(&self, places: &Places, now: Reading) -> Result<Accepted, UpdateError> {
        let held = places.staged.ok_or(UpdateError::NothingStaged)?;
        let path = self.file(&held);
        let bytes = self.disk.read(&path, largest_update()).map_err(UpdateError::io("read", &path))?;
        let accepted = self.accept(&bytes, places, now)?;
        match *accepted.digest() == held.digest {
            true => Ok(accepted),
            false => Err(UpdateError::Damaged { path, why: "it was exchanged", remedy: "stage the update again" }),
        }
    }

    /// The list of keys in use.
    pub(super) fn list(&self, floor: &Floor) -> Result<Option<KeyList>, UpdateError> {
        let path = self.list_file();
        let damaged = |why| UpdateError::Damaged { path: path.clone(), why, remedy: "deliver the list of keys again" };
        let list = match self.disk.read(&path, largest_list()) {
            Ok(bytes) => Some(KeyList::verify(&bytes, &self.trust).map_err(|_| damaged("it is not as it was signed"))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(UpdateError::io("read", &path)(error)),
        };
        // Taking the list away must not bring a revoked key back.
        match list.as_ref().map_or(0, KeyList::version) < floor.keys {
            true => Err(damaged("it is older than the one that was in use, or gone")),
            false => Ok(list),
        }
    }

    pub(super) fn places(&self) -> Result<Places, UpdateError> {
        let path = self.folder.join("slots");
        Ok(self.record(&path).read(self.disk.as_ref())?.unwrap_or_default())
    }

    /// Replaces the record, then removes what no slot names any more.
    pub(super) fn save(&self, places: &Places) -> Result<(), UpdateError> {
        self.record(&self.folder.join("slots")).write(self.disk.as_ref(), places)?;
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

    fn list_file(&self) -> PathBuf {
        self.folder.join("keys")
    }

    fn record<'a>(&self, path: &'a Path) -> Record<'a> {
        Record { path, magic: b"OBLSLOTS", remedy: "the service restores what it can when it starts" }
    }
}
