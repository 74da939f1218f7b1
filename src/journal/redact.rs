//! Replaces personal content before it is written.

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::quotes::Quotes;
use super::record::hex;

/// Bytes of the salt.
pub(super) const SALT: usize = 32;

/// Shorter texts outside of calls are not looked for in other texts: what a driver says most is "yes" and "stop".
const SHORTEST: usize = 8;

/// What a call takes. What is redacted there may be spoken of in the same record in any words.
const ARGUMENTS: &str = "arguments";

/// Sentences that are made of the arguments of a call. Beside a redacted one they are replaced as a whole: a
/// secret of one or two letters cannot be looked for.
const SPOKEN: [&str; 3] = ["question", "speak", "reply"];

/// Members that hold names of the program, of the policy or of the records themselves: nobody's secret, and what
/// everything is counted by.
const NAMES: [&str; 20] = [
    "redacted", "sha256", "tool", "id", "by", "rule", "gate", "tier", "source", "policy", "verdict", "was", "of",
    "apply", "outcome", "field", "how", "what", "side", "step",
];

/// Replaces what is configured as personal by its length and a salted hash: records about the same
/// content can still be recognised as such, the content cannot be told from them without the salt.
#[derive(Debug)]
pub(super) struct Redactor {
    paths: Vec<Vec<String>>,
    salt: [u8; SALT],
    quotes: Quotes,
}

impl Redactor {
    /// `paths` are dotted member names; each matches wherever those members follow one another.
    pub(super) fn new(paths: &[String], salt: [u8; SALT]) -> Self {
        let paths = paths.iter().map(|p| p.split('.').map(str::to_owned).collect()).collect();
        Self { paths, salt, quotes: Quotes::default() }
    }

    /// Redacts a body in place.
    pub(super) fn apply(&mut self, body: &mut Map<String, Json>) {
        if self.paths.is_empty() {
            return;
        }
        let mut in_a_call = false;
        self.members(body, &mut Vec::new(), &mut in_a_call);
        if in_a_call {
            self.spoken(body);
        }
        body.iter_mut().for_each(|(name, value)| self.quoted(name, value));
    }

    /// `trail` holds the member names above; lists do not count as a step. `in_a_call` becomes true when an argument
    /// of a call is replaced.
    fn members(&mut self, map: &mut Map<String, Json>, trail: &mut Vec<String>, in_a_call: &mut bool) {
        for (name, value) in map.iter_mut() {
            trail.push(name.clone());
            if self.paths.iter().any(|path| trail.ends_with(path)) {
                let argument = trail.iter().any(|name| name == ARGUMENTS);
                *in_a_call |= argument && !value.is_null();
                self.replace(value, argument);
            } else {
                self.descend(value, trail, in_a_call);
            }
            trail.pop();
        }
    }

    fn descend(&mut self, value: &mut Json, trail: &mut Vec<String>, in_a_call: &mut bool) {
        match value {
            Json::Object(map) => self.members(map, trail, in_a_call),
            Json::Array(items) => items.iter_mut().for_each(|item| self.descend(item, trail, in_a_call)),
            _ => {}
        }
    }

    fn replace(&mut self, value: &mut Json, argument: bool) {
        if value.is_null() {
            return; // that nothing was said is no personal content
        }
        let text = match &*value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let replaced = std::mem::take(value);
        *value = self.mark(&text);
        self.remember(&replaced, argument);
    }

    /// Keeps the texts of what was replaced, those inside a list or an object one by one: each may be quoted
    /// by itself.
    fn remember(&mut self, replaced: &Json, argument: bool) {
        match replaced {
            Json::String(text) if argument || text.len() >= SHORTEST => {
                let mark = self.hash(text);
                self.quotes.remember(text, &mark);
            }
            Json::Number(number) if argument => {
                let mark = self.hash(&number.to_string());
                self.quotes.remember(&number.to_string(), &mark);
            }
            Json::Array(items) => items.iter().for_each(|item| self.remember(item, argument)),
            Json::Object(map) => map.values().for_each(|item| self.remember(item, argument)),
            _ => {}
        }
    }

    /// Replaces the sentences that speak of a call. The reply that follows says the same words.
    fn spoken(&mut self, map: &mut Map<String, Json>) {
        for (name, value) in map.iter_mut() {
            match value {
                Json::String(_) if SPOKEN.contains(&name.as_str()) => self.replace(value, false),
                Json::Object(map) => self.spoken(map),
                Json::Array(items) => {
                    items.iter_mut().filter_map(Json::as_object_mut).for_each(|map| self.spoken(map));
                }
                _ => {}
            }
        }
    }

    /// Cuts remembered texts out where other texts quote them. A word of the program or of the policy is none.
    fn quoted(&self, name: &str, value: &mut Json) {
        match value {
            Json::String(text) if !(NAMES.contains(&name) && is_name(text)) => {
                if let Some(cut) = self.quotes.cut(text) {
                    *text = cut;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.quoted(name, item)),
            Json::Object(map) => map.iter_mut().for_each(|(name, item)| self.quoted(name, item)),
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

/// Whether a text is one word, as names are.
fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:/".contains(&b))
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
