//! Phrase tables, and texts read with them.

use obligato::model::{Draft, PolicyHash};
use obligato::policy::{Phrases, Policy, PolicyParts};
use obligato::state::History;

use super::scene::{cabin, judge};

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(table) = Phrases::parse(text) else { return };
    let parts = PolicyParts {
        id: "phrases".to_owned(),
        inventory: cabin().inventory.iter().cloned().collect(),
        model: cabin().model.clone(),
        phrases: vec![table],
        ..PolicyParts::default()
    };
    let Ok(policy) = Policy::new(parts, PolicyHash::default()) else { return };
    let mut history = History::new(&policy.model);
    history.heard("Yes please, but only if the roof is at fifty percent; öffne das Fenster.");
    for reply in ["I've set it to 50 percent, all done!", "Kann ich nicht. Soll ich es um 7 Uhr versuchen?", text] {
        let reply: String = reply.chars().take(2_000).collect();
        let _ = judge(&policy, &history, &Draft::reply(reply));
    }
}
