//! Updates of the policy while the service runs: who may, when, and what becomes of open sessions.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, oneshot, watch};
use zbus::message::Header;
use zbus::{Connection, DBusError};

use super::Refusal;
use super::access::{caller, updater};
use super::car::Fitted;
use super::delivered::Delivered;
use super::harness::Harness;
use super::local::{CarFor, LocalUpdates};
use super::open::OpenSession;
use super::update_step::{Outcome, StepKind, Switch, Taken};
use super::work::Work;
use crate::journal::{Entry, Note, Sink};
use crate::policy::Policy;
use crate::policy::update::{Slot, Status, UpdateError};

/// Where updates stand, for whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// What is in which slot; nothing where that cannot be told.
    pub(super) status: Status,
    /// Why that cannot be told; empty as a rule.
    pub(super) unknown: String,
    /// Where the policy in force came from.
    pub(super) slot: Slot,
    /// Its version; 0: the factory's.
    pub(super) version: u64,
}

/// So many steps wait at most until it is their turn.
const WAITING: usize = 8;

/// The right of a user to take a step.
pub(super) struct Right {
    pub(super) updates: Arc<Updates>,
    pub(super) user: Option<u32>,
}

/// Updates of the policy.
pub(super) struct Updates {
    /// One step at a time. A step may take long: it is only waited for by threads that serve nobody else.
    local: Mutex<LocalUpdates>,
    /// Whether something may be changed; why not.
    writable: Result<(), String>,
    /// Who may wait for a step.
    places: Arc<Semaphore>,
    /// What callers hand over.
    pub(super) delivered: Delivered,
    standing: watch::Sender<Standing>,
}

/// A session that cannot go on, and why.
type Orphan = (Arc<OpenSession>, String);

impl Standing {
    /// Whether what is in force is what is on trial.
    pub(super) fn tried(&self) -> bool {
        self.status.on_trial && self.status.current == self.version
    }

    fn of(local: &LocalUpdates, slot: Slot, version: u64) -> Self {
        let (status, unknown) = local.slots.status().map_or_else(
            |error| {
                tracing::warn!(%error, "where updates stand cannot be told");
                (Status::default(), error.to_string())
            },
            |status| (status, String::new()),
        );
        Self { status, unknown, slot, version }
    }
}

impl Updates {
    pub(super) fn new(local: LocalUpdates, slot: Slot, version: u64) -> Self {
        let standing = watch::Sender::new(Standing::of(&local, slot, version));
        let (writable, places) = (local.writable(), Arc::new(Semaphore::new(WAITING)));
        Self { local: Mutex::new(local), writable, places, delivered: Delivered::default(), standing }
    }

    /// Where updates stand.
    pub(super) fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Whether something else is in force than the slots name, because that could not be used.
    fn astray(&self) -> bool {
        let Standing { status, unknown, version, .. } = self.standing();
        unknown.is_empty() && status.current != version
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
        let next = self.with(|local| Standing::of(local, slot, version));
        self.standing.send_if_modified(|now| {
            let changed = *now != next;
            *now = next;
            changed
        });
    }
}

impl Harness {
    /// Updates, for somebody who may take this step. Whoever may not is on record.
    pub(super) async fn updates_for(
        &self,
        kind: StepKind,
        connection: &Connection,
        header: &Header<'_>,
    ) -> Result<Right, Refusal> {
        let (user, may) = updater(connection, &caller(header)?, &self.config.update.group).await?;
        may.inspect_err(|refusal| self.record_refused(kind, refusal, user))?;
        self.readiness.borrow().accepts_work()?;
        let none =
            || Refusal::NoUpdates("this image names nobody to trust (`update.trust`): it takes no updates".into());
        let updates = self.updates.clone().ok_or_else(none)?;
        updates.writable.clone().map_err(Refusal::Storage)?;
        Ok(Right { updates, user })
    }

