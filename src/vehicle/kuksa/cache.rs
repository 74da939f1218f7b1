//! What the broker last said of every watched signal, and whether it can still be believed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::plan::Plan;
use super::proto::Datapoint;
use super::raw::Raw;
use crate::state::{Clock, Side, SystemClock};
use crate::vehicle::{Cause, Trouble};

/// What a signal last said.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) raw: Option<Raw>,
    /// When it was taken, as time since boot; none: never.
    pub(super) at: Option<Duration>,
    /// The news that brought it, counted from 1 over all signals.
    pub(super) news: u64,
}

/// Whether the samples are what the broker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Health {
    /// The subscription runs and the broker answers.
    Alive,
    /// It does not; why.
    Lost(Cause, String),
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) samples: Vec<Sample>,
    pub(super) health: Health,
    pub(super) side: Option<Side>,
    pub(super) news: u64,
    epoch: u64,
    /// Signals that a call of ours is moving, each with how many calls.
    ours: HashMap<usize, u32>,
    promised: BTreeSet<String>,
}

/// The samples, shared between the subscription and the calls.
#[derive(Debug)]
pub(super) struct Cache {
    state: Mutex<State>,
    /// Told whenever something changed that a call may wait for.
    changed: watch::Sender<()>,
    /// Counts the times the machine slept.
    slept: watch::Sender<u64>,
    clock: Arc<dyn Clock>,
}

