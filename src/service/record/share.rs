//! The share of the journal that one user's sessions may fill: a client that talks for ever overwrites its own talk
//! and not the record of what the car did.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::journal::{Entry, Kind};

/// So many users fill the journal between them.
const USERS: u64 = 4;

/// How long it takes until all of a share is free again.
const AGAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// How often it is written down that something was left out.
const TOLD: Duration = Duration::from_secs(60);

/// Most bytes of a call that is recorded beyond the share.
const SHORT: usize = 1_024;

/// What is written of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// All of it.
    Whole,
    /// That and what was done, in a few words.
    Short,
    /// Nothing; it is counted.
    Nothing,
}

/// What each user has left.
#[derive(Debug)]
pub(super) struct Shares {
    /// Bytes of one share.
    share: f64,
    /// The user behind each open session.
    sessions: HashMap<String, u32>,
    users: HashMap<u32, Left>,
}

#[derive(Debug)]
struct Left {
    bytes: f64,
    since: Instant,
    /// Records that were left out and not yet accounted for.
    out: u64,
    told: Option<Instant>,
}

impl Shares {
    /// Of a journal of so many bytes.
    pub(super) fn of(total: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a share need not be exact to the byte")]
        let share = (total / USERS) as f64;
        Self { share, sessions: HashMap::new(), users: HashMap::new() }
    }

    /// What may be written of an entry of so many bytes.
    pub(super) fn take(&mut self, entry: &Entry, bytes: usize, now: Instant) -> Allowed {
        let Some(place) = &entry.place else { return Allowed::Whole };
        if entry.kind == Kind::Session
            && let Some(user) = entry.body.get("user").and_then(|u| u.as_u64()).and_then(|u| u32::try_from(u).ok())
        {
            self.sessions.insert(place.session.clone(), user);
        }
        let Some(user) = self.sessions.get(&place.session).copied() else { return Allowed::Whole };
        if entry.kind == Kind::Session && entry.body.get("what").and_then(|w| w.as_str()) == Some("closed") {
            self.sessions.remove(&place.session);
        }
        let share = self.share;
        let left = self.users.entry(user).or_insert(Left { bytes: share, since: now, out: 0, told: None });
        let earned = now.saturating_duration_since(left.since).as_secs_f64() / AGAIN.as_secs_f64() * share;
        (left.bytes, left.since) = ((left.bytes + earned).min(share), now);
        #[expect(clippy::cast_precision_loss, reason = "a share need not be exact to the byte")]
        let cost = bytes as f64;
        if cost <= left.bytes {
            left.bytes -= cost;
            left.told = left.told.filter(|_| left.out == 0);
            return Allowed::Whole;
        }
        if moves_the_car(entry) {
            return Allowed::Short;
        }
        left.out = left.out.saturating_add(1);
        Allowed::Nothing
    }

    /// Users of whom something was left out, with how much: once in a while, and before something of them is written
    /// again.
    pub(super) fn left_out(&mut self, now: Instant) -> Vec<(u32, u64)> {
        let due = |left: &Left| left.told.is_none_or(|told| now.saturating_duration_since(told) >= TOLD);
        let users = self.users.iter_mut().filter(|(_, left)| left.out > 0 && due(left));
        users
            .map(|(user, left)| {
                left.told = Some(now);
                (*user, std::mem::take(&mut left.out))
            })
            .collect()
    }
}

/// Whether an entry tells what became of the car: that is never left out.
fn moves_the_car(entry: &Entry) -> bool {
    let writes = entry.body.get("writes").and_then(|w| w.as_bool()).unwrap_or(false);
    entry.kind == Kind::Undone || entry.kind == Kind::Executed && writes
}

/// The short form of an entry: what was done and what became of it.
pub(super) fn short(mut entry: Entry) -> Entry {
    entry.body.remove("result");
    entry.body.remove("read_back");
    if let Some(call) = entry.body.get_mut("call").and_then(|call| call.as_object_mut())
        && let Some(arguments) = call.get_mut("arguments")
    {
        let bytes = arguments.to_string().len();
        if bytes > SHORT {
            *arguments = serde_json::json!({ "oversized": bytes });
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Place;
    use serde_json::json;

    const SESSION: &str = "/session/1";

    fn shares() -> Shares {
        let mut shares = Shares::of(4_000);
        let opened = |session, user| Entry::opened(Place::new(session, 0), user, None);
        let now = Instant::now();
        assert_eq!(shares.take(&opened(SESSION, 7), 0, now), Allowed::Whole);
        assert_eq!(shares.take(&opened("/session/2", 8), 0, now), Allowed::Whole);
        shares
    }

    fn said() -> Entry {
        Entry::reply(Place::new(SESSION, 1), "x")
    }

    fn moved() -> Entry {
        let mut entry = said();
        entry.kind = Kind::Executed;
        entry.body = json!({"writes": true, "call": {"tool": "a", "arguments": {"b": "c".repeat(9_000)}}, "result": 1})
            .as_object()
            .unwrap()
            .clone();
        entry
    }

    #[test]
    fn whoever_has_used_up_a_share_is_left_out_and_counted_and_nobody_else_is() {
        let (mut shares, now) = (shares(), Instant::now());
        let written = (0..100).filter(|_| shares.take(&said(), 100, now) == Allowed::Whole).count();
        assert_eq!(written, 10);
        let other = Entry::reply(Place::new("/session/2", 1), "x");
        assert_eq!(shares.take(&other, 100, now), Allowed::Whole);
        assert_eq!(shares.take(&Entry::fault(None, "vehicle", "gone"), 100, now), Allowed::Whole);
        assert_eq!(shares.left_out(now), [(7, 90)]);
        assert_eq!(shares.take(&said(), 100, now), Allowed::Nothing);
        assert!(shares.left_out(now).is_empty(), "once a minute");
        assert_eq!(shares.left_out(now + TOLD), [(7, 1)]);
        assert_eq!(shares.take(&said(), 100, now + AGAIN), Allowed::Whole);
    }

    #[test]
    fn what_became_of_the_car_is_written_whoever_asked_and_shorter_then() {
        let (mut shares, now) = (shares(), Instant::now());
        assert_eq!(shares.take(&moved(), 9_100, now), Allowed::Short);
        let short = short(moved());
        assert_eq!(short.body["call"]["tool"], "a");
        assert!(serde_json::to_string(&short.body).unwrap().len() < 200 && short.body.get("result").is_none());
        let mut read = moved();
        read.body.insert("writes".to_owned(), false.into());
        assert_eq!(shares.take(&read, 9_100, now), Allowed::Nothing);
    }

    #[test]
    fn a_session_that_is_closed_is_forgotten() {
        let (mut shares, now) = (shares(), Instant::now());
        shares.take(&Entry::closed(Place::new(SESSION, 1), "it was not used"), 10, now);
        assert_eq!(shares.sessions.len(), 1);
    }
}
