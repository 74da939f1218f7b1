//! `org.obligato.Harness1.Policy`: what the policy says, and its updates.

use std::sync::Arc;

use zbus::Connection;
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::wire::OwnedFd;

use super::Refusal;
use super::fit::sentence;
use super::harness::Harness;
use super::local::{CarFor, LocalUpdates};
use super::update_step::{Outcome, StepKind, Taken};
use super::updates::{Right, Standing};
use crate::policy::update::{Meant, Reading, Slot, UpdateError, largest_list, largest_update, unhex};

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
        (kind, meant): (StepKind, u64),
        header: &Header<'_>,
        emitter: &SignalEmitter<'_>,
        work: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome + Send + 'static,
    ) -> Result<Taken, Refusal> {
        let right = self.harness.updates_for(kind, emitter.connection(), header).await?;
        self.told((kind, meant), right, emitter, work).await
    }

    /// The same for a step that takes a file. It is read before anything waits for the step.
    async fn file_step(
        &self,
        kind: StepKind,
        (file, most): (OwnedFd, u64),
        header: &Header<'_>,
        emitter: &SignalEmitter<'_>,
        work: impl FnOnce(&LocalUpdates, Result<Vec<u8>, UpdateError>) -> Outcome + Send + 'static,
    ) -> Result<Taken, Refusal> {
        let right = self.harness.updates_for(kind, emitter.connection(), header).await?;
        let bytes = right.updates.delivered.read(right.user, file, most).await?;
        self.told((kind, 0), right, emitter, move |local, _| work(local, bytes)).await
    }

    async fn told(
        &self,
        (kind, meant): (StepKind, u64),
        right: Right,
        emitter: &SignalEmitter<'_>,
        work: impl FnOnce(&LocalUpdates, &CarFor<'_>) -> Outcome + Send + 'static,
    ) -> Result<Taken, Refusal> {
        let taken = self.harness.update(emitter.connection(), right, (kind, meant), work).await?;
        if taken.changed
            && let Some(name) = kind.announced()
            && let Err(error) = PolicyObject::updated(emitter, name, taken.version).await
        {
            // The step was taken, whoever hears of it.
            tracing::warn!(%error, step = name, "a step of an update could not be announced");
        }
        Ok(taken)
    }
}

/// What a caller means.
fn meant(version: u64, digest: &str) -> Result<Meant, Refusal> {
    if digest.is_empty() {
        return Ok(Meant::from(version));
    }
    let wrong = || Refusal::Malformed("the digest is no SHA-256 of a delivered file in 64 hexadecimal digits".into());
    unhex(digest).map(|digest| Meant::Content { version, digest }).ok_or_else(wrong)
}

fn count(tests: usize) -> u32 {
    u32::try_from(tests).unwrap_or(u32::MAX)
}

