//! One open session: whose it is, what runs in it, when it was last used.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex as Turnstile, MutexGuard as Passing, Notify};
use zbus::names::OwnedUniqueName;
use zbus::wire::OwnedObjectPath;

use super::Refusal;
use super::words::Words;
use super::work::Told;
use crate::policy::Policy;
use crate::student::Cancel;
use crate::turn::Session;
use crate::vehicle::Vehicle;

/// Most that a conversation takes in, in bytes: eight thousand turns. All of it is kept, because any word may be
/// what a later verdict rests on, so a client that talks for ever must not exhaust the head unit.
const MOST_TAKEN: usize = 8 << 20;
/// How long whoever waits for the conversation leaves it to another one that looks at it: a change of the policy.
const AGAIN: Duration = Duration::from_millis(1);
/// What a turn takes beside its words: results, records of what was judged.
const EACH: usize = 1024;

/// Whose a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    /// The connection that opened it; it goes when the connection goes.
    Connection(OwnedUniqueName),
    /// Every connection of this user; it goes when it is closed or has been idle for too long.
    User(u32),
}

impl Holder {
    /// The connection, where it is one.
    pub(super) fn connection(&self) -> Option<&str> {
        match self {
            Self::Connection(name) => Some(name.as_str()),
            Self::User(_) => None,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(name) => write!(f, "the connection {name}"),
            Self::User(user) => write!(f, "the user {user}"),
        }
    }
}

/// One open session.
pub(super) struct OpenSession {
    /// Its object.
    pub(super) path: OwnedObjectPath,
    /// Whose it is.
    pub(super) holder: Holder,
    /// The user behind the holder.
    pub(super) user: u32,
    /// The conversation. Held for the length of a turn, so nothing may wait for it: see [`Self::between_turns`].
    conversation: Mutex<Session>,
    progress: Mutex<Progress>,
    /// What of it was announced last. Held while it is announced, so that announcements keep their order.
    announced: Turnstile<Shown>,
    /// What was reported as said by the driver.
    pub(super) words: Words,
    /// A turn was claimed or is over, or the session was closed.
    moved: Notify,
    /// Something that is shown changed outside of a turn, or the session was closed.
    stirred: Notify,
}

/// What is shown of a session: its properties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// The number of the latest turn; 0 before the first.
    pub(super) turn: u32,
    /// Whether a turn is waiting or running.
    pub(super) busy: bool,
    /// The question that waits for the driver's answer; empty when none does.
    pub(super) question: String,
}

/// What can be asked at any time.
struct Progress {
    last: u32,
    running: Option<Running>,
    question: String,
    /// Who hears of the session: the connection that started the latest turn.
    listener: Option<OwnedUniqueName>,
    touched: Instant,
    closed: bool,
    /// Bytes that the conversation took in.
    taken: usize,
}

/// The session is closed.
#[derive(Debug)]
pub(super) struct Closed;

struct Running {
    turn: u32,
    cancel: Cancel,
    /// Whether the worker has begun it; before that a cancel ends it at once.
    begun: bool,
    told: UnboundedSender<Told>,
}

impl OpenSession {
    pub(super) fn new(path: OwnedObjectPath, holder: Holder, user: u32, speech: bool, conversation: Session) -> Self {
        let words = Words::new(conversation.overheard(), speech);
        let progress = Progress {
            last: 0,
            running: None,
            question: String::new(),
            listener: None,
            touched: Instant::now(),
            closed: false,
            taken: 0,
        };
        Self {
            path,
            holder,
            user,
            conversation: Mutex::new(conversation),
            progress: Mutex::new(progress),
            announced: Turnstile::default(),
            words,
            moved: Notify::new(),
            stirred: Notify::new(),
        }
    }

