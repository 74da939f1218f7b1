//! Whom or what the driver named for a call that goes to somebody or somewhere, and whether the call has anything to do
//! with it: a student that never looked the name up is held to it all the same.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Exhausted, View};
use crate::model::{ToolCall, Value, Words};
use crate::policy::{Hit, PhraseRole, Reading};
use crate::state::{NowField, digits, is_address, is_mail, is_phone};
use crate::tools::ToolIx;

/// How many look-ups lie between what was said and what is used, at most: a name, its identifier, the route there.
const DEPTH: usize = 4;
/// Small words between a verb and the name that it is said of (`call me up`).
const REACH: usize = 2;
/// Letters by which a name may be longer than it is listed: `Anna's`, `Marlaus`.
const ENDING: usize = 2;
/// Texts that are looked at for one call.
const TEXTS: usize = 512;

/// A call whose addresses, numbers or identifiers are not those of what was named.
pub(super) struct Unnamed {
    /// What is used.
    pub value: String,
    /// To what it belongs, where that is known.
    pub owner: String,
    /// What the driver named.
    pub wanted: String,
    /// Whether the owner bears that name and others do as well.
    pub shared: bool,
}

/// Why a write of the student goes elsewhere than where the driver's latest words say, if it does. What is only
/// described (`the bakery`, `my brother`, `the first one`) names nothing.
pub(super) fn unnamed(view: &View<'_>, call: &ToolCall) -> Result<Option<Unnamed>, Exhausted> {
    let Some(tool) = view.policy.inventory.position(call.tool.as_str()) else { return Ok(None) };
    let is_write = view.policy.inventory.at(tool).is_some_and(|t| t.is_write());
    if !is_write || call.by.is_some() || view.history.grants(&call.key()) {
        return Ok(None);
    }
    let values: Vec<&str> = texts(call).filter(|v| is_entity(view, v)).collect();
    let (Some(first), Some(driver), Some(heard)) = (values.first(), view.driver(), view.history.driver().last()) else {
        return Ok(None);
    };
    view.spend(driver.words().len())?;
    let capitals = Capitals::of(&heard.text);
    let wanted = wanted(driver, &capitals, tool);
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut shown = BTreeSet::new();
    for value in &values {
        // What nobody gave is told by its provenance.
        let shown_nowhere =
            || view.history.identifiers().get(value).is_none() && view.history.shown_with(value).next().is_none();
        if is_given(view, value) || is_said(driver, value) || shown_nowhere() {
            return Ok(None);
        }
        evidence(view, value, DEPTH, &mut shown)?;
    }
    // What a message says was said for it.
    shown.extend(texts(call).filter(|t| !is_entity(view, t)).map(|t| Words::new(t).into_spaced()));
    let owner = values.iter().find_map(|v| view.history.titles_of(v).next()).unwrap_or_default().to_owned();
    let found = |wanted: &[&str], shared| {
        Some(Unnamed { value: (*first).to_owned(), owner: owner.clone(), wanted: wanted.join(" "), shared })
    };
    // Any name in the latest words may be the one, wherever it stands.
    let every = runs(driver, &capitals);
    let mut hit = None;
    for run in wanted.iter().chain(&every) {
        view.spend(shown.len().saturating_mul(run.len().max(1)))?;
        if is_shown(run, &shown) {
            hit = Some(run.as_slice());
            break;
        }
    }
    let Some(run) = hit else { return Ok(wanted.first().and_then(|w| found(w, false))) };
    let outward = is_mail(first) || is_phone(first);
    Ok(if outward && namesakes(view, first, run)? { found(run, true) } else { None })
}

/// The texts of a call's arguments, those in lists too.
fn texts(call: &ToolCall) -> impl Iterator<Item = &str> {
    call.arguments
        .values()
        .flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice))
        .filter_map(Json::as_str)
}

/// Whether a text stands for somebody or something, other than the place where the car is.
fn is_entity(view: &View<'_>, text: &str) -> bool {
    let is_one =
        is_mail(text) || is_phone(text) || (is_address(text) && view.history.identifiers().looks_like_one(text));
    is_one && *view.history.now().get(NowField::Location) != Value::word(text)
}

/// Whether the system message or the driver gave a value.
fn is_given(view: &View<'_>, value: &str) -> bool {
    view.history.identifiers().get(value).is_some_and(|seen| seen.call.is_none())
}

/// Whether the driver's latest words hold an address or a number themselves.
fn is_said(driver: &Reading<'_>, value: &str) -> bool {
    let spoken = || digits(driver.words().spaced());
    driver.words().iter().any(|(_, word)| word == value.to_lowercase())
        || (is_phone(value) && spoken().len() >= 5 && digits(value).ends_with(spoken().trim_start_matches('0')))
}

