//! What was heard, as the policy may have it: compounds taken apart, parts put together, slips of the recogniser
//! mended.
//!
//! Only where tools and values are looked for. What was said stays as it was said: gates, consents and the journal never
//! see what is guessed here.

use std::sync::Arc;

use crate::model::Words;
use crate::policy::{Hit, PhraseRole, Policy, Reading};
use crate::tools::Param;

/// Letters of a part of a compound, at least.
const PART: usize = 3;
/// Letters of a word that is mended by itself, at least: shorter ones are near too many others.
const ALONE: usize = 5;
/// Letters of a name that is heard as two words, at least.
const TOGETHER: usize = 7;
/// What joins the parts of a German compound.
const JOINTS: [&str; 5] = ["", "s", "n", "en", "es"];

/// The words as the policy may have them; the same where nothing is to be mended.
pub(super) fn understood(policy: &Policy, words: &Arc<Words>) -> Arc<Words> {
    let reading = policy.lexicon().read(words.clone());
    let mut mended: Vec<String> = words.iter().map(|(_, w)| w.to_owned()).collect();
    let known: Vec<bool> = (0..words.len()).map(|at| is_known(&reading, at)).collect();
    let named = names(policy);
    let spelled = members(policy);
    let mut changed = false;
    for at in 0..words.len() {
        let word = words.text(at);
        if mended.get(at).is_some_and(String::is_empty) {
            continue; // a part of the word before
        }
        let plain = word.chars().all(char::is_alphabetic);
        if !plain || known.get(at) == Some(&true) || spelled.iter().any(|member| is_form(word, member)) {
            continue;
        }
        let next = words.text(at + 1);
        if let Some(name) = together(&named, words, at).filter(|_| !next.is_empty()) {
            mended.iter_mut().skip(at).take(2).for_each(String::clear);
            mended.get_mut(at).into_iter().for_each(|slot| slot.clone_from(&name));
            changed = true;
            continue;
        }
        let near = beside(&named, words, at).or_else(|| apart(policy, word)).or_else(|| alone(&named, word));
        if let Some((slot, near)) = mended.get_mut(at).zip(near) {
            *slot = near;
            changed = true;
        }
    }
    if !changed {
        return words.clone();
    }
    Arc::new(Words::new(&text(words, &mended)))
}

/// Whether some phrase covers a word.
fn is_known(reading: &Reading<'_>, at: usize) -> bool {
    reading.hits().iter().any(|h| h.start <= at && at < h.end)
}

/// The words again as a text with their clauses and sentences.
fn text(words: &Words, mended: &[String]) -> String {
    let mut out = String::new();
    for (at, ((word, _), now)) in words.iter().zip(mended).enumerate() {
        if now.is_empty() {
            while out.ends_with(' ') {
                out.pop();
            }
        }
        out.push_str(now);
        let Some(next) = words.get(at + 1) else {
            if words.is_question(word.sentence) {
                out.push('?');
            }
            break;
        };
        out.push_str(match (next.sentence != word.sentence, next.clause != word.clause) {
            (true, _) if words.is_question(word.sentence) => "? ",
            (true, _) => ". ",
            (_, true) => ", ",
            _ => " ",
        });
    }
    out
}

/// The words that the enumerations of the tools are spelled with: heard right, they are what they are.
fn members(policy: &Policy) -> Vec<String> {
    let members = policy.inventory.iter().flat_map(|t| &t.params).flat_map(Param::members);
    members.flat_map(|m| m.split('_')).map(str::to_lowercase).collect()
}

/// How tools and parts of the car are called, word by word. Names with everyday words (`where is`) are near too much.
fn names(policy: &Policy) -> Vec<Vec<String>> {
    let tools = policy.model.tools.iter().flat_map(|t| t.nouns.values()).flatten();
    let parts = policy.model.entities.iter().flat_map(|e| e.names.values()).flatten();
    let words = |name: &String| Words::new(name).iter().map(|(_, w)| w.to_owned()).collect();
    let all = tools.chain(parts).map(words);
    let everyday = |word: &String| policy.read(word).has(PhraseRole::Common);
    all.filter(|name: &Vec<String>| name.len() == 1 || !name.iter().any(everyday)).collect()
}

/// The word that a name of several words has where all its others were heard: `low beans` for a low beam.
fn beside(named: &[Vec<String>], words: &Words, at: usize) -> Option<String> {
    let heard = words.text(at);
    let mut best: Option<(usize, String)> = None;
    for name in named.iter().filter(|n| n.len() > 1) {
        for place in 0..name.len() {
            let Some(first) = at.checked_sub(place) else { continue };
            let mut others = name.iter().enumerate().filter(|(i, _)| *i != place);
            let whole = others.all(|(i, part)| is_form(words.text(first + i), part));
            let Some(meant) = name.get(place).filter(|_| whole) else { continue };
            let allowed = if heard.chars().count() > 3 { 2 } else { 1 };
            let Some(far) = forms(meant).filter_map(|form| distance(heard, &form, allowed)).min() else { continue };
            // Two letters off, a word must at least begin alike.
            let alike = far < 2 || heard.chars().next() == meant.chars().next();
            if alike && best.as_ref().is_none_or(|(least, _)| far < *least) {
                best = Some((far, meant.clone()));
            }
        }
    }
    best.map(|(_, meant)| meant)
}

