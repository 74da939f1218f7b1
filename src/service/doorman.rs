//! Who tells callers that their call does not come in, and when.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use zbus::names::OwnedUniqueName;
use zbus::{Connection, Message};

use super::Refusal;
use super::access::may_report;
use super::door::Turned;
use super::harness::Harness;
use super::words::Doubt;

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
pub(super) struct Doorman {
    told: mpsc::Receiver<Told>,
    doubts: mpsc::Receiver<Doubt>,
    harness: Arc<Harness>,
}

impl Doorman {
    /// Tells whomever the door names.
    pub(super) fn new(told: mpsc::Receiver<Told>, doubts: mpsc::Receiver<Doubt>, harness: Arc<Harness>) -> Self {
        Self { told, doubts, harness }
    }

    /// Tells whoever is turned away, for as long as the door stands.
    pub(super) async fn serve(self, connection: Connection) -> zbus::Result<()> {
        let Self { mut told, mut doubts, harness } = self;
        let bus = connection.clone();
        // Whoever lost words is looked up while others are told.
        let asking = tokio::spawn(async move {
            while let Some(doubt) = doubts.recv().await {
                let (bus, harness) = (bus.clone(), harness.clone());
                tokio::spawn(async move { settle(&bus, &harness, &doubt).await });
            }
        });
        let mut kept = JoinSet::new();
        while let Some((header, Turned { why, early })) = told.recv().await {
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
        asking.abort();
        Ok(())
    }
}

/// Asks the bus whether words that were turned away were those of somebody who may report them.
async fn settle(connection: &Connection, harness: &Harness, doubt: &Doubt) {
    let speech = harness.config.service.speech.as_deref();
    let may = match OwnedUniqueName::try_from(doubt.sender.as_str()) {
        Ok(caller) => may_report(connection, &doubt.session, &caller, speech, doubt.report).await,
        Err(_) => false,
    };
    doubt.session.settle_words(may);
}

/// A caller that has left in the meantime is none.
async fn tell(connection: &Connection, header: &Message, why: Refusal) {
    if let Err(error) = connection.reply_dbus_error(&header.header(), why).await {
        tracing::debug!(%error, "a caller that was turned away could not be told");
    }
}
