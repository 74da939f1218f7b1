//! The table of open sessions: bounded, and every one in it has a holder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zbus::names::UniqueName;
use zbus::wire::OwnedObjectPath;

use super::config::ServiceConfig;
use super::open::{Holder, OpenSession};
use super::{ROOT_PATH, Refusal};
use crate::turn::Session;

/// All open sessions.
pub(super) struct Sessions {
    table: Mutex<Table>,
    most: usize,
    most_per_holder: usize,
    most_per_user: usize,
    /// Whether a speech service is configured.
    speech: bool,
}

#[derive(Default)]
struct Table {
    /// The latest number given out. Numbers are not used twice: a path names one session for good.
    last: u32,
    open: BTreeMap<u32, Arc<OpenSession>>,
}

impl Sessions {
    pub(super) fn new(config: &ServiceConfig) -> Self {
        Self {
            table: Mutex::default(),
            most: config.max_sessions,
            most_per_holder: config.max_sessions_per_client,
            most_per_user: config.max_sessions_per_user,
            speech: config.speech.is_some(),
        }
    }

    /// Opens a session of a user. `make` is given its path.
    pub(super) fn open(
        &self,
        holder: Holder,
        user: u32,
        make: impl FnOnce(&str) -> Session,
    ) -> Result<Arc<OpenSession>, Refusal> {
        let mut table = self.table();
        if table.open.len() >= self.most {
            return Err(Refusal::TooMany(format!(
                "{} sessions are open, the most this service has; close one",
                self.most
            )));
        }
        if table.open.values().filter(|s| s.holder == holder).count() >= self.most_per_holder {
            return Err(Refusal::TooMany(format!(
                "you hold {} sessions, the most one client may have; close one",
                self.most_per_holder
            )));
        }
        // Whoever may connect may connect often, so connections are no bound.
        if table.open.values().filter(|s| s.user == user).count() >= self.most_per_user {
            return Err(Refusal::TooMany(format!(
                "your user holds {} sessions over all connections, the most one user may have; close one",
                self.most_per_user
            )));
        }
        table.last = table.last.saturating_add(1);
        let number = table.last;
        let path = OwnedObjectPath::try_from(format!("{ROOT_PATH}/session/{number}"))
            .map_err(|e| Refusal::Internal(e.to_string()))?;
        let conversation = make(path.as_str());
        let session = Arc::new(OpenSession::new(path, holder, user, self.speech, conversation));
        table.open.insert(number, session.clone());
        Ok(session)
    }

    /// The session of that path.
    pub(super) fn get(&self, path: &str) -> Result<Arc<OpenSession>, Refusal> {
        let table = self.table();
        let found = table.open.values().find(|s| s.path.as_str() == path).cloned();
        found.ok_or_else(|| Refusal::no_session(path))
    }

    /// Takes a session out of the table.
    pub(super) fn remove(&self, session: &OpenSession) {
        self.table().open.retain(|_, s| s.path != session.path);
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.table().open.len()
    }

    /// Those that go with a connection.
    pub(super) fn of_connection(&self, name: &UniqueName<'_>) -> Vec<Arc<OpenSession>> {
        self.select(|s| matches!(&s.holder, Holder::Connection(holder) if *holder == *name))
    }

    /// Those that were not used for that long.
    pub(super) fn idle_for(&self, limit: Duration) -> Vec<Arc<OpenSession>> {
        self.select(|s| s.idle().is_some_and(|idle| idle >= limit))
    }

    /// All.
    pub(super) fn all(&self) -> Vec<Arc<OpenSession>> {
        self.select(|_| true)
    }

    fn select(&self, wanted: impl Fn(&OpenSession) -> bool) -> Vec<Arc<OpenSession>> {
        self.table().open.values().filter(|s| wanted(s)).cloned().collect()
    }

    /// Every change of the table is whole, so a panic elsewhere leaves nothing half done in it.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
