//! Whose an address or a number is: the persons and places that results have shown.

use serde_json::{Map, Value as Json};

use super::History;
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

/// All owners that results have shown; several objects of one name count as one.
#[derive(Debug, Clone, Default)]
pub struct Owners<'h>(Vec<Known<'h>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known<'h> {
    names: &'h [String],
    values: Vec<&'h str>,
}

impl<'h> Owners<'h> {
    /// The owners that the latest results have shown.
    pub fn seen(history: &'h History) -> Self {
        Self::of(history.calls().iter().rev().take(RESULTS).flat_map(|past| &past.contents.owners))
    }

    fn of(shown: impl Iterator<Item = &'h Owner>) -> Self {
        let mut owners = Self::default();
        for owner in shown.filter(|owner| !owner.names.is_empty()) {
            let values = owner.values.iter().map(String::as_str);
            match owners.0.iter_mut().find(|o| o.names == owner.names) {
                Some(known) => known.values.extend(values),
                None => owners.0.push(Known { names: &owner.names, values: values.collect() }),
            }
        }
        owners
    }

    /// Whether a value belongs to somebody here.
    pub fn knows(&self, value: &str) -> bool {
        self.0.iter().any(|o| o.has(value))
    }

    /// Whether a text names the owner of a value, and nobody else by the same words: the full name, or
    /// a part of it that no other owner bears. Two values of one kind under one name are ambiguous.
    pub fn named(&self, value: &str, said: &str) -> bool {
        let Some(owner) = self.0.iter().find(|o| o.has(value)) else { return false };
        self.are_named(said).contains(&owner) && owner.is_sole(value)
    }

    /// The values of one kind (that of `like`) of everybody whom a text names.
    pub fn meant(&self, like: &str, said: &str) -> Vec<&'h str> {
        let named = self.are_named(said);
        named.into_iter().filter_map(|o| o.values.iter().copied().find(|v| kind(v) == kind(like))).collect()
    }

    fn are_named(&self, said: &str) -> Vec<&Known<'h>> {
        let full: Vec<&Known<'h>> = self.0.iter().filter(|o| o.names.iter().all(|n| says(said, n))).collect();
        let mut named = full.clone();
        for owner in self.0.iter().filter(|o| !full.contains(o)) {
            let mut parts = owner.names.iter().filter(|n| says(said, n)).peekable();
            let alone = |part: &String| self.0.iter().all(|o| o == owner || !o.names.contains(part));
            if parts.peek().is_some() && parts.all(alone) {
                named.push(owner);
            }
        }
        named
    }
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
    fn has(&self, value: &str) -> bool {
        self.values.iter().any(|v| same(v, value))
    }

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

/// Whether a text is an identifier, an address or a number rather than a name.
fn is_address(text: &str) -> bool {
    text.len() <= 128 && (is_mail(text) || is_phone(text) || is_identifier(text))
}

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

fn says(spaced: &str, name: &str) -> bool {
    !name.is_empty() && spaced.contains(&format!(" {name} "))
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
        Owners::of(owners.iter()).named(value, said)
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
    fn two_addresses_under_one_name_are_ambiguous() {
        let twins = shown(&json!([
            {"id": "g_1", "name": "Ann Lee", "mail": "ann@x.org"}, {"id": "g_2", "name": "Ann Lee", "mail": "lee@x.org"}
        ]));
        assert!(!named(&twins, "ann@x.org", " ann lee ") && !named(&twins, "lee@x.org", " ann lee "));
    }

    #[test]
    fn an_object_under_its_identifier_is_an_owner_too() {
        let keyed = shown(&json!({"con_7": {"name": {"first": "Grace"}, "email": "grace@x.org"}}));
        let owners = Owners::of(keyed.iter());
        assert!(named(&keyed, "con_7", " ask grace ") && owners.knows("grace@x.org") && !owners.knows("con_8"));
    }
}
