//! The record of what the service does: the journal, counters, what policies in shadow would say, and what
//! the driver undid.
//!
//! ```text
//! sessions ─ note ─▶ bounded queue ─▶ scribe (one thread) ─┬▶ journal
//!    never waits; what does not                            ├▶ counters ─▶ D-Bus properties
//!    fit is dropped and counted                            ├▶ shadow (one thread) ─▶ note
//!                                                          ├▶ traces, where they are configured
//!                                                          └▶ watch over what was done ─▶ note
//! ```

mod counts;
mod object;
mod personal;
mod scribe;
mod settings;
mod shadow;
mod share;
mod undone;
mod weight;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::ServiceError;
use super::telemetry::Traces;
use crate::journal::{Entry, Note, Place, Sink};
use crate::policy::{HardLimits, Policy};
use crate::vehicle::Vehicle;

pub(super) use counts::{Counts, Standing};
pub use object::JournalProxy;
pub(super) use object::{JournalObject, announce};
use scribe::Scribe;
pub use settings::{JournalConfig, ShadowConfig, Sync};
use shadow::Shadow;
use weight::weight;

/// Notes that may wait: a turn makes some ten, so this is a burst of all sessions at once.
const WAITING: usize = 1_024;

/// Bytes that waiting notes may take, by [`weight`]: a flood of large drafts must not starve the head unit.
const WAITING_BYTES: usize = 8 << 20;

/// How long the end of the service waits for what is still to be written.
const PARTING: Duration = Duration::from_secs(2);

/// What the scribe is handed.
enum Work {
    Note {
        note: Note,
        bytes: usize,
        /// When it was taken.
        at: SystemTime,
    },
    /// Write what is there, sync, say so and end.
    Stop(SyncSender<()>),
}

/// Takes notes of everything and keeps nobody waiting.
#[derive(Debug)]
pub(super) struct Recorder {
    queue: SyncSender<Work>,
    waiting: Arc<AtomicUsize>,
    lost: Arc<AtomicU64>,
    counts: watch::Receiver<Counts>,
    standing: watch::Receiver<Standing>,
    /// Where the journal is; none: nothing is written.
    folder: Option<PathBuf>,
    /// Names of what is redacted there.
    redact: Vec<String>,
}

impl Recorder {
    /// Starts recording. A journal that cannot be opened is no reason not to start: what is the matter is
    /// said on the bus, and opening is tried again.
    ///
    /// # Errors
    /// [`ServiceError`] when no thread can be started.
    pub(super) fn start(
        journal: &JournalConfig,
        shadow: &ShadowConfig,
        traces: Option<Traces>,
        policy: &Arc<Policy>,
        limits: &Arc<HardLimits>,
        vehicle: Arc<dyn Vehicle>,
        runtime: &Handle,
    ) -> Result<Arc<Self>, ServiceError> {
        let (queue, work) = sync_channel(WAITING);
        let (waiting, lost) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
        let (counting, counts) = watch::channel(Counts::default());
        let settings = journal.settings();
        let (stands, standing) = watch::channel(Standing::start(settings.is_some()));
        let (folder, redact) = (journal.folder.clone(), journal.redact.clone());
        let (queued, losses) = (waiting.clone(), lost.clone());
        let recorder = Arc::new(Self { queue, waiting: queued, lost: losses, counts, standing, folder, redact });
        let back: Arc<dyn Sink> = recorder.clone();
        let shadow = Shadow::start(shadow, limits.clone(), back.clone())?;
        let watching = undone::start(vehicle, back, runtime);
        let scribe = Scribe::new(settings, counting, stands, lost, (shadow, traces), watching);
        let (look, under) = (recorder.clone(), policy.clone());
        let write = move || {
            look.look_for(&under);
            drop((look, under));
            scribe.run(&work, &waiting);
        };
        let spawned = thread::Builder::new().name("journal".to_owned()).spawn(write);
        spawned.map_err(ServiceError::Threads)?;
        recorder.note(Note::Entry(Entry::started(env!("CARGO_PKG_VERSION"), policy, limits)));
        Ok(recorder)
    }

    /// Another policy was put in force.
    pub(super) fn in_force(&self, policy: &Policy) {
        self.note(Note::Entry(Entry::in_force(policy)));
        self.look_for(policy);
    }

    /// Looks whether what is to be redacted can be in a record under a policy.
    fn look_for(&self, policy: &Policy) {
        if self.folder.is_some() {
            personal::tell(&self.redact, policy);
        }
    }

    /// A session was opened for a user, by a connection or for all of that user's.
    pub(super) fn opened(&self, path: &str, user: u32, connection: Option<&str>) {
        self.note(Note::Entry(Entry::opened(Place::new(path, 0), user, connection)));
    }

    /// A session was closed.
    pub(super) fn closed(&self, path: &str, turn: u32, why: &str) {
        self.note(Note::Entry(Entry::closed(Place::new(path, turn), why)));
    }

    /// Writes what is still waiting and ends; not for longer than [`PARTING`].
    pub(super) fn stop(&self) {
        let (told, done) = sync_channel(1);
        // A scribe that hangs on a dead disk does not keep the service from ending.
        if self.queue.try_send(Work::Stop(told)).is_err() || done.recv_timeout(PARTING).is_err() {
            tracing::warn!("the journal could not be brought to its end");
        }
    }
}

impl Sink for Recorder {
    fn note(&self, note: Note) {
        let bytes = weight(&note);
        let fits = self.waiting.fetch_add(bytes, Ordering::AcqRel).saturating_add(bytes) <= WAITING_BYTES;
        let sent = match fits {
            true => {
                let work = Work::Note { note, bytes, at: SystemTime::now() };
                self.queue.try_send(work).map_err(|e| matches!(e, TrySendError::Full(_)))
            }
            false => Err(true),
        };
        if sent.is_err() {
            self.waiting.fetch_sub(bytes, Ordering::AcqRel);
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn losses(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests;
