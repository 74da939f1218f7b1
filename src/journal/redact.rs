//! Replaces personal content before it is written.

use std::collections::VecDeque;

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::record::hex;

/// Bytes of the salt.
pub(super) const SALT: usize = 32;

/// How many redacted texts are remembered, so that a later question or finding that quotes one does
/// not give it away. A turn redacts a handful; the bound keeps the cost of a record small.
const REMEMBERED: usize = 32;

/// Shorter texts are not searched for in other texts: "yes" is no secret, and cutting it out of every
/// sentence would make the journal unreadable.
const SHORTEST: usize = 8;

/// Replaces what is configured as personal by its length and a salted hash: records about the same
/// content can still be recognised as such, the content cannot be told from them without the salt.
#[derive(Debug)]
pub(super) struct Redactor {
    paths: Vec<Vec<String>>,
    salt: [u8; SALT],
    remembered: VecDeque<String>,
}

impl Redactor {
    /// `paths` are dotted member names; each matches wherever those members follow one another.
    pub(super) fn new(paths: &[String], salt: [u8; SALT]) -> Self {
        let paths = paths.iter().map(|p| p.split('.').map(str::to_owned).collect()).collect();
        Self { paths, salt, remembered: VecDeque::new() }
    }

    /// Redacts a body in place.
    pub(super) fn apply(&mut self, body: &mut Map<String, Json>) {
        if self.paths.is_empty() {
            return;
        }
        self.members(body, &mut Vec::new());
        body.values_mut().for_each(|value| self.quotes(value));
    }

    /// `trail` holds the member names above; lists do not count as a step.
    fn members(&mut self, map: &mut Map<String, Json>, trail: &mut Vec<String>) {
        for (name, value) in map.iter_mut() {
            trail.push(name.clone());
            if self.paths.iter().any(|path| trail.ends_with(path)) {
                self.replace(value);
            } else {
                self.descend(value, trail);
            }
            trail.pop();
        }
    }

    fn descend(&mut self, value: &mut Json, trail: &mut Vec<String>) {
        match value {
            Json::Object(map) => self.members(map, trail),
            Json::Array(items) => items.iter_mut().for_each(|item| self.descend(item, trail)),
            _ => {}
        }
    }

    fn replace(&mut self, value: &mut Json) {
        if value.is_null() {
            return; // that nothing was said is no personal content
        }
        let text = match &*value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let replaced = std::mem::take(value);
        *value = self.mark(&text);
        self.remember(replaced);
    }

    /// Keeps the texts of what was replaced, those inside a list or an object one by one: each may be quoted
    /// by itself.
    fn remember(&mut self, replaced: Json) {
        match replaced {
            Json::String(text) if text.len() >= SHORTEST && !self.remembered.contains(&text) => {
                self.remembered.truncate(REMEMBERED - 1);
                self.remembered.push_front(text);
            }
            Json::Array(items) => items.into_iter().for_each(|item| self.remember(item)),
            Json::Object(map) => map.into_iter().for_each(|(_, item)| self.remember(item)),
            _ => {}
        }
    }

    /// Replaces remembered texts where other texts quote them.
    fn quotes(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                for secret in &self.remembered {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), &format!("[redacted {}]", self.hash(secret)));
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.quotes(item)),
            Json::Object(map) => map.values_mut().for_each(|item| self.quotes(item)),
            _ => {}
        }
    }

    fn mark(&self, text: &str) -> Json {
        json!({"redacted": self.hash(text), "bytes": text.len()})
    }

    fn hash(&self, text: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(self.salt);
        digest.update(text);
        // 16 digits tell a fleet's utterances apart and are short enough to read.
        hex(&digest.finalize()).chars().take(16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(paths: &[&str]) -> Redactor {
        let paths: Vec<String> = paths.iter().map(|p| (*p).to_owned()).collect();
        Redactor::new(&paths, [1; SALT])
    }

    fn body(json: Json) -> Map<String, Json> {
        let Json::Object(map) = json else { panic!("an object") };
        map
    }

    #[test]
    fn replaces_configured_members_at_any_depth_and_nothing_else() {
        let mut entry =
            body(json!({"calls": [{"tool": "send", "arguments": {"text": "see you at eight", "to": "A"}}]}));
        redactor(&["arguments.text"]).apply(&mut entry);
        let arguments = &entry["calls"][0]["arguments"];
        assert_eq!(arguments["text"]["bytes"], 16);
        assert_eq!(arguments["to"], "A");
    }

    #[test]
    fn a_later_record_that_quotes_redacted_content_does_not_give_it_away() {
        let mut redactor = redactor(&["arguments.text"]);
        let mut draft = body(json!({"arguments": {"text": "see you at eight"}}));
        redactor.apply(&mut draft);
        let mut question = body(json!({"question": "Send \"see you at eight\" to A?"}));
        redactor.apply(&mut question);
        let hash = draft["arguments"]["text"]["redacted"].as_str().unwrap();
        assert_eq!(question["question"], format!("Send \"[redacted {hash}]\" to A?"));
    }

    #[test]
    fn a_text_inside_a_redacted_object_is_not_given_away_by_a_quote_either() {
        let mut redactor = redactor(&["arguments"]);
        redactor.apply(&mut body(json!({"arguments": {"to": ["anna@example.org"], "level": 3}})));
        let mut finding = body(json!({"because": "\"anna@example.org\" was not named"}));
        redactor.apply(&mut finding);
        assert!(!finding["because"].as_str().unwrap().contains("anna"), "{finding:?}");
    }

    #[test]
    fn the_same_content_has_the_same_hash_only_under_the_same_salt() {
        let hash = |salt: u8| {
            let mut entry = body(json!({"utterance": "call mum"}));
            Redactor::new(&["utterance".to_owned()], [salt; SALT]).apply(&mut entry);
            entry["utterance"]["redacted"].clone()
        };
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }
}
