//! What the service starts with: current, else previous, else factory. A half-done update is finished or
//! undone first.

use sha2::{Digest, Sha256};

use super::accept::addressed;
use super::envelope::{ENVELOPE, Header};
use super::floor::Floor;
use super::frame::Frame;
use super::record::{Held, Places, Trial};
use super::slots::Slots;
use super::trust::{Standing, Trust};
use super::{KeyList, UpdateError, largest_update};
use crate::policy::Policy;

/// How often the service may start with a policy on trial before it is taken for the reason why nobody
/// got round to committing it.
const STARTS: u32 = 3;

/// Where a policy came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The image.
    Factory,
    /// The slot `current`.
    Current,
    /// The slot `previous`.
    Previous,
}

/// What the service starts with.
#[derive(Debug)]
pub struct Started {
    /// The policy; none: the factory's.
    pub policy: Option<(Header, Policy)>,
    /// Where it came from.
    pub slot: Slot,
    /// What was finished, undone or could not be used, a sentence each.
    pub notes: Vec<String>,
}

impl Slots {
    /// Finds the policy to start with. There always is one: whatever cannot be used is noted and passed
    /// over, down to the factory's, which is as trustworthy as the image that it is a part of.
    ///
    /// `usable` says whether the car can run a policy. Nothing below the floor is started with. A policy
    /// in force does not end with its expiry, nor with its key: both say what may be installed, and a car
    /// without its policy is no safer.
    pub fn start(&self, usable: &dyn Fn(&Policy) -> Result<(), UpdateError>) -> Started {
        let mut notes = Vec::new();
        let floor = self.floors.load().unwrap_or_else(|error| {
            notes.push(error.to_string());
            Floor::default()
        });
        let places = self.settled(&floor, true, &mut notes);
        let trust = self.trust_at_start(&floor);
        for (slot, held) in [(Slot::Current, places.current), (Slot::Previous, places.previous)] {
            let Some(held) = held else { continue };
            let found = self.open(&held, &trust).and_then(|(header, policy)| {
                // Uptane 5.4.4.6, step 4: nor does a start roll back.
                if header.version < floor.policy {
                    return Err(UpdateError::Rollback { found: header.version, floor: floor.policy });
                }
                usable(&policy).map(|()| (header, policy))
            });
            match found {
                Ok(policy) => return Started { policy: Some(policy), slot, notes },
                Err(error) if slot == Slot::Previous && matches!(error, UpdateError::Rollback { .. }) => {}
                Err(error) => notes.push(format!("version {} is not used: {error}", held.version)),
            }
        }
        if places.current.is_some() {
            notes.push("the factory policy is in force".to_owned());
        }
        Started { policy: None, slot: Slot::Factory, notes }
    }

    /// Finishes or undoes what a crash left half done, without starting with it: for whoever works on the
    /// slots while no service runs. What was done is noted.
    pub fn repair(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.floors.load() {
            Ok(floor) => drop(self.settled(&floor, false, &mut notes)),
            Err(error) => notes.push(error.to_string()),
        }
        notes
    }

    /// What is in which slot, once what was under way is finished or undone.
    fn settled(&self, floor: &Floor, starts: bool, notes: &mut Vec<String>) -> Places {
        self.floors.tidy();
        let mut changed = false;
        let mut places = match self.places() {
            Ok(places) => places,
            Err(error) => {
                notes.push(error.to_string());
                // The floor knows what was committed to; its file carries its own proof.
                let committed = Held { digest: floor.digest, version: floor.policy };
                let known = Places { current: (floor.policy > 0).then_some(committed), ..Places::default() };
                if !matches!(error, UpdateError::Damaged { .. }) {
                    return known; // it may be whole and out of reach; nothing is touched
                }
                changed = true;
                known
            }
        };
        if let (Some(current), Some(trial)) = (places.current, places.trial) {
            changed |= starts || floor.policy >= current.version;
            if floor.policy >= current.version {
                notes.push(format!("the commit of version {} was finished", current.version));
                places.trial = None;
            } else if starts && trial.starts >= STARTS {
                notes.push(format!(
                    "version {} was started {STARTS} times and never committed; it was undone",
                    current.version
                ));
                places = places.undone();
            } else if starts {
                places.trial = Some(Trial { starts: trial.starts + 1, ..trial });
            }
        }
        let noted = match changed {
            true => self.save(&places),
            false => {
                self.sweep(&places);
                Ok(())
            }
        };
        if let Err(error) = noted.and_then(|()| self.reconcile(&places, floor)) {
            // What could not be written will be tried again; what was read is right all the same.
            notes.push(error.to_string());
        }
        places
    }

    /// A floor or a list that a power loss left behind what is in use is raised to it.
    fn reconcile(&self, places: &Places, floor: &Floor) -> Result<(), UpdateError> {
        let committed = places.committed().filter(|held| held.version > floor.policy);
        let keys = self.list(floor).ok().flatten().as_ref().map_or(0, KeyList::version);
        let (policy, digest) = committed.map_or((floor.policy, floor.digest), |held| (held.version, held.digest));
        let next = Floor { policy, digest, keys: keys.max(floor.keys), ..*floor };
        if next == *floor { Ok(()) } else { self.floors.raise(next).map(|_| ()) }
    }

    /// Whom to believe about what is in a slot already: the image's keys and the list's, as far as there
    /// is one.
    pub(super) fn trust_at_start(&self, floor: &Floor) -> Trust {
        self.trust.with_list(self.list(floor).ok().flatten())
    }

    /// Opens an update of a slot. It was accepted when it was put there; that it still is what was
    /// accepted is verified, whoever may have written to the folder since.
    pub(super) fn open(&self, held: &Held, trust: &Trust) -> Result<(Header, Policy), UpdateError> {
        let path = self.file(held);
        let damaged = |why| UpdateError::Damaged { path: path.clone(), why, remedy: "deliver the update again" };
        let bytes = self.disk.read(&path, largest_update()).map_err(UpdateError::io("read", &path))?;
        if <[u8; 32]>::from(Sha256::digest(&bytes)) != held.digest {
            return Err(damaged("its content does not match its name"));
        }
        let frame = Frame::parse(&ENVELOPE, &bytes)?;
        let header: Header = frame.header()?;
        // TUF 5.6.3, once more: the record that names the file is not signed.
        match trust.standing(header.key) {
            Standing::InUse(key) | Standing::Revoked(key) if key.verifies(frame.signed, frame.signature) => {}
            Standing::Unknown => return Err(UpdateError::UnknownKey(header.key)),
            _ => return Err(UpdateError::BadSignature(header.key)),
        }
        addressed(&header, trust)?;
        if header.version != held.version {
            return Err(damaged("it has another version than its slot says"));
        }
        let policy = Policy::from_blob(frame.content)?;
        Ok((header, policy))
    }
}
