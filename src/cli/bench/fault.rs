//! The faults that a student is given, and where in a ground truth each can be.

use clap::ValueEnum;
use serde::Serialize;

use super::course::Course;
use super::place::{Here, at};
use super::script::{Script, Step};
use crate::model::Draft;
use crate::policy::Policy;
use crate::tools::Removed;

/// Classes of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fault {
    /// The ground truth as it is.
    None,
    /// A call that a rule wants with another one is left out.
    Companion,
    /// A reading of the car is left out.
    Read,
    /// Two writes are made in the other order, a reading after what it is for.
    Order,
    /// One item becomes all of them.
    All,
    /// A word of an enumeration in the wrong case.
    EnumCase,
    /// A word that is no member of the enumeration.
    EnumSlip,
    /// A number in another unit, beyond what the schema takes.
    Unit,
    /// An identifier that exists nowhere.
    InventedId,
    /// The identifier of something else.
    WrongId,
    /// The driver is not asked.
    Consent,
    /// "All done" before the last write.
    Done,
    /// A tool that this car lacks.
    Removed,
    /// A call that failed, unchanged once more.
    Repeat,
    /// Two edits of the tour in one message.
    ParallelEdits,
}

/// One faulty run.
#[derive(Debug, Clone, Default)]
pub(super) struct Planned {
    pub(super) script: Script,
    pub(super) removed: Removed,
    /// Canonical form of the call that the car refuses.
    pub(super) broken: Option<String>,
}

impl Fault {
    /// Whether the harness can mend it without asking the student again.
    pub(super) fn is_repairable(self) -> bool {
        matches!(self, Self::Companion | Self::Read | Self::Order | Self::All | Self::EnumCase)
    }
}

/// The ground truth as a script. Recorded reports are templates that spell argument names, not what a
/// student would say: the last reply of a turn is the harness's own, unless the driver answers to it.
pub(super) fn plain(policy: &Policy, course: &Course) -> Script {
    let last = course.turns.len().saturating_sub(1);
    let bare = Draft::reply(bare(policy));
    let turns = course.turns.iter().enumerate().map(|(at, turn)| {
        let right = |d: &Draft| if at == last && d.calls.is_empty() { bare.clone() } else { d.clone() };
        (turn.driver.clone(), turn.drafts.iter().map(|d| Step { right: right(d), wrong: None }).collect())
    });
    Script { turns: turns.collect(), bare: bare.reply.clone().unwrap_or_default() }
}

/// The plainest report there is.
fn bare(policy: &Policy) -> String {
    let language = policy.phrases.first().map(|p| p.language.clone()).unwrap_or_default();
    policy.say(&language, "bare", &[])
}

/// The places of a course at which a fault is put: distinct ones, as many as there are seeds or fewer,
/// drawn pseudo-randomly so that which ones does not hang on the order of the recording; with the number
/// of all.
pub(super) fn sites(policy: &Policy, course: &Course, fault: Fault, seeds: usize) -> (Vec<Planned>, usize) {
    let base = plain(policy, course);
    if fault == Fault::None {
        return (vec![Planned { script: base, ..Planned::default() }], 1);
    }
    let mut found = Vec::new();
    for (t, (_, steps)) in base.turns.iter().enumerate() {
        for (s, step) in steps.iter().enumerate() {
            let next = steps.get(s + 1).map(|n| &n.right);
            found.extend(at(Here { policy, course, base: &base, at: (t, s), right: &step.right, next }, fault));
        }
    }
    let all = found.len();
    (drawn(found, &format!("{}/{fault:?}", course.id), seeds), all)
}

/// The first few of a pseudo-random order.
fn drawn<T>(mut from: Vec<T>, key: &str, most: usize) -> Vec<T> {
    let mut taken = Vec::new();
    while taken.len() < most {
        let Some(at) = draw(&format!("{key}/{}", taken.len()), from.len()) else { break };
        taken.push(from.swap_remove(at));
    }
    taken
}

/// A position below `bound` that a key determines; none where there is none.
pub(super) fn draw(key: &str, bound: usize) -> Option<usize> {
    // FNV-1a with a final mix: the low bits of FNV alone hang on the last letter.
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    usize::try_from(mixed).unwrap_or(0).checked_rem(bound)
}
