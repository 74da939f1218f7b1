//! Whether anything that was said has to do with what a tool acts on.

use super::mood::asks;
use super::said::{names, says_unit};
use super::{Exhausted, View, stored};
use crate::policy::{Reading, SHORTEST};
use crate::tools::ToolIx;

/// Whether the driver spoke of what a tool acts on or of what a rule ties it to, or went into what the assistant
/// said of it, or a stored preference is about it. A word of its name, of how people call it or of what it can be set to is enough: `fan` for the
/// airflow, `headlights` for the beams. A small model that understood nothing drafts something else.
pub(super) fn is_spoken_of(view: &View<'_>, tool: ToolIx) -> Result<bool, Exhausted> {
    let Some(subject) = view.policy.subject(tool) else { return Ok(false) };
    let is_named = |reading: &Reading<'_>| subject.tied.iter().any(|t| names(view.policy, reading, *t));
    if view.heard()?.iter().any(is_named) {
        return Ok(true);
    }
    // What the assistant said is spoken of where the driver went into it: a question of his own leaves it.
    let follows = |answer: &Reading<'_>| !(0..answer.words().sentences()).all(|s| asks(answer, s));
    if view.exchanges()?.into_iter().any(|(said, answer)| follows(answer) && is_named(said)) {
        return Ok(true);
    }
    for reading in view.heard()?.iter() {
        view.spend(reading.words().len())?;
        if shares_a_word(view, reading, &subject.words, tool)
            || says_unit(view.policy, reading, (0, reading.words().len()), tool)
        {
            return Ok(true);
        }
    }
    stored::names(view, tool)
}

/// Letters that make two longer words one: `navigate` and `navigation`, `Beifahrerfenster` and `Fenster`.
const STEM: usize = 5;

/// Whether a word alone is how people call what a tool acts on: a rear window is a window, whatever else
/// is called so.
fn is_called(view: &View<'_>, tool: ToolIx, word: &str) -> bool {
    let Some(effect) = view.policy.model.tool(tool) else { return false };
    let parts = effect.attributes().filter_map(|a| view.policy.model.attribute(a)).map(|a| a.entity);
    let parts = parts.filter_map(|e| view.policy.model.entity(e)).flat_map(|e| e.names.values());
    effect.nouns.values().chain(parts).flatten().any(|name| word.starts_with(name.to_lowercase().as_str()))
}

/// Whether a word of a text is one of these, or the beginning of a compound with one. Words that
/// name something else, such as the `light` of a reading light, do not count.
fn shares_a_word(view: &View<'_>, reading: &Reading<'_>, subject: &[Box<str>], tool: ToolIx) -> bool {
    let covered = |at: usize| reading.nouns().any(|h| h.start <= at && at < h.end && !h.names(tool));
    let elsewhere = |at: usize, word: &str| covered(at) && !is_called(view, tool, word);
    let is_form = |word: &str, part: &str| {
        let common = word.bytes().zip(part.bytes()).take_while(|(a, b)| a == b).count();
        let compound = part.len() >= STEM && word.ends_with(part);
        word.starts_with(part) || compound || (word.len() > SHORTEST && part.starts_with(word)) || common >= STEM
    };
    reading.words().iter().enumerate().any(|(at, (_, word))| {
        word.len() >= SHORTEST && subject.iter().any(|p| is_form(word, p)) && !elsewhere(at, word)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, kitchen};
    use super::*;
    use crate::obligations::Owed;
    use serde_json::json;

    fn related(tool: &str, driver: &[&str]) -> bool {
        let policy = kitchen();
        let mut talk = Talk::new(&policy);
        for said in driver {
            talk = talk.driver(said);
        }
        let history = talk.history();
        let draft = calls(&[(tool, json!({}))]);
        let owed = Owed { amended: draft.clone(), ..Owed::default() };
        let view = View::new(&policy, &history, &draft, &owed);
        is_spoken_of(&view, policy.inventory.position(tool).unwrap()).unwrap()
    }

    #[test]
    fn a_noun_a_word_of_the_name_or_a_value_relates_them() {
        assert!(related("set_hood_speed", &["turn the hood up"]));
        assert!(related("set_hood_speed", &["turn the hood up", "now please"]), "an earlier wish still stands");
        assert!(related("start_dishwasher", &["wash on eco"]));
        assert!(related("move_door", &["open the oven doors"]));
    }

    #[test]
    fn what_names_something_else_or_nothing_does_not() {
        assert!(!related("set_hood_speed", &["turn on the coffee machine"]));
        assert!(!related("set_hood_speed", &["Mach den Toaster an"]));
        assert!(!related("set_hood_speed", &[]));
    }
}
