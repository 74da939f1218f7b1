//! Updates on this machine: what a configuration says of them, opened. The service and the command line
//! work on the same folders through this.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::config::Config;
use super::{ServiceError, parts};
use crate::policy::update::{
    Activated, Floors, FolderLock, LiveCar, Reading, RealDisk, Setup, Slot, Slots, Started, Trust, UpdateError,
};
use crate::policy::{HardLimits, Policy};
use crate::tools::Removed;
use crate::trials::SelfTest;
use crate::vehicle::Vehicle;

/// How long another process may take for its work on the slots.
const PATIENCE: Duration = Duration::from_secs(2);

/// The car that a policy would be in force in; none where there is no car to look at.
pub(super) type CarFor<'a> = dyn Fn(&Policy) -> Result<Option<Arc<dyn Vehicle>>, UpdateError> + 'a;

/// Slots, and what the car is like.
pub struct LocalUpdates {
    /// The slots.
    pub slots: Slots,
    /// Where the factory's policy lies.
    factory: PathBuf,
    limits: Arc<HardLimits>,
    removed: Removed,
    /// Tools that the configuration leaves to providers.
    provided: Vec<String>,
    /// The right to change something; why there is none.
    lock: Result<FolderLock, String>,
}

impl LocalUpdates {
    /// Opens the slots of a configuration; none where the image names nobody to trust.
    ///
    /// # Errors
    /// [`ServiceError`] when the image's own files cannot be used. Storage that cannot be written is no
    /// error: what is in force can be read all the same.
    pub fn open(config: &Config) -> Result<Option<Self>, ServiceError> {
        let Some(path) = &config.update.trust else { return Ok(None) };
        let trust = Trust::parse(&parts::text(path)?)?;
        let factory = config.policy.clone().ok_or_else(parts::no_policy)?;
        let limits = Arc::new(parts::limits(config, None)?);
        let lock = lock(&config.update.slots);
        if let Err(error @ UpdateError::InUse(_)) = lock {
            return Err(error.into());
        }
        let disk = Arc::new(RealDisk);
        let slots = Slots::new(Setup {
            disk: disk.clone(),
            folder: config.update.slots.clone(),
            floors: Floors::new(disk, config.update.floor.clone(), None),
            trust,
            checkup: Box::new(SelfTest),
        });
        let removed = Removed::from_iter(&config.vehicle.removed);
        let named = config.vehicle.provider.iter().filter_map(|provider| provider.tools.as_ref()).flatten();
        let provided = config.vehicle.provided.iter().chain(named).cloned().collect();
        let lock = lock.map_err(|e| e.to_string());
        Ok(Some(Self { slots, factory, limits, removed, provided, lock }))
    }

    /// Finds the policy to start with; none: the factory's.
    pub fn start(&self) -> Started {
        let started = self.slots.start(&|policy| {
            // Who serves what is not known before the car is there; it was when the policy was activated.
            self.fits(policy, &|_| true)
        });
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
    pub fn activate(&self, car_for: &CarFor<'_>) -> Result<Activated, UpdateError> {
        let fits = |policy: &Policy| {
            let car = car_for(policy)?;
            let serves = |tool: &str| car.as_ref().is_none_or(|car| car.serves(tool));
            self.fits(policy, &serves)
        };
        self.slots.activate(Reading::system(), &fits)
    }

    /// Whether the car, as it is configured, can run a policy.
    fn fits(&self, policy: &Policy, serves: &dyn Fn(&str) -> bool) -> Result<(), UpdateError> {
        // The service does not start with a configuration that speaks of tools which nobody knows.
        if let Some(tool) = self.provided.iter().find(|tool| policy.inventory.get(tool).is_none()) {
            return Err(UpdateError::UnknownPart(tool.clone()));
        }
        LiveCar { limits: &self.limits, removed: &self.removed, serves }.fits(policy)
    }

    /// The policy in force as the slots say, with its version; version 0 is the factory's.
    ///
    /// # Errors
    /// [`ServiceError`] when neither can be read.
    pub fn in_force(&self) -> Result<(u64, Policy), ServiceError> {
        match self.slots.in_force()? {
            Some((header, policy)) => Ok((header.version, policy)),
            None => Ok((0, parts::blob(&self.factory)?)),
        }
    }
}

/// Takes the folder; somebody else's work on it is waited for.
fn lock(folder: &std::path::Path) -> Result<FolderLock, UpdateError> {
    let since = Instant::now();
    loop {
        match FolderLock::take(folder) {
            Err(UpdateError::InUse(_)) if since.elapsed() < PATIENCE => sleep(Duration::from_millis(50)),
            taken => return taken,
        }
    }
}
