//! What the driver undid: a value that a call of ours had set, changed back within a minute.
//!
//! *By a request*: a later call that no rule demanded writes the field back. *By hands*: the car changed
//! without a call of ours, and a reading of it says that the field went back. Back is what it was before,
//! and for a number at least half of the way there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval};

use crate::journal::{Action, Entry, Note, Sink};
use crate::model::{ToolCall, Value};
use crate::policy::Policy;
use crate::state::{CellIx, Outcome, World};
use crate::tools::ToolIx;
use crate::vehicle::Vehicle;

/// How long an action is watched.
const WATCHED: Duration = Duration::from_secs(60);

/// How often the car is asked whether something changed by other hands.
const EVERY: Duration = Duration::from_millis(500);

/// Time for a reading.
const READING: Duration = Duration::from_secs(2);

/// Fields that are watched at once: a turn changes a handful, a minute has a few turns.
const MOST: usize = 256;

/// A call that is watched.
struct Call {
    action: Action,
    /// Whether something of it was undone already: it counts once, however many fields go back.
    undone: AtomicBool,
}

/// One watched field.
struct Watched {
    call: Arc<Call>,
    cell: CellIx,
    before: Value,
    ours: Value,
    since: Instant,
}

/// Starts the watch; it ends with the sender.
pub(super) fn start(vehicle: Arc<dyn Vehicle>, sink: Arc<dyn Sink>, runtime: &Handle) -> UnboundedSender<Box<Action>> {
    let (sender, actions) = unbounded_channel();
    runtime.spawn(Watch::new(vehicle, sink).run(actions));
    sender
}

/// The watch over what was done.
pub(super) struct Watch {
    vehicle: Arc<dyn Vehicle>,
    sink: Arc<dyn Sink>,
    watched: Vec<Watched>,
    epoch: u64,
}

impl Watch {
    pub(super) fn new(vehicle: Arc<dyn Vehicle>, sink: Arc<dyn Sink>) -> Self {
        let epoch = vehicle.epoch();
        Self { vehicle, sink, watched: Vec::new(), epoch }
    }

    async fn run(mut self, mut actions: UnboundedReceiver<Box<Action>>) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                action = actions.recv() => match action {
                    Some(action) => self.acted(*action, Instant::now()),
                    None => return,
                },
                _ = tick.tick() => self.look(Instant::now()).await,
            }
        }
    }

    /// Takes in a call of ours: what it undoes, and what is to be watched from here on.
    pub(super) fn acted(&mut self, action: Action, now: Instant) {
        for changed in &action.changed {
            let same = |w: &Watched| w.cell == changed.cell && w.call.action.policy.hash == action.policy.hash;
            let Some(at) = self.watched.iter().position(same) else { continue };
            let watched = self.watched.swap_remove(at);
            if action.rule().is_none() && went_back(&watched, &changed.ours) {
                self.tell(&watched, &changed.ours, "request", now);
            }
        }
        let call = Arc::new(Call { action, undone: AtomicBool::new(false) });
        self.watched.extend(call.action.changed.iter().map(|changed| Watched {
            call: call.clone(),
            cell: changed.cell,
            before: changed.before.clone(),
            ours: changed.ours.clone(),
            since: now,
        }));
        let surplus = self.watched.len().saturating_sub(MOST);
        self.watched.drain(..surplus);
    }

    /// Looks whether other hands changed something.
    pub(super) async fn look(&mut self, now: Instant) {
        self.watched.retain(|w| now.duration_since(w.since) <= WATCHED);
        let epoch = self.vehicle.epoch();
        let changed = std::mem::replace(&mut self.epoch, epoch) != epoch;
        if !changed || self.watched.is_empty() {
            return;
        }
        let mut reads: Vec<(Arc<Policy>, ToolIx)> = Vec::new();
        for watched in &self.watched {
            let policy = &watched.call.action.policy;
            if let Some(read) = reading(policy, watched.cell)
                && !reads.iter().any(|(known, r)| *r == read && known.hash == policy.hash)
            {
                reads.push((policy.clone(), read));
            }
        }
        for (policy, read) in reads {
            let Some(world) = self.read(&policy, read).await else { continue };
            let mine = |w: &Watched| w.call.action.policy.hash == policy.hash && reading(&policy, w.cell) == Some(read);
            let (looked, rest): (Vec<Watched>, Vec<Watched>) = self.watched.drain(..).partition(mine);
            self.watched = rest;
            for watched in looked {
                let value = &world.get(watched.cell).value;
                if went_back(&watched, value) {
                    self.tell(&watched, value, "hands", now);
                } else {
                    self.watched.push(watched);
                }
            }
        }
    }

    async fn read(&self, policy: &Policy, read: ToolIx) -> Option<World> {
        let tool = policy.inventory.at(read)?;
        let call = ToolCall::new(tool.name.as_str(), Default::default());
        let answer = tokio::time::timeout(READING, self.vehicle.call(&call, READING)).await.ok()?;
        let Outcome::Done(payload) = Outcome::from(answer) else { return None };
        let mut world = World::new(&policy.model);
        world.observe_payload(&policy.model, read, &payload);
        Some(world)
    }

    fn tell(&self, watched: &Watched, value: &Value, how: &str, now: Instant) {
        let policy = &watched.call.action.policy;
        let field = policy.model.field_name(watched.cell).unwrap_or_default();
        let attribute = policy.model.owner(watched.cell).and_then(|(a, _)| policy.model.attribute(a));
        let resolution = attribute.map(|a| a.resolution).unwrap_or_default();
        let values = [&watched.before, &watched.ours, value].map(|v| v.display(resolution));
        let after = now.duration_since(watched.since);
        let first = !watched.call.undone.swap(true, Ordering::Relaxed);
        self.sink.note(Note::Entry(Entry::undone(&watched.call.action, &field, values, how, after, first)));
    }
}

fn reading(policy: &Policy, cell: CellIx) -> Option<ToolIx> {
    let (attribute, _) = policy.model.owner(cell)?;
    policy.model.attribute(attribute)?.read
}

/// Whether a field went back to what it was before we changed it.
fn went_back(watched: &Watched, value: &Value) -> bool {
    match (&watched.before, &watched.ours, value) {
        (Value::Int(before), Value::Int(ours), Value::Int(now)) => {
            // Half of the way or more, and not beyond the other end: 30 to 90 set, 60 is back, 120 is not.
            let (way, left) = (ours.abs_diff(*before), now.abs_diff(*before));
            left.saturating_mul(2) <= way && now.abs_diff(*ours).saturating_mul(2) >= way
        }
        (before, _, now) => now.is_known() && now == before,
    }
}
