//! Who tells callers that their call does not come in, and when.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use zbus::{Connection, Message};

use super::Refusal;
use super::door::Turned;

/// The header of a call that was turned away, and why.
pub(super) type Told = (Message, Turned);

/// So many callers may be kept waiting for their answer; whoever comes then is told at once.
const KEPT: usize = 256;
/// Bytes of a header that is kept meanwhile; usual ones have 200 to 300.
const SMALL: usize = 1024;

/// Tells those who were turned away: at once what is wrong with a call, and that it came too early when its time has
/// come. A client that waits for its answers is slowed down to the pace of the door by that, and calls no more often
/// than the bus and its other clients can bear. One that does not wait has as many unanswered calls as the bus allows
/// (`max_replies_per_connection`), and the bus itself refuses the rest. At most a second passes: what the pace adds up
/// to.
#[derive(Debug)]
pub(super) struct Doorman(mpsc::Receiver<Told>);

impl Doorman {
    /// Tells whomever the door names.
    pub(super) fn new(told: mpsc::Receiver<Told>) -> Self {
        Self(told)
    }

    /// Tells whoever is turned away, for as long as the door stands.
    pub(super) async fn serve(mut self, connection: Connection) -> zbus::Result<()> {
        let mut kept = JoinSet::new();
        while let Some((header, Turned { why, early })) = self.0.recv().await {
            while kept.try_join_next().is_some() {}
            if early > Duration::ZERO && kept.len() < KEPT && header.data().len() <= SMALL {
                let connection = connection.clone();
                kept.spawn(async move {
                    sleep(early).await;
                    tell(&connection, &header, why).await;
                });
            } else {
                tell(&connection, &header, why).await;
            }
        }
        Ok(())
    }
}

/// A caller that has left in the meantime is none.
async fn tell(connection: &Connection, header: &Message, why: Refusal) {
    if let Err(error) = connection.reply_dbus_error(&header.header(), why).await {
        tracing::debug!(%error, "a caller that was turned away could not be told");
    }
}
