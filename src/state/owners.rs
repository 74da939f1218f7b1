//! Whose an address or a number is: the persons and places that results have shown.

use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json};

use super::{History, PastCall};
use crate::model::Words;

/// Results that are looked back at for owners.
const RESULTS: usize = 64;
/// How deep a result is looked into.
const DEPTH: usize = 8;

/// Somebody or something that a result showed with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// What it is called, part by part, lower-case.
    names: Vec<String>,
    /// The same as it was written.
    title: String,
    /// Identifiers, addresses and numbers shown with that name, as written.
    values: Vec<String>,
    /// Its own identifier, where there is no doubt which one that is.
    own: Option<String>,
}

/// All owners that results have shown; several objects of one name count as one. Found by what belongs to
/// them and by what they are called: a hostile result may show thousands.
#[derive(Debug, Clone, Default)]
pub struct Owners<'h> {
    known: Vec<Known<'h>>,
    /// The first owner of a value, latest results first, by what [`same`] compares.
    by_value: FxHashMap<String, usize>,
    /// Who bears a part of a name.
    bearers: FxHashMap<&'h str, Vec<usize>>,
    /// Words of the longest part of a name.
    longest: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known<'h> {
    names: &'h [String],
    values: Vec<&'h str>,
}

impl<'h> Owners<'h> {
    /// The owners that the latest results have shown. `spend` is asked for leave to look at so many names and
    /// values; where it refuses, nobody is known, because whoever was left out may be the one.
    ///
    /// # Errors
    /// That of `spend`.
    pub fn seen<E>(history: &'h History, spend: impl FnMut(usize) -> Result<(), E>) -> Result<Self, E> {
        Self::of(history.calls().iter().rev().take(RESULTS).flat_map(|past| &past.contents.owners), spend)
    }

    fn of<E>(shown: impl Iterator<Item = &'h Owner>, mut spend: impl FnMut(usize) -> Result<(), E>) -> Result<Self, E> {
        let mut owners = Self::default();
        let mut by_name: FxHashMap<&[String], usize> = FxHashMap::default();
        for owner in shown.filter(|owner| !owner.names.is_empty()) {
            spend(1 + owner.names.len() + owner.values.len())?;
            let values = owner.values.iter().map(String::as_str);
            let at = *by_name.entry(&owner.names).or_insert_with(|| {
                let at = owners.known.len();
                owners.known.push(Known { names: &owner.names, values: Vec::new() });
                for name in owner.names.iter().filter(|name| !name.is_empty()) {
                    owners.longest = owners.longest.max(name.split(' ').count());
                    let bearers = owners.bearers.entry(name).or_default();
                    if bearers.last() != Some(&at) {
                        bearers.push(at);
                    }
                }
                at
            });
            for value in values.clone() {
                owners.by_value.entry(key(value)).or_insert(at);
            }
            if let Some(known) = owners.known.get_mut(at) {
                known.values.extend(values);
            }
        }
        Ok(owners)
    }

    /// Words of the longest part of a name: what looking for names in a text costs a word of it.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a value belongs to somebody here.
    pub fn knows(&self, value: &str) -> bool {
        self.by_value.contains_key(&key(value))
    }

    /// Whether a text names the owner of a value, and nobody else by the same words: the full name, or
    /// a part of it that no other owner bears. Two values of one kind under one name are ambiguous.
    pub fn named(&self, value: &str, said: &str) -> bool {
        let Some(at) = self.by_value.get(&key(value)) else { return false };
        self.are_named(said).contains(at) && self.known.get(*at).is_some_and(|owner| owner.is_sole(value))
    }

