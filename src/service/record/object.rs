//! `org.obligato.Harness1.Journal`: how the journal is, and what was counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use zbus::Connection;

use super::counts::Tally;
use super::{Counts, Recorder, Standing};

/// Least time between two announcements: a busy service must not fill the bus with numbers.
const PAUSE: Duration = Duration::from_secs(1);

/// The journal and the counters.
pub(in crate::service) struct JournalObject {
    recorder: Arc<Recorder>,
}

impl JournalObject {
    pub(in crate::service) fn new(recorder: Arc<Recorder>) -> Self {
        Self { recorder }
    }

    fn tally(&self, of: impl Fn(&Counts) -> &Tally) -> HashMap<String, u64> {
        of(&self.recorder.counts.borrow()).iter().map(|(name, count)| (name.clone(), *count)).collect()
    }
}

/// How the journal is, and what was counted since the service began. Changes are announced once a second
/// at most.
#[zbus::interface(
    name = "org.obligato.Harness1.Journal",
    proxy(
        async_name = "JournalProxy",
        default_service = "org.obligato.Harness1",
        default_path = "/org/obligato/Harness1",
        visibility = "pub"
    )
)]
impl JournalObject {
    /// Where it is kept; empty when none is.
    #[zbus(property(emits_changed_signal = "const"))]
    async fn folder(&self) -> String {
        self.recorder.folder.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// `recording`, `off`, or `failing`: then `StateReason` says what could not be written, and the service
    /// goes on without.
    #[zbus(property)]
    async fn state(&self) -> String {
        self.recorder.standing.borrow().as_str().to_owned()
    }

    /// Why it is failing; empty otherwise.
    #[zbus(property)]
    async fn state_reason(&self) -> String {
        self.recorder.standing.borrow().reason().to_owned()
    }

    /// Records written.
    #[zbus(property)]
    async fn records(&self) -> u64 {
        self.recorder.counts.borrow().records
    }

    /// Records lost because the queue was full or the medium refused them, or left out because their user had used up
    /// its share of the journal.
    #[zbus(property)]
    async fn dropped(&self) -> u64 {
        self.recorder.counts.borrow().dropped
    }

    /// Hash of the newest record: kept elsewhere, it proves that the journal's end is all there.
    #[zbus(property)]
    async fn head(&self) -> String {
        self.recorder.counts.borrow().head.clone()
    }

    /// Judgements by verdict.
    #[zbus(property)]
    async fn verdicts(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.verdicts)
    }

    /// Findings by gate.
    #[zbus(property)]
    async fn gates(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.gates)
    }

    /// Findings by rule.
    #[zbus(property)]
    async fn rules(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.rules)
    }

    /// Checks that broke down.
    #[zbus(property)]
    async fn faults(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.faults)
    }

    /// Calls that changed the car, by the rule that demanded them; those that were asked for under `request`.
    #[zbus(property)]
    async fn actions(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.actions)
    }

    /// Of which undone, by the same names: a value that the call had set was changed back within a minute.
    #[zbus(property)]
    async fn undone(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.undone)
    }

    /// Findings of rules in shadow, by rule.
    #[zbus(property)]
    async fn shadow(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.shadow)
    }

    /// Drafts with which as much would have happened under the candidate (`same`: verdict, and calls that are
    /// cleared), and others (`other`).
    #[zbus(property)]
    async fn candidate(&self) -> HashMap<String, u64> {
        self.tally(|counts| &counts.candidate)
    }
}

/// Announces what changed.
pub(in crate::service) async fn announce(recorder: Arc<Recorder>, connection: Connection) -> zbus::Result<()> {
    let object = connection.object_server().interface::<_, JournalObject>(crate::service::ROOT_PATH).await?;
    let emitter = object.signal_emitter();
    let (mut counts, mut standing) = (recorder.counts.clone(), recorder.standing.clone());
    let (mut told, mut stood): (Counts, Standing) = (counts.borrow().clone(), standing.borrow().clone());
    loop {
        tokio::select! {
            Ok(()) = counts.changed() => {}
            Ok(()) = standing.changed() => {}
            else => return Ok(()),
        }
        let (is, stands) = (counts.borrow_and_update().clone(), standing.borrow_and_update().clone());
        let object = object.get().await;
        if stands != stood {
            object.state_reason_changed(emitter).await?;
            object.state_changed(emitter).await?;
        }
        if is.records != told.records {
            object.records_changed(emitter).await?;
            object.head_changed(emitter).await?;
        }
        if is.dropped != told.dropped {
            object.dropped_changed(emitter).await?;
        }
        if is.verdicts != told.verdicts {
            object.verdicts_changed(emitter).await?;
        }
        if is.gates != told.gates {
            object.gates_changed(emitter).await?;
        }
        if is.rules != told.rules {
            object.rules_changed(emitter).await?;
        }
        if is.faults != told.faults {
            object.faults_changed(emitter).await?;
        }
        if is.actions != told.actions {
            object.actions_changed(emitter).await?;
        }
        if is.undone != told.undone {
            object.undone_changed(emitter).await?;
        }
        if is.shadow != told.shadow {
            object.shadow_changed(emitter).await?;
        }
        if is.candidate != told.candidate {
            object.candidate_changed(emitter).await?;
        }
        drop(object);
        (told, stood) = (is, stands);
        tokio::time::sleep(PAUSE).await;
    }
}
