//! The thread that writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::counts::{REQUEST, add};
use super::shadow::Shadow;
use super::share::{Allowed, LeftOut, Shares, short};
use super::{Counts, Standing, Work, weight};
use crate::journal::{Action, Entry, Journal, JournalError, Judgement, Kind, Note, Place, Settings};
use crate::model::VerdictReport;
use crate::policy::Policy;
use crate::service::telemetry::Traces;
use crate::state::SystemClock;

/// How long a journal that could not be opened is left alone.
const RETRY: Duration = Duration::from_secs(5);

/// How long the scribe waits before it looks after what was lost.
const TICK: Duration = Duration::from_secs(1);

/// Writes what it is handed.
pub(super) struct Scribe {
    settings: Option<Settings>,
    journal: Option<Journal>,
    retry: Option<Instant>,
    counts: watch::Sender<Counts>,
    standing: watch::Sender<Standing>,
    /// Everything that was ever lost, wherever it was lost.
    lost: Arc<AtomicU64>,
    /// How much of it the journal knows.
    told: u64,
    /// What each user may still write.
    shares: Shares,
    /// Records of users that had used up their shares.
    left_out: u64,
    shadow: Option<Shadow>,
    traces: Option<Traces>,
    watching: mpsc::UnboundedSender<Box<Action>>,
}

impl Scribe {
    pub(super) fn new(
        settings: Option<Settings>,
        counts: watch::Sender<Counts>,
        standing: watch::Sender<Standing>,
        lost: Arc<AtomicU64>,
        (shadow, traces): (Option<Shadow>, Option<Traces>),
        watching: mpsc::UnboundedSender<Box<Action>>,
    ) -> Self {
        let shares = Shares::of(settings.as_ref().map_or(u64::MAX, |settings| settings.total_bytes));
        Self {
            settings,
            journal: None,
            retry: None,
            counts,
            standing,
            lost,
            told: 0,
            shares,
            left_out: 0,
            shadow,
            traces,
            watching,
        }
    }

