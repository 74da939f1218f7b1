//! From what a turn tells to signals on the bus.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::mpsc::UnboundedReceiver;
use zbus::fdo::Properties;
use zbus::names::BusName;
use zbus::object_server::{Interface, SignalEmitter};
use zbus::{Connection, Variant};

use super::fit;
use super::open::OpenSession;
use super::session::{Session, SessionSignals};
use super::work::Told;
use crate::model::VerdictReport;
use crate::turn::{Done, Event, TurnReport};

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// With something said.
    Replied(TurnReport),
    /// A draft was judged, and carried out where it was cleared.
    Judged(DraftReport),
    /// It broke down.
    Broke(String),
}

/// What `Execute` answers.
#[derive(Debug, Serialize)]
pub(super) struct DraftReport {
    /// The verdict.
    #[serde(flatten)]
    pub(super) report: VerdictReport,
    /// What was carried out, in order; the fields of the event `executed`.
    pub(super) executed: Vec<Event>,
}

/// The JSON of the last `Progress` of a turn.
#[derive(Serialize)]
struct Finished {
    event: &'static str,
    done: Done,
    model_calls: u32,
    tokens: u32,
    took_ms: u128,
    harness_us: u128,
}

/// Passes on what a turn tells until it ends. A client that is gone is no reason to stop early: the
/// turn is cancelled then and must still free the session.
pub(super) async fn relay(
    session: &OpenSession,
    turn: u32,
    emitter: &SignalEmitter<'_>,
    mut told: UnboundedReceiver<Told>,
) -> Ended {
    let mut executed = Vec::new();
    loop {
        match told.recv().await {
            Some(Told::Begun) => {
                session.set_question("");
                announce(session, emitter).await;
            }
            Some(Told::Event(event)) => {
                if let Event::Question { question, .. } = &event {
                    session.set_question(question);
                }
                log(emit(turn, emitter, &event).await);
                if matches!(event, Event::Executed { .. }) {
                    executed.push(event);
                }
            }
            Some(Told::Replied(report)) => {
                session.finish(turn);
                announce(session, emitter).await;
                log(finished(turn, emitter, &report).await);
                log(emitter.reply(turn, report.done.as_str(), &fit::text(&report.text)).await);
                return Ended::Replied(report);
            }
            Some(Told::Judged(report)) => {
                session.finish(turn);
                announce(session, emitter).await;
                return Ended::Judged(DraftReport { report, executed });
            }
            Some(Told::Broke(why)) => return broke(session, turn, emitter, why).await,
            None => return broke(session, turn, emitter, "the worker has ended".to_owned()).await,
        }
    }
}

async fn broke(session: &OpenSession, turn: u32, emitter: &SignalEmitter<'_>, why: String) -> Ended {
    session.finish(turn);
    announce(session, emitter).await;
    log(emit(turn, emitter, &Event::Fault { why: why.clone() }).await);
    log(emitter.reply(turn, "broken", &fit::text(&why)).await);
    Ended::Broke(why)
}

/// One event: as progress, and as the signal of its own where it has one.
async fn emit(turn: u32, emitter: &SignalEmitter<'_>, event: &Event) -> zbus::Result<()> {
    emitter.progress(turn, event.name(), &json(event)).await?;
    match event {
        Event::Question { question, bound } => emitter.question(turn, &fit::text(question), &json(bound)).await,
        Event::Executed { call, outcome, detail, .. } => {
            emitter.outcome(turn, &json(call), outcome, &fit::text(detail)).await
        }
        _ => Ok(()),
    }
}

async fn finished(turn: u32, emitter: &SignalEmitter<'_>, report: &TurnReport) -> zbus::Result<()> {
    let finished = Finished {
        event: "finished",
        done: report.done,
        model_calls: report.model_calls,
        tokens: report.tokens,
        took_ms: report.took.as_millis(),
        harness_us: report.harness.as_micros(),
    };
    emitter.progress(turn, finished.event, &json(&finished)).await
}

/// Tells what changes outside of turns: the driver's words, another policy or the machine's sleep end a question.
/// Ends with the session.
pub(super) async fn follow(session: Arc<OpenSession>, connection: Connection) {
    while let Ok(listener) = session.stirs().await {
        let Some(listener) = listener else { continue };
        match SignalEmitter::new(&connection, session.path.as_ref()) {
            Ok(emitter) => {
                let emitter = emitter.set_destination(BusName::from(listener.into_inner()));
                announce(&session, &emitter).await;
            }
            Err(error) => log(Err(error)),
        }
    }
}

/// Tells the listener what became of the properties, where they are others than it was told. Addressed like every
/// signal of a session: a question is nobody else's business.
async fn announce(session: &OpenSession, emitter: &SignalEmitter<'_>) {
    let mut announced = session.announced().await;
    let shown = session.shown();
    if *announced == shown {
        return;
    }
    let changed = HashMap::from([
        ("Turn", Variant::from(shown.turn)),
        ("Busy", Variant::from(shown.busy)),
        ("Pending", Variant::from(shown.question.as_str())),
    ]);
    log(Properties::properties_changed(emitter, Session::name(), changed, Cow::Borrowed(&[])).await);
    *announced = shown;
}

fn json<T: Serialize>(value: &T) -> String {
    fit::json(value).unwrap_or_default()
}

fn log(sent: zbus::Result<()>) {
    if let Err(error) = sent {
        tracing::warn!(%error, "a signal could not be sent");
    }
}
