//! A client of the service: one session, one turn after the other.

use std::collections::HashMap;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use zbus::message::{Message, Type};
use zbus::proxy::{CacheProperties, OwnerChangedStream};
use zbus::wire::OwnedObjectPath;
use zbus::{Connection, MessageStream};

use super::CliError;
use super::show::Explained;
use crate::service::{BUS_NAME, Bus, ManagerProxy, PolicyProxy, Refusal, SessionProxy};
use crate::turn::Event;

/// A client of the service.
pub(super) struct Client {
    connection: Connection,
    manager: ManagerProxy<'static>,
    policy: PolicyProxy<'static>,
    rules: HashMap<String, Explained>,
}

/// A session and everything that is addressed to it.
pub(super) struct Talk {
    session: SessionProxy<'static>,
    path: OwnedObjectPath,
    messages: MessageStream,
    /// Says when the service leaves the bus.
    owner: OwnerChangedStream<'static>,
    /// Ctrl-C.
    interrupts: Signal,
}

/// What happens in a turn, as a client sees it.
pub(super) enum Heard {
    /// A step that this version knows.
    Event(Event),
    /// Any step, as JSON: the measured end of the turn, or what a newer service tells.
    Other(String),
    /// The end, and how it ended.
    Reply(String),
}

impl Client {
    /// Connects to the service.
    pub(super) async fn connect(bus: &Bus) -> Result<Self, CliError> {
        let connection = bus.builder().build().await.map_err(|e| CliError::Peer(format!("{bus}: {e}")))?;
        let manager = ManagerProxy::new(&connection).await.map_err(peer)?;
        let policy = PolicyProxy::new(&connection).await.map_err(peer)?;
        Ok(Self { connection, manager, policy, rules: HashMap::new() })
    }

    /// Waits until the model is loaded. `waiting` is called once when that takes a while.
    pub(super) async fn ready(&self, limit: Duration, waiting: impl FnOnce()) -> Result<(), CliError> {
        let mut changes = self.manager.receive_state_changed().await;
        let mut state = self.manager.state().await.map_err(absent)?;
        if state == "starting" {
            waiting();
            let settled = async {
                while state == "starting" {
                    let Some(change) = changes.next().await else { return Ok(()) };
                    state = change.get().await.map_err(absent)?;
                }
                Ok::<(), CliError>(())
            };
            let late = || CliError::Peer(format!("the model is not loaded after {} s", limit.as_secs()));
            timeout(limit, settled).await.map_err(|_| late())??;
        }
        match state.as_str() {
            "no-model" => {
                let reason = self.manager.state_reason().await.map_err(absent)?;
                Err(CliError::Peer(format!("the service has no model: {reason}")))
            }
            "stopping" => Err(CliError::Peer("the service is shutting down".to_owned())),
            _ => Ok(()),
        }
    }

    /// One line on the service: version, policy, student.
    pub(super) async fn about(&self) -> Result<String, CliError> {
        let m = &self.manager;
        let (version, policy) = (m.version().await.map_err(absent)?, m.policy_id().await.map_err(absent)?);
        let (rules, student) = (self.policy.rules().await.map_err(absent)?, m.student().await.map_err(absent)?);
        Ok(format!("Obligato {version}, policy `{policy}` with {rules} rules, student {student}"))
    }

    /// Opens a session; a detached one outlives this connection.
    pub(super) async fn open(&self, detached: bool) -> Result<Talk, CliError> {
        let path = match detached {
            false => self.manager.open_session().await,
            true => self.manager.open_detached_session().await,
        };
        self.join(path.map_err(refused)?).await
    }

