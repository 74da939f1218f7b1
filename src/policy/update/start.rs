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

/// How the record of the slots was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// It can be gone by.
    Whole,
    /// It is damaged or gone, and is written anew from what the floor knows.
    Lost,
    /// It may be whole and out of reach, or nobody knows what it said: nothing is touched.
    OutOfReach,
}

/// What is in force.
#[derive(Debug)]
pub struct Started {
    /// The policy; none: the factory's.
    pub policy: Option<(Header, Policy)>,
    /// Where it came from.
    pub slot: Slot,
    /// What was finished, undone or could not be used, a sentence each.
    pub notes: Vec<String>,
}

impl Started {
    /// The version in force; 0: the factory's.
    pub fn version(&self) -> u64 {
        self.policy.as_ref().map_or(0, |(header, _)| header.version)
    }
}

impl Slots {
    /// Finds the policy to start with. There always is one: whatever cannot be used is noted and passed
    /// over, down to the factory's, which is as trustworthy as the image that it is a part of.
    ///
    /// Nothing below the floor is started with, nor what the car cannot run ([`Checkup::usable`]). A policy
    /// in force does not end with its expiry, nor with its key: both say what may be installed, and a car
    /// without its policy is no safer.
    ///
    /// [`Checkup::usable`]: super::Checkup::usable
    pub fn start(&self) -> Started {
        let mut notes = Vec::new();
        let floor = self.known_floor(&mut notes);
        let places = self.settled(floor.as_ref(), true, &mut notes);
        let floor = floor.unwrap_or_default();
        self.mend_list(&floor, &mut notes);
        self.choose(&places, &floor, notes)
    }

    /// The policy that a start would find now. No start is counted, nothing is changed.
    pub fn in_force(&self) -> Started {
        let mut notes = Vec::new();
        let floor = self.known_floor(&mut notes);
        let (mut places, _) = self.known_places(floor.as_ref(), &mut notes);
        if let Some(tried) = places.trial.and(places.current).filter(|tried| self.passed_over(tried)) {
            notes.push(format!(
                "version {} is on trial and was passed over by the start; it is not used",
                tried.version
            ));
            places = places.undone();
        }
        self.choose(&places, &floor.unwrap_or_default(), notes)
    }

    /// The one choice of what is in force, at a start and after every step: current, else previous, else the
    /// factory's.
    fn choose(&self, places: &Places, floor: &Floor, mut notes: Vec<String>) -> Started {
        let (trust, missing) = self.trusted(floor);
        notes.extend(missing.as_ref().map(UpdateError::to_string));
        for (slot, held) in [(Slot::Current, places.current), (Slot::Previous, places.previous)] {
            let Some(held) = held else { continue };
            let found = self.open(&held, &trust).and_then(|(header, policy)| {
                // Uptane 5.4.4.6, step 4: nor does a start roll back.
                if header.version < floor.policy {
                    return Err(UpdateError::Rollback { found: header.version, floor: floor.policy });
                }
                self.checkup.usable(&policy).map(|()| (header, policy))
            });
            match found {
                Ok(policy) => return Started { policy: Some(policy), slot, notes },
                Err(error) if slot == Slot::Previous && matches!(error, UpdateError::Rollback { .. }) => {}
                // No attack: whose key it is stood in the list.
                Err(UpdateError::UnknownKey(key)) if missing.is_some() => {
                    notes.push(format!("version {} is not used: nobody vouches for its key {key}", held.version));
                }
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
        if let Some(floor) = self.known_floor(&mut notes) {
            self.settled(Some(&floor), false, &mut notes);
            self.mend_list(&floor, &mut notes);
        }
        notes
    }

    /// What is in which slot, once what was under way is finished or undone.
    fn settled(&self, known: Option<&Floor>, starts: bool, notes: &mut Vec<String>) -> Places {
        self.floors.tidy();
        let (mut places, record) = self.known_places(known, notes);
        if record == Found::OutOfReach {
            return places;
        }
        let floor = &known.copied().unwrap_or_default();
        let mut changed = record == Found::Lost;
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
        if let (Err(_), true, Some(tried)) = (&noted, starts, places.trial.and(places.current)) {
            // It would be started for ever: nobody could count how often.
            notes.push(format!(
                "version {} is on trial and its start cannot be recorded; it is not used",
                tried.version
            ));
            self.pass_over(Some(&tried));
            places = places.undone();
        }
        // A floor that cannot be read is not raised either, and was noted before.
        let reconciled = || known.map_or(Ok(None), |floor| self.reconcile(&places, floor));
        match noted.and_then(|()| reconciled()) {
            Ok(raised) => notes.extend(raised),
            // What could not be written will be tried again; what was read is right all the same.
            Err(error) => notes.push(error.to_string()),
        }
        places
    }

    /// The floor; none where it cannot be read.
    fn known_floor(&self, notes: &mut Vec<String>) -> Option<Floor> {
        self.floors.load().map_err(|error| notes.push(error.to_string())).ok()
    }

    /// What is in which slot. Where the record is lost the floor knows what was committed to; the file of that
    /// policy carries its own proof.
    fn known_places(&self, floor: Option<&Floor>, notes: &mut Vec<String>) -> (Places, Found) {
        let committed = floor.filter(|floor| floor.policy > 0);
        let current = committed.map(|floor| Held { digest: floor.digest, version: floor.policy });
        let known = Places { current, ..Places::default() };
        match (self.recorded(), floor) {
            (Ok(Some(places)), _) => (places, Found::Whole),
            // Nothing was ever put into a slot.
            (Ok(None), Some(floor)) if floor.policy == 0 => (known, Found::Whole),
            (Ok(None), floor) => {
                notes.push(format!("{} is gone", self.record_file().display()));
                (known, if floor.is_some() { Found::Lost } else { Found::OutOfReach })
            }
            (Err(error), floor) => {
                let damaged = matches!(error, UpdateError::Damaged { .. }) && floor.is_some();
                notes.push(error.to_string());
                (known, if damaged { Found::Lost } else { Found::OutOfReach })
            }
        }
    }

    /// A floor that is gone, or that a power loss left behind what is in use, is raised to it. Says so.
    fn reconcile(&self, places: &Places, floor: &Floor) -> Result<Option<String>, UpdateError> {
        let committed = places.committed().filter(|held| held.version > floor.policy);
        let keys = self.list(floor).ok().flatten().as_ref().map_or(0, KeyList::version);
        let (policy, digest) = committed.map_or((floor.policy, floor.digest), |held| (held.version, held.digest));
        let next = Floor { policy, digest, keys: keys.max(floor.keys), ..*floor };
        if next == *floor {
            return Ok(None);
        }
        let Floor { policy, keys, .. } = self.floors.raise(next)?;
        Ok(Some(format!(
            "the rollback floor was gone or behind, and is version {policy} and list {keys} of keys again"
        )))
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
