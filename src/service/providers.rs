//! `org.obligato.Harness1.Providers`: tools that other services on the bus carry out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_stream::StreamExt;
use zbus::Connection;
use zbus::fdo::{DBusProxy, NameOwnerChangedStream};
use zbus::message::Header;
use zbus::names::{BusName, OwnedUniqueName};
use zbus::wire::ObjectPath;

use super::Refusal;
use super::access::{caller, licence, user};
use super::harness::Harness;
use super::pace::Pace;
use crate::vehicle::{Applicant, Offered, PROVIDER_PATH};

/// Registrations and announcements of one user at once.
const BURST: u32 = 10;
/// How long it takes until once more.
const EVERY: Duration = Duration::from_secs(1);

/// The providers' counter.
pub(super) struct ProvidersObject {
    harness: Arc<Harness>,
    /// Every registration makes verdicts of all sessions stale, so nobody may register without end.
    pace: Pace<u32>,
}

impl ProvidersObject {
    pub(super) fn new(harness: Arc<Harness>) -> Self {
        Self { harness, pace: Pace::new(BURST, EVERY) }
    }

    /// The caller, where it has not called too often.
    async fn paced(&self, connection: &Connection, header: &Header<'_>) -> Result<OwnedUniqueName, Refusal> {
        let caller = caller(header)?;
        let user = user(connection, &caller).await?;
        self.pace.take(&user, 1, Instant::now()).map_err(|wait| {
            let millis = wait.as_millis();
            Refusal::TooMany(format!("you registered and announced too often; try again in {millis} ms"))
        })?;
        Ok(caller)
    }

    /// A rival that is gone is not in the way, even if its end was not looked at yet.
    async fn clear_away_the_gone(&self, bus: &DBusProxy<'_>, caller: &str, offered: &[Offered]) {
        for rival in self.harness.providers.rivals(caller, offered) {
            let Ok(name) = BusName::try_from(rival.as_str()) else { continue };
            if !bus.name_has_owner(name).await.unwrap_or(true) {
                self.harness.providers.withdraw(&rival);
            }
        }
    }
}

/// Takes tools that other services on the bus carry out. Who may provide which tools is configured.
#[zbus::interface(
    name = "org.obligato.Harness1.Providers",
    proxy(
        async_name = "ProvidersProxy",
        default_service = "org.obligato.Harness1",
        default_path = "/org/obligato/Harness1",
        visibility = "pub"
    )
)]
impl ProvidersObject {
    /// The calling connection carries out these tools from now on, instead of any that it registered
    /// before. `object` is its object with the interface `org.obligato.Provider1`, which is at
    /// `/org/obligato/Provider1` and answers the owner of `org.obligato.Harness1` alone; each tool is its name,
    /// `read`, `write` or `compute`, and the JSON Schema of the arguments that the provider takes, which
    /// must cover the policy's. All tools are accepted, or none. What a real car carries out itself is taken over
    /// only where the configuration names it. The registration goes when the connection goes, and with the third
    /// call that it leaves unanswered: it may register again once they are answered.
    ///
    /// Errors: NotAProvider, UnknownTool, WrongKind, WrongSchema, AlreadyProvided, BadArgument, TooMany,
    /// Stopping.
    async fn register(
        &self,
        object: ObjectPath<'_>,
        tools: Vec<(String, String, String)>,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        self.harness.readiness.borrow().accepts_work()?;
        let caller = self.paced(connection, &header).await?;
        if object.as_str() != PROVIDER_PATH {
            return Err(Refusal::BadArgument(format!(
                "the object of a provider is at `{PROVIDER_PATH}`, where the policy of the bus lets the guard alone \
                 call it, and not at `{object}`"
            )));
        }
        let licence = licence(connection, &caller, &self.harness.config.vehicle.provider).await?;
        let offered: Vec<Offered> =
            tools.into_iter().map(|(name, kind, schema)| Offered { name, kind, schema }).collect();
        let bus = DBusProxy::new(connection).await?;
        self.clear_away_the_gone(&bus, &caller, &offered).await;
        let names = licence.names.clone();
        let applicant = Applicant {
            connection: connection.clone(),
            owner: caller.clone(),
            object: object.into(),
            user: licence.user,
            names: licence.names,
            tools: licence.tools,
            named: licence.named,
        };
        let (providers, car) = (&self.harness.providers, &self.harness.car);
        providers.register(applicant, &offered, &|tool| car.serves_itself(tool)).inspect_err(|why| {
            tracing::warn!(provider = caller.as_str(), %why, "a registration was refused");
        })?;
        // The caller may have left, or lost its name, before it was in the table that is cleared then.
        if !bus.name_has_owner(BusName::from(caller.as_ref())).await.unwrap_or(true) {
            providers.withdraw(&caller);
        }
        for name in names {
            let Ok(held) = BusName::try_from(name.as_str()) else { continue };
            if bus.get_name_owner(held).await.is_ok_and(|owner| owner != caller) {
                providers.lost_name(&caller, &name);
            }
        }
        tracing::info!(provider = caller.as_str(), tools = offered.len(), "a provider registered");
        Ok(())
    }

