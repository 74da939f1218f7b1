//! The door of the service: which calls on the bus come in, and what the others are told.
//!
//! ```text
//! bus ─▶ line (reads) ─▶ door ─┬▶ object server ─▶ methods
//!                              └▶ doorman ─▶ error to the caller
//! ```
//!
//! The calls of all clients come down one socket, in one order. Whoever floods it must not be served at length
//! before the others are: a call that is turned away here costs its reading and one short answer, whatever it asks
//! for, and a body that is too large is never held. Nor may whoever calls again as soon as he is answered keep the bus
//! busy for everybody: a call before its time is answered when its time has come.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use zbus::Message;
use zbus::object_server::Interface;

use super::doorman::{Doorman, Told};
use super::harness::Harness;
use super::head::Head;
use super::open::OpenSession;
use super::pace::Pace;
use super::session::{MAX_DRAFT_BYTES, Session};
use super::words::{Away, Doubt, Report};
use super::{ROOT_PATH, Refusal};

/// Largest call in bytes: the largest draft, with room for its header.
pub(super) const LARGEST_CALL: usize = MAX_DRAFT_BYTES + 64 * 1024;
/// So many bytes weigh as much as one call.
const ONE: usize = 64 * 1024;
/// Of what may be done in a second, so much may be done at once: who floods has that for nothing with each connection.
const AT_ONCE: u32 = 4;
/// A description is many times as long as the call that asks for it, and the bus passes it on in small pieces while
/// everybody waits. So they are given out one after the other: one of a session in the time of so many calls.
const DESCRIPTION: u32 = 2;
/// The objects above the sessions are described with all that they have.
const ABOVE: u32 = 4;
/// How long somebody waits for a description at most; whoever looks at the whole tree asks for 21 of them.
const PATIENCE: Duration = Duration::from_secs(2);
/// The interface of descriptions.
const INTROSPECTABLE: &str = "org.freedesktop.DBus.Introspectable";
/// Answers that may wait for the bus; nothing more is read then.
const WAITING: usize = 64;

/// What becomes of a call.
#[derive(Debug)]
pub(super) enum Ruling {
    /// It comes in.
    In,
    /// It comes in when its time has come, or is turned away where it cannot be held so long.
    Later(Turned),
    /// It is turned away.
    Away(Turned),
}

/// Why a call does not come in.
#[derive(Debug)]
pub(super) struct Turned {
    /// What its caller is told.
    pub(super) why: Refusal,
    /// How much too early it came.
    pub(super) early: Duration,
}

/// Looks at each call before anything is done for it.
pub(super) struct Door {
    harness: Arc<Harness>,
    /// None: a connection may call as often as it likes.
    pace: Option<Paces>,
    turned: mpsc::Sender<Told>,
    doubts: mpsc::Sender<Doubt>,
}

/// How often a connection may call.
#[derive(Debug)]
struct Paces {
    /// Calls a second.
    rate: u32,
    calls: Pace<String>,
    descriptions: Pace<String>,
}

impl Door {
    /// The door of a service, and who answers at it.
    pub(super) fn new(harness: Arc<Harness>) -> (Self, Doorman) {
        let (turned, told) = mpsc::channel(WAITING);
        let (doubts, doubted) = mpsc::channel(WAITING);
        let rate = harness.config.service.calls_per_second;
        let every = Duration::from_secs(1).checked_div(rate);
        let pace = every.map(|every| Paces {
            rate,
            calls: Pace::new((rate / AT_ONCE).max(1), every),
            descriptions: Pace::new(ABOVE, every.saturating_mul(DESCRIPTION)),
        });
        let doorman = Doorman::new(told, doubted, harness.clone());
        (Self { harness, pace, turned, doubts }, doorman)
    }

