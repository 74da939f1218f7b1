//! Updates of the policy while the service runs: who may, when, and what becomes of open sessions.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use zbus::message::Header;
use zbus::{Connection, DBusError};

use super::Refusal;
use super::access::{caller, require_updater};
use super::car::Fitted;
use super::harness::Harness;
use super::local::{CarFor, LocalUpdates};
use super::open::OpenSession;
use super::work::Work;
use crate::journal::{Entry, Note, Sink};
use crate::policy::Policy;
use crate::policy::update::{Slot, Status, UpdateError};

/// Where updates stand, for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// What is in which slot.
    pub(super) status: Status,
    /// Where the policy in force came from.
    pub(super) slot: Slot,
    /// Its version; 0: the factory's.
    pub(super) version: u64,
}

/// Updates of the policy.
pub(super) struct Updates {
    /// One step at a time.
    local: Mutex<LocalUpdates>,
    standing: watch::Sender<Standing>,
}

/// The steps of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Stage,
    Keys,
    Verify,
    Activate,
    Commit,
    RollBack,
}

impl StepKind {
    /// What is asked for.
    fn name(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Keys => "keys",
            Self::Verify => "verify",
            Self::Activate => "activate",
            Self::Commit => "commit",
            Self::RollBack => "rollback",
        }
    }

    /// What has happened when it was taken: in the journal, and in the signal where it has one.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Stage => "staged",
            Self::Keys => "keys",
            Self::Verify => "verified",
            Self::Activate => "activated",
            Self::Commit => "committed",
            Self::RollBack => "rolled-back",
        }
    }

    /// The same, for what the signal tells of: verifying changes nothing.
    pub(super) fn announced(self) -> Option<&'static str> {
        (self != Self::Verify).then(|| self.done())
    }

    /// Whether it may change the policy in force, and so happens between two turns.
    fn between_turns(self) -> bool {
        matches!(self, Self::Activate | Self::Commit | Self::RollBack)
    }
}

/// A step that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// Version that it was taken with; after a rollback the one in force.
    pub(super) version: u64,
    /// How many of its own tests ran.
    pub(super) tests: usize,
}

impl From<u64> for Taken {
    fn from(version: u64) -> Self {
        Self { version, tests: 0 }
    }
}

/// A session that cannot go on, and why.
type Orphan = (Arc<OpenSession>, String);

/// What a step leads to.
pub(super) struct Outcome {
    /// What the caller is told.
    pub(super) answer: Result<Taken, UpdateError>,
    /// Whether another policy may be in force now.
    pub(super) switches: bool,
}

impl Outcome {
    /// Of a step that leaves the policy in force as it is.
    pub(super) fn quiet(answer: Result<Taken, UpdateError>) -> Self {
        Self { answer, switches: false }
    }

    /// Of a step that puts another policy in force.
    pub(super) fn switching(answer: Result<Taken, UpdateError>) -> Self {
        Self { switches: answer.is_ok(), answer }
    }
}

impl Updates {
    pub(super) fn new(local: LocalUpdates, slot: Slot, version: u64) -> Self {
        let status = local.slots.status().unwrap_or_default();
        Self { local: Mutex::new(local), standing: watch::Sender::new(Standing { status, slot, version }) }
    }

