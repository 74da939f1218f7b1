//! Updates on this machine: what a configuration says of them, opened. The service and the command line
//! work on the same folders through this.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::config::{Config, UpdateConfig};
use super::{ServiceError, parts};
use crate::policy::update::{
    Activated, Checkup, Floors, FolderLock, LiveCar, Meant, Owner, Reading, RealDisk, Setup, Slot, Slots, Started,
    Trust, UpdateError,
};
use crate::policy::{HardLimits, Policy};
use crate::tools::Removed;
use crate::trials::Health;
use crate::vehicle::Vehicle;

/// How long another process may take for its work on the slots.
const PATIENCE: Duration = Duration::from_secs(2);

/// The car that a policy would be in force in; none where there is no car to look at.
pub(super) type CarFor<'a> = dyn Fn(&Policy) -> Result<Option<Arc<dyn Vehicle>>, UpdateError> + 'a;

/// What the configuration says of the car.
struct Board {
    limits: Arc<HardLimits>,
    removed: Removed,
    /// Tools that the configuration leaves to providers.
    provided: Vec<String>,
}

impl Board {
    /// Whether the car, as it is configured, can run a policy.
    fn fits(&self, policy: &Policy, serves: &dyn Fn(&str) -> bool) -> Result<(), UpdateError> {
        // The service does not start with a configuration that speaks of tools which nobody knows.
        if let Some(tool) = self.provided.iter().find(|tool| policy.inventory.get(tool).is_none()) {
            return Err(UpdateError::UnknownPart(tool.clone()));
        }
        LiveCar { limits: &self.limits, removed: &self.removed, serves }.fits(policy)
    }
}

impl Checkup for Board {
    /// Who serves what is not known before the car is there; it was when the policy was activated.
    fn usable(&self, policy: &Policy) -> Result<(), UpdateError> {
        self.fits(policy, &|_| true)
    }

    fn check(&self, policy: &Policy) -> Result<usize, String> {
        Health::check(policy).map(|health| health.tests).map_err(|unwell| unwell.to_string())
    }
}

/// What is in force as the slots say.
pub(super) struct Chosen {
    pub(super) policy: Policy,
    /// Its version; 0: the factory's.
    pub(super) version: u64,
    pub(super) slot: Slot,
    /// What could not be used, a sentence each.
    pub(super) notes: Vec<String>,
}

/// Slots, and what the car is like.
pub struct LocalUpdates {
    /// The slots.
    pub slots: Slots,
    /// Where the factory's policy lies.
    factory: PathBuf,
    board: Arc<Board>,
    /// The right to change something; why there is none.
    lock: Result<FolderLock, String>,
}

impl LocalUpdates {
    /// Opens the slots of a configuration; none where the image names nobody to trust.
    ///
    /// # Errors
    /// [`ServiceError`] when the image's own files cannot be used, or when the slots are another user's or
    /// another process's. Storage that cannot be written is no error: what is in force can be read all the
    /// same.
    pub fn open(config: &Config) -> Result<Option<Self>, ServiceError> {
        let Some(path) = &config.update.trust else { return Ok(None) };
        let trust = Trust::parse(&parts::text(path)?)?;
        let factory = config.policy.clone().ok_or_else(parts::no_policy)?;
        let limits = Arc::new(parts::limits(config, None)?);
        let lock = lock(&config.update);
        if let Err(error @ (UpdateError::InUse(_) | UpdateError::NotOurs { .. })) = lock {
            return Err(error.into());
        }
        let removed = Removed::from_iter(&config.vehicle.removed);
        let named = config.vehicle.provider.iter().filter_map(|provider| provider.tools.as_ref()).flatten();
        let provided = config.vehicle.provided.iter().chain(named).cloned().collect();
        let board = Arc::new(Board { limits, removed, provided });
        let disk = Arc::new(RealDisk);
        let slots = Slots::new(Setup {
            disk: disk.clone(),
            folder: config.update.slots.clone(),
            floors: Floors::new(disk, config.update.floor.clone(), None),
            trust,
            checkup: board.clone(),
        });
        let lock = lock.map_err(|e| e.to_string());
        Ok(Some(Self { slots, factory, board, lock }))
    }

    /// Whose slots they are, where this process is root and they are not root's: everything that is done with
    /// them, [`LocalUpdates::open`] included, is then done by [`Owner::act`].
    pub fn owner(config: &Config) -> Option<Owner> {
        Owner::other(&config.update.slots).or_else(|| Owner::other(&config.update.floor))
    }

    /// Finds the policy to start with; none: the factory's.
    pub fn start(&self) -> Started {
        let started = self.slots.start();
        for note in &started.notes {
            tracing::warn!(note, "policy slots");
        }
        if started.slot == Slot::Previous {
            tracing::warn!("the previous policy is in force, because the current one cannot be used");
        }
        started
    }

    /// Whether something may be changed.
    ///
    /// # Errors
    /// Why not.
    pub fn writable(&self) -> Result<(), String> {
        self.lock.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Puts what is staged in force, on trial, in the car that is set up for it.
    ///
    /// # Errors
    /// [`UpdateError`]; the policy in force stays.
    pub fn activate(&self, meant: Meant, car_for: &CarFor<'_>) -> Result<Activated, UpdateError> {
        let fits = |policy: &Policy| {
            let car = car_for(policy)?;
            let serves = |tool: &str| car.as_ref().is_none_or(|car| car.serves(tool));
            self.board.fits(policy, &serves)
        };
        self.slots.activate(meant, Reading::system(), &fits)
    }

    /// The policy in force as the slots say: the one that a start would find.
    ///
    /// # Errors
    /// [`ServiceError`] when not even the factory's can be read.
    pub(super) fn in_force(&self) -> Result<Chosen, ServiceError> {
        let Started { policy, slot, notes } = self.slots.in_force();
        let (version, policy) = match policy {
            Some((header, policy)) => (header.version, policy),
            None => (0, parts::blob(&self.factory)?),
        };
        Ok(Chosen { policy, version, slot, notes })
    }
}

/// Takes the folder; somebody else's work on it is waited for.
fn lock(config: &UpdateConfig) -> Result<FolderLock, UpdateError> {
    // The floor need not lie beside the slots.
    if let Some(owner) = Owner::other(&config.floor) {
        return Err(UpdateError::NotOurs { folder: config.floor.clone(), owner: owner.uid() });
    }
    let since = Instant::now();
    loop {
        match FolderLock::take(&config.slots) {
            Err(UpdateError::InUse(_)) if since.elapsed() < PATIENCE => sleep(Duration::from_millis(50)),
            taken => return taken,
        }
    }
}
