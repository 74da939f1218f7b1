//! Requests about a moment to come.

use std::cell::OnceCell;

use serde_json::Value as Json;

use super::{Exhausted, Findings, View, gate};
use crate::model::word_number;
use crate::model::{Finding, Tier, ToolCall};
use crate::policy::{PhraseRole, Reading};
use crate::tools::{Tool, ToolIx};

gate! {
    /// A question about a later moment is not answered by what holds now.
    ///
    /// # Why
    /// A station that is open now may be closed on arrival, and one that is closed now may be open then.
    ///
    /// # Blocks
    /// A search narrowed to what is `currently` so, when the driver asked for tonight, for an arrival
    /// or for a time of day: the unfiltered search is made first. A reply that rests on the narrowed
    /// search alone is sent back.
    ///
    /// # Allows
    /// The filter when the driver asked for now, the word in free text (a mail), and every request
    /// that names no later moment. The moment is that of the driver's latest words, or of those before
    /// when the latest only answer a question.
    ///
    /// # Remedy
    /// The same search without the filter, which the harness makes itself; the answer is then judged at
    /// the moment asked for.
    "future-condition", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    let later = OnceCell::new();
    for (at, call) in view.draft.calls.iter().enumerate() {
        let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { continue };
        view.spend(1 + call.arguments.len())?;
        if let Some((member, unfiltered)) = narrowed(view, &later, tool, call)? {
            let because = format!("the driver asked about a later moment, but `{member}` filters by the present one");
            findings.push(Finding::new(NAME, Tier::Owed, because).at(at).with_remedy(vec![unfiltered]));
        }
    }
    if view.reply().is_none() {
        return Ok(());
    }
    for past in view.this_turn().filter(|past| past.succeeded()) {
        view.spend(1)?;
        let Some(tool) = past.tool else { continue };
        if let Some((member, unfiltered)) = narrowed(view, &later, tool, &past.call)? {
            let because =
                format!("the driver asked about a later moment, but the reply rests on a search by `{member}`");
            findings.push(Finding::new(NAME, Tier::Hard, because).with_remedy(vec![unfiltered]));
            break;
        }
    }
    Ok(())
}

/// A search that the present narrows although the driver asked for later: the member that does it, and
/// the search without it, unless that was made as well. Whether later was asked for is found out once.
fn narrowed(
    view: &View<'_>,
    later: &OnceCell<bool>,
    tool: ToolIx,
    call: &ToolCall,
) -> Result<Option<(String, ToolCall)>, Exhausted> {
    let asked = || *later.get_or_init(|| asks_for_later(view));
    let description = view.policy.inventory.at(tool).filter(|t| !t.is_write() && asked());
    let Some((member, unfiltered)) = description.and_then(|t| without_present(view, t, call)) else { return Ok(None) };
    let key = unfiltered.key();
    for (_, past) in view.history.calls_of(tool) {
        view.spend(1)?;
        if past.key == key && past.succeeded() {
            return Ok(None);
        }
    }
    Ok(Some((member, unfiltered)))
}

/// The first member of an enumeration in a call that means the present, and the call without it.
fn without_present(view: &View<'_>, tool: &Tool, call: &ToolCall) -> Option<(String, ToolCall)> {
    call.arguments.iter().find_map(|(name, value)| {
        let members = tool.param(name)?.members();
        let present =
            |word: &Json| word.as_str().is_some_and(|w| members.iter().any(|m| m == w) && means_present(view, w));
        let mut unfiltered = call.clone();
        let found = match value {
            Json::Array(items) => {
                let found = items.iter().find(|i| present(i))?;
                let rest: Vec<Json> = items.iter().filter(|i| !present(i)).cloned().collect();
                if rest.is_empty() {
                    unfiltered.arguments.remove(name);
                } else {
                    unfiltered.arguments.insert(name.clone(), Json::Array(rest));
                }
                found
            }
            word if present(word) => {
                unfiltered.arguments.remove(name);
                word
            }
            _ => return None,
        };
        Some((found.as_str().unwrap_or_default().to_owned(), unfiltered))
    })
}

/// Whether a schema's word means the present (`any::currently_open`).
fn means_present(view: &View<'_>, member: &str) -> bool {
    let spoken = member.replace(['_', ':'], " ");
    view.policy.read(&spoken).has(PhraseRole::Current)
}

