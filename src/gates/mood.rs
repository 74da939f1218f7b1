//! Whether words that speak of a thing ask for it: a question after it, a denial and a reminder do not.

use super::said::names;
use super::{Exhausted, View};
use crate::policy::{PhraseRole, Reading};
use crate::tools::ToolIx;

/// Utterances of the driver that are looked back at.
const KEPT: usize = 3;

/// The words by which the driver spoke of what a tool acts on without asking for anything; none where some words of
/// the latest utterances may ask for it, or where nobody spoke of it.
pub(super) fn unasked(view: &View<'_>, tool: ToolIx) -> Result<Option<String>, Exhausted> {
    // Most requests have none of these words, and then nothing more is to be looked at.
    let marks = [PhraseRole::Inquiry, PhraseRole::AskValue, PhraseRole::Unasked];
    if !view.heard()?.iter().take(KEPT).any(|said| marks.iter().any(|role| said.has(*role))) {
        return Ok(None);
    }
    // `Do it` is a yes, too, and may be to any words of the assistant; one to nothing asks for nothing.
    let answers = view.spoken()?.iter().next().is_some();
    let mut unasked = None;
    for (back, driver) in view.heard()?.iter().take(KEPT).enumerate() {
        view.spend(driver.words().len())?;
        let named = names(view.policy, driver, tool);
        if named && driver.language().is_none() {
            return Ok(None);
        }
        for sentence in 0..driver.words().sentences() {
            let idle = is_idle(driver, sentence, answers) || (!named && asks(driver, sentence));
            // `Then do it` needs no name; before that only a request for this very thing counts.
            if !idle && (back == 0 || named) {
                return Ok(None);
            }
            let here = named && driver.nouns().any(|h| driver.sentence(h) == sentence);
            unasked = unasked.or_else(|| (here && idle).then(|| words(driver, sentence)));
        }
    }
    Ok(unasked)
}

/// Whether a sentence asks for nothing to be done: it inquires, denies, reminds, or greets. `answers` says whether there
/// is anything that a yes may be to.
fn is_idle(driver: &Reading<'_>, sentence: u16, answers: bool) -> bool {
    let has = |role| driver.sentence_has(sentence, role);
    let unasked = has(PhraseRole::Unasked);
    if unasked || has(PhraseRole::Wish) || (answers && has(PhraseRole::Yes)) {
        return unasked;
    }
    let inside = || driver.words().iter().enumerate().filter(|(_, (word, _))| word.sentence == sentence);
    let covered = |at: usize, by: &[PhraseRole]| {
        driver.hits().iter().any(|h| h.start <= at && at < h.end && by.iter().any(|role| h.is(*role)))
    };
    let before = [PhraseRole::Greeting, PhraseRole::No, PhraseRole::Yes];
    let beside = [PhraseRole::Greeting, PhraseRole::No, PhraseRole::Yes, PhraseRole::Courtesy];
    // `Hey, is the …`: a clause of small words says nothing by itself.
    let idle =
        |clause: u16| inside().filter(|(_, (word, _))| word.clause == clause).all(|(at, _)| covered(at, &beside));
    let mut rest = inside().filter(|(_, (word, _))| !idle(word.clause));
    rest.find(|(at, _)| !covered(*at, &before) || is_opening(driver, *at)).is_none_or(|(at, _)| is_opening(driver, at))
}

/// Whether a sentence is a question and no request in the form of one.
pub(super) fn asks(driver: &Reading<'_>, sentence: u16) -> bool {
    let requests = [PhraseRole::Wish, PhraseRole::Yes, PhraseRole::Modal, PhraseRole::Change, PhraseRole::Proceed];
    driver.words().is_question(sentence) && !requests.iter().any(|role| driver.sentence_has(sentence, *role))
}

/// Whether an inquiry begins at a word. One by a word that also begins wishes (`what I want is …`) has its sign.
fn is_opening(driver: &Reading<'_>, at: usize) -> bool {
    driver.role(PhraseRole::Inquiry).any(|h| h.start == at)
        || driver.role(PhraseRole::AskValue).any(|h| h.start == at && driver.words().is_question(driver.sentence(h)))
}

fn words(driver: &Reading<'_>, sentence: u16) -> String {
    let inside = driver.words().iter().filter(|(word, _)| word.sentence == sentence);
    inside.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, kitchen};
    use super::*;
    use crate::obligations::Owed;
    use serde_json::json;

    fn found(said: &[&str]) -> bool {
        let policy = kitchen();
        let mut talk = Talk::new(&policy);
        for said in said {
            talk = talk.driver(said).assistant("Hm.");
        }
        let history = talk.history();
        let draft = calls(&[("set_stove_light", json!({"on": true}))]);
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let view = View::new(&policy, &history, &draft, &owed);
        unasked(&view, policy.inventory.position("set_stove_light").unwrap()).unwrap().is_some()
    }

    #[test]
    fn a_question_a_denial_and_a_reminder_ask_for_nothing() {
        for said in [
            "Is the stove light on?",
            "Hey, is the stove light on",
            "Why is the stove light on?",
            "Was the stove light on yesterday?",
            "What does the stove light do?",
            "Anna wants the stove light on, but I do not.",
            "Remind me to turn on the stove light.",
            "Anything but the stove light.",
            "Do not even think of turning on the stove light.",
            "It would be stupid to turn on the stove light.",
            "Alles außer dem Herdlicht.",
            "Es wäre dumm, das Herdlicht einzuschalten.",
            "Ist das Herdlicht an?",
            "Warum ist das Herdlicht an?",
            "Ich will nicht, dass du das Herdlicht einschaltest.",
        ] {
            assert!(found(&[said]), "{said}");
        }
        for other in ["No.", "How late is it?", "Where are we?", "Nein."] {
            assert!(found(&["Is the stove light on?", other]), "{other}");
        }
    }

    #[test]
    fn whatever_may_ask_for_it_does() {
        for said in [
            "Turn on the stove light.",
            "Is the stove light off? Turn it on.",
            "Is it possible to turn on the stove light?",
            "Could you turn on the stove light?",
            "Why don't you turn on the stove light?",
            "What about the stove light?",
            "What I want is the stove light on.",
            "It is dark. The stove light?",
            "It is too dark on my side, the stove light",
            "I want the stove light on.",
            "Kannst du das Herdlicht einschalten?",
            "Ist es möglich, das Herdlicht einzuschalten?",
        ] {
            assert!(!found(&[said]), "{said}");
        }
        for order in [
            "Then do it.",
            "Do it.",
            "Well, do it.",
            "Please do.",
            "Yes please.",
            "Turn it on.",
            "Mach das.",
            "Dann an.",
        ] {
            assert!(!found(&["Is the stove light on?", order]), "{order}");
        }
        assert!(!found(&["Turn on the stove light.", "Is the stove light on?"]), "it was asked for before");
        assert!(!found(&["What time is it?"]), "nobody spoke of it");
    }
}
