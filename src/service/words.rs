//! What is reported as said by the driver, from the moment at which it comes down the bus.
//!
//! ```text
//! door ── number, in the order of the bus ─┬─▶ comes in ─▶ waits for its turn ─▶ taken in
//!                                          └─▶ turned away: lost
//! ```
//!
//! A "no" must never be weaker than the "yes" before it, whatever becomes of its call. So words count from the moment
//! at which the door sees them: no yes and no question of before holds from then on. That goes for whoever may report
//! words alone, else a stranger could undo each yes. Where the door cannot know that yet the bus is asked, and nothing
//! new is carried out before it has answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::open::{Holder, OpenSession};
use crate::turn::Overheard;

/// Calls that may be on their way from the door to their session; more than the bus lets wait.
const ON_THE_WAY: usize = 4_096;
/// Callers that are known of one session.
const KNOWN: usize = 64;
/// Callers that may be asked about at once.
const DOUBTS: usize = 64;

/// By which method words come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// `Heard`.
    Heard,
    /// `Start` and `Say`.
    Said,
}

impl Report {
    /// None: the method brings no words of the driver.
    pub(super) fn by(member: &str) -> Option<Self> {
        match member {
            "Heard" => Some(Self::Heard),
            "Start" | "Say" => Some(Self::Said),
            _ => None,
        }
    }
}

/// The words of one session.
#[derive(Debug)]
pub(super) struct Words {
    overheard: Arc<Overheard>,
    /// Whether a speech service is configured.
    speech: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    /// Numbers of what came in and has not reached its session, by sender and serial.
    coming: BTreeMap<(String, u32), u64>,
    /// Who may report and who may not, as the bus said.
    known: Vec<(String, Report, bool)>,
    doubts: Vec<(String, Report, oneshot::Receiver<()>)>,
}

/// Words were turned away of which it is not known whether their sender may report any.
pub(super) struct Doubt {
    /// The session.
    pub(super) session: Arc<OpenSession>,
    /// Who sent them.
    pub(super) sender: String,
    /// How.
    pub(super) report: Report,
    /// Dropped when it is known.
    _known: oneshot::Sender<()>,
}

/// What became of words that were turned away.
pub(super) enum Away {
    /// No earlier yes holds any more.
    Lost,
    /// They are a stranger's and count for nothing.
    Strange,
    /// The bus must be asked, where it is not being asked already.
    Doubted(Option<Doubt>),
}

impl Words {
    pub(super) fn new(overheard: Arc<Overheard>, speech: bool) -> Self {
        Self { overheard, speech, state: Mutex::default() }
    }

    /// The door lets words in.
    pub(super) fn come_in(&self, holder: &Holder, sender: &str, serial: u32, report: Report) {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        if state.coming.len() >= ON_THE_WAY {
            // Without a number they let no yes hold, their own included.
            state.coming.pop_first();
        }
        state.coming.insert((sender.to_owned(), serial), number);
        if self.may(&state, holder, sender, report) == Some(true) {
            self.overheard.reported(number);
        }
    }

    /// The number of words that have reached their session; 0 where they have none.
    pub(super) fn number(&self, sender: &str, serial: u32) -> u64 {
        self.state().coming.remove(&(sender.to_owned(), serial)).unwrap_or_default()
    }

    /// Whether somebody may report words, as far as it is known.
    pub(super) fn known(&self, holder: &Holder, sender: &str, report: Report) -> Option<bool> {
        self.may(&self.state(), holder, sender, report)
    }

    /// Somebody who may report them reported words.
    pub(super) fn reported(&self, number: u64) {
        self.overheard.reported(number);
    }

    /// Words of somebody who may report them are not taken in.
    pub(super) fn lost(&self, number: u64) {
        self.overheard.lost(number);
    }

    /// It became known whether somebody may report words.
    pub(super) fn learn(&self, sender: &str, report: Report, may: bool) {
        // Whom the name of the speech service belongs to may change.
        if self.speech && !may {
            return;
        }
        let mut state = self.state();
        state.known.retain(|(who, how, _)| !(who == sender && *how == report));
        if state.known.len() >= KNOWN {
            state.known.remove(0);
        }
        state.known.push((sender.to_owned(), report, may));
    }

    /// Waits until it is known of everybody who lost words whether that counts.
    pub(super) async fn settled(&self) {
        let doubts = std::mem::take(&mut self.state().doubts);
        for (.., known) in doubts {
            // It comes when the other end is dropped.
            let _ = known.await;
        }
    }

    fn may(&self, state: &State, holder: &Holder, sender: &str, report: Report) -> Option<bool> {
        match holder.connection() {
            Some(connection) if connection == sender && (report == Report::Said || !self.speech) => Some(true),
            Some(_) if !self.speech => Some(false),
            _ => state.known.iter().find(|(who, how, _)| who == sender && *how == report).map(|(_, _, may)| *may),
        }
    }

    fn doubt(&self, session: &Arc<OpenSession>, sender: &str, report: Report) -> Away {
        let mut state = self.state();
        state.last += 1;
        state.doubts.retain_mut(|(.., wait)| wait.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        if state.doubts.iter().any(|(who, how, _)| who == sender && *how == report) {
            return Away::Doubted(None);
        }
        match self.may(&state, &session.holder, sender, report) {
            Some(false) => return Away::Strange,
            None if state.doubts.len() < DOUBTS => {}
            _ => {
                self.overheard.lost(state.last);
                return Away::Lost;
            }
        }
        let (known, wait) = oneshot::channel();
        state.doubts.push((sender.to_owned(), report, wait));
        Away::Doubted(Some(Doubt { session: session.clone(), sender: sender.to_owned(), report, _known: known }))
    }

    /// Every change of the state is whole, so a panic elsewhere leaves nothing half done in it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSession {
    /// The door turns words away.
    pub(super) fn turn_words_away(self: &Arc<Self>, sender: &str, report: Report) -> Away {
        let away = self.words.doubt(self, sender, report);
        if matches!(away, Away::Lost) {
            self.drop_question();
        }
        away
    }

    /// It became known of somebody who lost words whether he may report any.
    pub(super) fn settle_words(&self, may: bool) {
        if may {
            let last = self.words.state().last;
            self.lose_words(last);
        }
    }

    /// Words of somebody who may report them are not taken in: no question waits any more either.
    pub(super) fn lose_words(&self, number: u64) {
        self.words.lost(number);
        self.drop_question();
    }
}