    pub(super) fn run(mut self, work: &Receiver<Work>, waiting: &AtomicUsize) {
        loop {
            match work.recv_timeout(TICK) {
                Ok(Work::Note { note, bytes, at }) => {
                    self.traces.iter_mut().for_each(|traces| traces.note(&note, at));
                    self.take(note);
                    waiting.fetch_sub(bytes, Ordering::AcqRel);
                }
                Ok(Work::Stop(told)) => {
                    self.append(Entry::new(Kind::Stopped, None, serde_json::Map::new()));
                    let synced = self.journal.as_mut().map(Journal::sync);
                    if let Some(Err(error)) = synced {
                        self.fail(&error);
                    }
                    self.traces.iter_mut().for_each(Traces::stop);
                    // Whoever asked may have stopped waiting.
                    let _ = told.send(());
                    return;
                }
                Err(RecvTimeoutError::Timeout) => self.account(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Entry(entry) => {
                self.look(&entry);
                self.append(entry);
            }
            Note::Judged { place, policy, judgement } => self.judged(place, policy, judgement),
            Note::Acted(action) => {
                self.counts.send_modify(|counts| counts.acted(&action));
                // The watch ends with the runtime.
                let _ = self.watching.send(action);
            }
        }
    }

    fn judged(&mut self, place: Place, policy: Arc<Policy>, judgement: Box<Judgement>) {
        self.counts.send_modify(|counts| counts.judged(&judgement));
        let report = &judgement.report;
        let names = |of: &dyn Fn(&crate::model::ReportedFinding) -> Option<String>| {
            let mut names: Vec<String> = report.findings.iter().filter_map(of).collect();
            names.sort_unstable();
            names.dedup();
            names.join(" ")
        };
        tracing::info!(
            session = place.session, turn = place.turn, verdict = report.verdict.as_str(), micros = report.micros,
            gates = names(&|f| Some(f.gate.clone())), rules = names(&|f| f.rule.clone()), policy = %judgement.policy,
            "a draft was judged"
        );
        match Entry::verdict(place.clone(), &judgement) {
            Ok(entry) => self.append(entry),
            Err(error) => self.fail(&JournalError::Encode(error)),
        }
        if let Some(shadow) = self.shadow.as_mut().filter(|s| s.concerns(&policy)) {
            let taken = shadow.judge(place, policy, judgement);
            if !taken {
                self.lost.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Counts and logs what an entry says.
    fn look(&mut self, entry: &Entry) {
        let text = |name: &str| entry.body.get(name).and_then(|v| v.as_str()).unwrap_or_default();
        let flag = |name: &str| entry.body.get(name).and_then(|v| v.as_bool()).unwrap_or_default();
        let (session, turn) = entry.place.as_ref().map_or(("", 0), |p| (p.session.as_str(), p.turn));
        match entry.kind {
            Kind::Undone => {
                let rule = entry.body.get("rule").and_then(|v| v.as_str()).unwrap_or(REQUEST);
                if flag("first") {
                    self.counts.send_modify(|counts| add(&mut counts.undone, rule));
                }
                tracing::info!(session, turn, rule, field = text("field"), how = text("how"), "an action was undone");
            }
            Kind::Shadow => {
                let report = entry.body.get("report").cloned().unwrap_or_default();
                if let Ok(report) = serde_json::from_value::<VerdictReport>(report) {
                    self.counts.send_modify(|counts| counts.shadowed(text("of"), flag("same"), &report));
                }
            }
            Kind::Executed => {
                let call = entry.body.get("call").and_then(|c| c.get("tool")).and_then(|t| t.as_str());
                tracing::info!(session, turn, tool = call, outcome = text("outcome"), "a call was carried out");
            }
            Kind::Session if text("what") == "closed" => {
                self.shadow.iter_mut().for_each(|shadow| shadow.close(session));
            }
            _ => {}
        }
    }

    fn append(&mut self, entry: Entry) {
        let allowed = self.shares.take(&entry, weight::record(&entry), Instant::now());
        // What is missing before this record stands before it.
        self.account();
        match allowed {
            Allowed::Whole => drop(self.write(entry)),
            Allowed::Short => drop(self.write(short(entry))),
            Allowed::Nothing => {
                self.left_out = self.left_out.saturating_add(1);
                self.counts.send_modify(|counts| counts.dropped = counts.dropped.saturating_add(1));
            }
        }
    }

    /// Brings into the journal that something is missing from it.
    fn account(&mut self) {
        for LeftOut { user, records, steps } in self.shares.left_out(Instant::now()) {
            self.write(match (user, steps) {
                (Some(user), false) => Entry::left_out(records, user),
                (user, _) => Entry::steps_left_out(records, user),
            });
        }
        let lost = self.lost.load(Ordering::Acquire);
        let missing = lost.saturating_sub(self.told);
        if missing == 0 {
            return;
        }
        let left_out = self.left_out;
        self.counts.send_modify(|counts| counts.dropped = lost.saturating_add(left_out));
        if self.settings.is_none()
            || self.write(Entry::dropped(missing, "the queue was full, or they could not be written"))
        {
            self.told = lost;
        }
    }

    /// Writes one record; whether it stands.
    fn write(&mut self, entry: Entry) -> bool {
        if !self.open() {
            if self.settings.is_some() && entry.kind != Kind::Dropped {
                self.lost.fetch_add(1, Ordering::AcqRel);
            }
            return false;
        }
        let dropped = entry.kind == Kind::Dropped;
        let Some(journal) = &mut self.journal else { return false };
        match journal.append(entry) {
            Ok(_) => {
                let head = journal.head().to_owned();
                self.counts.send_modify(|counts| {
                    counts.records = counts.records.saturating_add(1);
                    counts.head = head;
                });
                self.standing
                    .send_if_modified(|now| std::mem::replace(now, Standing::Recording) != Standing::Recording);
                true
            }
            Err(error) => {
                // One that could not be synced stands all the same.
                let stands = matches!(&error, JournalError::Io { what: "sync", .. });
                if !stands && !dropped {
                    self.lost.fetch_add(1, Ordering::AcqRel);
                }
                self.fail(&error);
                stands
            }
        }
    }

    /// Whether there is a journal to write to.
    fn open(&mut self) -> bool {
        if self.journal.is_some() {
            return true;
        }
        let Some(settings) = &self.settings else { return false };
        if self.retry.is_some_and(|at| at > Instant::now()) {
            return false;
        }
        match Journal::open(settings.clone(), Arc::new(SystemClock)) {
            Ok(journal) => {
                self.journal = Some(journal);
                true
            }
            Err(error) => {
                self.retry = Some(Instant::now() + RETRY);
                self.fail(&error);
                false
            }
        }
    }

    fn fail(&mut self, error: &JournalError) {
        let why = error.to_string();
        let next = Standing::Failing(why.clone());
        if self.standing.send_if_modified(|now| std::mem::replace(now, next.clone()) != next) {
            tracing::error!(why, "the journal is incomplete");
        }
    }
}
