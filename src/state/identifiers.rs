//! Opaque identifiers and where they were observed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::CallRef;

/// Where an identifier was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The call whose result held it; none when the system message or the driver said it.
    pub call: Option<CallRef>,
    /// The field it stood in, or the empty text.
    pub field: Arc<str>,
}

/// Every word that results, the system message or the driver have shown, with its provenance.
///
/// The shape of an identifier is learned, not listed: `loc_lux_222378` observed once makes every
/// other word that starts with `loc_` and ends in digits an identifier.
#[derive(Debug, Clone, Default)]
pub struct Identifiers {
    seen: HashMap<Arc<str>, Seen>,
    prefixes: HashSet<Arc<str>>,
}

impl Identifiers {
    /// Where a word was first seen, exactly as written.
    pub fn get(&self, word: &str) -> Option<&Seen> {
        self.seen.get(word)
    }

    /// Whether a word has the shape of identifiers that were observed: the same head before its first
    /// underscore. An invented one need not end in digits (`loc_placeholder`).
    pub fn looks_like_one(&self, word: &str) -> bool {
        word.split_once('_').is_some_and(|(head, tail)| {
            self.prefixes.contains(head) && tail.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    }

    /// All words seen with their provenance.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.seen.iter().map(|(word, seen)| (word.as_ref(), seen))
    }

    /// Takes in every word of a result: values and member names, at every depth.
    pub(super) fn observe(&mut self, json: &Json, call: Option<CallRef>, field: &str) {
        match json {
            Json::String(word) => self.insert(word, call, field),
            Json::Array(items) => items.iter().for_each(|item| self.observe(item, call, field)),
            Json::Object(map) => {
                for (name, value) in map {
                    if prefix(name).is_some() {
                        self.insert(name, call, field);
                    }
                    self.observe(value, call, name);
                }
            }
            _ => {}
        }
    }

    /// Takes in the words of a text that are shaped like identifiers, addresses or numbers.
    pub(super) fn read_text(&mut self, text: &str) {
        let breaks = |c: char| {
            c.is_whitespace()
                || matches!(c, '"' | '\'' | ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '`')
        };
        for word in text.split(breaks) {
            let word = word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?'));
            if prefix(word).is_some() || word.contains('@') {
                self.insert(word, None, "");
            }
        }
    }

    fn insert(&mut self, word: &str, call: Option<CallRef>, field: &str) {
        if word.len() > 128 || self.seen.contains_key(word) {
            return; // prose in results is no identifier; the first observation is the provenance
        }
        if let Some(p) = prefix(word).filter(|p| !self.prefixes.contains(*p)) {
            self.prefixes.insert(p.into());
        }
        self.seen.insert(word.into(), Seen { call, field: field.into() });
    }
}

/// `loc_` of `loc_lux_222378`: letters, an underscore, a tail that ends in a digit.
fn prefix(word: &str) -> Option<&str> {
    let (head, tail) = word.split_once('_')?;
    let plain = !head.is_empty() && head.chars().all(|c| c.is_ascii_alphabetic());
    (plain
        && tail.ends_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    .then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn learns_shapes_from_results_and_matches_exactly() {
        let mut ids = Identifiers::default();
        ids.observe(&json!({"id": "loc_lux_222378", "con_3790": {"x": 1}}), Some(CallRef(0)), "");
        assert!(ids.get("loc_lux_222378").is_some() && ids.get("con_3790").is_some());
        assert!(ids.get("loc_lux_22237").is_none(), "a truncated identifier is another one");
        assert!(ids.looks_like_one("loc_ber_000001") && !ids.looks_like_one("charging_stations"));
        assert_eq!(&*ids.get("loc_lux_222378").unwrap().field, "id");
    }
}