/// The policy in force, and its updates.
///
/// An update goes through `Stage`, `Verify`, `Activate` and `Commit`; `Unstage` and `Rollback` lead back. Only
/// root and the members of the configured group may call these. Whoever delivers, the service verifies the
/// update itself. Several tools may deliver at a time, so each step but the first says which update it is meant
/// for and touches no other one: `version` as `Stage` told it, 0 for whichever is there; and `digest`, the SHA-256 of
/// the delivered file in 64 hexadecimal digits, which alone decides where it is given, because anybody can write a
/// number into a header; empty for whatever content has that version. Errors that every one of them can give:
/// NotAllowed, NoUpdates, Storage, Stopping, and Malformed for a digest that is none.
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
    /// for the driver. What was staged before gives way.
    ///
    /// Errors: Malformed, NotAuthentic, UnknownKey, Rollback, Expired, ExpiredByClock, NotYetValid, ClockUnset,
    /// DoesNotFit, NotYetFit.
    #[zbus(out_args("version"))]
    async fn stage(
        &self,
        update: OwnedFd,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let work = |local: &LocalUpdates, bytes: Result<Vec<u8>, UpdateError>| {
            let staged = bytes.and_then(|bytes| local.slots.stage(&bytes, Reading::system()));
            Outcome::quiet(staged.map(|header| header.version.into()))
        };
        let file = (update, largest_update());
        Ok(self.file_step(StepKind::Stage, file, &header, &emitter, work).await?.version)
    }

    /// Takes a list of keys into use, an open regular file as `obligato sign --list` wrote it. A policy that
    /// could not be used for want of its key is in force then.
    ///
    /// Errors: Malformed, NotAuthentic, UnknownKey, Rollback, NotYetFit.
    #[zbus(out_args("version"))]
    async fn keys(
        &self,
        list: OwnedFd,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let work = |local: &LocalUpdates, bytes: Result<Vec<u8>, UpdateError>| {
            let taken = bytes.and_then(|bytes| local.slots.keys(&bytes));
            Outcome::mending(taken.map(|list| list.version().into()))
        };
        let file = (list, largest_list());
        Ok(self.file_step(StepKind::Keys, file, &header, &emitter, work).await?.version)
    }

    /// Verifies what is staged once more and runs its own tests on this machine. Nothing changes. `version` and
    /// `digest` say which update is meant, here and in the steps below: the version as `Stage` told it, 0 for whichever
    /// is there; the SHA-256 of the delivered file in 64 hexadecimal digits, which alone decides where it is given,
    /// because anybody can write a number into a header, empty for whatever content has that version.
    ///
    /// Errors: as of `Stage`, and Unhealthy, NothingToDo, OtherVersion.
    #[zbus(out_args("version", "tests"))]
    async fn verify(
        &self,
        version: u64,
        digest: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<(u64, u32), Refusal> {
        let meant = meant(version, digest)?;
        let work = move |local: &LocalUpdates, _: &CarFor<'_>| {
            let verified = local.slots.verify(meant, Reading::system());
            Outcome::quiet(verified.map(|(header, tests)| Taken { version: header.version, tests, changed: false }))
        };
        let taken = self.step((StepKind::Verify, version), &header, &emitter, work).await?;
        Ok((taken.version, count(taken.tests)))
    }

    /// Runs the own tests of what is staged once more and puts it in force between two turns, on trial. Open
    /// sessions go on under it; questions that wait for an answer die. A running turn ends first: call
    /// without a timeout.
    ///
    /// Errors: as of `Verify`, and Undecided.
    #[zbus(out_args("version", "tests"))]
    async fn activate(
        &self,
        version: u64,
        digest: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<(u64, u32), Refusal> {
        let meant = meant(version, digest)?;
        let work = move |local: &LocalUpdates, car_for: &CarFor<'_>| {
            let activated = local.activate(meant, car_for);
            Outcome::switching(activated.map(|a| Taken { version: a.header.version, tests: a.tests, changed: true }))
        };
        let taken = self.step((StepKind::Activate, version), &header, &emitter, work).await?;
        Ok((taken.version, count(taken.tests)))
    }

    /// Commits to the policy on trial after running its own tests again: no older one is taken from now on.
    /// When they fail, the last good policy is in force again. An update that is committed to already is committed
    /// to; one that was undone, by its starts or by somebody else, is OtherVersion, and so is another content.
    ///
    /// Errors: Unhealthy, DoesNotFit, NotYetFit, NothingToDo, OtherVersion.
    #[zbus(out_args("version"))]
    async fn commit(
        &self,
        version: u64,
        digest: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let meant = meant(version, digest)?;
        let work = move |local: &LocalUpdates, _: &CarFor<'_>| {
            Outcome::mending(local.slots.commit(meant).map(|header| header.version.into()))
        };
        Ok(self.step((StepKind::Commit, version), &header, &emitter, work).await?.version)
    }

    /// Takes the policy on trial out of force. The answer is the version in force then, as a start would
    /// choose it; 0 is the factory's. An update that is not in force needs no rolling back, one that is committed
    /// cannot be rolled back (OtherVersion).
    ///
    /// Errors: NothingToDo, OtherVersion.
    #[zbus(out_args("in_force"))]
    async fn rollback(
        &self,
        version: u64,
        digest: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let meant = meant(version, digest)?;
        let work = move |local: &LocalUpdates, _: &CarFor<'_>| {
            Outcome::switching(local.slots.roll_back(meant).map(|started| started.version().into()))
        };
        Ok(self.step((StepKind::RollBack, version), &header, &emitter, work).await?.version)
    }

    /// Drops what is staged and leaves what is in force alone. The answer is the version that was dropped; 0: the
    /// one that is meant was not staged.
    ///
    /// Errors: NothingToDo.
    #[zbus(out_args("dropped"))]
    async fn unstage(
        &self,
        version: u64,
        digest: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<u64, Refusal> {
        let meant = meant(version, digest)?;
        let work =
            move |local: &LocalUpdates, _: &CarFor<'_>| Outcome::quiet(local.slots.unstage(meant).map(Taken::from));
        Ok(self.step((StepKind::Unstage, version), &header, &emitter, work).await?.version)
    }

    /// A step of an update was taken and changed something: `staged`, `unstaged`, `keys`, `activated`, `committed` or `rolled-back`,
    /// and the version that it was taken with; after `rolled-back` the one in force.
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

    /// Whether the policy in force waits to be committed. One on trial that the start passed over is not in force.
    #[zbus(property)]
    async fn on_trial(&self) -> bool {
        self.standing().is_some_and(|standing| standing.tried())
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

    /// Why nobody can tell what is in which slot; empty as a rule. StagedVersion, PreviousVersion, OnTrial,
    /// Floor and KeysVersion say nothing then.
    #[zbus(property)]
    async fn slots_reason(&self) -> String {
        self.standing().map(|standing| standing.unknown).unwrap_or_default()
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
                object.slots_reason_changed(emitter).await?;
            }
            else => return Ok(()),
        }
    }
}
