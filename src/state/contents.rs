//! What the result of a call holds that checks ask for again and again, gathered once when it arrives.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Outcome;
use super::owners::Owner;
use crate::model::{Words, word_number};

/// Numbers by the field they stand in; those outside any under the empty name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers(BTreeMap<Box<str>, Vec<f64>>);

impl Numbers {
    /// The numbers of a text.
    pub fn of_text(text: &str) -> Self {
        let mut numbers = Self::default();
        numbers.text("", text);
        numbers
    }

    /// Adds the numbers of words.
    pub fn read(&mut self, words: &Words) {
        self.words("", words);
    }

    /// Every number with the field that it stands in.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.0.iter().map(|(field, numbers)| (field.as_ref(), numbers.as_slice()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn walk(&mut self, field: &str, json: &Json) {
        match json {
            Json::Number(n) => n.as_f64().into_iter().for_each(|n| self.add(field, n)),
            Json::String(text) => self.text(field, text),
            Json::Array(items) => items.iter().for_each(|item| self.walk(field, item)),
            Json::Object(map) => map.iter().for_each(|(name, value)| {
                self.text(name, name);
                self.walk(name, value);
            }),
            Json::Bool(_) | Json::Null => {}
        }
    }

    fn text(&mut self, field: &str, text: &str) {
        // Results are long and numbers in them few: only pieces with a digit are split into words.
        for piece in text.split_ascii_whitespace().filter(|p| p.bytes().any(|b| b.is_ascii_digit())) {
            self.words(field, &Words::new(piece));
        }
    }

    fn words(&mut self, field: &str, words: &Words) {
        for (_, word) in words.iter() {
            // A number may stand inside a word of its own making, such as `0.5h` or `x2.5`.
            let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
            word_number(digits).into_iter().for_each(|n| self.add(field, n));
        }
    }

    fn add(&mut self, field: &str, number: f64) {
        match self.0.get_mut(field) {
            Some(numbers) => numbers.push(number),
            None => {
                self.0.insert(field.into(), vec![number]);
            }
        }
    }
}

/// What a call and its result hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// Persons and places with what is shown of them.
    pub(super) owners: Vec<Owner>,
    /// Numbers of the result and of the arguments.
    pub numbers: Numbers,
}

impl Contents {
    pub(super) fn of(outcome: &Outcome, arguments: &crate::model::Arguments, ends: &[&str]) -> Self {
        let mut contents = Self::default();
        match outcome {
            Outcome::Done(payload) => {
                Owner::gather(payload, ends, &mut contents.owners);
                contents.numbers.walk("", payload);
            }
            Outcome::Failed(why) | Outcome::Unknown(why) => contents.numbers.text("", why),
            Outcome::Pending => {}
        }
        arguments.iter().for_each(|(name, value)| contents.numbers.walk(name, value));
        contents
    }
}
