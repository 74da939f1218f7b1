//! Sessions that nobody will close: of clients that are gone, and unused ones.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::StreamExt;
use zbus::Connection;
use zbus::fdo::{DBusProxy, NameOwnerChangedStream};
use zbus::names::BusName;

use super::harness::Harness;

/// What happens to names on the bus, from now on.
pub(super) async fn names(connection: &Connection) -> zbus::Result<NameOwnerChangedStream> {
    DBusProxy::new(connection).await?.receive_name_owner_changed().await
}

/// Closes the sessions of every connection that leaves the bus. Ends with the connection.
pub(super) async fn follow_clients(
    harness: Arc<Harness>,
    connection: Connection,
    mut changes: NameOwnerChangedStream,
) -> zbus::Result<()> {
    while let Some(change) = changes.next().await {
        let change = change.args()?;
        if let (BusName::Unique(name), None) = (&change.name, change.new_owner.as_ref()) {
            for session in harness.sessions.of_connection(name) {
                harness.close(&connection, &session, "its holder left the bus").await;
            }
        }
    }
    Ok(())
}

/// Closes sessions that were not used for as long as the configuration allows.
pub(super) async fn expire(harness: Arc<Harness>, connection: Connection) {
    let limit = harness.config.service.idle();
    let mut tick = interval((limit / 4).clamp(Duration::from_millis(100), Duration::from_secs(30)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        for session in harness.sessions.idle_for(limit) {
            harness.close(&connection, &session, "it was not used").await;
        }
    }
}
