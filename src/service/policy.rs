//! `org.obligato.Harness1.Policy`: what the policy says, and its updates.

use std::path::Path;
use std::sync::Arc;

use zbus::Connection;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::wire::OwnedFd;

use super::Refusal;
use super::fit::sentence;
use super::harness::Harness;
use super::local::{CarFor, LocalUpdates};
use super::updates::{Outcome, Standing, StepKind, Taken};
use crate::policy::update::{Reading, Slot, UpdateError, largest_list, largest_update, read_open};

/// The policy in force.
pub(super) struct PolicyObject {
    harness: Arc<Harness>,
}

impl PolicyObject {
    pub(super) fn new(harness: Arc<Harness>) -> Self {
        Self { harness }
    }

    fn standing(&self) -> Option<Standing> {
        self.harness.updates.as_ref().map(|updates| updates.standing())
    }

    /// Takes one step of an update for a caller and tells everybody.
    async fn step(
        &self,
        kind: StepKind,
        header: &Header<'_>,
        emitter: &SignalEmitter<'_>,
        work: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome + Send + 'static,
    ) -> Result<Taken, Refusal> {
        let taken = self.harness.update(emitter.connection(), header, kind, work).await?;
        if let Some(name) = kind.announced()
            && let Err(error) = PolicyObject::updated(emitter, name, taken.version).await
        {
            // The step was taken, whoever hears of it.
            tracing::warn!(%error, step = name, "a step of an update could not be announced");
        }
        Ok(taken)
    }
}

/// What a caller handed over, read as anything that was delivered is.
fn delivered(fd: OwnedFd, most: u64) -> Result<Vec<u8>, UpdateError> {
    let file = std::fs::File::from(std::os::fd::OwnedFd::from(fd));
    read_open(file, Path::new("the delivered file"), most)
}

fn count(tests: usize) -> u32 {
    u32::try_from(tests).unwrap_or(u32::MAX)
}

/// The policy in force, and its updates.
///
/// An update goes through `Stage`, `Verify`, `Activate` and `Commit`; `Rollback` leads back. Only root and
/// the members of the configured group may call these. Whoever delivers, the service verifies the update
/// itself. Errors that every one of them can give: NotAllowed, NoUpdates, Storage, Stopping.
#[zbus::interface(
    name = "org.obligato.Harness1.Policy",
    proxy(
        async_name = "PolicyProxy",
        default_service = "org.obligato.Harness1",
        default_path = "/org/obligato/Harness1",
        visibility = "pub"
    )
)]
impl PolicyObject {
    /// The identifiers of all rules.
    #[zbus(out_args("rules"))]
    async fn list(&self) -> Vec<String> {
        self.harness.in_force.get().rules().iter().map(|rule| rule.id.to_string()).collect()
    }

    /// What a rule says: its kind, where the policy says so (file and line), and the sentence there.
    ///
    /// Errors: NoRule.
    #[zbus(out_args("kind", "source", "sentence"))]
    async fn explain(&self, rule: &str) -> Result<(String, String, String), Refusal> {
        let policy = self.harness.in_force.get();
        let found = policy.rules().iter().find(|r| r.id.as_str() == rule);
        let found = found
            .ok_or_else(|| Refusal::NoRule(format!("the policy `{}` has no rule `{}`", policy.id, sentence(rule))))?;
        Ok((found.kind.to_string(), found.source.to_string(), found.sentence.to_string()))
    }