    /// The calling connection gives all of its tools back.
    ///
    /// Errors: NotAProvider.
    async fn withdraw(&self, #[zbus(header)] header: Header<'_>) -> Result<(), Refusal> {
        let caller = caller(&header)?;
        match self.harness.providers.withdraw(&caller) {
            true => Ok(()),
            false => Err(Refusal::NotAProvider("you provide no tool; there is nothing to give back".into())),
        }
    }

    /// Something that a tool of the calling connection reads was changed by other hands: what was
    /// concluded from an earlier answer is verified again.
    ///
    /// Errors: NotAProvider, TooMany (the change is not taken in; call again after the time it names).
    async fn changed(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        let caller = self.paced(connection, &header).await?;
        match self.harness.providers.changed_by_others(&caller) {
            true => Ok(()),
            false => Err(Refusal::NotAProvider("you provide no tool; nothing rests on what you read".into())),
        }
    }

    /// The provided tools, each with its provider: the bus name by which it may provide, else its
    /// connection.
    #[zbus(property)]
    async fn provided(&self) -> Vec<(String, String)> {
        self.harness.providers.provided()
    }

    /// Tools that are left to providers and that nobody provides: sessions count them as removed.
    #[zbus(property)]
    async fn absent(&self) -> Vec<String> {
        self.harness.providers.absent()
    }
}

/// Takes the tools of whoever leaves the bus or loses a name out of the car at once. Ends with the
/// connection.
pub(super) async fn follow(harness: Arc<Harness>, mut changes: NameOwnerChangedStream) -> zbus::Result<()> {
    while let Some(change) = changes.next().await {
        let change = change.args()?;
        let Some(old) = change.old_owner.as_ref() else { continue };
        let lost = match (&change.name, change.new_owner.as_ref()) {
            (BusName::Unique(name), None) => harness.providers.withdraw(name),
            (BusName::WellKnown(name), _) => harness.providers.lost_name(old, name),
            _ => false,
        };
        if lost {
            tracing::warn!(provider = %old, name = %change.name, "a provider left; its tools count as removed");
        }
    }
    Ok(())
}

/// Announces every change of what is provided.
pub(super) async fn announce(harness: Arc<Harness>, connection: Connection) -> zbus::Result<()> {
    let object = connection.object_server().interface::<_, ProvidersObject>(super::ROOT_PATH).await?;
    let emitter = object.signal_emitter();
    let mut changes = harness.providers.changes();
    let mut told = (Vec::new(), harness.providers.absent());
    while changes.changed().await.is_ok() {
        changes.mark_unchanged();
        let now = (harness.providers.provided(), harness.providers.absent());
        let object = object.get().await;
        if now.0 != told.0 {
            object.provided_changed(emitter).await?;
        }
        if now.1 != told.1 {
            object.absent_changed(emitter).await?;
        }
        told = now;
    }
    Ok(())
}
