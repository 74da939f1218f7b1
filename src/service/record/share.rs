//! The share of the journal that one user's sessions, and steps of updates, may fill: a client that talks for ever
//! overwrites its own talk and not the record of what the car did.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::journal::{Entry, Kind};

/// So many users fill the journal between them.
const USERS: u64 = 4;

/// The steps of updates that one user asks for fill one part of so many of a share, beside the sessions of that user.
const STEPS: f64 = 8.0;

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
    users: HashMap<Who, Left>,
}

/// Whose share it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    /// A user's sessions.
    Sessions(u32),
    /// A user who asks for steps of updates; none where the bus does not say who.
    Steps(Option<u32>),
}

/// What was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) user: Option<u32>,
    pub(super) records: u64,
    /// Whether they are steps of updates.
    pub(super) steps: bool,
}

#[derive(Debug)]
struct Left {
    bytes: f64,
    since: Instant,
    /// Records that were left out and not yet accounted for.
    out: u64,
    told: Option<Instant>,
    /// The step that was refused or found nothing to do last, and when that was written: the same again is counted.
    step: Option<(String, Instant)>,
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
        if entry.kind == Kind::Update {
            return self.step(entry, bytes, now);
        }
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
        let left = self.left(Who::Sessions(user), self.share, now);
        if left.pays(bytes) {
            return Allowed::Whole;
        }
        if is_evidence(entry) {
            return Allowed::Short;
        }
        left.out = left.out.saturating_add(1);
        Allowed::Nothing
    }

    /// The same of a step of an update.
    fn step(&mut self, entry: &Entry, bytes: usize, now: Instant) -> Allowed {
        let user = entry.body.get("by").and_then(|u| u.as_u64()).and_then(|u| u32::try_from(u).ok());
        let left = self.left(Who::Steps(user), self.share / STEPS, now);
        let kind = fruitless(entry);
        let again = |(last, since): &(String, Instant)| {
            kind.as_ref() == Some(last) && now.saturating_duration_since(*since) < TOLD
        };
        if !left.step.as_ref().is_some_and(again) {
            if left.pays(bytes) {
                left.step = kind.map(|kind| (kind, now));
                return Allowed::Whole;
            }
            // What is in force, and whose keys are believed, is never left out.
            if changes_the_policy(entry) {
                return Allowed::Whole;
            }
        }
        left.out = left.out.saturating_add(1);
        Allowed::Nothing
    }

    /// What somebody has left now.
    fn left(&mut self, who: Who, share: f64, now: Instant) -> &mut Left {
        let new = Left { bytes: share, since: now, out: 0, told: None, step: None };
        let left = self.users.entry(who).or_insert(new);
        let earned = now.saturating_duration_since(left.since).as_secs_f64() / AGAIN.as_secs_f64() * share;
        (left.bytes, left.since) = ((left.bytes + earned).min(share), now);
        left
    }

    /// Users of whom something was left out, with how much: once in a while, and before something of them is written
    /// again.
    pub(super) fn left_out(&mut self, now: Instant) -> Vec<LeftOut> {
        let due = |left: &Left| left.told.is_none_or(|told| now.saturating_duration_since(told) >= TOLD);
        let users = self.users.iter_mut().filter(|(_, left)| left.out > 0 && due(left));
        users
            .map(|(who, left)| {
                left.told = Some(now);
                let records = std::mem::take(&mut left.out);
                match *who {
                    Who::Sessions(user) => LeftOut { user: Some(user), records, steps: false },
                    Who::Steps(user) => LeftOut { user, records, steps: true },
                }
            })
            .collect()
    }
}

impl Left {
    /// Whether so many bytes are left, which are gone then.
    fn pays(&mut self, bytes: usize) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a share need not be exact to the byte")]
        let cost = bytes as f64;
        if cost > self.bytes {
            return false;
        }
        self.bytes -= cost;
        self.told = self.told.filter(|_| self.out == 0);
        true
    }
}

/// What a step came to that changed nothing, in words that are the same where the step is.
fn fruitless(entry: &Entry) -> Option<String> {
    let text = |name: &str| entry.body.get(name).and_then(|v| v.as_str()).unwrap_or_default();
    matches!(text("what"), "refused" | "unchanged")
        .then(|| format!("{} {} {}", text("what"), text("step"), text("error")))
}

/// Whether an entry tells of another policy in force, or of other keys.
fn changes_the_policy(entry: &Entry) -> bool {
    let what = entry.body.get("what").and_then(|v| v.as_str()).unwrap_or_default();
    matches!(what, "activated" | "committed" | "rolled-back" | "keys")
}

