//! Phrase tables: what people say, one table a language (design §5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Words;

/// What a phrase is said for: all that gates know of a language.
///
/// Clause and sentence are those of [`Words`]. A gate documents which roles it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum PhraseRole {
    /// Agrees to what was asked.
    Yes,
    /// Refuses or takes back.
    No,
    /// Makes a yes something less: a condition, a delay, an exception.
    Qualifier,
    /// Makes a question one for leave to act.
    Proceed,
    /// Asks for a yes even where it is no question (`please confirm`).
    Confirm,
    /// Joins alternatives.
    Or,
    /// Joins equals.
    And,
    /// Switches or stands on; also how a switch is asked to be on.
    On,
    /// Switches or stands off.
    Off,
    /// Every one of several.
    All,
    /// The most that can be set.
    Most,
    /// The least that can be set.
    Least,
    /// More or less of what is now.
    Relative,
    /// This very moment.
    Current,
    /// A moment to come.
    Future,
    /// Makes the number before it a time of day.
    Clock,
    /// Says that something cannot be done or is not known.
    Admission,
    /// Says that a value could not be read.
    Gap,
    /// Opens a report of what the speaker did (`I've`).
    Claim,
    /// What was done to something (`closed`), in the form that reports use.
    Changed,
    /// What is about to be done by the speaker (`I'm setting`).
    Announce,
    /// A first-person intent (`let me`).
    Intent,
    /// An offer to act (`I can`, `want me to`).
    Offer,
    /// The base form of doing (`close`, `set`).
    Change,
    /// Takes something away (`remove`).
    Remove,
    /// States how something is (`is`, `are`).
    Copula,
    /// Reports success as a whole (`done`, `all set`).
    Done,
    /// Looking something up (`check`).
    Look,
    /// Denies the clause it stands in.
    Negation,
    /// Makes a clause conditional or hypothetical.
    Condition,
    /// Asks for a value (`which`, `how much`).
    AskValue,
    /// Asks for something without a question mark (`let me know`).
    Request,
    /// Speaks of another possibility (`alternatives`, `the other route`).
    Alternative,
    /// Everyday words of the language, by which it is told from others.
    Common,
    /// Makes what is announced wait for something (`once you say so`).
    Contingent,
    /// Never ends a sentence (`the`).
    Dangling,
    /// Makes of a state a possibility, a duty or a matter of the past (`can`, `already`).
    Modal,
    /// Says that there is nothing else of a kind (`no other`).
    Exhaustive,
    /// Adds nothing to what is said: politeness, fillers, small words (`thanks`, `just`, `it`).
    Courtesy,
    /// Stands before the value to be reached (`from 20 to 50`).
    Target,
    /// Opens or closes a conversation and asks for nothing (`hello`).
    Greeting,
    /// Makes of a step a small one (`a bit`).
    Small,
    /// Upwards from what is now (`warmer`).
    More,
    /// Downwards from what is now (`cooler`).
    Less,
    /// Takes back what was said before it in the same breath (`no, I mean`).
    Correction,
    /// Begins a question after how things are (`is the`, `warum`).
    Inquiry,
    /// Makes of a question a wish (`can you`, `what about`).
    Wish,
    /// Makes of what is said no request: it is not wanted, or for another time (`I do not want that`).
    Unasked,
    /// As it is elsewhere: the value of something else is meant (`the same`, `match`).
    Likeness,
    /// Stands before a name that is gone or written to (`to Marlau`).
    Towards,
    /// Describes or points instead of naming, or begins a description (`the`, `my`, `home`).
    Nameless,
}

