//! The steps of an update. Each is taken as a whole or not at all, and on the version that is meant alone.

use super::accept::Accepted;
use super::disk::replace;
use super::floor::Floor;
use super::record::{Held, Places, Trial};
use super::slots::Slots;
use super::start::Started;
use super::{Header, Meant, Reading, UpdateError, largest_update};
use crate::policy::Policy;

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

impl Slots {
    /// Accepts an update and keeps it in the slot `staged`.
    ///
    /// # Errors
    /// [`UpdateError`]; what was staged before stays.
    pub fn stage(&self, bytes: &[u8], now: Reading) -> Result<Header, UpdateError> {
        let places = self.decided()?;
        let accepted = self.accept(bytes, &places, now)?;
        let held = Held { digest: *accepted.digest(), version: accepted.header().version };
        self.disk.make_folder(&self.folder).map_err(UpdateError::io("create", &self.folder))?;
        replace(self.disk.as_ref(), &self.file(&held), accepted.envelope())?;
        if let Err(error) = self.save(&Places { staged: Some(held), ..places }) {
            // Where the disk is full, what no slot names must not keep it so. The record decides which that is.
            if let Ok(places) = self.places() {
                self.sweep(&places);
            }
            return Err(error);
        }
        Ok(accepted.into_policy().0)
    }

    /// Verifies what is staged once more and runs its own tests. Nothing changes.
    ///
    /// # Errors
    /// [`UpdateError`].
    pub fn verify(&self, meant: Meant, now: Reading) -> Result<(Header, usize), UpdateError> {
        let accepted = self.staged(meant, &self.decided()?, now)?;
        let version = accepted.header().version;
        let tests = self.checkup.check(accepted.policy()).map_err(|why| UpdateError::Unfit { version, why })?;
        Ok((accepted.into_policy().0, tests))
    }

    /// Runs the own tests of what is staged and puts it in force, on trial; when they fail, it is dropped and
    /// the last good policy is in force. Not to be called while a turn runs. `fits` says whether the car can
    /// run a policy: [`LiveCar::fits`](super::LiveCar::fits).
    ///
    /// # Errors
    /// [`UpdateError`]; the policy in force stays.
    pub fn activate(
        &self,
        meant: Meant,
        now: Reading,
        fits: &dyn Fn(&Policy) -> Result<(), UpdateError>,
    ) -> Result<Activated, UpdateError> {
        let places = self.decided()?;
        // A delivery that was repeated: it is in force already, on trial or committed to.
        let again = places.current == places.staged;
        if let (Some(_), Some(current), false) = (places.trial, places.current, again) {
            return Err(UpdateError::OnTrial(current.version));
        }
        let accepted = self.staged(meant, &places, now)?;
        fits(accepted.policy())?;
        let next = match again {
            true => Places { staged: None, ..places },
            false => {
                let trial = Some(Trial { starts: 0, older: places.previous });
                Places { current: places.staged, previous: places.current, staged: None, trial }
            }
        };
        // Before anything is on record: a policy whose tests end the process has never been in force.
        let (header, policy) = accepted.into_policy();
        match self.checkup.check(&policy) {
            Ok(tests) => {
                self.save(&next)?;
                self.pass_over(None);
                Ok(Activated { header, policy, tests, on_trial: next.trial.is_some() })
            }
            Err(why) => Err(self.fall_back(&next, header.version, why)?),
        }
    }

    /// Commits to the policy on trial after running its own tests again: the floor rises to it. A version
    /// that is named and committed to already is committed to.
    ///
    /// # Errors
    /// [`UpdateError`]; when the tests fail, the last good policy is in force again
    /// ([`UpdateError::Unhealthy`]). [`UpdateError::OtherVersion`] where the version that is named was undone,
    /// which no caller may take for a success.
    pub fn commit(&self, meant: Meant) -> Result<Header, UpdateError> {
        let (places, floor) = (self.decided()?, self.floors.load()?);
        let tried = self.places()?.trial.is_some();
        let current = match places.current {
            Some(current) if meant.is(&current) && (tried || meant != Meant::Any) => current,
            _ => return Err(meant.missing("on trial", &places, "commit")),
        };
        if places.trial.is_some() && self.passed_over(&current) {
            return Err(UpdateError::PassedOver(current.version));
        }
        let (header, policy) = self.open(&current, &self.trusted(&floor).0)?;
        // What the car passed over at its start is in its slot and not in force.
        self.checkup.usable(&policy)?;
        if places.trial.is_none() {
            return Ok(header);
        }
        if let Err(why) = self.checkup.check(&policy) {
            return Err(self.fall_back(&places, current.version, why)?);
        }
        // The floor first: from then on there is no way back, and whoever finds the trial undecided sees
        // that it was decided. Uptane 5.4.4.6, step 5, asks for attested time: what is
        // remembered of it is what the signer says. A clock may be wrong, and is at one commit in the life of
        // many a car.
        let (policy, digest) = (current.version, current.digest);
        self.floors.raise(Floor { policy, digest, seen: header.not_before, ..floor })?;
        // What the floor says is so, whether the record can be written now or by the next step or start.
        let _ = self.save(&Places { trial: None, ..places });
        Ok(header)
    }

    /// Takes the policy on trial out of force and says what is in force then: what a start would find. A
    /// version that is named and is not in force needs no rolling back.
    ///
    /// # Errors
    /// [`UpdateError::NothingToDo`]; [`UpdateError::Committed`]; or what the file system says, and then the
    /// trial goes on.
    pub fn roll_back(&self, meant: Meant) -> Result<Started, UpdateError> {
        let places = self.decided()?;
        match (places.current, places.trial, meant) {
            (Some(current), Some(_), _) if meant.is(&current) => self.save(&places.undone())?,
            (_, None, Meant::Any) => return Err(UpdateError::NothingToDo("roll back")),
            (Some(current), None, _) if meant.is(&current) => return Err(UpdateError::Committed(current.version)),
            _ => {}
        }
        Ok(self.in_force())
    }

    /// Drops what is staged. A version that is named and is not staged needs no dropping. Says which version
    /// was dropped; 0: none.
    ///
    /// # Errors
    /// [`UpdateError::NothingStaged`], or what the file system says.
    pub fn unstage(&self, meant: Meant) -> Result<u64, UpdateError> {
        let places = self.decided()?;
        match places.staged {
            Some(staged) if meant.is(&staged) => {
                self.save(&Places { staged: None, ..places })?;
                Ok(staged.version)
            }
            None if meant == Meant::Any => Err(UpdateError::NothingStaged),
            _ => Ok(0),
        }
    }

    /// Undoes a trial whose health check failed, with what was staged for it; the error says so.
    fn fall_back(&self, places: &Places, version: u64, why: String) -> Result<UpdateError, UpdateError> {
        self.save(&places.undone())?;
        Ok(UpdateError::Unhealthy { version, why, back: self.in_force().version() })
    }

    /// What is staged, accepted anew: the file may have changed, time has passed, keys may be revoked.
    fn staged(&self, meant: Meant, places: &Places, now: Reading) -> Result<Accepted, UpdateError> {
        let held = places.staged.ok_or(UpdateError::NothingStaged)?;
        if !meant.is(&held) {
            return Err(meant.missing("staged", places, ""));
        }
        let path = self.file(&held);
        let bytes = self.disk.read(&path, largest_update()).map_err(UpdateError::io("read", &path))?;
        let accepted = self.accept(&bytes, places, now)?;
        match *accepted.digest() == held.digest {
            true => Ok(accepted),
            false => Err(UpdateError::Damaged { path, why: "it was exchanged", remedy: "stage the update again" }),
        }
    }
}
