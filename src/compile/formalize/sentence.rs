//! One sentence on its way: what was tried, and where it ends.

use serde::Serialize;

use super::answer::{Candidate, Generated, Outcome, generated};
use super::author::{Author, AuthorError};
use super::critic::{Desk, soft};
use crate::compile::coverage::Sentence;
use crate::compile::ground::REPLY;
use crate::compile::names::Near;

/// Where a sentence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Rules keep it.
    Executable,
    /// The critic is told of it.
    Advisory,
    /// Nothing keeps it; the entry says why.
    OutOfReach,
    /// It only leads to the items under it.
    Leads,
}

impl Standing {
    /// All standings.
    pub const ALL: [Self; 4] = [Self::Executable, Self::Advisory, Self::OutOfReach, Self::Leads];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::Advisory => "advisory",
            Self::OutOfReach => "out-of-reach",
            Self::Leads => "leads",
        }
    }
}

/// One round that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// The round, from 1.
    pub round: u32,
    /// What was wrong with its answer.
    pub errors: Vec<String>,
}

/// A rule that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Made {
    /// Its identifier.
    pub id: String,
    /// Its text.
    pub cedar: String,
}

/// What became of one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The line it begins on, from 1.
    pub line: usize,
    /// The sentence.
    pub text: String,
    /// Where it ended.
    pub standing: Standing,
    /// Its rules.
    pub rules: Vec<Made>,
    /// Rounds that were needed.
    pub rounds: u32,
    /// Why no rule keeps it.
    pub why: Option<String>,
    /// What was tried before.
    pub attempts: Vec<Attempt>,
}

impl Entry {
    fn new(sentence: &Sentence, standing: Standing) -> Self {
        Self {
            line: sentence.line,
            text: sentence.text.clone(),
            standing,
            rules: Vec::new(),
            rounds: 0,
            why: None,
            attempts: Vec::new(),
        }
    }

    pub(super) fn leads(sentence: &Sentence) -> Self {
        Self::new(sentence, Standing::Leads)
    }

    pub(super) fn out_of_reach(sentence: &Sentence, why: String) -> Self {
        Self { why: Some(why), ..Self::new(sentence, Standing::OutOfReach) }
    }
}

/// The rounds of one sentence.
pub(super) struct Tries<'a> {
    desk: &'a Desk<'a>,
    sentence: &'a Sentence,
    id: &'a str,
    attempts: Vec<Attempt>,
    /// Tools and groups of the latest rules that named any we know.
    tools: Vec<String>,
}

