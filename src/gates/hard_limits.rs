//! The limits of the image, beneath every policy.

use std::time::Duration;

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, ToolCall};
use crate::state::PastCall;
use crate::tools::ToolIx;

gate! {
    /// No call breaks a hard limit of the image.
    ///
    /// # Why
    /// A policy can be wrong and an update can be bad. What must never happen is written in a file of
    /// the image that neither can relax (design §6).
    ///
    /// # Blocks
    /// Opening the trunk above walking pace; any value outside the range that the image allows. A field
    /// that is not known, or whose reading is older than the limit admits, is read first; still unknown it
    /// denies.
    ///
    /// # Allows
    /// A call whose fields are known to keep every limit that names its tool.
    ///
    /// # Remedy
    /// The read of the field, where it is merely not known. Else none: the driver is told at once.
    "hard-limits", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        view.spend(1 + view.limits.limit.len())?;
        // Before this very call: an earlier call of the draft may have brought the car to a stop.
        let world = view.owed.before.get(at).unwrap_or_else(|| view.history.world());
        let age = |cell| view.history.age(&view.policy.model, cell, world);
        let Some(broken) = view.limits.broken_at(&view.policy.model, world, call, &age) else { continue };
        let name = &broken.limit.name;
        findings.push(match broken.unknown.and_then(|read| untried(view, read, broken.limit.fresh())) {
            Some(read) => {
                let because = format!("the hard limit `{name}` depends on what {} reads", read.tool);
                Finding::new(NAME, Tier::Owed, because).at(at).with_remedy(vec![read])
            }
            None => {
                let because = format!("the hard limit `{name}` forbids {call}");
                Finding::new(NAME, Tier::Hard, because).at(at).refusing(broken.limit.say.clone())
            }
        });
    }
    Ok(())
}

/// The call of a read that was not made since the driver last spoke, or so long ago that it counts no more.
fn untried(view: &View<'_>, read: ToolIx, fresh: Option<Duration>) -> Option<ToolCall> {
    let tool = view.policy.inventory.at(read).filter(|t| !view.history.removed().tool(t.name.as_str()))?;
    let turn = view.history.turn();
    let counts = |past: &PastCall| {
        let age = past.at.zip(view.history.clock()).map(|(at, now)| now.saturating_sub(at));
        past.turn == turn && fresh.zip(age).is_none_or(|(limit, age)| age <= limit)
    };
    let tried = view.history.calls_of(read).any(|(_, past)| counts(past));
    (!tried).then(|| ToolCall::new(tool.name.as_str(), Default::default()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, kitchen};
    use super::*;
    use crate::obligations::Owed;
    use crate::policy::HardLimits;
    use serde_json::json;

    const LIMITS: &str = r#"
        [[limit]]
        name = "hood speed"
        tool = "set_hood_speed"
        argument = "level"
        maximum = 3
        say = "The hood stops at three."
    "#;

    fn found(level: u8) -> Vec<Finding> {
        let policy = kitchen();
        let history = Talk::new(&policy).driver("hood up").history();
        let draft = calls(&[("set_hood_speed", json!({"level": level}))]);
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let limits = HardLimits::parse(LIMITS).unwrap();
        let mut findings = Findings::default();
        (GATE.check)(&View::new(&policy, &history, &draft, &owed).with_limits(&limits), &mut findings).unwrap();
        findings.take()
    }

    #[test]
    fn blocks_a_value_beyond_the_limit_at_once() {
        let found = found(4);
        assert!(found[0].fatal && found[0].say.as_deref() == Some("The hood stops at three."));
    }

    #[test]
    fn allows_a_value_at_the_limit() {
        assert_eq!(found(3), []);
    }
}
