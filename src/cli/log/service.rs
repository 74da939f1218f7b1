//! What the running service says of its journal.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use zbus::fdo::DBusProxy;
use zbus::names::BusName;
use zbus::proxy::CacheProperties;

use crate::cli::CliError;
use crate::cli::client::{absent, peer};
use crate::service::{BUS_NAME, Bus, JournalProxy};

/// How long a service that is just starting may take to its first record, and any to an answer.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// The journal of the running service.
pub(super) struct Service {
    journal: JournalProxy<'static>,
}

impl Service {
    /// Connects. A service that does not run is not started for this: it would go on from the end that it finds.
    pub(super) async fn connect(bus: &Bus) -> Result<Self, CliError> {
        let connection = bus.builder().build().await.map_err(|e| CliError::Peer(format!("{bus}: {e}")))?;
        let name = BusName::try_from(BUS_NAME).map_err(|e| CliError::Peer(e.to_string()))?;
        let there = DBusProxy::new(&connection).await.map_err(peer)?.name_has_owner(name).await;
        if !there.map_err(|e| peer(e.into()))? {
            let why = format!("{bus}: nobody owns `{BUS_NAME}`");
            return Err(absent(format!("{why}, and only the running service knows its newest record")));
        }
        let journal = JournalProxy::builder(&connection).cache_properties(CacheProperties::No).build().await;
        Ok(Self { journal: journal.map_err(peer)? })
    }

    /// The hash of the newest record, and the folder in which the service keeps it.
    pub(super) async fn newest(&self) -> Result<(String, String), CliError> {
        let late = || CliError::Peer(format!("the service did not name a record within {} s", PATIENCE.as_secs()));
        timeout(PATIENCE, self.named()).await.map_err(|_| late())?
    }

    async fn named(&self) -> Result<(String, String), CliError> {
        loop {
            let head = self.journal.head().await.map_err(absent)?;
            if !head.is_empty() {
                return Ok((head, self.journal.folder().await.map_err(absent)?));
            }
            match self.journal.state().await.map_err(absent)?.as_str() {
                "off" => {
                    let why = "the service keeps no journal: its configuration names no `[journal] folder`";
                    return Err(CliError::Peer(why.to_owned()));
                }
                "failing" => {
                    let reason = self.journal.state_reason().await.map_err(absent)?;
                    return Err(CliError::Peer(format!("the service has written no record: {reason}")));
                }
                _ => sleep(PAUSE).await,
            }
        }
    }
}
