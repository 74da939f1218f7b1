//! From prose to rules: a generator, two critics, three rounds (paper 2), sentence by sentence.
//!
//! ```text
//! sentence ─▶ generator ─▶ hard critic (compiler, checks, cvc5) ─▶ soft critic (judge, verifier) ─▶ rules
//!                 ▲                  │ errors                              │ objections
//!                 └──────────────────┴─────────────────────────────────────┘ at most ROUNDS
//! ```
//!
//! Policy text is data. Each sentence is asked about alone, as a JSON string; what is answered can become
//! rules of that sentence and nothing else: their `@id` and `@source` are ours, they can only forbid, and
//! they are compiled strictly. So a sentence that tries to instruct the compiler changes at most its own
//! entry of the account. What the hard critic finds between the rules of several sentences stands in the
//! account beside them.

mod answer;
mod author;
mod critic;
mod grounding;
#[cfg(feature = "llama")]
mod local;
mod recorded;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod sentence;

use std::collections::HashMap;

use serde_json::json;
use sha2::{Digest, Sha256};

pub use author::{ANSWER_TOKENS, Ask, Author, AuthorError, Task};
#[cfg(feature = "llama")]
pub use local::Local;
pub use recorded::{Recorded, Recording};
pub use report::{Account, Together};
pub use sentence::{Entry, Standing};

use super::coverage::{Sentence, sentences};
use super::error::CompileErrors;
use super::format;
use super::ground::Ground;
use super::rules::Rules;
use super::source::{SetSource, SourceFile};
use critic::Desk;

/// Rounds a sentence gets (paper 2).
pub const ROUNDS: u32 = 3;
/// Version of the prompts. Rules of another version may differ for the same sentence.
pub const PROMPTS: u32 = 1;
/// Longest sentence that is asked about, in bytes: several times the longest of a written policy.
const SENTENCE_BYTES: usize = 2_000;
const GENERATOR: &str = include_str!("prompt/generator.md");

/// Why nothing was formalised.
#[derive(Debug, thiserror::Error)]
pub enum FormalizeError {
    /// The sources are wrong.
    #[error("{0}")]
    Sources(#[from] CompileErrors),
    /// The author cannot be asked.
    #[error("{0}")]
    Author(#[from] AuthorError),
}

/// What became of a policy.
#[derive(Debug)]
pub struct Formalized {
    /// `rules.cedar`.
    pub rules: String,
    /// What became of each sentence.
    pub account: Account,
}

/// Formalises the prose of a set; its `rules` are not read.
///
/// # Errors
/// [`FormalizeError`] when the sources are wrong or the author cannot be asked. What an author answers is
/// never an error: it ends in the account.
pub fn formalize(set: &SetSource, author: &mut dyn Author) -> Result<Formalized, FormalizeError> {
    let ground = super::ground(set)?;
    Ok(Work::new(&ground, &set.prose)?.run(author)?.0)
}

/// One policy at work.
pub(super) struct Work<'a> {
    desk: Desk<'a>,
    system: String,
}

impl<'a> Work<'a> {
    /// # Errors
    /// [`CompileErrors`] where Cedar refuses the schema.
    pub(super) fn new(ground: &'a Ground, prose: &'a SourceFile) -> Result<Self, CompileErrors> {
        let system = format!("{GENERATOR}\n{}", grounding::grounding(ground));
        Ok(Self { desk: Desk::new(ground, prose)?, system })
    }

    /// All sentences, then the rules as a whole.
    pub(super) fn run(&self, author: &mut dyn Author) -> Result<(Formalized, Rules), FormalizeError> {
        let sentences = sentences(self.desk.prose);
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut entries = Vec::new();
        let mut leads: Vec<&Sentence> = Vec::new();
        for sentence in &sentences {
            let id = name(sentence, &mut seen);
            leads.retain(|lead| lead.indent < sentence.indent);
            entries.push(if sentence.leads {
                leads.push(sentence);
                Entry::leads(sentence)
            } else if sentence.text.len() > SENTENCE_BYTES {
                let why = format!(
                    "the sentence takes {} bytes, more than the {SENTENCE_BYTES} that are asked about; split it",
                    sentence.text.len()
                );
                Entry::out_of_reach(sentence, why)
            } else {
                self.sentence(author, sentence, &id, &leads)?
            });
        }
        let mut account = Account::new(author.name(), self.digest(), entries);
        let file = SourceFile::new("rules.cedar", account.rules());
        // Each rule compiled alone; together they must as well, or nothing is given out.
        let (rules, _) = self.desk.compile(file.clone())?;
        let text = format(&file)?;
        account.together(&self.desk.critique(&file, &rules)?);
        Ok((Formalized { rules: text, account }, rules))
    }

    /// One sentence, round by round.
    fn sentence(
        &self,
        author: &mut dyn Author,
        sentence: &Sentence,
        id: &str,
        leads: &[&Sentence],
    ) -> Result<Entry, AuthorError> {
        let mut tries = sentence::Tries::new(&self.desk, sentence, id);
        for round in 1..=ROUNDS {
            let user = json!({
                "under": leads.iter().map(|s| s.text.as_str()).collect::<Vec<_>>(),
                "sentence": sentence.text,
                "errors": tries.errors(),
            });
            let ask = Ask {
                task: Task::Generate,
                line: sentence.line,
                sentence: &sentence.text,
                round,
                system: &self.system,
                user: user.to_string(),
            };
            let answered = match author.answer(&ask) {
                Err(AuthorError::Endless) => Err(AuthorError::Endless.to_string()),
                Err(error) => return Err(error),
                Ok(text) => Ok(text),
            };
            if let Some(entry) = tries.take(author, round, answered)? {
                return Ok(entry);
            }
        }
        Ok(tries.give_up())
    }

    /// SHA-256 of everything that the author is told besides the sentence.
    fn digest(&self) -> String {
        digest(&[&self.system, critic::JUDGE, critic::VERIFIER])
    }
}

/// SHA-256 of texts, in hexadecimal digits.
fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The identifier of a sentence's rules: its label, or its line. It depends on no answer.
fn name(sentence: &Sentence, seen: &mut HashMap<String, u32>) -> String {
    let base = sentence.labels.first().cloned().unwrap_or_else(|| format!("line_{}", sentence.line));
    let count = seen.entry(base.clone()).and_modify(|n| *n += 1).or_insert(1);
    if *count == 1 { base } else { format!("{base}_{count}") }
}
