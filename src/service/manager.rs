//! `org.obligato.Harness1.Manager`: sessions and the state of the service.

use std::sync::Arc;

use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::message::Header;
use zbus::names::BusName;
use zbus::wire::{ObjectPath, OwnedObjectPath};

use super::Refusal;
use super::access::{caller, require_holder, user};
use super::harness::Harness;
use super::open::Holder;

/// The service as a whole.
pub(super) struct Manager {
    harness: Arc<Harness>,
}

impl Manager {
    pub(super) fn new(harness: Arc<Harness>) -> Self {
        Self { harness }
    }
}

/// Opens sessions and says how the service is.
#[zbus::interface(
    name = "org.obligato.Harness1.Manager",
    proxy(default_service = "org.obligato.Harness1", default_path = "/org/obligato/Harness1", visibility = "pub")
)]
impl Manager {
    /// Opens a session that belongs to the calling connection and goes when the connection goes.
    ///
    /// Errors: TooMany, Stopping.
    #[zbus(out_args("session"))]
    async fn open_session(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<OwnedObjectPath, Refusal> {
        let caller = caller(&header)?;
        let user = user(connection, &caller).await?;
        let session = self.harness.open(connection, Holder::Connection(caller.clone()), user).await?;
        // The caller may have gone before the session was in the table that is cleared when it goes.
        let bus = DBusProxy::new(connection).await?;
        if !bus.name_has_owner(BusName::from(caller.as_ref())).await.unwrap_or(true) {
            self.harness.close(connection, &session, "its holder is gone").await;
        }
        Ok(session.path.clone())
    }

    /// Opens a session that belongs to the calling user and goes when it is closed or was not used
    /// for a while: for shells, where every call is a connection of its own.
    ///
    /// Errors: TooMany, Stopping.
    #[zbus(out_args("session"))]
    async fn open_detached_session(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<OwnedObjectPath, Refusal> {
        let user = user(connection, &caller(&header)?).await?;
        Ok(self.harness.open(connection, Holder::User(user), user).await?.path.clone())
    }

    /// Ends a session. A running turn ends; what the policy owes for what it did is still done.
    ///
    /// Errors: NoSession, NotYours.
    async fn close_session(
        &self,
        session: ObjectPath<'_>,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        let session = self.harness.sessions.get(session.as_str())?;
        require_holder(connection, &session, &caller(&header)?).await?;
        self.harness.close(connection, &session, "its holder closed it").await;
        Ok(())
    }

    /// Version of the service.
    #[zbus(property(emits_changed_signal = "const"))]
    async fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// Name of the policy set.
    #[zbus(property)]
    async fn policy_id(&self) -> String {
        self.harness.in_force.get().id.clone()
    }

    /// SHA-256 of the policy, in hexadecimal digits.
    #[zbus(property)]
    async fn policy_hash(&self) -> String {
        self.harness.in_force.get().hash.to_string()
    }

    /// Name of the student; empty while there is none.
    #[zbus(property)]
    async fn student(&self) -> String {
        self.harness.readiness.borrow().student().to_owned()
    }

    /// How many sessions are open.
    #[zbus(property)]
    async fn sessions(&self) -> u32 {
        u32::try_from(self.harness.sessions.count()).unwrap_or(u32::MAX)
    }

    /// `starting` while the model loads, `ready`, `no-model` (`StateReason` says why; drafts of
    /// others are still judged) or `stopping`.
    #[zbus(property)]
    async fn state(&self) -> String {
        self.harness.readiness.borrow().as_str().to_owned()
    }

    /// Why there is no model; empty otherwise.
    #[zbus(property)]
    async fn state_reason(&self) -> String {
        self.harness.readiness.borrow().reason().to_owned()
    }
}

/// Announces every change of the state and of the number of sessions.
pub(super) async fn announce(harness: Arc<Harness>, connection: Connection) -> zbus::Result<()> {
    let manager = connection.object_server().interface::<_, Manager>(super::ROOT_PATH).await?;
    let emitter = manager.signal_emitter();
    let mut readiness = harness.readiness.subscribe();
    let mut count = harness.count.subscribe();
    let mut policy = harness.in_force.subscribe();
    loop {
        tokio::select! {
            Ok(()) = readiness.changed() => {
                readiness.mark_unchanged();
                let manager = manager.get().await;
                manager.student_changed(emitter).await?;
                manager.state_reason_changed(emitter).await?;
                manager.state_changed(emitter).await?;
            }
            Ok(()) = count.changed() => {
                count.mark_unchanged();
                manager.get().await.sessions_changed(emitter).await?;
            }
            Ok(()) = policy.changed() => {
                policy.mark_unchanged();
                let manager = manager.get().await;
                manager.policy_id_changed(emitter).await?;
                manager.policy_hash_changed(emitter).await?;
            }
            else => return Ok(()),
        }
    }
}
