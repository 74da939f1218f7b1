//! The same message twice.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Exhausted, Findings, View, gate};
use crate::model::{Arguments, Finding, Tier};
use crate::tools::Tool;

gate! {
    /// Nobody outside the car is reached twice for one wish.
    ///
    /// # Why
    /// A second mail cannot be called back, and the first one was not lost.
    ///
    /// # Blocks
    /// A call that reaches outside, identical to one that succeeded since the driver last spoke. One to
    /// the same address with another text goes before the critic: it may be a correction.
    ///
    /// # Allows
    /// A retry of what failed, other addresses, and what the driver asked for again.
    ///
    /// # Remedy
    /// None: leave it out.
    "outward-duplicate", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        let Some(known) = view.policy.inventory.at(tool).filter(|t| t.outward) else { continue };
        let key = call.key();
        for past in view.this_turn().filter(|past| past.tool == Some(tool) && past.succeeded()) {
            view.spend(1)?;
            let (tier, what) = if past.key == key {
                (Tier::Hard, "was made already and succeeded")
            } else if !addresses(known, &call.arguments).is_disjoint(&addresses(known, &past.call.arguments)) {
                (Tier::Advisory, "reaches somebody who was reached already in this turn")
            } else {
                continue;
            };
            findings.push(Finding::new(NAME, tier, format!("`{}` {what}", call.tool)).at(at));
            break;
        }
    }
    Ok(())
}

/// Whom a call reaches: words of its list arguments, or its only text.
fn addresses(tool: &Tool, arguments: &Arguments) -> BTreeSet<String> {
    let lists = arguments.values().filter_map(Json::as_array).flatten().filter_map(Json::as_str);
    let mut found: BTreeSet<String> = lists.map(str::to_lowercase).collect();
    if tool.params.len() == 1 {
        found.extend(arguments.values().filter_map(Json::as_str).map(str::to_lowercase));
    }
    found
}
