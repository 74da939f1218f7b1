//! The table of registrations, and what providers owe.
//!
//! The bus lets a connection wait for so many answers (128 on the system bus) and delivers no more calls of it then.
//! A call that we gave up holds its place until it is answered or its provider leaves the bus, so one provider that
//! never answers would end by taking all others away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::Registration;
use crate::model::ToolName;

/// Calls that a connection may leave unanswered: one may be bad luck.
pub(super) const OF_CONNECTION: usize = 3;

/// Calls that all connections of one user may leave unanswered: several such users leave room for the others.
pub(super) const OF_USER: usize = 24;

/// Who provides what, and who owes answers.
pub(super) struct Desk {
    table: Mutex<Table>,
    /// Counts what happened to registrations, and wakes whoever announces it.
    pub(super) changes: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct Table {
    /// Tools that the configuration leaves to providers.
    pub(super) reserved: BTreeSet<ToolName>,
    /// Tools that were ever provided and that no real car has.
    pub(super) once: BTreeSet<ToolName>,
    pub(super) by_tool: BTreeMap<ToolName, Arc<Registration>>,
    /// Calls that were given up unanswered, by connection, with its user.
    unanswered: BTreeMap<String, (u32, usize)>,
}

impl Table {
    /// The calls that stand in the way of a connection: its own, or those of all of its user.
    pub(super) fn debts(&self, owner: &str, user: u32) -> Option<usize> {
        let own = self.unanswered.get(owner).map_or(0, |(_, calls)| *calls);
        let all: usize = self.unanswered.values().filter(|(of, _)| *of == user).map(|(_, calls)| calls).sum();
        if own >= OF_CONNECTION { Some(own) } else { (all >= OF_USER).then_some(all) }
    }
}

impl Desk {
    pub(super) fn new(reserved: BTreeSet<ToolName>) -> Self {
        let table = Mutex::new(Table { reserved, ..Table::default() });
        Self { table, changes: watch::Sender::new(0) }
    }

    /// Every change of the table is whole, so a panic elsewhere leaves nothing half done in it.
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something changed.
    pub(super) fn tell(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Withdraws registrations; whether there were any.
    pub(super) fn end(&self, which: impl Fn(&Registration) -> bool) -> bool {
        let mut table = self.table();
        let before = table.by_tool.len();
        table.by_tool.retain(|_, registration| {
            let goes = which(registration);
            if goes {
                registration.ended.send_replace(true);
            }
            !goes
        });
        let changed = table.by_tool.len() != before;
        drop(table);
        if changed {
            self.tell();
        }
        changed
    }

    /// Begins to wait for an answer of a provider.
    pub(super) fn wait_for(self: &Arc<Self>, registration: &Registration) -> Waiting {
        let (owner, user) = (registration.line.owner().to_owned(), registration.user);
        Waiting(Arc::new(Place { desk: self.clone(), owner, user, stage: Mutex::new(Stage::Waiting) }))
    }

    fn given_up(&self, owner: &str, user: u32) {
        let mut table = self.table();
        table.unanswered.entry(owner.to_owned()).or_insert((user, 0)).1 += 1;
        let debts = table.debts(owner, user);
        drop(table);
        if let Some(calls) = debts
            && self.end(|registration| registration.line.owner() == owner)
        {
            tracing::warn!(provider = owner, calls, "a provider leaves its calls unanswered; its tools are withdrawn");
        }
    }

    fn answered(&self, owner: &str) {
        let mut table = self.table();
        if let Some((_, calls)) = table.unanswered.get_mut(owner) {
            *calls = calls.saturating_sub(1);
            if *calls == 0 {
                table.unanswered.remove(owner);
            }
        }
    }
}

/// A call that somebody waits for. It ends with whoever waits.
pub(super) struct Waiting(Arc<Place>);

impl Waiting {
    /// The place that the call holds on the bus.
    pub(super) fn place(&self) -> Arc<Place> {
        self.0.clone()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.turn(Stage::GivenUp);
    }
}

/// The place of a call among those whose answers the bus lets our connection wait for.
pub(super) struct Place {
    desk: Arc<Desk>,
    owner: String,
    user: u32,
    stage: Mutex<Stage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    GivenUp,
    Answered,
}

impl Place {
    /// The call was answered, or the bus says that it never will be.
    pub(super) fn free(&self) {
        self.turn(Stage::Answered);
    }

    fn turn(&self, to: Stage) {
        // Held until it is in the table too: an answer that comes at the same moment counts after it.
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        match (*stage, to) {
            (Stage::Waiting, Stage::GivenUp) => self.desk.given_up(&self.owner, self.user),
            (Stage::GivenUp, Stage::Answered) => self.desk.answered(&self.owner),
            (Stage::Waiting, Stage::Answered) => {}
            _ => return,
        }
        *stage = to;
    }
}