    /// Takes one step of an update. Steps that may change the policy in force happen on the worker, between two
    /// turns.
    pub(super) async fn update(
        self: &Arc<Self>,
        connection: &Connection,
        Right { updates, user }: Right,
        (kind, meant): (StepKind, u64),
        step: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome + Send + 'static,
    ) -> Result<Taken, Refusal> {
        let many = |_| Refusal::TooMany(format!("{WAITING} steps of updates wait already; take this one again"));
        let place = updates.places.clone().try_acquire_owned().map_err(many)?;
        let (done, outcome) = oneshot::channel();
        let harness = self.clone();
        let between = kind.between_turns() || updates.astray();
        let work = move || {
            // Nobody waits when the caller is gone; the step is taken all the same.
            let _ = done.send(harness.take(&updates, user, (kind, meant, between), step));
            drop(place);
        };
        if !between {
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
        user: Option<u32>,
        (kind, meant, between): (StepKind, u64, bool),
        step: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome,
    ) -> (Result<Taken, Refusal>, Vec<Orphan>) {
        let (answer, orphans) = self.attempt(updates, between, step);
        match &answer {
            // Verifying is for the record, not for a change.
            Ok(taken) if taken.changed || kind == StepKind::Verify => {
                self.recorder.note(Note::Entry(Entry::update(kind.done(), taken.version, user)));
            }
            Ok(taken) => {
                let meant = if meant == 0 { taken.version } else { meant };
                self.recorder.note(Note::Entry(Entry::update_unchanged(kind.name(), meant, user)));
            }
            Err(refusal) => self.record_refused(kind, refusal, user),
        }
        (answer, orphans)
    }

    fn record_refused(&self, kind: StepKind, refusal: &Refusal, user: Option<u32>) {
        // Named as the caller sees it.
        let name = refusal.name();
        let name = name.rsplit('.').next().unwrap_or_default();
        let why = refusal.description().unwrap_or_default();
        match refusal {
            Refusal::NothingToDo(_) => {
                tracing::info!(step = kind.name(), error = name, why, user, "an update was refused");
            }
            _ => tracing::warn!(step = kind.name(), error = name, why, user, "an update was refused"),
        }
        self.recorder.note(Note::Entry(Entry::update_refused(kind.name(), name, why, user)));
    }

    fn attempt(
        &self,
        updates: &Updates,
        between: bool,
        step: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome,
    ) -> (Result<Taken, Refusal>, Vec<Orphan>) {
        let fitted = RefCell::new(None);
        let car_for = |policy: &Policy| {
            let car = self.car.fitted_for(policy).map_err(|e| UpdateError::Car(e.to_string()))?;
            let vehicle = car.vehicle().clone();
            fitted.replace(Some((policy.hash, car)));
            Ok(Some(vehicle))
        };
        let (Outcome { answer, switch }, moved) = updates.with(|local| {
            let before = local.slots.mark();
            let outcome = step(local, &car_for);
            (outcome, before.is_none() || before != local.slots.mark())
        });
        let was = (updates.standing().slot, updates.standing().version);
        let Standing { mut slot, mut version, .. } = updates.standing();
        let mut orphans = Vec::new();
        if switch == Switch::Choose || (switch == Switch::Mend && between && updates.astray()) {
            match updates.with(LocalUpdates::in_force) {
                Ok(chosen) => {
                    for note in &chosen.notes {
                        tracing::warn!(note, "policy slots");
                    }
                    (slot, version) = (chosen.slot, chosen.version);
                    let car = fitted.take().and_then(|(hash, car)| (hash == chosen.policy.hash).then_some(car));
                    orphans = self.switch(Arc::new(chosen.policy), car);
                }
                Err(error) => {
                    let why = format!("not even the factory's policy can be read: {error}; version {version} goes on");
                    tracing::error!(why, "the policy stays as it was");
                    updates.note(slot, version);
                    return (Err(Refusal::Storage(why)), orphans);
                }
            }
        }
        updates.note(slot, version);
        let changed = moved || was != (slot, version);
        (answer.map(|taken| Taken { changed, ..taken }).map_err(Refusal::from), orphans)
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
        self.recorder.in_force(&policy);
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