    /// Where updates stand.
    pub(super) fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    /// Tells when that changes.
    pub(super) fn subscribe(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Every step leaves the slots whole, so a panic leaves nothing half done in them.
    fn with<R>(&self, work: impl FnOnce(&LocalUpdates) -> R) -> R {
        work(&self.local.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, slot: Slot, version: u64) {
        let status = self.with(|local| local.slots.status()).unwrap_or_else(|error| {
            tracing::warn!(%error, "where updates stand cannot be told");
            self.standing().status
        });
        self.standing.send_if_modified(|now| {
            let next = Standing { status, slot, version };
            let changed = *now != next;
            *now = next;
            changed
        });
    }
}

impl Harness {
    /// Takes one step of an update, for somebody who may. Steps that may change the policy in force happen
    /// on the worker, between two turns.
    pub(super) async fn update(
        self: &Arc<Self>,
        connection: &Connection,
        header: &Header<'_>,
        kind: StepKind,
        step: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome + Send + 'static,
    ) -> Result<Taken, Refusal> {
        require_updater(connection, &caller(header)?, &self.config.update.group).await?;
        self.readiness.borrow().accepts_work()?;
        let none =
            || Refusal::NoUpdates("this image names nobody to trust (`update.trust`): it takes no updates".into());
        let updates = self.updates.clone().ok_or_else(none)?;
        updates.with(LocalUpdates::writable).map_err(Refusal::NoUpdates)?;
        let (done, outcome) = oneshot::channel();
        let harness = self.clone();
        let work = move || {
            // Nobody waits when the caller is gone; the step is taken all the same.
            let _ = done.send(harness.take(&updates, kind, step));
        };
        if !kind.between_turns() {
            drop(tokio::task::spawn_blocking(work));
        } else if !self.worker.give(Work::Between(Box::new(work))) {
            return Err(Refusal::Internal("the worker has ended; restart the service".into()));
        }
        let broken = |_| Refusal::Internal("the step of the update broke down; the slots are whole".to_owned());
        let (answer, orphans) = outcome.await.map_err(broken)?;
        for (session, why) in orphans {
            self.close(connection, &session, &why).await;
        }
        answer
    }

    /// The step itself, and its record. Sessions that cannot go on under the policy that is in force now are
    /// returned.
    fn take(
        &self,
        updates: &Updates,
        kind: StepKind,
        step: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome,
    ) -> (Result<Taken, Refusal>, Vec<Orphan>) {
        let (answer, orphans) = self.attempt(updates, step);
        let entry = match &answer {
            Ok(taken) => Entry::update(kind.done(), taken.version),
            Err(refusal) => {
                // Named as the caller sees it.
                let name = refusal.name();
                let name = name.rsplit('.').next().unwrap_or_default();
                let why = refusal.description().unwrap_or_default();
                match refusal {
                    Refusal::NothingToDo(_) => {
                        tracing::info!(step = kind.name(), error = name, why, "an update was refused");
                    }
                    _ => tracing::warn!(step = kind.name(), error = name, why, "an update was refused"),
                }
                Entry::update_refused(kind.name(), name, why)
            }
        };
        self.recorder.note(Note::Entry(entry));
        (answer, orphans)
    }

    fn attempt(
        &self,
        updates: &Updates,
        step: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome,
    ) -> (Result<Taken, Refusal>, Vec<Orphan>) {
        let fitted = RefCell::new(None);
        let car_for = |policy: &Policy| {
            let car = self.car.fitted_for(policy).map_err(|e| UpdateError::Car(e.to_string()))?;
            let vehicle = car.vehicle().clone();
            fitted.replace(Some(car));
            Ok(Some(vehicle))
        };
        let Outcome { answer, switches } = updates.with(|local| step(local, &car_for));
        let before = updates.standing();
        let (mut slot, mut version, mut orphans) = (before.slot, before.version, Vec::new());
        if switches {
            match updates.with(LocalUpdates::in_force) {
                Ok((found, policy)) => {
                    (slot, version) = (if found == 0 { Slot::Factory } else { Slot::Current }, found);
                    orphans = self.switch(Arc::new(policy), fitted.take());
                }
                Err(error) => {
                    let why = format!("the policy that should be in force cannot be read: {error}");
                    tracing::error!(why, "the policy stays as it was");
                    updates.note(slot, version);
                    return (Err(Refusal::Storage(why)), orphans);
                }
            }
        }
        updates.note(slot, version);
        (answer.map_err(Refusal::from), orphans)
    }

    /// Puts a policy in force, in the car that is set up for it. New sessions begin with it, open ones go on
    /// under it; questions, consents and clearances of the old one die.
    fn switch(&self, policy: Arc<Policy>, car: Option<Fitted>) -> Vec<Orphan> {
        if self.in_force.get().hash == policy.hash {
            return Vec::new();
        }
        policy.warm();
        match car.map_or_else(|| self.car.fitted_for(&policy), Ok) {
            Ok(car) => self.car.refit(car),
            // It was set up for this policy before; what it does not serve counts as removed.
            Err(error) => tracing::error!(%error, "the car stays as it was set up for the policy before"),
        }
        self.providers.adopt(policy.clone());
        self.in_force.replace(policy.clone());
        self.recorder.note(Note::Entry(Entry::in_force(&policy)));
        tracing::info!(policy = policy.id, hash = %policy.hash, "another policy is in force");
        let go_on = |session: &Arc<OpenSession>| session.succeed(&policy, self.car.seat(policy.clone())).err();
        let all = self.sessions.all();
        all.into_iter().filter_map(|session| go_on(&session).map(|why| (session, why.to_string()))).collect()
    }
}

/// Where updates stand at the start.
pub(super) fn opened(local: Option<LocalUpdates>, slot: Slot, version: u64) -> Option<Arc<Updates>> {
    local.map(|local| Arc::new(Updates::new(local, slot, version)))
}