/// Whether an entry tells what became of the car, or what the driver agreed to: that is never left out.
fn is_evidence(entry: &Entry) -> bool {
    let says = |name: &str| entry.body.get(name).and_then(|w| w.as_bool()).unwrap_or(false);
    match entry.kind {
        Kind::Undone => true,
        Kind::Executed => says("writes"),
        Kind::Grant => says("granted"),
        _ => false,
    }
}

/// The short form of an entry: what was done or agreed to, and what became of it.
pub(super) fn short(mut entry: Entry) -> Entry {
    entry.body.remove("result");
    entry.body.remove("read_back");
    let one = entry.body.get_mut("call").map(std::slice::from_mut);
    one.into_iter().flatten().for_each(shorten);
    if let Some(calls) = entry.body.get_mut("calls").and_then(|calls| calls.as_array_mut()) {
        calls.iter_mut().for_each(shorten);
    }
    entry
}

fn shorten(call: &mut Json) {
    if let Some(arguments) = call.get_mut("arguments") {
        let bytes = arguments.to_string().len();
        if bytes > SHORT {
            *arguments = json!({ "oversized": bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Place;
    use crate::model::ToolCall;

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
    fn what_the_driver_agreed_to_is_on_record_beyond_the_share_in_short() {
        let (mut shares, now) = (shares(), Instant::now());
        while shares.take(&said(), 100, now) == Allowed::Whole {}
        let long = json!({"text": "b".repeat(9_000)}).as_object().unwrap().clone();
        let bound = [ToolCall::new("send", long), ToolCall::new("open", serde_json::Map::new())];
        let grant = |granted| Entry::grant(Place::new(SESSION, 1), granted, &bound);
        assert_eq!(shares.take(&grant(true), 20_000, now), Allowed::Short);
        assert_eq!(shares.take(&grant(false), 20_000, now), Allowed::Nothing);
        let short = short(grant(true));
        assert!(Json::from(short.body.clone()).to_string().len() < 1_000, "{short:?}");
        assert_eq!([&short.body["calls"][0]["tool"], &short.body["calls"][1]["tool"]], ["send", "open"]);
    }

    #[test]
    fn whoever_has_used_up_a_share_is_left_out_and_counted_and_nobody_else_is() {
        let (mut shares, now) = (shares(), Instant::now());
        let written = (0..100).filter(|_| shares.take(&said(), 100, now) == Allowed::Whole).count();
        assert_eq!(written, 10);
        let other = Entry::reply(Place::new("/session/2", 1), "x");
        assert_eq!(shares.take(&other, 100, now), Allowed::Whole);
        assert_eq!(shares.take(&Entry::fault(None, "vehicle", "gone"), 100, now), Allowed::Whole);
        assert_eq!(shares.left_out(now), [left_out(7, 90, false)]);
        assert_eq!(shares.take(&said(), 100, now), Allowed::Nothing);
        assert!(shares.left_out(now).is_empty(), "once a minute");
        assert_eq!(shares.left_out(now + TOLD), [left_out(7, 1, false)]);
        assert_eq!(shares.take(&said(), 100, now + AGAIN), Allowed::Whole);
    }

    fn left_out(user: u32, records: u64, steps: bool) -> LeftOut {
        LeftOut { user: Some(user), records, steps }
    }

    #[test]
    fn steps_of_updates_have_a_share_of_their_own_and_the_same_refusal_again_is_counted() {
        let (mut shares, now) = (Shares::of(400_000), Instant::now());
        let refused = |error: &str| Entry::update_refused("unstage", error, "why", Some(7));
        assert_eq!(shares.take(&refused("NothingToDo"), 100, now), Allowed::Whole);
        assert!((0..20_000).all(|_| shares.take(&refused("NothingToDo"), 100, now) == Allowed::Nothing));
        assert_eq!(shares.left_out(now), [left_out(7, 20_000, true)]);
        assert_eq!(shares.take(&refused("Storage"), 100, now), Allowed::Whole, "another one");
        // Steps that alternate use the share up, and what is in force is written all the same.
        let step = |what| Entry::update(what, 2, Some(7));
        let written = (0..5_000).filter(|_| shares.take(&step("staged"), 100, now) == Allowed::Whole).count();
        assert_eq!(written, 123);
        assert_eq!(shares.take(&refused("NotAuthentic"), 100, now), Allowed::Nothing);
        for what in ["activated", "committed", "rolled-back", "keys"] {
            assert_eq!(shares.take(&step(what), 100, now), Allowed::Whole, "{what}");
        }
        // Neither another user's steps nor this one's sessions pay for that.
        assert_eq!(shares.take(&Entry::update("staged", 2, Some(8)), 100, now), Allowed::Whole);
        shares.take(&Entry::opened(Place::new(SESSION, 0), 7, None), 0, now);
        assert_eq!(shares.take(&said(), 90_000, now), Allowed::Whole);
        assert_eq!(shares.take(&refused("NotAuthentic"), 100, now + AGAIN), Allowed::Whole);
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