impl PhraseRole {
    /// All roles.
    pub const ALL: [Self; 51] = [
        Self::Yes,
        Self::No,
        Self::Qualifier,
        Self::Proceed,
        Self::Confirm,
        Self::Or,
        Self::And,
        Self::On,
        Self::Off,
        Self::All,
        Self::Most,
        Self::Least,
        Self::Relative,
        Self::Current,
        Self::Future,
        Self::Clock,
        Self::Admission,
        Self::Gap,
        Self::Claim,
        Self::Changed,
        Self::Announce,
        Self::Intent,
        Self::Offer,
        Self::Change,
        Self::Remove,
        Self::Copula,
        Self::Done,
        Self::Look,
        Self::Negation,
        Self::Condition,
        Self::AskValue,
        Self::Request,
        Self::Alternative,
        Self::Common,
        Self::Contingent,
        Self::Dangling,
        Self::Modal,
        Self::Exhaustive,
        Self::Courtesy,
        Self::Target,
        Self::Greeting,
        Self::Small,
        Self::More,
        Self::Less,
        Self::Correction,
        Self::Inquiry,
        Self::Wish,
        Self::Unasked,
        Self::Likeness,
        Self::Towards,
        Self::Nameless,
    ];

    /// The bit of this role in a set of roles.
    pub(super) fn bit(self) -> u64 {
        1 << (self as u8)
    }
}

/// One language's phrases. A new language is a new file; no code names a word.
///
/// Phrases are lower-case words separated by single spaces; `*` stands for up to three words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phrases {
    /// ISO 639-1 code.
    pub language: String,
    /// Phrases by role.
    pub roles: BTreeMap<PhraseRole, Vec<String>>,
    /// Number words and what they stand for: `half` is 50 where a percentage is meant.
    #[serde(default)]
    pub numbers: BTreeMap<String, i64>,
    /// How the language says the words that tool schemas spell in English: member of an
    /// enumeration (or one of the parts it joins with `_`), lower-case, to words of the language.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<String>>,
    /// What the harness itself says to the driver, by occasion; `{…}` are holes.
    #[serde(default)]
    pub say: BTreeMap<String, String>,
}

/// Why a phrase table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PhraseError {
    /// Not a table of this shape, or a role that no gate knows.
    #[error("the phrase table cannot be read: {0}")]
    Parse(#[from] toml::de::Error),
    /// A phrase that would never match.
    #[error(
        "the phrase `{phrase}` of the language `{language}` would never match; write it as the splitter reads it: `{words}`"
    )]
    Spelling {
        /// The language.
        language: String,
        /// The phrase as written.
        phrase: String,
        /// How it must be written.
        words: String,
    },
}

impl Phrases {
    /// Reads a table and checks that every phrase is written the way texts are split.
    ///
    /// # Errors
    /// [`PhraseError`] naming the phrase.
    pub fn parse(text: &str) -> Result<Self, PhraseError> {
        let table: Self = toml::from_str(text)?;
        for phrase in table.roles.values().flatten().chain(table.numbers.keys()).chain(table.values.values().flatten())
        {
            let words: Vec<String> = phrase
                .split(' ')
                .map(|w| if w == "*" { w.to_owned() } else { Words::new(w).spaced().trim().to_owned() })
                .collect();
            let words = words.join(" ");
            if words != *phrase || words.is_empty() || words.starts_with('*') || words.ends_with('*') {
                return Err(PhraseError::Spelling { language: table.language, phrase: phrase.clone(), words });
            }
        }
        Ok(table)
    }

    /// The phrases of a role; none when the language has none.
    pub fn role(&self, role: PhraseRole) -> &[String] {
        self.roles.get(&role).map_or(&[], Vec::as_slice)
    }

    /// What the harness says on an occasion, its holes filled.
    pub fn say(&self, occasion: &str, holes: &[(&str, &str)]) -> Option<String> {
        let template = self.say.get(occasion)?;
        Some(holes.iter().fold(template.clone(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_that_could_never_match_is_refused_with_its_right_spelling() {
        let error = Phrases::parse("language = \"en\"\n[roles]\nno = [\"don't\"]").unwrap_err();
        assert!(error.to_string().contains("`don t`"), "{error}");
        assert!(Phrases::parse("language = \"en\"\n[roles]\nno = [\"* not\"]").is_err());
    }

    #[test]
    fn a_role_that_no_gate_knows_is_refused() {
        assert!(Phrases::parse("language = \"en\"\n[roles]\nyess = [\"yes\"]").is_err());
    }
}