    /// Joins a session that is open.
    pub(super) async fn join(&self, path: OwnedObjectPath) -> Result<Talk, CliError> {
        let session = SessionProxy::builder(&self.connection)
            .path(path.clone())
            .cache_properties(CacheProperties::No)
            .build()
            .await
            .map_err(peer)?;
        let owner = session.inner().receive_owner_changed().await.map_err(peer)?;
        let interrupts = signal(SignalKind::interrupt())
            .map_err(|source| CliError::Peer(format!("Ctrl-C cannot be listened to: {source}")))?;
        Ok(Talk { session, path, messages: MessageStream::from(&self.connection), owner, interrupts })
    }

    /// What a rule says, asked once.
    pub(super) async fn explain(&mut self, event: &Event) -> &HashMap<String, Explained> {
        let report = match event {
            Event::Judged { report } => Some(report),
            _ => None,
        };
        for rule in report.into_iter().flat_map(|r| &r.findings).filter_map(|f| f.rule.as_ref()) {
            if !self.rules.contains_key(rule)
                && let Ok((_, source, sentence)) = self.policy.explain(rule).await
            {
                self.rules.insert(rule.clone(), Explained { source, sentence });
            }
        }
        &self.rules
    }
}

impl Talk {
    /// The session's object.
    pub(super) fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Starts a turn.
    pub(super) async fn start(&self, utterance: &str) -> Result<u32, CliError> {
        Ok(*self.session.start(utterance).await.map_err(refused)?.response())
    }

    /// The next thing that happens in a turn. Ctrl-C cancels it, which ends it with a reply like any other.
    pub(super) async fn next(&mut self, turn: u32) -> Result<Heard, CliError> {
        loop {
            let message = tokio::select! {
                message = self.messages.next() => message,
                Some(None) = self.owner.next() => {
                    return Err(CliError::Peer(format!("`{BUS_NAME}` left the bus in the middle of the turn")));
                }
                _ = self.interrupts.recv() => {
                    // It may have ended in this moment; its reply is on the way then.
                    let _ = self.session.cancel(turn).await;
                    continue;
                }
            };
            let lost = || CliError::Peer("the connection to the bus was lost".to_owned());
            let message = message.ok_or_else(lost)?.map_err(peer)?;
            if let Some(heard) = read(&message, self.path.as_str(), turn).map_err(peer)? {
                return Ok(heard);
            }
        }
    }

    /// Passes over what comes between turns, so that nothing piles up, until Ctrl-C.
    pub(super) async fn idle(&mut self) {
        loop {
            tokio::select! {
                Some(_) = self.messages.next() => {}
                _ = self.interrupts.recv() => return,
            }
        }
    }
}

/// What a message says about a turn; none when it is about something else.
fn read(message: &Message, path: &str, turn: u32) -> zbus::Result<Option<Heard>> {
    let header = message.header();
    let ours = header.message_type() == Type::Signal
        && header.path().is_some_and(|p| p.as_str() == path)
        && header.interface().is_some_and(|i| i.as_str() == "org.obligato.Harness1.Session");
    if !ours {
        return Ok(None);
    }
    let body = message.body();
    Ok(match header.member().map(|m| m.as_str().to_owned()).as_deref() {
        Some("Progress") => {
            let (of, _, json): (u32, &str, &str) = body.deserialize()?;
            let read = || serde_json::from_str(json).map_or_else(|_| Heard::Other(json.to_owned()), Heard::Event);
            (of == turn).then(read)
        }
        Some("Reply") => {
            let (of, done, _): (u32, String, &str) = body.deserialize()?;
            (of == turn).then_some(Heard::Reply(done))
        }
        _ => None,
    })
}

/// The bus or the service does not answer.
pub(super) fn peer(error: zbus::Error) -> CliError {
    CliError::Peer(error.to_string())
}

/// The service is not there.
pub(super) fn absent(error: impl std::fmt::Display) -> CliError {
    CliError::Peer(format!("{error}; is `obligatod` running on this bus? `make demo` starts one"))
}

/// The service says no.
fn refused(refusal: Refusal) -> CliError {
    match refusal {
        Refusal::ZBus(error) => absent(error),
        other => CliError::Peer(other.to_string()),
    }
}