    /// The words of a text by which the owner of a value and others as well are called, where it names nobody alone.
    pub fn shared<'s>(&self, value: &str, said: &'s str) -> Option<&'s str> {
        let at = self.by_value.get(&key(value))?;
        if !self.are_named(said).is_empty() {
            return None;
        }
        phrases(said, self.longest)
            .find(|part| self.bearers.get(part).is_some_and(|bearers| bearers.len() > 1 && bearers.contains(at)))
    }

    /// The values of one kind (that of `like`) of everybody whom a text names.
    pub fn meant(&self, like: &str, said: &str) -> Vec<&'h str> {
        let named = self.are_named(said).into_iter().filter_map(|at| self.known.get(at));
        named.filter_map(|o| o.values.iter().copied().find(|v| kind(v) == kind(like))).collect()
    }

    /// Whom a text names: by the full name first, then by a part that nobody else bears.
    fn are_named(&self, said: &str) -> Vec<usize> {
        let mut parts: FxHashMap<usize, Vec<&str>> = FxHashMap::default();
        for (part, bearers) in phrases(said, self.longest).filter_map(|p| Some((p, self.bearers.get(p)?))) {
            for bearer in bearers {
                let said = parts.entry(*bearer).or_default();
                if !said.contains(&part) {
                    said.push(part);
                }
            }
        }
        let mut found: Vec<(bool, usize)> = Vec::new();
        for (at, said) in parts {
            let Some(owner) = self.known.get(at) else { continue };
            let full = owner.names.iter().all(|name| said.contains(&name.as_str()));
            let alone = |part: &&str| self.bearers.get(part).is_some_and(|bearers| bearers.len() == 1);
            if full || said.iter().all(alone) {
                found.push((!full, at));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, at)| at).collect()
    }
}

/// Every run of words in a text, up to so many.
fn phrases(spaced: &str, longest: usize) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = spaced.match_indices(' ').map(|(at, _)| at).collect();
    (0..starts.len()).flat_map(move |first| {
        let ends = starts.get(first + 1..).unwrap_or_default().iter().take(longest);
        let start = starts.get(first).map_or(0, |at| at + 1);
        ends.filter_map(move |end| spaced.get(start..*end)).collect::<Vec<_>>()
    })
}

impl Owner {
    /// Adds everybody whom the payload of a result shows.
    /// Members named in `ends` hold the identifiers of other things: the ends of a leg.
    pub(super) fn gather(payload: &Json, ends: &[&str], found: &mut Vec<Self>) {
        visit(payload, 0, ends, found);
    }
}

impl History {
    /// What a result or the system message calls the thing with an identifier of its own; none where it
    /// was shown without a name.
    pub fn title(&self, identifier: &str) -> Option<&str> {
        let shown = self.calls().iter().rev().take(RESULTS).flat_map(|past| &past.contents.owners);
        let own = |owner: &&Owner| owner.own.as_deref() == Some(identifier);
        let mut named = shown.chain(&self.surroundings).filter(own).map(|owner| owner.title.as_str());
        named.find(|title| !title.is_empty())
    }

    /// The latest calls whose results show somebody or something with a value, with what it is called there.
    pub fn shown_with(&self, value: &str) -> impl Iterator<Item = (&PastCall, impl Iterator<Item = &str>)> {
        let has = move |owner: &&Owner| owner.values.iter().any(|v| same(v, value));
        let latest = self.calls().iter().rev().take(RESULTS);
        latest.flat_map(move |past| {
            let shown = past.contents.owners.iter().filter(has);
            shown.map(move |owner| {
                (past, owner.names.iter().map(String::as_str).chain(std::iter::once(owner.title.as_str())))
            })
        })
    }

    /// What those are called to whom a value belongs: a title in the words in which it was written.
    pub fn titles_of(&self, value: &str) -> impl Iterator<Item = &str> {
        self.owning(value).map(|owner| owner.title.as_str()).filter(|title| !title.is_empty())
    }

    /// The identifiers of those to whom a value belongs.
    pub fn identifiers_of(&self, value: &str) -> impl Iterator<Item = &str> {
        self.owning(value).filter_map(|owner| owner.own.as_deref())
    }

    fn owning(&self, value: &str) -> impl Iterator<Item = &Owner> {
        let shown = self.calls().iter().rev().take(RESULTS).flat_map(|past| &past.contents.owners);
        shown.chain(&self.surroundings).filter(move |owner| owner.values.iter().any(|v| same(v, value)))
    }

    /// The things with an identifier of their own that were shown under a title: identifier and title.
    pub fn titled(&self) -> impl Iterator<Item = (&str, &str)> {
        let shown = self.calls().iter().rev().take(RESULTS).flat_map(|past| &past.contents.owners);
        let own =
            shown.chain(&self.surroundings).filter_map(|owner| Some((owner.own.as_deref()?, owner.title.as_str())));
        own.filter(|(_, title)| is_name(title))
    }
}