    /// Claims the session for a turn, which then waits for the worker. `listener` hears of the session from now on.
    pub(super) fn claim(
        &self,
        told: UnboundedSender<Told>,
        listener: OwnedUniqueName,
    ) -> Result<(u32, Cancel), Refusal> {
        let mut progress = self.progress();
        if progress.closed {
            return Err(Refusal::no_session(self.path.as_str()));
        }
        if let Some(running) = &progress.running {
            return Err(Refusal::busy(running.turn));
        }
        progress.last = progress.last.wrapping_add(1);
        progress.touched = Instant::now();
        progress.listener = Some(listener);
        let (turn, cancel) = (progress.last, Cancel::default());
        progress.running = Some(Running { turn, cancel: cancel.clone(), begun: false, told });
        self.moved.notify_waiters();
        Ok((turn, cancel))
    }

    /// Makes room for so many bytes of words or calls. What is refused for a turn that runs takes none.
    pub(super) fn take_in(&self, bytes: usize) -> Result<(), Refusal> {
        let mut progress = self.progress();
        if let Some(running) = &progress.running {
            return Err(Refusal::busy(running.turn));
        }
        let taken = progress.taken.saturating_add(bytes).saturating_add(EACH);
        if taken > MOST_TAKEN {
            return Err(Refusal::TooMany(format!(
                "this conversation has taken in {} bytes, and {MOST_TAKEN} are the most; open another session",
                progress.taken
            )));
        }
        progress.taken = taken;
        Ok(())
    }

    /// The worker begins a turn; false when it was cancelled while it waited.
    pub(super) fn begin(&self, turn: u32) -> bool {
        match &mut self.progress().running {
            Some(running) if running.turn == turn => {
                running.begun = true;
                !running.cancel.is_cancelled()
            }
            _ => false,
        }
    }

    /// A turn is over: the session is free again.
    pub(super) fn finish(&self, turn: u32) {
        let mut progress = self.progress();
        if progress.running.as_ref().is_some_and(|r| r.turn == turn) {
            progress.running = None;
        }
        progress.touched = Instant::now();
        self.moved.notify_waiters();
    }

    /// Stops a turn. One that still waits ends at once, a running one at its next step.
    pub(super) fn cancel(&self, turn: u32) -> Result<(), Refusal> {
        match &self.progress().running {
            Some(running) if running.turn == turn => {
                stop(running);
                Ok(())
            }
            Some(running) => Err(Refusal::NoTurn(format!("turn {turn} is not running, turn {} is", running.turn))),
            None => Err(Refusal::NoTurn(format!("turn {turn} is not running, and no other one is"))),
        }
    }

    /// Ends the session: what runs is ended, nothing new begins. What the policy owes for what was done is still done.
    pub(super) fn close(&self) {
        let mut progress = self.progress();
        progress.closed = true;
        if let Some(running) = &progress.running {
            running.cancel.end();
            tell_end(running);
        }
        drop(progress);
        self.moved.notify_waiters();
        self.stirred.notify_one();
    }

    /// Waits until no turn waits or runs. For calls that have their place in the queue of the session: nobody else
    /// begins a turn meanwhile.
    pub(super) async fn free(&self) -> Result<(), Refusal> {
        self.until(|progress| progress.running.is_none() || progress.closed).await;
        if self.progress().closed { Err(Refusal::no_session(self.path.as_str())) } else { Ok(()) }
    }

    /// Waits until a turn waits or runs, that one or any.
    pub(super) async fn runs(&self, turn: Option<u32>) {
        let is = |progress: &Progress| {
            progress.running.as_ref().is_some_and(|running| turn.is_none_or(|turn| running.turn == turn))
        };
        self.until(is).await;
    }

    async fn until(&self, is: impl Fn(&Progress) -> bool) {
        loop {
            let mut moved = pin!(self.moved.notified());
            // What moves between the look and the wait is not missed.
            moved.as_mut().enable();
            if is(&self.progress()) {
                return;
            }
            moved.await;
        }
    }

    /// The machine sleeps: what waits or runs is stopped, and a question that waits is not answered any more.
    pub(super) fn slept(&self) {
        let progress = self.progress();
        if let Some(running) = &progress.running {
            stop(running);
        }
        drop(progress);
        self.drop_question();
    }