/// A compound as its two parts, the longest last part that names something: `Fahrerfenster` is a driver's window.
fn apart(policy: &Policy, word: &str) -> Option<String> {
    let cuts: Vec<usize> = word.char_indices().map(|(at, _)| at).skip(PART).collect();
    for cut in cuts {
        let (front, back) = word.split_at_checked(cut)?;
        if back.chars().count() < PART || policy.read(back).nouns().next().is_none() {
            continue;
        }
        let fronts = JOINTS.iter().filter_map(|joint| front.strip_suffix(joint)).filter(|f| f.chars().count() >= PART);
        let says = |front: &&str| {
            let reading = policy.read(front);
            reading.hits().iter().any(|h: &Hit<'_>| !h.is(PhraseRole::Common))
        };
        if let Some(front) = fronts.into_iter().find(says) {
            return Some(format!("{front} {back}"));
        }
    }
    None
}

/// The long name of a single word that a word and the next are when they are put together: `Klimer Anlage`.
fn together(named: &[Vec<String>], words: &Words, at: usize) -> Option<String> {
    let (left, right) = (words.get(at)?, words.get(at + 1)?);
    let joined = format!("{}{}", words.text(at), words.text(at + 1));
    let long = |name: &&String| name.chars().count() >= TOGETHER;
    let single = named.iter().filter_map(|n| if let [only] = n.as_slice() { Some(only) } else { None });
    let near = single.filter(long).filter_map(|name| Some((distance(&joined, name, 2)?, name)));
    near.filter(|_| left.clause == right.clause).min().map(|(_, name)| name.clone())
}

/// The one name of a single word that is one letter off.
fn alone(named: &[Vec<String>], word: &str) -> Option<String> {
    if word.chars().count() < ALONE {
        return None;
    }
    let mut near: Vec<&String> =
        named.iter().filter_map(|n| if let [only] = n.as_slice() { Some(only) } else { None }).collect();
    near.retain(|name| name.chars().count() >= ALONE - 1 && forms(name).any(|form| distance(word, &form, 1).is_some()));
    near.sort_unstable();
    near.dedup();
    match near.as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    }
}

fn forms(name: &str) -> impl Iterator<Item = String> + '_ {
    ["", "s"].into_iter().map(move |ending| format!("{name}{ending}"))
}

fn is_form(word: &str, name: &str) -> bool {
    forms(name).any(|form| form == word)
}

/// How many letters two words differ in, where that is at most `most`: one put in, left out, taken for another, or
/// swapped with the next.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, left) in a.iter().enumerate() {
        let above = rows.last()?;
        let mut row = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let cost = usize::from(left != right);
            let mut least = (above.get(j)? + cost).min(above.get(j + 1)? + 1).min(row.get(j)? + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(right) && b.get(j - 1) == Some(left);
            if swapped && let Some(before) = rows.get(i - 1).and_then(|r| r.get(j - 1)) {
                least = least.min(before + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last()?.last().copied().filter(|n| *n <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cabin() -> Policy {
        let blob = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin/cabin.obl");
        Policy::from_blob(&std::fs::read(blob).unwrap()).unwrap()
    }

    fn understood_as(text: &str) -> String {
        understood(&cabin(), &Arc::new(Words::new(text))).spaced().trim().to_owned()
    }

    #[test]
    fn a_compound_is_taken_apart_into_what_is_known() {
        assert_eq!(understood_as("Beifahrersitzheizung auf zwei"), "beifahrer sitzheizung auf zwei");
        assert_eq!(understood_as("Vorderfenster zu"), "vorderfenster zu", "only into parts that are known");
    }

    #[test]
    fn a_slip_beside_the_other_words_of_a_name_is_mended() {
        assert_eq!(understood_as("high bean off please"), "high beam off please");
        assert_eq!(understood_as("sead heating to two"), "seat heating to two");
        assert_eq!(understood_as("Lenk Radheizung auf eins"), "lenkradheizung auf eins");
    }

    #[test]
    fn a_long_word_one_letter_off_one_name_is_that_name() {
        assert_eq!(understood_as("open the sunrof"), "open the sunroof");
    }

    #[test]
    fn what_is_known_or_near_nothing_stays_as_it_was_said() {
        for text in ["open the sunroof halfway", "where is Marlau?", "play some jazz, please. Is it far?"] {
            let words = Arc::new(Words::new(text));
            assert_eq!(understood(&cabin(), &words), words, "{text}");
        }
    }

    #[test]
    fn letters_put_in_left_out_taken_for_another_and_swapped_count_one_each() {
        for (a, b, far) in [("beam", "beams", 1), ("trunk", "trnuk", 1), ("seat", "seed", 2), ("fan", "fan", 0)] {
            assert_eq!(distance(a, b, 2), Some(far), "{a} {b}");
        }
        assert_eq!(distance("window", "door", 2), None);
    }
}