impl Cache {
    pub(super) fn new(promised: BTreeSet<String>) -> Self {
        let health = Health::Lost(Cause::Unreachable, "the broker has not been reached yet".to_owned());
        let state = State {
            plan: None,
            samples: Vec::new(),
            health,
            side: None,
            news: 0,
            epoch: 0,
            ours: HashMap::new(),
            promised,
        };
        Self {
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
            slept: watch::Sender::new(0),
            clock: Arc::new(SystemClock),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.since_boot()
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn sleeps(&self) -> watch::Receiver<u64> {
        self.slept.subscribe()
    }

    pub(super) fn epoch(&self) -> u64 {
        self.state().epoch
    }

    pub(super) fn serves(&self, tool: &str) -> bool {
        let state = self.state();
        state.plan.as_ref().map_or(&state.promised, |plan| &plan.served).contains(tool)
    }

    /// A broker was reached. What was known of the one before is forgotten.
    pub(super) fn connected(&self, plan: Arc<Plan>, side: Option<Side>) {
        let mut state = self.state();
        state.samples = vec![Sample::default(); plan.watched.len()];
        // Which tools are served and which side is the driver's may be other than before.
        state.epoch += 1;
        state.plan = Some(plan);
        state.side = side;
        state.ours.clear();
    }

    /// Says whether the broker can be believed. Losing it means that anything may change unseen.
    pub(super) fn set_health(&self, health: Health) {
        let mut state = self.state();
        if state.health == health {
            return;
        }
        if state.health == Health::Alive {
            state.epoch += 1;
        }
        state.health = health;
        drop(state);
        self.changed.send_replace(());
    }

    /// The machine slept: what was known is old, and what is under way is over.
    pub(super) fn slept(&self) {
        self.state().epoch += 1;
        self.slept.send_modify(|count| *count += 1);
    }

    /// Takes in news of a subscription. Whether a signal's change makes verdicts stale depends on who
    /// changed it: not we, and not time alone.
    pub(super) fn take(&self, entries: impl IntoIterator<Item = (String, Datapoint)>) {
        let (now, wall) = (self.now(), SystemTime::now());
        let mut state = self.state();
        let Some(plan) = state.plan.clone() else { return };
        for (path, point) in entries {
            let Some(at) = plan.by_path.get(&path).copied() else { continue };
            state.put(&plan, at, &point, now, wall);
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Takes in values that were asked for.
    pub(super) fn refresh(&self, plan: &Arc<Plan>, signals: &[usize], points: &[Datapoint]) {
        let (now, wall) = (self.now(), SystemTime::now());
        let mut state = self.state();
        if !state.plan.as_ref().is_some_and(|current| Arc::ptr_eq(current, plan)) {
            return;
        }
        for (at, point) in signals.iter().zip(points) {
            state.put(plan, *at, point, now, wall);
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Marks signals as moved by us for as long as the mark lives.
    pub(super) fn claim(self: &Arc<Self>, plan: &Arc<Plan>, signals: Vec<usize>) -> Claim {
        let mut state = self.state();
        for signal in &signals {
            *state.ours.entry(*signal).or_default() += 1;
        }
        Claim { cache: self.clone(), plan: plan.clone(), signals }
    }

    /// The plan, once the broker is there and answers.
    pub(super) fn plan(&self) -> Result<Arc<Plan>, Trouble> {
        let state = self.state();
        match (&state.health, &state.plan) {
            (Health::Alive, Some(plan)) => Ok(plan.clone()),
            (Health::Lost(cause, why), _) => Err(Trouble::untouched(*cause, why.clone())),
            (Health::Alive, None) => Err(Trouble::untouched(Cause::Unreachable, "the broker was not asked yet")),
        }
    }
}

impl State {
    fn put(&mut self, plan: &Plan, at: usize, point: &Datapoint, now: Duration, wall: SystemTime) {
        let raw = point.value.as_ref().and_then(Raw::read);
        self.news += 1;
        let news = self.news;
        let Some(sample) = self.samples.get_mut(at) else { return };
        let first = sample.news == 0;
        let changed = sample.raw != raw;
        *sample = Sample { raw, at: taken(point, now, wall).or(sample.at), news };
        let sampled = plan.watched.get(at).is_some_and(|w| w.sampled);
        if changed && !first && !sampled && !self.ours.contains_key(&at) {
            self.epoch += 1;
        }
    }
}

/// When a value was taken, as time since boot. The broker stamps it with the time of day, which may jump;
/// a stamp from the future counts as now, and none where there is no value.
fn taken(point: &Datapoint, now: Duration, wall: SystemTime) -> Option<Duration> {
    point.value.as_ref()?;
    let stamp = point.timestamp.and_then(|t| SystemTime::try_from(t).ok());
    let age = stamp.and_then(|t| wall.duration_since(t).ok()).unwrap_or_default();
    Some(now.saturating_sub(age))
}

/// Signals that a call of ours is moving.
#[derive(Debug)]
pub(super) struct Claim {
    cache: Arc<Cache>,
    plan: Arc<Plan>,
    signals: Vec<usize>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.cache.state();
        // After a reconnection the positions belong to another plan, and the claims are gone.
        if !state.plan.as_ref().is_some_and(|current| Arc::ptr_eq(current, &self.plan)) {
            return;
        }
        for signal in &self.signals {
            if let Some(count) = state.ours.get_mut(signal) {
                *count -= 1;
                if *count == 0 {
                    state.ours.remove(signal);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::kuksa::plan::Watched;
    use crate::vehicle::kuksa::proto::{DataType, EntryType, Value, value::TypedValue};

    fn point(n: u32, age: Duration) -> Datapoint {
        let timestamp = Some((SystemTime::now() - age).into());
        Datapoint { timestamp, value: Some(Value { typed_value: Some(TypedValue::Uint32(n)) }) }
    }

    fn cache() -> (Arc<Cache>, Arc<Plan>) {
        let watched = |path: &str, sampled| Watched {
            path: path.to_owned(),
            data: DataType::Uint8,
            entry: EntryType::Actuator,
            least: None,
            most: None,
            allowed: Vec::new(),
            sampled,
        };
        let by_path = [("switch".to_owned(), 0), ("speed".to_owned(), 1)].into();
        let plan = Arc::new(Plan {
            watched: vec![watched("switch", false), watched("speed", true)],
            by_path,
            ..Plan::default()
        });
        let cache = Arc::new(Cache::new(BTreeSet::new()));
        cache.connected(plan.clone(), None);
        cache.set_health(Health::Alive);
        cache.take([("switch".to_owned(), point(1, Duration::ZERO)), ("speed".to_owned(), point(50, Duration::ZERO))]);
        (cache, plan)
    }

    fn moves(cache: &Arc<Cache>, path: &str, n: u32) -> bool {
        let before = cache.epoch();
        cache.take([(path.to_owned(), point(n, Duration::ZERO))]);
        cache.epoch() != before
    }

    #[test]
    fn only_a_change_by_other_hands_makes_verdicts_stale() {
        let (cache, plan) = cache();
        assert!(moves(&cache, "switch", 2), "somebody pressed it");
        assert!(!moves(&cache, "switch", 2), "nothing changed");
        assert!(!moves(&cache, "speed", 51), "a car in motion");
        let claim = cache.claim(&plan, vec![0]);
        assert!(!moves(&cache, "switch", 3), "we moved it");
        drop(claim);
        assert!(moves(&cache, "switch", 4), "what arrives after our call is over is not expected any more");
    }

    #[test]
    fn a_lost_broker_and_a_night_in_the_garage_make_verdicts_stale() {
        let (cache, _) = cache();
        let before = cache.epoch();
        cache.set_health(Health::Lost(Cause::Frozen, "silent".into()));
        assert_eq!(cache.plan().unwrap_err().cause, Cause::Frozen);
        let lost = cache.epoch();
        cache.set_health(Health::Alive);
        cache.slept();
        assert!(before < lost && lost < cache.epoch());
    }

    #[test]
    fn a_sample_is_as_old_as_its_stamp_and_never_from_the_future() {
        let (now, wall) = (Duration::from_secs(1_000), SystemTime::now());
        let stamped = |at: SystemTime| Datapoint { timestamp: Some(at.into()), ..point(1, Duration::ZERO) };
        let old = taken(&stamped(wall - Duration::from_secs(30)), now, wall);
        assert_eq!(old, Some(Duration::from_secs(970)));
        let future = stamped(wall + Duration::from_secs(9));
        assert_eq!(taken(&future, now, wall), Some(now));
        assert_eq!(taken(&Datapoint::default(), now, wall), None);
    }
}
