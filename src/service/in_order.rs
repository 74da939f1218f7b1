//! The calls of a session, taken in the order in which they came.
//!
//! The library carries out each call on a task of its own, and tasks begin in any order. Whoever says "no" and then
//! hands a draft in, without waiting in between, must not see the draft looked at before the "no" is heard: so every
//! call of a session takes a place in a queue while the messages are still in order, and begins when the calls
//! before it have done to the session what they have to do. What takes long after that (a turn, a compiler) is not
//! waited for: [`step_aside`].

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use zbus::export::async_trait::async_trait;
use zbus::message::{Header, Message};
use zbus::names::{InterfaceName, MemberName, UniqueName};
use zbus::object_server::{DispatchResult, Interface, SignalEmitter};
use zbus::{BoxDBusError, Connection, ObjectServer, OwnedVariant, Variant, fdo};

use super::access::caller;
use super::session::Session;
use super::words::Report;

/// The indentation of an object's interfaces where it is described for its own sake.
const ITSELF: usize = 2;

tokio::task_local! {
    /// The place of the call that a task carries out.
    static PLACE: Place;
}

/// Lets the next call of the session begin before this one is answered.
pub(super) fn step_aside() {
    // A method that is called from elsewhere has no place in any queue.
    let _ = PLACE.try_with(Place::leave);
}

/// The number of the words that the call brings which a task carries out.
pub(super) fn words() -> u64 {
    PLACE.try_with(|place| place.words).unwrap_or_default()
}

/// Who comes next; dropped when the one before has left.
#[derive(Debug, Default)]
struct Queue(Mutex<Option<oneshot::Receiver<()>>>);

/// A place in the queue, given up when it is dropped.
#[derive(Debug)]
struct Place {
    behind: Mutex<Option<oneshot::Sender<()>>>,
    /// The number of the words that the call brings; 0 where it brings none.
    words: u64,
}

/// Comes when everybody before a place has left.
type Before = Option<oneshot::Receiver<()>>;

impl Queue {
    /// The last place.
    fn join(&self, words: u64) -> (Place, Before) {
        let (behind, wait) = oneshot::channel();
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(wait);
        (Place { behind: Mutex::new(Some(behind)), words }, before)
    }
}

impl Place {
    fn leave(&self) {
        drop(self.behind.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Waits until everybody before has left.
async fn come_up(before: Before) {
    if let Some(before) = before {
        // It comes when the other end is dropped.
        let _ = before.await;
    }
}

/// A session on the bus whose calls keep their order.
pub(super) struct InOrder {
    session: Arc<Session>,
    queue: Queue,
}

impl InOrder {
    pub(super) fn new(session: Session) -> Self {
        Self { session: Arc::new(session), queue: Queue::default() }
    }
}

/// Everything is the session's own but when a call begins.
#[async_trait]
impl Interface for InOrder {
    fn name() -> InterfaceName<'static> {
        Session::name()
    }

    /// Messages are looked at one after the other, and only as long as it takes to join the queue.
    fn spawn_tasks_for_methods(&self) -> bool {
        false
    }

    async fn get(
        &self,
        property: &str,
        server: &ObjectServer,
        connection: &Connection,
        header: Option<&Header<'_>>,
        emitter: &SignalEmitter<'_>,
    ) -> Option<Result<OwnedVariant, BoxDBusError>> {
        self.session.get(property, server, connection, header, emitter).await
    }

    async fn get_all(
        &self,
        server: &ObjectServer,
        connection: &Connection,
        header: Option<&Header<'_>>,
        emitter: &SignalEmitter<'_>,
    ) -> fdo::Result<HashMap<String, OwnedVariant>> {
        self.session.get_all(server, connection, header, emitter).await
    }

    fn set<'call>(
        &'call self,
        property: &'call str,
        value: &'call Variant<'_>,
        server: &'call ObjectServer,
        connection: &'call Connection,
        header: Option<&'call Header<'_>>,
        emitter: &'call SignalEmitter<'_>,
    ) -> DispatchResult<'call> {
        self.session.set(property, value, server, connection, header, emitter)
    }

