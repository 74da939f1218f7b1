//! The door of the service: which calls on the bus come in, and what the others are told.
//!
//! ```text
//! bus ─▶ line (reads) ─▶ door ─┬▶ object server ─▶ methods
//!                              └▶ doorman ─▶ error to the caller
//! ```
//!
//! The calls of all clients come down one socket, in one order. Whoever floods it must not be served at length
//! before the others are: a call that is turned away here costs its reading and one short answer, whatever it asks
//! for, and a body that is too large is never held.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use zbus::object_server::Interface;
use zbus::{Connection, Message};

use super::harness::Harness;
use super::head::Head;
use super::pace::Pace;
use super::session::{MAX_DRAFT_BYTES, Session};
use super::{ROOT_PATH, Refusal};

/// Largest call in bytes: the largest draft, with room for its header.
pub(super) const LARGEST_CALL: usize = MAX_DRAFT_BYTES + 64 * 1024;
/// So many bytes weigh as much as one call.
const ONE: usize = 64 * 1024;
/// A description of all objects is a thousand times as long as the call that asks for it, and the bus passes it on in
/// one piece: there is one in the time of so many calls.
const DESCRIPTION: u32 = 50;
/// Descriptions at once: whoever looks at the whole tree asks for one of each object on the way to the sessions.
const DESCRIPTIONS: u32 = 16;
/// The interface of descriptions.
const INTROSPECTABLE: &str = "org.freedesktop.DBus.Introspectable";
/// Answers that may wait for the bus; nothing more is read then.
const WAITING: usize = 64;

/// A call that was turned away, and why.
type Turned = (Message, Refusal);

/// Looks at each call before anything is done for it.
pub(super) struct Door {
    harness: Arc<Harness>,
    /// None: a connection may call as often as it likes.
    pace: Option<Paces>,
    turned: mpsc::Sender<Turned>,
}

/// How often a connection may call.
#[derive(Debug)]
struct Paces {
    /// Calls a second.
    rate: u32,
    calls: Pace<String>,
    /// Descriptions of everything.
    descriptions: Pace<String>,
}

/// Tells those who were turned away.
pub(super) struct Doorman(mpsc::Receiver<Turned>);

impl Door {
    /// The door of a service, and who answers at it.
    pub(super) fn new(harness: Arc<Harness>) -> (Self, Doorman) {
        let (turned, told) = mpsc::channel(WAITING);
        let rate = harness.config.service.calls_per_second;
        let every = Duration::from_secs(1).checked_div(rate);
        let pace = every.map(|every| Paces {
            rate,
            calls: Pace::new(rate, every),
            descriptions: Pace::new(DESCRIPTIONS, every.saturating_mul(DESCRIPTION)),
        });
        (Self { harness, pace, turned }, Doorman(told))
    }

    /// Why a call of so many bytes does not come in.
    pub(super) fn refuses(&self, call: &Head<'_>, bytes: usize) -> Option<Refusal> {
        let too_often = self.too_often(call, bytes);
        if bytes > LARGEST_CALL {
            return Some(Refusal::too_long("call", bytes, LARGEST_CALL));
        }
        too_often.or_else(|| self.nobody_there(call))
    }

    fn too_often(&self, call: &Head<'_>, bytes: usize) -> Option<Refusal> {
        let (Paces { rate, calls, descriptions }, sender) = (self.pace.as_ref()?, call.sender?);
        let turns = u32::try_from(1 + bytes / ONE).unwrap_or(u32::MAX);
        let now = Instant::now();
        if let Err(wait) = calls.take(sender, turns, now) {
            return Some(Refusal::TooMany(format!(
                "{rate} calls a second are the most of one connection (a large one counts for several); call again \
                 in {} ms",
                wait.as_millis().max(1)
            )));
        }
        // That of a session is a small one.
        let everything = call.interface == Some(INTROSPECTABLE) && call.path.is_none_or(|path| session(path).is_none());
        let wait = if everything { descriptions.take(sender, 1, now).err()? } else { return None };
        Some(Refusal::TooMany(format!(
            "{DESCRIPTIONS} descriptions of everything are the most of one connection at once; ask again in {} ms",
            wait.as_millis().max(1)
        )))
    }

    /// A session that is gone has no object any more; whoever still calls it is told so in our words.
    fn nobody_there(&self, call: &Head<'_>) -> Option<Refusal> {
        let (path, interface) = (call.path?, call.interface?);
        let number = session(path)?;
        let asked = Session::name() == interface && number.bytes().all(|b| b.is_ascii_digit());
        if asked { self.harness.sessions.get(path).err() } else { None }
    }

    /// Has the caller of a header told. Waits while the bus takes no more answers.
    pub(super) async fn turn_away(&self, header: Message, why: Refusal) {
        // The doorman goes only with the service.
        if self.turned.send((header, why)).await.is_err() {
            tracing::debug!("a call was turned away and its caller was not told");
        }
    }
}

/// The number of the session that a path names.
fn session(path: &str) -> Option<&str> {
    path.strip_prefix(ROOT_PATH)?.strip_prefix("/session/")
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Doorman {
    /// Tells whoever is turned away, for as long as the door stands.
    pub(super) async fn serve(mut self, connection: Connection) -> zbus::Result<()> {
        while let Some((message, why)) = self.0.recv().await {
            // A caller that has left in the meantime is none.
            if let Err(error) = connection.reply_dbus_error(&message.header(), why).await {
                tracing::debug!(%error, "a caller that was turned away could not be told");
            }
        }
        Ok(())
    }
}
