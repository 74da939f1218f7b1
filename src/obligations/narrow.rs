//! A collective call where the driver named single items.

use crate::model::ToolCall;
use crate::policy::{Hit, PhraseRole, Policy, Reading};
use crate::state::{History, ItemRef};
use crate::tools::ToolIx;

use super::answer::is_plain_yes;

/// Driver turns that are looked at.
const TURNS: usize = 3;

/// The calls for the items that the driver named, where a call is for all of them; none where the
/// driver's latest words about the tool name no item, all of them, or a likeness between items.
///
/// Only words that stand in the same clause as the tool's noun count, and a plural noun names no
/// single item.
pub fn narrowed(policy: &Policy, history: &History, call: &ToolCall) -> Option<Vec<ToolCall>> {
    let tool = policy.inventory.position(call.tool.as_str())?;
    let item = policy.model.tool(tool)?.item.as_ref()?;
    let word = call.arguments.get(&item.argument)?.as_str()?;
    if item.resolve(word)? != ItemRef::All {
        return None;
    }
    let latest = history.driver().iter().rev().take(TURNS).map(|said| policy.lexicon().read(said.words.clone()));
    let reading = latest.into_iter().find(|reading| reading.names(tool) || is_plain_yes(reading))?;
    // After a yes the question says what was meant, not the request before it.
    if is_plain_yes(&reading) {
        return None;
    }
    let mut clauses = singular(policy, &reading, tool)?;
    // A clause that names nothing goes on with the one before it: `the seat heating, driver only`.
    for (clause, _) in reading.clauses() {
        let follows = clause.checked_sub(1).is_some_and(|before| clauses.contains(&before));
        if follows && !clauses.contains(&clause) && !reading.nouns().any(|h| reading.clause(h) == clause) {
            clauses.push(clause);
        }
    }
    // A list has its noun at its end: `the driver, passenger and rear window`.
    let sentence = |clause: u16| reading.words().iter().find(|(w, _)| w.clause == clause).map(|(w, _)| w.sentence);
    for (clause, _) in reading.clauses().iter().rev() {
        let next = clause.saturating_add(1);
        let lists = clauses.contains(&next) && sentence(*clause) == sentence(next);
        let names = item.words.iter().any(|(word, _)| says(policy, &reading, *clause, word));
        if lists && names && !clauses.contains(clause) && !reading.nouns().any(|h| reading.clause(h) == *clause) {
            clauses.push(*clause);
        }
    }
    // `All` counts where it is said of this tool, or of nothing in particular.
    let others = |clause: u16| reading.nouns().any(|h| reading.clause(h) == clause);
    let counts = |h: &Hit<'_>| clauses.contains(&reading.clause(h)) || !others(reading.clause(h));
    let likeness = |h: &Hit<'_>| clauses.contains(&reading.clause(h));
    if reading.role(PhraseRole::All).any(counts) || reading.role(PhraseRole::Likeness).any(likeness) {
        return None;
    }
    let mut named: Vec<ItemRef> = Vec::new();
    for clause in clauses.iter().copied() {
        let said = |word: &str| says(policy, &reading, clause, word);
        let here: Vec<(&str, ItemRef)> =
            item.words.iter().filter(|(w, r)| *r != ItemRef::All && said(w)).map(|(w, r)| (w.as_str(), *r)).collect();
        // `driver rear` says `driver` as well: the longer word is the one that was meant.
        let outdone = |word: &str| {
            here.iter().any(|(other, _)| *other != word && parts(word).all(|p| parts(other).any(|o| o == p)))
        };
        for (_, item) in here.iter().filter(|(word, _)| !outdone(word)) {
            if !named.contains(item) {
                named.push(*item);
            }
        }
    }
    let items = policy.model.entity(item.entity).map_or(0, |e| e.items.len());
    if named.is_empty() || named.len() >= items {
        return None;
    }
    let single = |named: &ItemRef| {
        let (word, _) = item.words.iter().find(|(_, r)| r == named)?;
        let mut single = call.clone();
        single.arguments.insert(item.argument.clone(), word.as_str().into());
        Some(single)
    };
    named.iter().map(single).collect()
}

/// The clauses that name a tool's subject; none where one does so in another form than the policy's
/// words, as a plural.
fn singular(policy: &Policy, reading: &Reading<'_>, tool: ToolIx) -> Option<Vec<u16>> {
    let effect = policy.model.tool(tool)?;
    let entity = policy.model.entity(effect.item.as_ref()?.entity)?;
    let nouns = || effect.nouns.values().chain(entity.names.values()).flatten();
    let mut clauses = Vec::new();
    for hit in reading.nouns().filter(|h| h.names(tool)) {
        let last = reading.words().text(hit.end.checked_sub(1)?);
        let plain = nouns().any(|n| n.to_lowercase().ends_with(last));
        if !plain {
            return None;
        }
        clauses.push(reading.clause(hit));
    }
    clauses.dedup();
    Some(clauses)
}

/// Whether a clause says every part of a schema's word, in its spelling or the language's own.
fn says(policy: &Policy, reading: &Reading<'_>, clause: u16, word: &str) -> bool {
    parts(word).all(|part| {
        let part = part.to_lowercase();
        let literal = reading.words().iter().any(|(w, text)| w.clause == clause && text == part);
        let meaning = policy.lexicon().value(&part);
        literal || meaning.is_some_and(|m| reading.hits().iter().any(|h| h.means(m) && reading.clause(h) == clause))
    })
}

fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split(['_', ':', ' ', '-']).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Talk, call, kitchen};
    use serde_json::json;

    fn narrow(door: &str, driver: &[&str]) -> Option<Vec<String>> {
        let policy = kitchen();
        let history = driver.iter().fold(Talk::new(&policy), |talk, said| talk.driver(said)).history();
        let draft = call("move_door", json!({"door": door, "percentage": 50}));
        let calls = narrowed(&policy, &history, &draft)?;
        Some(calls.iter().map(|c| c.arguments["door"].as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn a_single_named_item_is_the_one_that_is_meant() {
        assert_eq!(narrow("ALL", &["open the oven door halfway"]).unwrap(), ["OVEN"]);
        assert_eq!(narrow("ALL", &["open the oven door halfway", "now, please"]).unwrap(), ["OVEN"]);
        assert_eq!(narrow("ALL", &["set the hood all the way up, and open the oven door"]).unwrap(), ["OVEN"]);
    }

    #[test]
    fn all_items_a_plural_a_likeness_and_a_yes_stay_as_they_are() {
        for driver in [
            &["open all doors, the oven door too"] as &[&str],
            &["open the doors"],
            &["open the doors of the oven"],
            &["open the door"],
            &["open the door as far as the same oven door"],
            &["open all of them, the oven door too"],
            &["open the oven door", "yes"],
        ] {
            assert_eq!(narrow("ALL", driver), None, "{driver:?}");
        }
        assert_eq!(narrow("OVEN", &["open the oven door"]), None, "nothing collective");
    }
}