    /// Accepts an update, an open regular file as `obligato sign` wrote it, and keeps it. Nothing changes
    /// for the driver.
    ///
    /// Errors: Malformed, NotAuthentic, Rollback, Expired, NotYetValid, ClockUnset, DoesNotFit.
    #[zbus(out_args("version"))]
    async fn stage(
        &self,
        update: OwnedFd,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let work = |local: &LocalUpdates, _: &CarFor<'_>| {
            let staged = delivered(update, largest_update()).and_then(|b| local.slots.stage(&b, Reading::system()));
            Outcome::quiet(staged.map(|header| header.version.into()))
        };
        Ok(self.step(StepKind::Stage, &header, &emitter, work).await?.version)
    }

    /// Takes a list of keys into use, an open regular file as `obligato sign --list` wrote it.
    ///
    /// Errors: Malformed, NotAuthentic, Rollback, DoesNotFit.
    #[zbus(out_args("version"))]
    async fn keys(
        &self,
        list: OwnedFd,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let work = |local: &LocalUpdates, _: &CarFor<'_>| {
            let taken = delivered(list, largest_list()).and_then(|bytes| local.slots.keys(&bytes));
            Outcome::quiet(taken.map(|list| list.version().into()))
        };
        Ok(self.step(StepKind::Keys, &header, &emitter, work).await?.version)
    }

    /// Verifies what is staged once more and runs its own tests on this machine. Nothing changes.
    ///
    /// Errors: as of `Stage`, and Unhealthy, NothingToDo.
    #[zbus(out_args("version", "tests"))]
    async fn verify(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<(u64, u32), Refusal> {
        let work = |local: &LocalUpdates, _: &CarFor<'_>| {
            let verified = local.slots.verify(Reading::system());
            Outcome::quiet(verified.map(|(header, tests)| Taken { version: header.version, tests }))
        };
        let taken = self.step(StepKind::Verify, &header, &emitter, work).await?;
        Ok((taken.version, count(taken.tests)))
    }

    /// Puts what is staged in force between two turns, on trial, and runs its own tests there. Open
    /// sessions go on under it; questions that wait for an answer die. A running turn ends first: call
    /// without a timeout.
    ///
    /// Errors: as of `Verify`, and Undecided.
    #[zbus(out_args("version", "tests"))]
    async fn activate(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<(u64, u32), Refusal> {
        let work = |local: &LocalUpdates, car_for: &CarFor<'_>| {
            let activated = local.activate(car_for);
            Outcome::switching(activated.map(|a| Taken { version: a.header.version, tests: a.tests }))
        };
        let taken = self.step(StepKind::Activate, &header, &emitter, work).await?;
        Ok((taken.version, count(taken.tests)))
    }

    /// Commits to the policy on trial after running its own tests again: no older one is taken from now on.
    /// When they fail, the last good policy is in force again.
    ///
    /// Errors: Unhealthy, NothingToDo.
    #[zbus(out_args("version"))]
    async fn commit(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let work = |local: &LocalUpdates, _: &CarFor<'_>| {
            let committed = local.slots.commit(Reading::system());
            let switches = matches!(committed, Err(UpdateError::Unhealthy { .. }));
            Outcome { answer: committed.map(|header| header.version.into()), switches }
        };
        Ok(self.step(StepKind::Commit, &header, &emitter, work).await?.version)
    }

    /// Takes the policy on trial out of force; without one, drops what is staged. `version` is in force
    /// then; 0 is the factory's.
    ///
    /// Errors: NothingToDo.
    #[zbus(out_args("version"))]
    async fn rollback(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let work = |local: &LocalUpdates, _: &CarFor<'_>| {
            Outcome::switching(local.slots.roll_back().map(|status| status.current.into()))
        };
        Ok(self.step(StepKind::RollBack, &header, &emitter, work).await?.version)
    }

    /// A step of an update was taken: `staged`, `keys`, `activated`, `committed` or `rolled-back`, and the
    /// version that it was taken with; after `rolled-back` the one in force.
    #[zbus(signal)]
    async fn updated(emitter: &SignalEmitter<'_>, step: &str, version: u64) -> zbus::Result<()>;

    /// Name of the policy set.
    #[zbus(property)]
    async fn id(&self) -> String {
        self.harness.in_force.get().id.clone()
    }

    /// SHA-256 of the policy, in hexadecimal digits.
    #[zbus(property)]
    async fn hash(&self) -> String {
        self.harness.in_force.get().hash.to_string()
    }

    /// How many rules there are.
    #[zbus(property)]
    async fn rules(&self) -> u32 {
        count(self.harness.in_force.get().rules().len())
    }

    /// Version of the policy in force; 0: the factory's.
    #[zbus(property)]
    async fn version(&self) -> u64 {
        self.standing().map_or(0, |standing| standing.version)
    }

    /// Where the policy in force came from: `factory`, `current`, or `previous` where the current one
    /// cannot be used.
    #[zbus(property)]
    async fn slot(&self) -> String {
        match self.standing().map_or(Slot::Factory, |standing| standing.slot) {
            Slot::Factory => "factory",
            Slot::Current => "current",
            Slot::Previous => "previous",
        }
        .to_owned()
    }

    /// Version that is staged; 0: none.
    #[zbus(property)]
    async fn staged_version(&self) -> u64 {
        self.standing().map_or(0, |standing| standing.status.staged)
    }

    /// Version before the one in force; 0: the factory's, or none.
    #[zbus(property)]
    async fn previous_version(&self) -> u64 {
        self.standing().map_or(0, |standing| standing.status.previous)
    }

    /// Whether the policy in force waits to be committed.
    #[zbus(property)]
    async fn on_trial(&self) -> bool {
        self.standing().is_some_and(|standing| standing.status.on_trial)
    }

    /// The rollback floor: no older version is taken.
    #[zbus(property)]
    async fn floor(&self) -> u64 {
        self.standing().map_or(0, |standing| standing.status.floor)
    }

    /// Version of the list of keys in use; 0: the keys of the image alone.
    #[zbus(property)]
    async fn keys_version(&self) -> u64 {
        self.standing().map_or(0, |standing| standing.status.keys)
    }
}

/// Announces every change of the policy in force and of where updates stand.
pub(super) async fn announce(harness: Arc<Harness>, connection: Connection) -> zbus::Result<()> {
    let object = connection.object_server().interface::<_, PolicyObject>(super::ROOT_PATH).await?;
    let emitter = object.signal_emitter();
    let mut policy = harness.in_force.subscribe();
    let Some(updates) = harness.updates.clone() else { return Ok(()) };
    let mut standing = updates.subscribe();
    loop {
        tokio::select! {
            Ok(()) = policy.changed() => {
                policy.mark_unchanged();
                let object = object.get().await;
                object.id_changed(emitter).await?;
                object.hash_changed(emitter).await?;
                object.rules_changed(emitter).await?;
            }
            Ok(()) = standing.changed() => {
                standing.mark_unchanged();
                let object = object.get().await;
                object.version_changed(emitter).await?;
                object.slot_changed(emitter).await?;
                object.staged_version_changed(emitter).await?;
                object.previous_version_changed(emitter).await?;
                object.on_trial_changed(emitter).await?;
                object.floor_changed(emitter).await?;
                object.keys_version_changed(emitter).await?;
            }
            else => return Ok(()),
        }
    }
}
