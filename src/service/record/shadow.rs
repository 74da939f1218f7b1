//! Policies that judge and record and never act: rules marked `@shadow`, and a whole candidate.
//!
//! They are told what the acting policy judged and on what ground, on a thread of their own and after the
//! verdict has gone its way: nothing that happens here can reach a turn.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::ShadowConfig;
use crate::journal::{Entry, Judgement, Note, Place, Sink};
use crate::model::{PolicyHash, VerdictReport};
use crate::policy::{HardLimits, Policy};
use crate::service::ServiceError;
use crate::verify::Again;

/// Judgements that may wait.
const WAITING: usize = 256;

/// Policies whose rules in shadow are kept awake: the one in force and those of sessions that added to it.
const AWAKE: usize = 8;

enum Beside {
    Judge { place: Place, policy: Arc<Policy>, judgement: Box<Judgement> },
    Close(String),
}

/// Access to the thread.
pub(super) struct Shadow {
    queue: SyncSender<Beside>,
    candidate: bool,
    /// Sessions of which something did not fit: nothing is passed on until they begin anew.
    gaps: HashSet<String>,
}

impl Shadow {
    /// Starts the thread. A candidate only measures: one that cannot be loaded is said in the log, and the guard
    /// guards without it.
    ///
    /// # Errors
    /// [`ServiceError`] when no thread can be started.
    pub(super) fn start(
        config: &ShadowConfig,
        limits: Arc<HardLimits>,
        sink: Arc<dyn Sink>,
    ) -> Result<Option<Self>, ServiceError> {
        let loaded = config.policy.as_deref().map(load).transpose();
        let candidate = loaded.unwrap_or_else(|error| {
            tracing::error!(%error, "the candidate in shadow cannot be loaded; nothing is judged under it");
            None
        });
        let (queue, work) = sync_channel(WAITING);
        let has = candidate.is_some();
        let bench = Bench { candidate, limits, sink, lanes: HashMap::new(), awake: Vec::new() };
        thread::Builder::new()
            .name("shadow".to_owned())
            .spawn(move || bench.run(&work))
            .map_err(ServiceError::Threads)?;
        Ok(Some(Self { queue, candidate: has, gaps: HashSet::new() }))
    }

    /// Whether there is anything to judge beside a policy.
    pub(super) fn concerns(&self, policy: &Policy) -> bool {
        self.candidate || policy.rules().iter().any(|rule| rule.shadow)
    }

    /// Passes a judgement on; false when there was no room for it.
    pub(super) fn judge(&mut self, place: Place, policy: Arc<Policy>, judgement: Box<Judgement>) -> bool {
        if judgement.ground.whole {
            self.gaps.remove(&place.session);
        } else if self.gaps.contains(&place.session) {
            return true;
        }
        let session = place.session.clone();
        let taken = self.queue.try_send(Beside::Judge { place, policy, judgement }).is_ok();
        if !taken {
            self.gaps.insert(session);
        }
        taken
    }

    /// A session is over.
    pub(super) fn close(&mut self, session: &str) {
        self.gaps.remove(session);
        // Where there is no room, the session's state stays until another one takes its place.
        let _ = self.queue.try_send(Beside::Close(session.to_owned()));
    }
}

fn load(path: &std::path::Path) -> Result<Arc<Policy>, ServiceError> {
    let bytes = std::fs::read(path).map_err(|source| ServiceError::File { path: path.to_owned(), source })?;
    let policy = Policy::from_blob(&bytes).map_err(|source| ServiceError::Policy { path: path.to_owned(), source })?;
    Ok(Arc::new(policy))
}

/// What is known of one session.
#[derive(Default)]
struct Lane {
    candidate: Option<Again>,
    awake: Option<(PolicyHash, Again)>,
}

struct Bench {
    candidate: Option<Arc<Policy>>,
    limits: Arc<HardLimits>,
    sink: Arc<dyn Sink>,
    lanes: HashMap<String, Lane>,
    awake: Vec<(PolicyHash, Option<Arc<Policy>>)>,
}

impl Bench {
    fn run(mut self, work: &Receiver<Beside>) {
        self.candidate.iter().for_each(|policy| policy.warm());
        while let Ok(beside) = work.recv() {
            match beside {
                Beside::Close(session) => drop(self.lanes.remove(&session)),
                Beside::Judge { place, policy, judgement } => {
                    let session = place.session.clone();
                    let judged = catch_unwind(AssertUnwindSafe(|| self.judge(place.clone(), &policy, &judgement)));
                    if judged.is_err() {
                        self.lanes.remove(&session);
                        let why = "judging in shadow broke down; this session is no longer followed";
                        self.sink.note(Note::Entry(Entry::fault(Some(place), "shadow", why)));
                    }
                }
            }
        }
    }

    fn judge(&mut self, place: Place, policy: &Arc<Policy>, judgement: &Judgement) {
        let awake = self.awake(policy);
        let lane = self.lanes.entry(place.session.clone()).or_default();
        if let Some(candidate) = &self.candidate {
            let again = lane.candidate.get_or_insert_with(|| Again::new(candidate));
            if let Some(mut report) = again.judge(candidate, &self.limits, place.turn, judgement) {
                if report.moves_as(&judgement.report) {
                    report.findings.clear(); // what both say stands in the record of the verdict
                }
                note(self.sink.as_ref(), &place, "candidate", candidate.hash, judgement, &report);
            }
        }
        let Some(awake) = awake else { return };
        // Sessions that bring text along change their policy, and tell their conversation anew then.
        let known = lane.awake.take().filter(|(hash, _)| *hash == policy.hash).map(|(_, again)| again);
        let mut again = known.unwrap_or_else(|| Again::new(&awake));
        if let Some(mut report) = again.judge(&awake, &self.limits, place.turn, judgement) {
            let dormant = |id: &str| policy.rules().iter().any(|r| r.shadow && r.id.as_str() == id);
            report.findings.retain(|f| f.rule.as_deref().is_some_and(dormant));
            if !report.findings.is_empty() {
                note(self.sink.as_ref(), &place, "rules", policy.hash, judgement, &report);
            }
        }
        lane.awake = Some((policy.hash, again));
    }

    /// The policy with its rules in shadow acting; none where it has none.
    fn awake(&mut self, policy: &Policy) -> Option<Arc<Policy>> {
        if let Some((_, known)) = self.awake.iter().find(|(hash, _)| *hash == policy.hash) {
            return known.clone();
        }
        let awake = policy.awake().map(Arc::new);
        self.awake.truncate(AWAKE - 1);
        self.awake.insert(0, (policy.hash, awake.clone()));
        awake
    }
}

fn note(sink: &dyn Sink, place: &Place, of: &str, policy: PolicyHash, judged: &Judgement, report: &VerdictReport) {
    match Entry::shadow(place.clone(), of, policy, judged, report) {
        Ok(entry) => sink.note(Note::Entry(entry)),
        Err(error) => tracing::warn!(%error, "a verdict in shadow cannot be written"),
    }
}
