//! What the broker last said of every watched signal, and whether it can still be believed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::plan::Plan;
use super::proto::Datapoint;
use super::raw::Raw;
use crate::state::Clock;
use crate::vehicle::{Cause, Trouble};

/// What a signal last said.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) raw: Option<Raw>,
    /// When it was taken, as time since boot; none: nobody knows, and for all that is known long ago.
    pub(super) at: Option<Duration>,
    /// The broker's stamp on it. What comes with the same one is the same measurement, however often
    /// it is asked for.
    stamp: Option<SystemTime>,
    /// The broker was asked for it: it was what the broker had at that moment, and no news that was on its way.
    asked: bool,
    /// The news that brought it, counted from 1 over all signals.
    pub(super) news: u64,
    /// The latest news with which it said something else than before.
    pub(super) changed: u64,
}

/// How far a stamp may lie ahead of our own time of day and still be one of this moment: more than the
/// clocks of one car differ, and an eighth of the shortest time in which rules of the cabin want a value.
const SKEW: Duration = Duration::from_millis(250);

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
    pub(super) fn new(promised: BTreeSet<String>, clock: Arc<dyn Clock>) -> Self {
        let health = Health::Lost(Cause::Unreachable, "the broker has not been reached yet".to_owned());
        let state =
            State { plan: None, samples: Vec::new(), health, news: 0, epoch: 0, ours: HashMap::new(), promised };
        Self { state: Mutex::new(state), changed: watch::Sender::new(()), slept: watch::Sender::new(0), clock }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.since_boot()
    }

    /// The time of day.
    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.clock.unix()
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn sleeps(&self) -> watch::Receiver<u64> {
        self.slept.subscribe()
    }

    pub(super) fn times_slept(&self) -> u64 {
        *self.slept.borrow()
    }

    pub(super) fn epoch(&self) -> u64 {
        self.state().epoch
    }

    pub(super) fn serves(&self, tool: &str) -> bool {
        let state = self.state();
        state.plan.as_ref().map_or(&state.promised, |plan| &plan.served).contains(tool)
    }

    /// A broker was reached. What was known of the one before is forgotten.
    pub(super) fn connected(&self, plan: Arc<Plan>) {
        let mut state = self.state();
        state.samples = vec![Sample::default(); plan.watched.len()];
        // Which tools are served and which side is the driver's may be other than before.
        state.epoch += 1;
        state.plan = Some(plan);
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

    /// The machine slept or is about to: what was known is old until the broker was asked again, and what
    /// is under way is over.
    pub(super) fn slept(&self) {
        let mut state = self.state();
        state.epoch += 1;
        if state.health == Health::Alive {
            let why = "the machine slept, and the broker was not asked since".to_owned();
            state.health = Health::Lost(Cause::Suspended, why);
        }
        drop(state);
        self.slept.send_modify(|count| *count += 1);
    }

    /// Takes in news of a subscription. Whether a signal's change makes verdicts stale depends on who
    /// changed it: not we, and not time alone.
    pub(super) fn take(&self, entries: impl IntoIterator<Item = (String, Datapoint)>) {
        let (now, wall) = (self.now(), self.wall());
        let mut state = self.state();
        let Some(plan) = state.plan.clone() else { return };
        for (path, point) in entries {
            let Some(at) = plan.by_path.get(&path).copied() else { continue };
            state.put(&plan, at, &point, Source::News, now, wall);
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// The news that came so far.
    pub(super) fn news(&self) -> u64 {
        self.state().news
    }

    /// Takes in values that were asked for; `since` is the news that had come by then.
    pub(super) fn refresh(&self, plan: &Arc<Plan>, signals: &[usize], points: &[Datapoint], since: u64) {
        let (now, wall) = (self.now(), self.wall());
        let mut state = self.state();
        if !state.is_under(plan) {
            return;
        }
        for (at, point) in signals.iter().zip(points) {
            state.put(plan, *at, point, Source::Answer { since }, now, wall);
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Whether the car still says the driver's side that a plan was made for.
    pub(super) fn is_for_this_side(&self, plan: &Plan) -> bool {
        let Some(at) = plan.side_at else { return true };
        let state = self.state();
        state.samples.get(at).is_none_or(|sample| sample.news == 0 || plan.is_for(sample.raw.as_ref()))
    }

    /// Marks signals as moved by us for as long as the mark lives; none under another plan, where the
    /// same positions are other signals.
    pub(super) fn claim(self: &Arc<Self>, plan: &Arc<Plan>, signals: Vec<usize>) -> Option<Claim> {
        let mut state = self.state();
        if !state.is_under(plan) {
            return None;
        }
        for signal in &signals {
            *state.ours.entry(*signal).or_default() += 1;
        }
        Some(Claim { cache: self.clone(), plan: plan.clone(), signals })
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
    /// Whether positions of signals are still those of a plan.
    pub(super) fn is_under(&self, plan: &Arc<Plan>) -> bool {
        self.plan.as_ref().is_some_and(|current| Arc::ptr_eq(current, plan))
    }

    fn put(&mut self, plan: &Plan, at: usize, point: &Datapoint, source: Source, now: Duration, wall: SystemTime) {
        let raw = point.value.as_ref().and_then(Raw::read);
        let (Some(sample), Some(watched)) = (self.samples.get_mut(at), plan.watched.get(at)) else { return };
        let stamp = point.timestamp.and_then(|stamp| SystemTime::try_from(stamp).ok());
        let overtaken = match source {
            Source::News => sample.asked && stamp.is_some() && stamp < sample.stamp,
            Source::Answer { since } => sample.news > since && stamp <= sample.stamp,
        };
        if overtaken {
            return;
        }
        self.news += 1;
        let news = self.news;
        let first = sample.news == 0;
        let changes = sample.raw != raw;
        let says_another = !watched.same(sample.raw.as_ref(), raw.as_ref());
        let changed = if changes { news } else { sample.changed };
        let repeated = !first && !changes && stamp.is_some() && stamp == sample.stamp;
        let taken_at = match &raw {
            None => sample.at,
            // The time of day may have been set since, which makes no measurement newer.
            Some(_) if repeated => sample.at,
            Some(_) => taken(stamp, now, wall),
        };
        let asked = matches!(source, Source::Answer { .. });
        if plan.side_at == Some(at) && !plan.is_for(raw.as_ref()) {
            self.epoch += 1;
            let why = "the car says another side of the driver, and its signals are looked for anew".to_owned();
            self.health = Health::Lost(Cause::Side, why);
        }
        *sample = Sample { raw, at: taken_at, stamp, asked, news, changed };
        if says_another && !first && !watched.sampled && !self.ours.contains_key(&at) {
            self.epoch += 1;
        }
    }
}

/// How a value came.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// By the subscription, in the order of its changes. The broker drops some where we are slow, and what it
    /// kept while it froze arrives after its answers: it is believed unless an answer was newer.
    News,
    /// The broker was asked: it is what the broker had then, unless news came since that are not older.
    Answer {
        /// The news that had come when it was asked.
        since: u64,
    },
}

/// When a value was taken, as time since boot; none where its stamp does not say. The broker stamps values
/// with the time of day, which may have been wrong or unset then: a stamp from the future, or none, tells
/// nothing of the age, and a value may have lain in the broker for hours.
fn taken(stamp: Option<SystemTime>, now: Duration, wall: SystemTime) -> Option<Duration> {
    match wall.duration_since(stamp?) {
        Ok(age) => now.checked_sub(age).or(Some(Duration::ZERO)),
        Err(ahead) => (ahead.duration() <= SKEW).then_some(now),
    }
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
        if !state.is_under(&self.plan) {
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
    use crate::state::{AttrIx, AttrType, Signal, SignalForm, SystemClock};
    use crate::vehicle::kuksa::convert::testing::attribute;
    use crate::vehicle::kuksa::plan::{Meaning, Watched};
    use crate::vehicle::kuksa::proto::{DataType, EntryType, Value, value::TypedValue};

    fn point(n: u32, age: Duration) -> Datapoint {
        let timestamp = Some((SystemTime::now() - age).into());
        Datapoint { timestamp, value: Some(Value { typed_value: Some(TypedValue::Uint32(n)) }) }
    }

    /// Tens stand for levels, and what is near one of them for the same.
    fn level() -> Signal {
        let numbers = (0..10).map(|n| f64::from(n) * 10.0).collect();
        let form = SignalForm::Levels { numbers, tolerance: 2.0 };
        Signal { attribute: AttrIx(0), items: Vec::new(), form, range: None, sampled: false }
    }

    fn cache() -> (Arc<Cache>, Arc<Plan>) {
        let watched = |path: &str, sampled| Watched {
            path: path.to_owned(),
            data: DataType::Uint8,
            entry: EntryType::Actuator,
            least: None,
            most: None,
            allowed: Vec::new(),
            unit: String::new(),
            sampled,
            meanings: vec![Meaning { attribute: attribute(AttrType::Int, 1), signal: level() }],
        };
        let by_path = [("switch".to_owned(), 0), ("speed".to_owned(), 1)].into();
        let plan = Arc::new(Plan {
            watched: vec![watched("switch", false), watched("speed", true)],
            by_path,
            ..Plan::default()
        });
        let cache = Arc::new(Cache::new(BTreeSet::new(), Arc::new(SystemClock)));
        cache.connected(plan.clone());
        cache.set_health(Health::Alive);
        cache.take([("switch".to_owned(), point(10, Duration::ZERO)), ("speed".to_owned(), point(50, Duration::ZERO))]);
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
        assert!(moves(&cache, "switch", 20), "somebody pressed it");
        assert!(!moves(&cache, "switch", 20), "nothing changed");
        assert!(!moves(&cache, "speed", 60), "a car in motion");
        let claim = cache.claim(&plan, vec![0]).unwrap();
        assert!(!moves(&cache, "switch", 30), "we moved it");
        drop(claim);
        assert!(moves(&cache, "switch", 40), "what arrives after our call is over is not expected any more");
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
        assert_eq!(cache.plan().unwrap_err().cause, Cause::Suspended, "what was known before is not believed");
    }

    #[test]
    fn a_claim_under_another_plan_is_none_and_takes_nothing_with_it() {
        let (cache, old) = cache();
        let held = cache.claim(&old, vec![0]).unwrap();
        let current = Arc::new(Plan { watched: old.watched.clone(), by_path: old.by_path.clone(), ..Plan::default() });
        cache.connected(current.clone());
        assert!(cache.claim(&old, vec![0]).is_none());
        let claim = cache.claim(&current, vec![0]).unwrap();
        drop(held);
        cache.take([("switch".to_owned(), point(10, Duration::ZERO))]);
        assert!(!moves(&cache, "switch", 20), "the end of an old claim does not end this one");
        drop(claim);
        assert!(moves(&cache, "switch", 30));
    }

    #[test]
    fn a_value_is_as_old_as_its_stamp_and_of_no_known_age_without_one_or_with_one_of_the_future() {
        let (now, wall) = (Duration::from_secs(1_000), SystemTime::now());
        let second = Duration::from_secs(1);
        assert_eq!(taken(Some(wall - 30 * second), now, wall), Some(970 * second));
        assert_eq!(taken(Some(wall - 5_000 * second), now, wall), Some(Duration::ZERO), "from before the boot");
        assert_eq!(taken(Some(wall + SKEW), now, wall), Some(now), "clocks of one car differ a little");
        assert_eq!(taken(Some(wall + SKEW + second), now, wall), None);
        assert_eq!(taken(Some(wall + 86_400 * second), now, wall), None);
        assert_eq!(taken(None, now, wall), None);
    }

    #[test]
    fn only_what_some_field_says_otherwise_is_a_change() {
        let (cache, _) = cache();
        assert!(!moves(&cache, "switch", 12), "the same level");
        assert!(!moves(&cache, "switch", 8), "and still");
        assert!(moves(&cache, "switch", 5), "between two levels is none");
        assert!(!moves(&cache, "switch", 4), "and so is this");
        assert!(moves(&cache, "switch", 10), "the level again");
        let before = cache.epoch();
        cache.take([("switch".to_owned(), Datapoint::default())]);
        assert_ne!(cache.epoch(), before, "nothing is said of it any more");
    }

    #[test]
    fn an_answer_is_not_overwritten_by_news_that_were_on_their_way_nor_newer_news_by_an_answer() {
        let (cache, plan) = cache();
        let says = || cache.state().samples[0].raw.clone();
        let second = Duration::from_secs(1);
        cache.refresh(&plan, &[0], &[point(50, second)], cache.news());
        cache.take([("switch".to_owned(), point(20, 3 * second))]);
        assert_eq!(says(), Some(Raw::Number(50.0)), "it was published before what the broker has");
        cache.take([("switch".to_owned(), point(30, Duration::ZERO))]);
        assert_eq!(says(), Some(Raw::Number(30.0)), "and this after it");
        let asked = cache.news();
        cache.take([("switch".to_owned(), point(40, Duration::ZERO))]);
        cache.refresh(&plan, &[0], &[point(30, second)], asked);
        assert_eq!(says(), Some(Raw::Number(40.0)), "the answer was given before");
        let asked = cache.news();
        cache.take([("switch".to_owned(), point(50, second))]);
        cache.refresh(&plan, &[0], &[point(20, Duration::ZERO)], asked);
        assert_eq!(says(), Some(Raw::Number(20.0)), "what came meanwhile was on its way for longer");
        // A clock that was set back stamps earlier; what the broker has is what it has.
        cache.refresh(&plan, &[0], &[point(60, 9 * second)], cache.news());
        assert_eq!(says(), Some(Raw::Number(60.0)));
        cache.take([("switch".to_owned(), point(70, 8 * second))]);
        assert_eq!(says(), Some(Raw::Number(70.0)));
    }

    /// A machine whose time of day is set by hand.
    #[derive(Debug, Default)]
    struct Wound {
        boot: Mutex<Duration>,
        unix: Mutex<Duration>,
    }

    impl Clock for Wound {
        fn since_boot(&self) -> Duration {
            *self.boot.lock().unwrap()
        }

        fn unix(&self) -> Duration {
            *self.unix.lock().unwrap()
        }
    }

    #[test]
    fn a_measurement_that_is_asked_for_again_is_no_newer_whatever_the_time_of_day_was_set_to() {
        let (_, plan) = cache();
        let clock = Arc::new(Wound { boot: Mutex::new(Duration::from_secs(100)), unix: Mutex::new(NOON) });
        let cache = Cache::new(BTreeSet::new(), clock.clone());
        cache.connected(plan.clone());
        let stamped = Datapoint { timestamp: Some((SystemTime::UNIX_EPOCH + NOON).into()), ..point(50, NOON) };
        cache.refresh(&plan, &[1], std::slice::from_ref(&stamped), cache.news());
        let at = || cache.state().samples[1].at;
        assert_eq!(at(), Some(Duration::from_secs(100)));
        // Ten seconds later the time of day is set back by ten seconds.
        *clock.boot.lock().unwrap() = Duration::from_secs(110);
        cache.refresh(&plan, &[1], std::slice::from_ref(&stamped), cache.news());
        assert_eq!(at(), Some(Duration::from_secs(100)));
        // Another value without a stamp is not the same measurement, and nobody knows when it was taken.
        cache.refresh(&plan, &[1], &[Datapoint { timestamp: None, ..point(51, NOON) }], cache.news());
        assert_eq!(at(), None);
    }

    const NOON: Duration = Duration::from_secs(1_800_000_000);
}