    /// Nothing of a session is set.
    async fn set_mut(
        &mut self,
        _: &str,
        _: &Variant<'_>,
        _: &ObjectServer,
        _: &Connection,
        _: Option<&Header<'_>>,
        _: &SignalEmitter<'_>,
    ) -> Option<Result<(), BoxDBusError>> {
        None
    }

    fn call<'call>(
        &'call self,
        _: &'call ObjectServer,
        connection: &'call Connection,
        message: &'call Message,
        _: MemberName<'call>,
    ) -> DispatchResult<'call> {
        let report = message.header().member().and_then(|member| Report::by(member.as_str()));
        let numbered = |sender: &UniqueName<'_>| {
            self.session.open().words.number(sender.as_str(), message.primary_header().serial_num().get())
        };
        let words = report.and_then(|_| message.header().sender().map(numbered)).unwrap_or_default();
        let (place, before) = self.queue.join(words);
        let (session, connection, message) = (self.session.clone(), connection.clone(), message.clone());
        DispatchResult::Async(Box::pin(async move {
            tokio::spawn(PLACE.scope(place, carry_out(before, session, connection, message)));
            Ok(())
        }))
    }

    fn call_mut<'call>(
        &'call mut self,
        _: &'call ObjectServer,
        _: &'call Connection,
        _: &'call Message,
        _: MemberName<'call>,
    ) -> DispatchResult<'call> {
        DispatchResult::NotFound
    }

    /// Where an object above is described, a session is named and no more, as the specification of D-Bus has it for
    /// children: the same seven kilobytes for each session would hold up the bus.
    fn introspect_to_writer(&self, writer: &mut dyn Write, level: usize) {
        if level == ITSELF {
            self.session.introspect_to_writer(writer, level);
        }
    }
}

/// Carries a call out when it is its turn, and answers it.
async fn carry_out(before: Before, session: Arc<Session>, connection: Connection, message: Message) {
    let header = message.header();
    let Some(member) = header.member() else { return };
    if let (Some(report), Ok(caller)) = (Report::by(member.as_str()), caller(&header)) {
        session.overhear(&connection, &caller, report, words()).await;
    }
    match member.as_str() {
        // What waits for the end of a turn must not hold up whoever ends it.
        "Cancel" => {
            let turn = message.body().deserialize().unwrap_or_default();
            tokio::select! { () = come_up(before) => {}, () = session.open().runs(Some(turn)) => {} }
        }
        "Close" => tokio::select! { () = come_up(before) => {}, () = session.open().runs(None) => {} },
        _ => come_up(before).await,
    }
    let unknown = || BoxDBusError::from(fdo::Error::UnknownMethod(format!("Unknown method '{member}'")));
    let answered = match session.call(connection.object_server(), &connection, &message, member.as_ref()) {
        DispatchResult::Async(call) => call.await,
        DispatchResult::NotFound | DispatchResult::RequiresMut => Err(unknown()),
    };
    if let Err(error) = answered
        && let Err(error) = connection.reply_dbus_error(&header, error).await
    {
        // A caller that has left in the meantime is none.
        tracing::debug!(%error, "a caller could not be told");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_up_in_order_whoever_steps_aside_and_whoever_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let up = |before: &mut Before| {
            before.as_mut().is_none_or(|b| b.try_recv() != Err(oneshot::error::TryRecvError::Empty))
        };
        let queue = Queue::default();
        let [(first, mut one), (second, mut two), (third, mut three)] = [queue.join(0), queue.join(0), queue.join(0)];
        assert_eq!((up(&mut one), up(&mut two), up(&mut three)), (true, false, false));
        first.leave();
        assert_eq!((up(&mut two), up(&mut three)), (true, false));
        drop(second);
        assert!(up(&mut three));
        drop((first, third));
        runtime.block_on(come_up(queue.join(0).1));
    }
}
