//! Phrase tables: what people say, one table a language (design §5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One language's phrases. A new language is a new file; no code names a word.
///
/// Keys are the roles that gates ask for (`yes`, `no`, `done`, …); each gate documents the roles it
/// uses. Phrases are lower-case words separated by single spaces; `*` stands for up to three words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phrases {
    /// ISO 639-1 code.
    pub language: String,
    /// Phrases by role.
    pub roles: BTreeMap<String, Vec<String>>,
    /// Number words and what they stand for: `half` is 50 where a percentage is meant.
    pub numbers: BTreeMap<String, i64>,
}

impl Phrases {
    /// The phrases of a role; none when the language does not know the role.
    pub fn role(&self, role: &str) -> &[String] {
        self.roles.get(role).map_or(&[], Vec::as_slice)
    }
}