/// Which words of a text are written with a capital; all may be names where nothing is, as speech is often written.
struct Capitals {
    words: BTreeSet<String>,
    cased: bool,
}

impl Capitals {
    fn of(text: &str) -> Self {
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.starts_with(char::is_uppercase));
        let words: BTreeSet<String> = parts.map(str::to_lowercase).collect();
        Self { cased: !words.is_empty(), words }
    }
}

/// Whether a word may be a part of a name: no phrase of any table, written as names are.
fn is_name(driver: &Reading<'_>, capitals: &Capitals, at: usize) -> bool {
    let Some(word) = driver.words().get(at) else { return false };
    let text = driver.words().text(at);
    let covered = || driver.hits().iter().any(|h| !is_gapped(h) && h.start <= at && at < h.end);
    let written = !capitals.cased || capitals.words.contains(text);
    written && !word.quoted && text.chars().filter(|c| c.is_alphabetic()).count() >= 2 && !covered()
}

/// Whether a phrase stands around words that are not its own (`ruf * an`).
fn is_gapped(hit: &Hit<'_>) -> bool {
    hit.weight().0 < hit.end - hit.start
}

fn is_first(driver: &Reading<'_>, at: usize) -> bool {
    let sentence = |at: usize| driver.words().get(at).map(|w| w.sentence);
    at == 0 || sentence(at) != sentence(at - 1)
}

/// The name that begins at a word.
fn run<'d>(driver: &'d Reading<'_>, capitals: &Capitals, start: usize) -> Vec<&'d str> {
    let clause = |at: usize| driver.words().get(at).map(|w| w.clause);
    let inside = |at: &usize| clause(*at) == clause(start) && is_name(driver, capitals, *at);
    (start..driver.words().len()).take_while(inside).map(|at| driver.words().text(at)).collect()
}

/// The names for a tool: behind its verb or noun, behind a word like `to`, or standing by themselves.
fn wanted<'d>(driver: &'d Reading<'_>, capitals: &Capitals, tool: ToolIx) -> Vec<Vec<&'d str>> {
    let own = |h: &&Hit<'_>| h.verbs().chain(h.nouns()).any(|t| t == tool);
    let mut starts = Vec::new();
    let own: Vec<&Hit<'_>> = driver.hits().iter().filter(own).collect();
    for hit in &own {
        starts.push(if is_gapped(hit) { hit.start + 1 } else { hit.end });
    }
    let sentences: BTreeSet<u16> = own.iter().map(|h| driver.sentence(h)).collect();
    let about = |h: &&Hit<'_>| sentences.is_empty() || sentences.contains(&driver.sentence(h));
    starts.extend(driver.role(PhraseRole::Towards).filter(about).map(|h| h.end));
    let mut found: Vec<Vec<&str>> = Vec::new();
    for start in starts {
        found.extend(behind(driver, capitals, start).filter(|run| !run.is_empty()));
    }
    if own.is_empty() && capitals.cased {
        found.extend(alone(driver, capitals));
    }
    found
}

/// The name behind a word, over small words; none where what stands there only describes.
fn behind<'d>(driver: &'d Reading<'_>, capitals: &Capitals, start: usize) -> Option<Vec<&'d str>> {
    let clause = |at: usize| driver.words().get(at).map(|w| w.clause);
    let own = clause(start.checked_sub(1)?);
    let is = |at: usize, role| driver.hits().iter().any(|h| h.is(role) && h.start <= at && at < h.end);
    for at in start..=start + REACH {
        if clause(at) != own || is(at, PhraseRole::Nameless) {
            return None;
        }
        if is_name(driver, capitals, at) && !is_first(driver, at) {
            return Some(run(driver, capitals, at));
        }
        if !is(at, PhraseRole::Courtesy) && !is(at, PhraseRole::Towards) {
            return None;
        }
    }
    None
}

/// A name that is all that a sentence says, with a word of courtesy (`Marlau please`).
fn alone<'d>(driver: &'d Reading<'_>, capitals: &Capitals) -> Vec<Vec<&'d str>> {
    let courteous = |at: usize| driver.role(PhraseRole::Courtesy).any(|h| h.start <= at && at < h.end);
    let words = driver.words();
    let inside =
        |sentence: u16| (0..words.len()).filter(move |at| words.get(*at).is_some_and(|w| w.sentence == sentence));
    let mut found = Vec::new();
    for sentence in 0..words.sentences() {
        let all = inside(sentence).all(|at| courteous(at) || is_name(driver, capitals, at));
        let first = inside(sentence).find(|at| is_name(driver, capitals, *at));
        // A remark is as short as a name: only the courtesy behind it tells them apart.
        let asked = first.is_some_and(|first| {
            let clause = words.get(first).map(|w| w.clause);
            inside(sentence).any(|at| at > first && courteous(at) && words.get(at).map(|w| w.clause) == clause)
        });
        found.extend(first.filter(|_| all && asked).map(|first| run(driver, capitals, first)));
    }
    found
}

