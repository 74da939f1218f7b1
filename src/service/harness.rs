//! What all D-Bus objects of the service share.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use zbus::Connection;
use zbus::names::OwnedUniqueName;
use zbus::object_server::SignalEmitter;

use super::Refusal;
use super::car::Car;
use super::config::Config;
use super::in_force::InForce;
use super::in_order::InOrder;
use super::offers::Offers;
use super::open::{Holder, OpenSession};
use super::readiness::Readiness;
use super::record::Recorder;
use super::relay::{Ended, follow, relay};
use super::session::Session;
use super::sessions::Sessions;
use super::updates::Updates;
use super::work::{Job, Task, Work};
use super::worker::Worker;
use crate::turn;
use crate::vehicle::Providers;

/// Makes the conversation of a new session from its path.
pub(super) type MakeSession = Box<dyn Fn(&str) -> turn::Session + Send + Sync>;

/// What all D-Bus objects of the service share.
pub(super) struct Harness {
    pub(super) config: Config,
    /// The policy in force.
    pub(super) in_force: Arc<InForce>,
    /// The car.
    pub(super) car: Car,
    /// Updates of the policy; none: this image takes none.
    pub(super) updates: Option<Arc<Updates>>,
    pub(super) sessions: Sessions,
    /// Makes or finds what sessions offer.
    pub(super) offers: Arc<Offers>,
    /// Who carries out tools on the bus.
    pub(super) providers: Arc<Providers>,
    /// Records what happens.
    pub(super) recorder: Arc<Recorder>,
    pub(super) worker: Worker,
    pub(super) readiness: Arc<watch::Sender<Readiness>>,
    /// How many sessions are open, for whoever announces it.
    pub(super) count: watch::Sender<usize>,
    /// How many turns wait, run or are still being told.
    pub(super) turns: watch::Sender<usize>,
    pub(super) make_session: MakeSession,
}

impl Harness {
    /// Opens a session and puts its object on the bus.
    pub(super) async fn open(
        self: &Arc<Self>,
        connection: &Connection,
        holder: Holder,
        user: u32,
    ) -> Result<Arc<OpenSession>, Refusal> {
        self.readiness.borrow().accepts_work()?;
        let session = self.sessions.open(holder, user, |path| (self.make_session)(path))?;
        let object = InOrder::new(Session::new(self.clone(), session.clone()));
        if let Err(error) = connection.object_server().at(&*session.path, object).await {
            self.sessions.remove(&session);
            return Err(error.into());
        }
        tokio::spawn(follow(session.clone(), connection.clone()));
        self.count.send_replace(self.sessions.count());
        self.recorder.opened(session.path.as_str(), session.user, session.holder.connection());
        tracing::info!(session = session.path.as_str(), holder = %session.holder, "a session was opened");
        Ok(session)
    }

    /// Ends a session: what runs in it is stopped, its object goes.
    pub(super) async fn close(&self, connection: &Connection, session: &OpenSession, why: &str) {
        session.close();
        self.sessions.remove(session);
        // It may be gone already when a client closes a session that is just expiring.
        let _ = connection.object_server().remove::<InOrder, _>(&*session.path).await;
        self.count.send_replace(self.sessions.count());
        self.recorder.closed(session.path.as_str(), session.turn(), why);
        tracing::info!(session = session.path.as_str(), why, "a session was closed");
    }

    /// Waits until no turn waits, runs or is being told.
    pub(super) async fn quiet(&self) {
        // The sender is ours, so this cannot fail.
        let _ = self.turns.subscribe().wait_for(|turns| *turns == 0).await;
    }

    /// Starts a turn of a session. Its signals go to `listener` alone and wait for `after`.
    pub(super) fn start(
        self: &Arc<Self>,
        connection: &Connection,
        session: &Arc<OpenSession>,
        listener: OwnedUniqueName,
        task: Task,
        after: Option<oneshot::Receiver<()>>,
    ) -> Result<(u32, oneshot::Receiver<Ended>), Refusal> {
        match task {
            Task::Turn(..) => self.readiness.borrow().accepts_turns()?,
            Task::Draft(_) => self.readiness.borrow().accepts_work()?,
        }
        let (tell, told) = mpsc::unbounded_channel();
        let (turn, cancel) = session.claim(tell.clone(), listener.clone())?;
        let emitter = SignalEmitter::new(connection, session.path.as_ref().to_owned())?
            .set_destination(zbus::names::BusName::from(listener.into_inner()));
        let (end, ended) = oneshot::channel();
        let job = Job { session: session.clone(), turn, cancel, task, told: tell };
        if !self.worker.give(Work::Job(job)) {
            session.finish(turn);
            return Err(Refusal::Internal("the worker has ended; restart the service".into()));
        }
        self.turns.send_modify(|turns| *turns += 1);
        let harness = self.clone();
        let session = session.clone();
        tokio::spawn(async move {
            if let Some(after) = after {
                // It comes when the sender is dropped.
                let _ = after.await;
            }
            let outcome = relay(&session, turn, &emitter, told).await;
            if let Ended::Broke(_) = &outcome {
                harness.close(emitter.connection(), &session, "a turn broke down").await;
            }
            // Nobody waits unless the turn was started by `Say` or `Execute`.
            let _ = end.send(outcome);
            harness.turns.send_modify(|turns| *turns = turns.saturating_sub(1));
        });
        Ok((turn, ended))
    }
}