fn visit(json: &Json, depth: usize, ends: &[&str], found: &mut Vec<Owner>) {
    if depth > DEPTH {
        return;
    }
    match json {
        Json::Object(map) => {
            let own = map.values().filter_map(Json::as_str).filter(|t| is_address(t)).map(str::to_owned);
            let identifiers = map.iter().filter(|(key, _)| !ends.contains(&key.as_str()));
            let mut identifiers = identifiers.filter_map(|(_, v)| v.as_str()).filter(|t| is_identifier(t));
            let single = identifiers.next().filter(|_| identifiers.next().is_none());
            add(map, own.collect(), single, found);
            for (key, inner) in map {
                // An object under its identifier: `{"con_7": {"name": …}}`.
                if let Json::Object(named) = inner
                    && is_address(key)
                {
                    add(named, vec![key.to_owned()], Some(key), found);
                }
                visit(inner, depth + 1, ends, found);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| visit(item, depth + 1, ends, found)),
        _ => {}
    }
}

fn add(map: &Map<String, Json>, values: Vec<String>, own: Option<&str>, found: &mut Vec<Owner>) {
    if values.is_empty() {
        return;
    }
    let names = names(map);
    let title = named(map).filter(|t| is_title(t)).collect::<Vec<_>>().join(" ");
    if !names.is_empty() || !title.is_empty() {
        found.push(Owner { names, title, values, own: own.map(str::to_owned) });
    }
}

impl Known<'_> {
    fn is_sole(&self, value: &str) -> bool {
        self.values.iter().filter(|v| kind(v) == kind(value)).all(|v| same(v, value))
    }
}

/// What sort of value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mail,
    Phone,
    Other,
}

fn kind(value: &str) -> Kind {
    match value {
        v if v.contains('@') => Kind::Mail,
        v if is_phone(v) => Kind::Phone,
        _ => Kind::Other,
    }
}

/// Whether two addresses or numbers are the same: case and the spaces in a number do not count.
pub fn same(a: &str, b: &str) -> bool {
    if is_phone(a) && is_phone(b) {
        return digits(a) == digits(b);
    }
    a.eq_ignore_ascii_case(b)
}

/// What is equal where two values are the [`same`].
fn key(value: &str) -> String {
    if is_phone(value) { digits(value) } else { value.to_ascii_lowercase() }
}

/// Whether a text is nothing but a phone number: at least five digits and the signs between them.
pub fn is_phone(text: &str) -> bool {
    let signs = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '/' | '(' | ')' | '.');
    text.chars().all(signs) && digits(text).len() >= 5
}

/// Whether a text is a mail address.
pub fn is_mail(text: &str) -> bool {
    let Some((local, host)) = text.split_once('@') else { return false };
    !local.is_empty() && host.contains('.') && !text.contains(char::is_whitespace)
}

/// The digits of a number.
pub fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Whether a text is an identifier, an address or a number rather than a name or prose. What is longer than any of
/// them is none.
pub fn is_address(text: &str) -> bool {
    text.len() <= 128 && (is_mail(text) || is_phone(text) || is_identifier(text))
}

/// Whether a text is written as identifiers of results are: one word with a digit and an underscore.
fn is_identifier(text: &str) -> bool {
    text.contains('_') && !text.contains(' ') && text.chars().any(|c| c.is_ascii_digit())
}

/// What an object is called: the members that say `name`, else every word in it.
fn names(map: &Map<String, Json>) -> Vec<String> {
    let mut texts: Vec<&str> = named(map).filter(|t| is_name(t)).collect();
    if texts.is_empty() {
        texts = map.values().filter_map(Json::as_str).filter(|t| is_name(t)).collect();
    }
    texts.into_iter().map(|text| Words::new(text).spaced().trim().to_owned()).collect()
}

/// The texts of the members that say `name`.
fn named(map: &Map<String, Json>) -> impl Iterator<Item = &str> {
    let members = map.iter().filter(|(key, _)| key.to_lowercase().contains("name"));
    members.flat_map(|(_, value)| {
        let parts = value.as_object().into_iter().flat_map(|parts| parts.values().filter_map(Json::as_str));
        value.as_str().into_iter().chain(parts)
    })
}

/// A person or a place has at least two letters; a road may have one (`A7`).
fn is_name(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphabetic()).nth(1).is_some() && is_title(text)
}

