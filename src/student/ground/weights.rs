//! How welcome a tool is by the words alone, in nats beside what the model thinks. Tuned on the half of the
//! scenarios that is for tuning.

use super::Grounded;
use crate::policy::{Hit, PhraseRole, Policy, Reading};
use crate::tools::{Tool, ToolIx};

/// A tool whose subject is named, against one that merely shares words.
const NAMED: f32 = 7.0;
/// One whose action is named.
const DOES: f32 = 2.0;
/// One all of whose arguments are named, against one none of whose is.
const FITS: f32 = 3.0;
/// The share of the best word score from which a tool whose action is said is what is wanted.
const LIKELY: f32 = 0.6;
/// What a share of the best word score is worth.
const SHARE: f32 = 1.0;
/// A write where something is asked, and a read where nothing is.
const OTHER: f32 = 4.0;
/// A reply without a call where a write is named.
const REPLY: f32 = 5.0;

/// Whether the words ask for something to be done: a switch, or the action of one of these writes.
pub(super) fn wants(policy: &Policy, reading: &Reading<'_>, ranked: &[(ToolIx, f32)], best: f32) -> bool {
    let switched = [PhraseRole::On, PhraseRole::Off, PhraseRole::Least].iter().any(|r| reading.has(*r));
    let mut writes = ranked.iter().filter(|(t, _)| policy.inventory.at(*t).is_some_and(Tool::is_write));
    switched || writes.any(|(t, score)| reading.does(*t) && (reading.names(*t) || *score >= LIKELY * best))
}

/// One where nothing is named and no action is.
const NOTHING: f32 = 1.0;

/// A tool, with its share of the best word score and the share of its arguments that are named; `wants` as above.
pub(super) fn tool(
    reading: &Reading<'_>,
    (ix, tool): (ToolIx, &Tool),
    named: bool,
    share: f32,
    fits: f32,
    wants: bool,
) -> f32 {
    let fits = if named && tool.params.iter().all(|p| !p.required) { 1.0 } else { fits };
    let mut weight = SHARE * share.max(1e-3).ln() + FITS * fits;
    if named {
        weight += NAMED;
    }
    let asks = is_question(reading);
    // In a question a verb tells how something stands: `is the trunk shut`.
    if reading.does(ix) && !(asks && tool.is_write()) {
        weight += DOES;
    }
    if asks == tool.is_write() && (asks || wants) {
        weight -= OTHER;
    }
    weight
}

/// A reply without a call.
pub(super) fn reply(policy: &Policy, reading: &Reading<'_>, tools: &[Grounded]) -> f32 {
    let is_write = |t: &Grounded| policy.inventory.at(t.tool).is_some_and(Tool::is_write);
    let named = |t: &&Grounded| reading.names(t.tool) && (is_write(t) || is_question(reading));
    match tools.iter().any(|t| named(&t)) {
        true => -REPLY,
        false if tools.iter().any(|t| reading.does(t.tool)) => 0.0,
        false => NOTHING,
    }
}

/// Whether something is asked for rather than to be done: `is the roof open`, `tell me how full it is`, `any window
/// open?`. Of several clauses the last one that speaks of anything decides: `it's dark, are my lights on`.
pub(super) fn is_question(reading: &Reading<'_>) -> bool {
    let words = reading.words();
    let clause = |h: &Hit<'_>| reading.clause(h);
    let speaking = reading.hits().iter().filter(|h| h.nouns().next().is_some() || h.verbs().next().is_some());
    let told = speaking.map(clause).max().unwrap_or_default();
    let inside: Vec<&Hit<'_>> = reading.hits().iter().filter(|h| clause(h) == told).collect();
    let first = (0..words.len()).find(|at| words.get(*at).is_some_and(|w| w.clause == told)).unwrap_or_default();
    let Some(opening) = opening(&inside, first) else { return false };
    let is =
        |roles: &[PhraseRole]| inside.iter().filter(|h| h.start == opening).any(|h| roles.iter().any(|r| h.is(*r)));
    let later = |roles: &[PhraseRole]| inside.iter().any(|h| h.start > opening && roles.iter().any(|r| h.is(*r)));
    let acts = inside.iter().filter(|h| h.start == opening).any(|h| h.verbs().next().is_some());
    is(&[PhraseRole::Copula, PhraseRole::AskValue])
        || (is(&[PhraseRole::Look, PhraseRole::Request]) && later(&[PhraseRole::AskValue, PhraseRole::Contingent]))
        || (words.asks() && !acts && !is(&[PhraseRole::Change, PhraseRole::Modal, PhraseRole::Courtesy]))
}

/// Where a clause really begins: what only fills in (`hey`, `so`) or leads up to it (`at what level`) is passed over.
fn opening(inside: &[&Hit<'_>], first: usize) -> Option<usize> {
    let mut at = first;
    loop {
        let here: Vec<&&Hit<'_>> = inside.iter().filter(|h| h.start <= at && at < h.end).collect();
        let keeps = [PhraseRole::Common, PhraseRole::Copula, PhraseRole::AskValue];
        let passed = here.iter().find(|h| {
            let fills = h.is(PhraseRole::Greeting) || (h.is(PhraseRole::Courtesy) && h.end - h.start == 1);
            (fills || h.is(PhraseRole::Target)) && !here.iter().any(|h| keeps.iter().any(|r| h.is(*r)))
        });
        match passed {
            Some(hit) => at = hit.end,
            // One word that no phrase has may stand before it.
            None => return inside.iter().map(|h| h.start).filter(|start| (at..=at + 1).contains(start)).min(),
        }
    }
}