impl<'a> Tries<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, sentence: &'a Sentence, id: &'a str) -> Self {
        Self { desk, sentence, id, attempts: Vec::new(), tools: Vec::new() }
    }

    /// What was wrong with the latest answer.
    pub(super) fn errors(&self) -> &[String] {
        self.attempts.last().map(|a| a.errors.as_slice()).unwrap_or_default()
    }

    /// Takes an answer in; an entry when the sentence ends with it.
    pub(super) fn take(
        &mut self,
        author: &mut dyn Author,
        round: u32,
        answered: Result<String, String>,
    ) -> Result<Option<Entry>, AuthorError> {
        let settled = match answered.and_then(|text| generated(&text)) {
            Err(why) => Err(vec![why]),
            Ok(answer) => match answer.outcome {
                Outcome::OutOfReach => Ok(Entry::out_of_reach(self.sentence, reason(&answer))),
                Outcome::Advisory => self.advise(&answer.tools, reason(&answer)),
                Outcome::Executable => self.execute(author, round, &answer.rules)?,
            },
        };
        Ok(match settled {
            Ok(entry) => Some(Entry { rounds: round, attempts: std::mem::take(&mut self.attempts), ..entry }),
            Err(errors) => {
                self.attempts.push(Attempt { round, errors });
                None
            }
        })
    }

    /// After the last round: a hint for the critic where the answers knew what it is about.
    pub(super) fn give_up(mut self) -> Entry {
        let rounds = self.attempts.last().map_or(0, |a| a.round);
        let why = format!("no rule passed in {rounds} rounds; the last one: {}", self.errors().join("; "));
        let tools = std::mem::take(&mut self.tools);
        let hint = if tools.is_empty() { Err(Vec::new()) } else { self.advise(&tools, why.clone()) };
        let entry = hint.unwrap_or_else(|_| Entry::out_of_reach(self.sentence, why));
        Entry { rounds, attempts: self.attempts, ..entry }
    }

    /// The sentence as a hint at calls of tools.
    fn advise(&self, tools: &[String], why: String) -> Result<Entry, Vec<String>> {
        let mut unknown = Vec::new();
        for tool in tools.iter().filter(|t| !self.known(t)) {
            let near = Near::among(tool, self.desk.ground.inventory.iter().map(|t| t.name.as_str()));
            unknown.push(format!("there is no tool `{tool}`; {near}"));
        }
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let rules = self.made(&Candidate::advice(tools, &self.sentence.text));
        self.desk.hard(&joined(&rules)).map_err(|faults| faults.errors)?;
        Ok(Entry { rules, why: Some(why), ..Entry::new(self.sentence, Standing::Advisory) })
    }

    /// The rules of an answer, through both critics.
    fn execute(
        &mut self,
        author: &mut dyn Author,
        round: u32,
        texts: &[String],
    ) -> Result<Result<Entry, Vec<String>>, AuthorError> {
        let mut overreach = false;
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut errors = Vec::new();
        for (text, number) in texts.iter().zip(1..) {
            match Candidate::read(text) {
                Ok(candidate) if candidates.contains(&candidate) => {}
                Ok(candidate) => candidates.push(candidate),
                Err(rejected) => {
                    overreach |= rejected.overreach;
                    errors.push(format!("rule {number}: {}", rejected.why));
                }
            }
        }
        let rules = self.made(&candidates);
        // The compiler is asked even where a rule could not be read: one round tells everything.
        let mut hints = false;
        match self.desk.hard(&joined(&rules)) {
            Ok(compiled) => hints = compiled.rules.iter().all(|rule| rule.advise.is_some()),
            Err(faults) => {
                overreach |= faults.overreach;
                errors.extend(faults.errors);
            }
        }
        if !overreach {
            self.note_tools(texts);
        }
        if !errors.is_empty() {
            return Ok(Err(errors));
        }
        let texts: Vec<String> = rules.iter().map(|r| r.cedar.clone()).collect();
        if hints {
            // Whatever the answer calls them, they deny nothing.
            let why = Some("its rules only advise".to_owned());
            return Ok(Ok(Entry { rules, why, ..Entry::new(self.sentence, Standing::Advisory) }));
        }
        Ok(match soft(author, (self.sentence.line, &self.sentence.text), round, &texts)? {
            Ok(()) => Ok(Entry { rules, ..Entry::new(self.sentence, Standing::Executable) }),
            Err(why) => Err(vec![why]),
        })
    }

    /// Rules under the identifiers of this sentence.
    fn made(&self, candidates: &[Candidate]) -> Vec<Made> {
        let source = format!("{}:{}", self.desk.prose.name(), self.sentence.line);
        let one = candidates.len() == 1;
        let made = |(candidate, letter): (&Candidate, char)| {
            let id = if one { self.id.to_owned() } else { format!("{}_{letter}", self.id) };
            Made { cedar: candidate.text(&id, &source), id }
        };
        candidates.iter().zip('a'..).map(made).collect()
    }

    fn known(&self, tool: &str) -> bool {
        tool == REPLY || self.desk.ground.inventory.position(tool).is_some() || self.desk.ground.group(tool).is_some()
    }

    /// Remembers which tools we know are named as actions.
    fn note_tools(&mut self, texts: &[String]) {
        let named = texts.iter().flat_map(|text| text.split("Action::\"").skip(1));
        let mut tools: Vec<String> = named
            .filter_map(|rest| rest.split_once('"'))
            .map(|(name, _)| name.to_owned())
            .filter(|name| self.known(name))
            .collect();
        tools.sort();
        tools.dedup();
        if !tools.is_empty() {
            self.tools = tools;
        }
    }
}

fn reason(answer: &Generated) -> String {
    let why = answer.why.trim();
    if why.is_empty() { "the author gave no reason".to_owned() } else { why.chars().take(500).collect() }
}

fn joined(rules: &[Made]) -> String {
    rules.iter().map(|r| r.cedar.as_str()).collect::<Vec<_>>().join("\n")
}