    /// Works on the conversation between turns. Never waits: a turn holds the conversation for seconds.
    pub(super) fn between_turns<R>(&self, work: impl FnOnce(&mut Session) -> R) -> Result<R, Refusal> {
        {
            let mut progress = self.progress();
            progress.touched = Instant::now();
            if let Some(running) = &progress.running {
                return Err(Refusal::busy(running.turn));
            }
        }
        match self.conversation.try_lock() {
            Ok(mut conversation) => Ok(work(&mut conversation)),
            Err(TryLockError::WouldBlock) => Err(Refusal::busy(self.turn())),
            Err(TryLockError::Poisoned(_)) => Err(Refusal::broken()),
        }
    }

    /// The same for a call that waits: until no turn runs, and until nobody else looks at the conversation.
    pub(super) async fn when_free<R>(
        &self,
        bytes: usize,
        mut work: impl FnMut(&mut Session) -> R,
    ) -> Result<R, Refusal> {
        self.free().await?;
        self.take_in(bytes)?;
        loop {
            match self.between_turns(&mut work) {
                Err(Refusal::Busy(_)) => tokio::time::sleep(AGAIN).await,
                other => return other,
            }
        }
    }

    /// Goes on under another policy. Between turns only, and for the worker alone: it waits for whoever
    /// is looking at the conversation.
    pub(super) fn succeed(&self, policy: &Arc<Policy>, vehicle: Arc<dyn Vehicle>) -> Result<(), Refusal> {
        let succeeded = self.conversation()?.succeed(policy.clone(), vehicle);
        succeeded.map_err(|error| Refusal::DoesNotFit(error.to_string()))?;
        self.drop_question();
        Ok(())
    }

    /// The conversation, for the worker's turn. A conversation that broke down is not used again.
    pub(super) fn conversation(&self) -> Result<MutexGuard<'_, Session>, Refusal> {
        self.conversation.lock().map_err(|_| Refusal::broken())
    }

    /// The number of the latest turn; 0 before the first.
    pub(super) fn turn(&self) -> u32 {
        self.progress().last
    }

    /// Whether a turn is waiting or running.
    pub(super) fn busy(&self) -> bool {
        self.progress().running.is_some()
    }

    /// The question that waits for the driver's answer; empty when none does.
    pub(super) fn question(&self) -> String {
        self.progress().question.clone()
    }

    /// Sets it in a turn, which announces it in the order of its signals.
    pub(super) fn set_question(&self, question: &str) {
        self.progress().question = question.to_owned();
    }

    /// The question died outside of a turn.
    pub(super) fn drop_question(&self) {
        self.progress().question.clear();
        self.stirred.notify_one();
    }

    /// What is shown.
    pub(super) fn shown(&self) -> Shown {
        let progress = self.progress();
        let (busy, question) = (progress.running.is_some(), progress.question.clone());
        Shown { turn: progress.last, busy, question }
    }

    /// What was announced last, for whoever announces what is shown now.
    pub(super) async fn announced(&self) -> Passing<'_, Shown> {
        self.announced.lock().await
    }

    /// Waits until something may have changed outside of a turn; whom to tell, none where nobody listens yet.
    /// The error is the session's end.
    pub(super) async fn stirs(&self) -> Result<Option<OwnedUniqueName>, Closed> {
        self.stirred.notified().await;
        let progress = self.progress();
        if progress.closed { Err(Closed) } else { Ok(progress.listener.clone()) }
    }

    /// How long it has not been used; none while it is busy.
    pub(super) fn idle(&self) -> Option<Duration> {
        let progress = self.progress();
        progress.running.is_none().then(|| progress.touched.elapsed())
    }

    /// Every change of [`Progress`] is whole, so a panic elsewhere leaves nothing half done in it.
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stop(running: &Running) {
    running.cancel.cancel();
    tell_end(running);
}

/// Tells the end of a turn that has not begun.
fn tell_end(running: &Running) {
    if !running.begun {
        // Nobody listens any more only when the turn is over already.
        let _ = running.told.send(Told::cancelled());
    }
}