    /// What becomes of a call of so many bytes.
    pub(super) fn rules(&self, call: &Head<'_>, bytes: usize) -> Ruling {
        let ruling = self.ruled(call, bytes);
        let Some((session, sender, report)) = self.words(call) else { return ruling };
        match ruling {
            Ruling::In => {
                session.words.come_in(&session.holder, sender, call.serial, report);
                Ruling::In
            }
            // What is held comes in out of its order.
            Ruling::Later(turned) | Ruling::Away(turned) => {
                let why = match session.turn_words_away(sender, report) {
                    Away::Strange => turned.why,
                    Away::Lost | Away::Doubted(None) => turned.why.of_words(),
                    Away::Doubted(Some(doubt)) => {
                        if let Err(unasked) = self.doubts.try_send(doubt) {
                            unasked.into_inner().session.settle_words(true);
                        }
                        turned.why.of_words()
                    }
                };
                Ruling::Away(Turned { why, ..turned })
            }
        }
    }

    /// The words of the driver that a call brings: for which session, by whom and how.
    fn words<'c>(&self, call: &Head<'c>) -> Option<(Arc<OpenSession>, &'c str, Report)> {
        let (path, sender, report) = (call.path?, call.sender?, Report::by(call.member?)?);
        let ours = call.interface.is_none_or(|interface| Session::name() == interface);
        let session = (ours && session(path).is_some()).then(|| self.harness.sessions.get(path).ok()).flatten()?;
        Some((session, sender, report))
    }

    fn ruled(&self, call: &Head<'_>, bytes: usize) -> Ruling {
        let now = Instant::now();
        let too_often = self.too_often(call, bytes, now);
        if bytes > LARGEST_CALL {
            let early = too_often.map(|turned| turned.early).unwrap_or_default();
            return Ruling::Away(Turned { why: Refusal::too_long("call", bytes, LARGEST_CALL), early });
        }
        let at_once = |why| Turned { why, early: Duration::ZERO };
        if let Some(turned) = too_often.or_else(|| self.nobody_there(call).map(at_once)) {
            return Ruling::Away(turned);
        }
        self.describes(call, now)
    }

    fn too_often(&self, call: &Head<'_>, bytes: usize, now: Instant) -> Option<Turned> {
        let (Paces { rate, calls, .. }, sender) = (self.pace.as_ref()?, call.sender?);
        let turns = u32::try_from(1 + bytes / ONE).unwrap_or(u32::MAX);
        let early = calls.take(sender, turns, now).err()?;
        let most = "calls a second are the most of one connection (a large one counts for several), a quarter of them \
                    at once";
        Some(Turned::early(format_args!("{rate} {most}"), early))
    }

    /// A description waits for those before it.
    fn describes(&self, call: &Head<'_>, now: Instant) -> Ruling {
        let (Some(Paces { descriptions, .. }), Some(sender)) = (&self.pace, call.sender) else { return Ruling::In };
        if call.interface != Some(INTROSPECTABLE) {
            return Ruling::In;
        }
        let turns = if call.path.is_some_and(|path| session(path).is_some()) { 1 } else { ABOVE };
        let turned = |early| Turned::early(format_args!("descriptions are given out one after the other"), early);
        match descriptions.book(sender, turns, now, PATIENCE) {
            Ok(Duration::ZERO) => Ruling::In,
            Ok(wait) => Ruling::Later(turned(wait)),
            Err(wait) => Ruling::Away(turned(wait)),
        }
    }

    /// A session that is gone has no object any more; whoever still calls it is told so in our words.
    fn nobody_there(&self, call: &Head<'_>) -> Option<Refusal> {
        let (path, interface) = (call.path?, call.interface?);
        let number = session(path)?;
        let asked = Session::name() == interface && number.bytes().all(|b| b.is_ascii_digit());
        if asked { self.harness.sessions.get(path).err() } else { None }
    }

    /// Has the caller of a header told. Waits while the bus takes no more answers.
    pub(super) async fn turn_away(&self, header: Message, turned: Turned) {
        // The doorman goes only with the service.
        if self.turned.send((header, turned)).await.is_err() {
            tracing::debug!("a call was turned away and its caller was not told");
        }
    }
}

/// The number of the session that a path names.
fn session(path: &str) -> Option<&str> {
    path.strip_prefix(ROOT_PATH)?.strip_prefix("/session/")
}

impl Turned {
    fn early(most: fmt::Arguments<'_>, early: Duration) -> Self {
        let why = Refusal::TooMany(format!("{most}; this one came {} ms too early", early.as_millis().max(1)));
        Self { why, early }
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("pace", &self.pace).finish_non_exhaustive()
    }
}