fn is_title(text: &str) -> bool {
    text.chars().any(char::is_alphabetic) && text.len() <= 128 && !is_address(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(json: &Json) -> Vec<Owner> {
        let mut found = Vec::new();
        Owner::gather(json, &[], &mut found);
        found
    }

    fn lees() -> Vec<Owner> {
        shown(&json!({"guests": [
            {"id": "gue_1", "first_name": "Ann", "last_name": "Lee", "phone": "+49 111 111", "mail": "ann@x.org"},
            {"id": "gue_2", "first_name": "Bob", "last_name": "Lee", "phone": "+49 222 222", "mail": "bob@x.org"}]}))
    }

    fn named(owners: &[Owner], value: &str, said: &str) -> bool {
        all(owners).named(value, said)
    }

    fn all(owners: &[Owner]) -> Owners<'_> {
        Owners::of(owners.iter(), |_| Ok::<(), ()>(())).unwrap()
    }

    #[test]
    fn a_full_name_names_its_owner_alone() {
        let lees = lees();
        assert!(named(&lees, "ann@x.org", " mail ann lee ") && !named(&lees, "bob@x.org", " mail ann lee "));
        let both = " mail ann lee and bob lee ";
        assert!(named(&lees, "ann@x.org", both) && named(&lees, "bob@x.org", both));
    }

    #[test]
    fn a_part_of_a_name_counts_where_nobody_else_bears_it() {
        let lees = lees();
        assert!(named(&lees, "+49 111111", " call ann "), "spaces in a number do not count");
        assert!(!named(&lees, "ann@x.org", " mail lee ") && !named(&lees, "bob@x.org", " mail lee "));
    }

    #[test]
    fn a_name_that_several_bear_names_none_of_them() {
        let lees = lees();
        assert_eq!(all(&lees).shared("ann@x.org", " mail lee "), Some("lee"));
        assert_eq!(all(&lees).shared("ann@x.org", " mail ann lee "), None);
        assert_eq!(all(&lees).shared("ann@x.org", " mail my sister "), None);
    }

    #[test]
    fn two_addresses_under_one_name_are_ambiguous() {
        let twins = shown(&json!([
            {"id": "g_1", "name": "Ann Lee", "mail": "ann@x.org"}, {"id": "g_2", "name": "Ann Lee", "mail": "lee@x.org"}
        ]));
        assert!(!named(&twins, "ann@x.org", " ann lee ") && !named(&twins, "lee@x.org", " ann lee "));
    }

    #[test]
    fn an_object_under_its_identifier_is_an_owner_too() {
        let keyed = shown(&json!({"con_7": {"name": {"first": "Grace"}, "email": "grace@x.org"}}));
        let owners = all(&keyed);
        assert!(named(&keyed, "con_7", " ask grace ") && owners.knows("grace@x.org") && !owners.knows("con_8"));
    }

    /// A result that shows so many people, no two of one name.
    fn crowd(people: usize) -> Vec<Owner> {
        let person = |n: usize| json!({"id": format!("per_{n}"), "name": format!("Ann{n} Lee{n}"), "phone": format!("+49 30 {n:07}")});
        shown(&Json::Array((0..people).map(person).collect()))
    }

    #[test]
    fn the_price_of_a_crowd_grows_with_it_and_not_with_its_square() {
        let price = |people: usize| {
            let (crowd, mut spent) = (crowd(people), 0);
            Owners::of(crowd.iter(), |steps| {
                spent += steps;
                Ok::<(), ()>(())
            })
            .unwrap();
            spent
        };
        assert_eq!(price(4_000), 4 * price(1_000));
        assert!(price(1_000) >= 1_000);
        let crowd = crowd(1_000);
        assert_eq!(Owners::of(crowd.iter(), |_| Err(())).err(), Some(()), "who may not look knows nobody");
    }

    #[test]
    fn everybody_in_a_crowd_is_found_by_name_and_by_number() {
        let crowd = crowd(5_000);
        let owners = all(&crowd);
        assert!(owners.knows("+49300004711") && !owners.knows("+49300005000"));
        assert!(owners.named("+49 30 0004711", " please call ann4711 lee4711 now "));
        assert!(!owners.named("+49 30 0004711", " please call ann4712 lee4712 now "));
        assert_eq!(owners.meant("+49 30 1", " ann7 lee7 and ann9 lee9 "), ["+49 30 0000007", "+49 30 0000009"]);
    }

    #[test]
    fn runs_of_words_are_those_that_stand_between_spaces() {
        let found: Vec<&str> = phrases(" ann lee now ", 2).collect();
        assert_eq!(found, ["ann", "ann lee", "lee", "lee now", "now"]);
        assert_eq!(phrases("", 2).count() + phrases(" ", 2).count(), 0);
    }
}
