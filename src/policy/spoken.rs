//! Calls and values as people say them.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Policy;
use crate::model::{ToolCall, Value, number};
use crate::state::{Attribute, CellIx, History, ItemRef, SetFrom};

impl Policy {
    /// What the harness says on an occasion. A table without the occasion falls back to the first
    /// table; with none at all the holes are spoken bare, because silence would hide what happened.
    pub fn say(&self, language: &str, occasion: &str, holes: &[(&str, &str)]) -> String {
        let tables = self.phrases(language).into_iter().chain(self.phrases.first());
        tables
            .into_iter()
            .find_map(|t| t.say(occasion, holes))
            .unwrap_or_else(|| holes.iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" "))
    }

    /// A list as people say it: `a, b and c`.
    pub fn list(&self, language: &str, items: &[String]) -> String {
        match items.split_last() {
            Some((last, rest)) if !rest.is_empty() => {
                self.say(language, "and", &[("first", &rest.join(", ")), ("last", last)])
            }
            _ => items.join(", "),
        }
    }

    /// A call as people say it: `driver window 0 percent`, `high beam on`. Every argument is named,
    /// because a consent covers every one of them.
    ///
    /// What has an identifier is called by the name that the conversation knows it by: nobody agrees to
    /// `loc_7`.
    pub fn call_words(&self, language: &str, call: &ToolCall, history: &History) -> String {
        let effect = self.inventory.position(call.tool.as_str()).and_then(|t| self.model.tool(t));
        let noun = effect
            .and_then(|e| e.nouns.get(language).or_else(|| e.nouns.values().next()))
            .and_then(|n| n.first())
            .cloned()
            .unwrap_or_else(|| call.tool.as_str().replace('_', " "));
        let item = effect.and_then(|e| e.item.as_ref());
        let mut words: Vec<String> = Vec::new();
        match item {
            Some(item) => {
                let word = call.arguments.get(&item.argument).and_then(Json::as_str).unwrap_or_default();
                match item.resolve(word) {
                    Some(ItemRef::All) => words.extend([self.say(language, "all", &[]), noun]),
                    _ => words.push(self.item_words(language, &word.to_lowercase(), &noun)),
                }
            }
            None => words.push(noun),
        }
        let set = |name: &str| -> Option<&Attribute> {
            let reads = |from: &SetFrom| matches!(from, SetFrom::Argument { name: n, .. } if n == name);
            self.model.attribute(effect?.sets.iter().find(|s| reads(&s.from))?.attribute)
        };
        for (name, value) in call.arguments.iter().filter(|(n, _)| item.is_none_or(|i| i.argument != **n)) {
            let attribute = set(name);
            let unit = attribute.map(|a| a.unit.as_str()).unwrap_or_default();
            let value = self.named(language, value, unit, history);
            // What sets a field of the car speaks for itself; anything else is named.
            words.push(if attribute.is_some() {
                value
            } else {
                format!("{} {value}", self.argument_words(language, name))
            });
        }
        words.join(" ")
    }

    /// A value as people say it, things with an identifier by the name that results show.
    fn named(&self, language: &str, value: &Json, unit: &str, history: &History) -> String {
        match value {
            Json::String(text) => {
                history.title(text).map_or_else(|| self.value_words(language, value, unit), str::to_owned)
            }
            Json::Array(items) => {
                let items: Vec<String> = items.iter().map(|i| self.named(language, i, unit, history)).collect();
                self.list(language, &items)
            }
            _ => self.value_words(language, value, unit),
        }
    }

    /// A field of the car as people say it: `driver rear window`.
    pub fn field_words(&self, language: &str, cell: CellIx) -> String {
        let Some((attribute, at)) = self.model.owner(cell) else { return String::new() };
        let Some(declared) = self.model.attribute(attribute) else { return String::new() };
        let in_language = |names: &BTreeMap<String, Vec<String>>| {
            names.get(language).or_else(|| names.values().next()).and_then(|n| n.first()).cloned()
        };
        // What sets it is what it is called by; a part of the car that nothing sets has a name of its own.
        let setters = self.model.tools.iter().filter(|t| t.attributes().any(|a| a == attribute));
        let entity = self.model.entity(declared.entity);
        let own = self.say(language, &format!("word-{}", declared.name), &[]);
        let noun = Some(own).filter(|own| !own.is_empty());
        let noun = noun.or_else(|| setters.map(|t| &t.nouns).find_map(&in_language));
        let noun = noun.or_else(|| entity.filter(|e| !e.is_singleton()).and_then(|e| in_language(&e.names)));
        let noun = noun.unwrap_or_else(|| label(&declared.name));
        match entity.filter(|e| !e.is_singleton()).and_then(|e| e.items.get(usize::from(at))) {
            Some(item) => self.item_words(language, item, &noun),
            None => noun,
        }
    }

    /// An item as people say it: `driver rear window`, `Fenster Fahrer hinten`.
    fn item_words(&self, language: &str, item: &str, noun: &str) -> String {
        let words: Vec<String> = item.split('_').map(|word| self.word(language, word)).collect();
        self.say(language, "item", &[("item", words.join(" ").trim()), ("noun", noun)]).trim().to_owned()
    }

    /// An argument as people say it, in a question or beside its value.
    pub fn argument_words(&self, language: &str, name: &str) -> String {
        match self.say(language, &format!("word-{name}"), &[]) {
            said if said.is_empty() => label(name),
            said => said,
        }
    }

    /// The value of a field of the car as people say it.
    pub fn field_value_words(&self, language: &str, cell: CellIx, value: &Value) -> String {
        let declared = self.model.owner(cell).and_then(|(attribute, _)| self.model.attribute(attribute));
        let Some(declared) = declared.filter(|_| value.is_known()) else { return self.word(language, "unknown") };
        match value.to_json(declared.resolution) {
            Json::String(word) => self.word(language, &word.to_lowercase()),
            json => self.value_words(language, &json, &declared.unit),
        }
    }

    /// A word that schemas spell in English, as a language says it.
    fn word(&self, language: &str, word: &str) -> String {
        match self.say(language, &format!("word-{word}"), &[]) {
            said if said.is_empty() => word.replace('_', " "),
            said => said,
        }
    }

    /// A JSON value as people say it.
    pub fn value_words(&self, language: &str, value: &Json, unit: &str) -> String {
        match value {
            Json::Bool(true) => self.say(language, "on", &[]),
            Json::Bool(false) => self.say(language, "off", &[]),
            Json::Number(n) => {
                let number = number(n).to_string();
                match unit {
                    "" => number,
                    "%" => self.say(language, "percent", &[("number", &number)]),
                    "°C" => self.say(language, "degrees", &[("number", &number)]),
                    other => format!("{number} {other}"),
                }
            }
            Json::String(word) if word.chars().any(char::is_lowercase) => word.clone(),
            Json::String(word) => self.word(language, &word.to_lowercase()),
            Json::Array(items) => {
                let items: Vec<String> = items.iter().map(|i| self.value_words(language, i, unit)).collect();
                self.list(language, &items)
            }
            Json::Null | Json::Object(_) => String::new(),
        }
    }
}

/// The name of an argument or a field as people say it: `route_ids` are routes, a `poi_id` is a poi.
pub fn label(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in name.split('_') {
        match (part, words.last_mut()) {
            ("id", Some(_)) => {}
            ("ids", Some(last)) => last.push('s'),
            (part, _) => words.push(part.to_owned()),
        }
    }
    words.join(" ")
}