/// Whether the driver asks about a later moment and not about now.
fn asks_for_later(view: &View<'_>) -> bool {
    let mut turns = view.history.driver().iter().rev();
    let later = |reading: &Reading<'_>| (names_later(reading), reading.has(PhraseRole::Current));
    let Some(latest) = view.driver() else { return false };
    match later(latest) {
        (_, true) => false,
        (true, false) => true,
        // An answer to a question belongs to the request before it.
        (false, false) if latest.words().len() <= SHORT => {
            turns.nth(1).is_some_and(|before| later(&view.policy.lexicon().read(before.words.clone())) == (true, false))
        }
        (false, false) => false,
    }
}

/// Words of an answer that only completes the request before it.
const SHORT: usize = 6;

/// A later moment in words, or a time of day.
fn names_later(reading: &Reading<'_>) -> bool {
    let words = reading.words();
    let after_number = |at: usize| at.checked_sub(1).is_some_and(|before| word_number(words.text(before)).is_some());
    reading.has(PhraseRole::Future)
        || reading.role(PhraseRole::Clock).any(|h| after_number(h.start))
        || words.iter().any(|(_, word)| is_clock_time(word))
}

/// `20:00`: digits that can only be a time of day.
fn is_clock_time(word: &str) -> bool {
    let two = |text: &str, most: u8| text.len() <= 2 && text.parse::<u8>().is_ok_and(|n| n <= most);
    word.split_once(':').is_some_and(|(hour, minute)| two(hour, 24) && minute.len() == 2 && two(minute, 59))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::model::Draft;
    use serde_json::json;

    fn search(filters: &[&str]) -> Draft {
        calls(&[("search_recipes", json!({"dish": "cakes", "filters": filters}))])
    }

    fn found(driver: &[&str], draft: &Draft) -> Vec<Finding> {
        let policy = kitchen();
        let mut talk = Talk::new(&policy);
        for (at, said) in driver.iter().enumerate() {
            if at > 0 {
                talk = talk.assistant("Which one?");
            }
            talk = talk.driver(said);
        }
        check(&GATE, &policy, &talk.history(), draft)
    }

    #[test]
    fn blocks_a_filter_by_now_when_asked_about_later() {
        let draft = search(&["any::currently_in_season", "cakes::vegan"]);
        for driver in ["a cake for tonight", "a cake for 19:30 please", "Einen Kuchen für morgen", "something for 7pm"]
        {
            let found = found(&[driver], &draft);
            assert_eq!(found[0].remedy[0].arguments["filters"], json!(["cakes::vegan"]), "{driver}");
        }
        assert_eq!(
            found(&["a cake for tonight"], &search(&["any::currently_in_season"]))[0].remedy[0].arguments.len(),
            1
        );
    }

    #[test]
    fn blocks_when_the_latest_words_only_answer_a_question() {
        assert_eq!(found(&["a cake for tonight", "the vegan one"], &search(&["any::currently_in_season"])).len(), 1);
    }

    #[test]
    fn allows_the_filter_when_asked_about_now_or_about_no_moment() {
        let draft = search(&["any::currently_in_season"]);
        for driver in
            ["what cakes are in season right now", "a cake for tonight with what is in season now", "some cake"]
        {
            assert_eq!(found(&[driver], &draft), [], "{driver}");
        }
        let changed = ["a cake for tonight", "Never mind that, just tell me what cake fits us best"];
        assert_eq!(found(&changed, &draft), []);
    }

    #[test]
    fn allows_free_text_about_now() {
        let draft = calls(&[("send_list", json!({"text": "I am currently baking", "addresses": ["a@x.org"]}))]);
        assert_eq!(found(&["the 13:30 meeting moved, mail a@x.org that I am currently baking"], &draft), []);
    }

    #[test]
    fn blocks_a_reply_that_rests_on_such_a_search_alone() {
        let policy = kitchen();
        let by = |filters: &[&str]| json!({"dish": "cakes", "filters": filters});
        let searched = |said: &str| {
            Talk::new(&policy).driver(said).done("search_recipes", by(&["any::currently_in_season"]), json!({}))
        };
        let reply = Draft::reply("There is only one cake.");
        let found = |talk: Talk<'_>| check(&GATE, &policy, &talk.history(), &reply);
        assert_eq!(found(searched("a cake for tonight"))[0].tier, Tier::Hard);
        assert_eq!(found(searched("any cake?")), []);
        let both = searched("a cake for tonight").done("search_recipes", json!({"dish": "cakes"}), json!({}));
        assert_eq!(found(both), []);
    }
}