/// Every name in what was said.
fn runs<'d>(driver: &'d Reading<'_>, capitals: &Capitals) -> Vec<Vec<&'d str>> {
    let begins = |at: &usize| is_name(driver, capitals, *at) && (*at == 0 || !is_name(driver, capitals, *at - 1));
    (0..driver.words().len()).filter(begins).map(|at| run(driver, capitals, at)).collect()
}

/// What results call a value, and by what words it was looked up.
fn evidence(view: &View<'_>, value: &str, depth: usize, shown: &mut BTreeSet<String>) -> Result<(), Exhausted> {
    let Some(depth) = depth.checked_sub(1).filter(|_| shown.len() < TEXTS) else { return Ok(()) };
    let seen = view.history.identifiers().get(value).and_then(|seen| view.history.call(seen.call?));
    let mut found = Vec::new();
    for (past, names) in view.history.shown_with(value) {
        view.spend(1)?;
        shown.extend(names.map(|name| Words::new(name).into_spaced()));
        found.push(past);
    }
    for past in found.into_iter().chain(seen) {
        for text in texts(&past.call).filter(|text| *text != value) {
            view.spend(1)?;
            if is_entity(view, text) {
                evidence(view, text, depth, shown)?;
            } else {
                shown.insert(Words::new(text).into_spaced());
            }
        }
    }
    Ok(())
}

/// Whether a name is among texts: all of it in one, or a part of it in one and nothing else in that one's place.
fn is_shown(run: &[&str], shown: &BTreeSet<String>) -> bool {
    let split = |text: &'_ str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let (mut part, mut other) = (false, false);
    for text in shown {
        let words = split(text);
        if run.iter().all(|said| words.iter().any(|word| is_same(said, word))) {
            return true;
        }
        for (at, said) in run.iter().enumerate() {
            for place in (0..words.len()).filter(|p| words.get(*p).is_some_and(|word| is_same(said, word))) {
                part = true;
                let next = run.get(at + 1).zip(words.get(place + 1));
                other |= next.is_some_and(|(said, word)| !is_same(said, word));
            }
        }
    }
    // `Anna` of a look-up and `Vogt` of another part of the record.
    let every = run.iter().all(|said| shown.iter().any(|text| split(text).iter().any(|word| is_same(said, word))));
    every || (part && !other)
}

/// Whether two words are one name but for its ending and the marks on its letters.
fn is_same(said: &str, word: &str) -> bool {
    let (said, word) = (plain(said), plain(word));
    said == word
        || (word.chars().count() >= 3
            && said.strip_prefix(word.as_str()).is_some_and(|rest| rest.chars().count() <= ENDING))
        || (said.chars().count() >= 4 && word.starts_with(said.as_str()))
}

/// A word without the marks on its letters.
fn plain(word: &str) -> String {
    let bare = |c: char| match c {
        'ä' | 'á' | 'à' | 'â' | 'ã' | 'å' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ö' | 'ó' | 'ò' | 'ô' | 'õ' | 'ø' => 'o',
        'ü' | 'ú' | 'ù' | 'û' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    };
    word.chars().map(bare).collect()
}

/// Whether a result lists others of that name beside the owner of an address, and nobody said which one is meant.
fn namesakes(view: &View<'_>, value: &str, run: &[&str]) -> Result<bool, Exhausted> {
    let own: Vec<String> = view.history.titles_of(value).map(|t| Words::new(t).into_spaced()).collect();
    let bears = |title: &str| run.iter().all(|said| title.split_whitespace().any(|word| is_same(said, word)));
    if !own.iter().any(|title| bears(title)) {
        return Ok(false); // it was looked up by something else
    }
    let said = |title: &String, r: &Reading<'_>| r.words().spaced().contains(title.as_str());
    if view.heard()?.iter().chain(view.spoken()?.iter()).any(|r| own.iter().any(|title| said(title, r))) {
        return Ok(false);
    }
    let kind = |id: &str| id.split('_').next().unwrap_or_default().to_owned();
    let kinds: BTreeSet<String> = view.history.identifiers_of(value).map(kind).collect();
    for (id, title) in view.history.titled() {
        view.spend(2)?;
        let title = Words::new(title).into_spaced();
        if kinds.contains(&kind(id)) && bears(&title) && !own.contains(&title) {
            return Ok(true);
        }
    }
    Ok(false)
}
