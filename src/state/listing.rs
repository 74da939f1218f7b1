//! Lists that searches return, and which of their members a reply names.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::History;
use crate::model::{Words, is_unknown_word};
use crate::tools::ToolIx;

/// What several reads return lists of: places, hits, contacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Name in rules: `context.told.places`.
    pub name: String,
    /// The reads that return it.
    pub reads: Vec<ToolIx>,
    /// The member of an entry that names it.
    pub field: String,
}

/// How many entries a reply names, and how many it leaves out. Both are nought for a reply that names
/// none: it is about something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// Entries named.
    pub told: i64,
    /// Entries left out.
    pub untold: i64,
}

/// Entries that are looked at.
const MOST: usize = 64;

impl Listing {
    /// How a reply stands to what was found since the driver last spoke.
    pub fn told(&self, history: &History, reply: &Words) -> Told {
        let turn = history.turn();
        let past = history.calls().iter().rev().take_while(|past| past.turn == turn);
        let results = past.filter(|p| p.tool.is_some_and(|t| self.reads.contains(&t))).filter_map(|p| p.payload());
        let names: Vec<&str> = results.flat_map(|payload| self.names(payload)).take(MOST).collect();
        if names.is_empty() {
            return Told::default();
        }
        let told = names.iter().filter(|name| reply.spaced().contains(Words::new(name).spaced())).count();
        let untold = if told == 0 { 0 } else { names.len() - told };
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        Told { told: count(told), untold: count(untold) }
    }

    /// The names of the entries of a payload's lists.
    fn names<'a>(&'a self, payload: &'a Json) -> impl Iterator<Item = &'a str> {
        let own = payload.as_array().into_iter();
        let lists = own.chain(payload.as_object().into_iter().flat_map(|map| map.values().filter_map(Json::as_array)));
        lists.flatten().filter_map(|entry| entry.get(&self.field)?.as_str()).filter(|name| !is_unknown_word(name))
    }
}
