//! The account of a formalised policy: as text, as JSON, and as a page beside the prose.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::critic::words;
use super::sentence::{Entry, Standing};
use super::{PROMPTS, ROUNDS};
use crate::compile::beside::{self, Beside};
use crate::compile::compare::{Against, Held, Quality, Relation};
use crate::compile::critic::{Critique, Level};

/// Characters of a sentence that a terminal is shown; the JSON and the page have all of it.
const SHOWN: usize = 500;

/// What became of each sentence, and by whom.
#[derive(Debug, Clone, Serialize)]
pub struct Account {
    /// Who wrote and judged the rules.
    pub author: String,
    /// Version of the prompts.
    pub prompts: u32,
    /// SHA-256 of what the author was told besides the sentences.
    pub told: String,
    /// Sentences by standing.
    pub counts: BTreeMap<&'static str, usize>,
    /// The sentences in the order of the prose.
    pub sentences: Vec<Entry>,
    /// What the hard critic finds in all rules together.
    pub together: Together,
    /// How the rules stand to the hand-written ones, where they were held against some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
}

/// What the hard critic finds in all rules together: between them, since each of them passed it alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Together {
    /// Findings, each with the rules that it is about.
    pub findings: Vec<(Vec<String>, String)>,
    /// Why nothing was proved.
    pub no_solver: Option<String>,
}

impl Account {
    pub(super) fn new(author: String, told: String, sentences: Vec<Entry>) -> Self {
        let mut counts: BTreeMap<&'static str, usize> = Standing::ALL.map(|s| (s.as_str(), 0)).into();
        sentences.iter().for_each(|entry| *counts.entry(entry.standing.as_str()).or_default() += 1);
        Self { author, prompts: PROMPTS, told, counts, sentences, together: Together::default(), quality: None }
    }

    pub(super) fn together(&mut self, critique: &Critique) {
        let errors = critique.findings.iter().filter(|f| f.level == Level::Error);
        self.together.findings = errors.map(|f| (f.rules.clone(), words(f))).collect();
        self.together.no_solver.clone_from(&critique.no_solver);
    }

    /// Takes in how the rules stand to hand-written ones.
    pub fn hold(&mut self, quality: Quality) {
        self.quality = Some(quality);
    }

    /// What is said of an entry besides its own words: findings that name its rules, comparisons of its line.
    fn remarks(&self, entry: &Entry) -> Vec<String> {
        let own = |id: &String| entry.rules.iter().any(|rule| rule.id == *id);
        let found = self.together.findings.iter().filter(|(rules, _)| rules.first().is_some_and(own));
        let held = self.quality.iter().flat_map(|q| &q.rules).filter(|h| h.line == entry.line);
        // Several sentences can begin on a line: a made rule is its entry's, a missing one is the first's.
        let first = self.sentences.iter().find(|s| s.line == entry.line).is_some_and(|s| std::ptr::eq(s, entry));
        let held = held.filter(|h| h.made.as_ref().map_or(first, own));
        held.map(against).chain(found.map(|(_, what)| format!("beside other rules: {what}"))).collect()
    }

    /// All rules as one Cedar text.
    pub(super) fn rules(&self) -> String {
        let mut text = format!(
            "// Written by `obligato formalize`: author {}, prompts {}, at most {ROUNDS} rounds a sentence.\n// Nobody has reviewed these rules by being listed here; read the account beside them.\n",
            self.author, self.prompts
        );
        for rule in self.sentences.iter().flat_map(|entry| &entry.rules) {
            text.push('\n');
            text.push_str(&rule.cedar);
        }
        text
    }

    /// For a person at a terminal.
    ///
    /// # Errors
    /// What writing fails with.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for entry in &self.sentences {
            let standing = entry.standing.as_str();
            let text: String = entry.text.chars().take(SHOWN).collect();
            let more = if text.len() < entry.text.len() { "…" } else { "" };
            writeln!(out, "{:>4}  {standing:<13}{text}{more}", entry.line)?;
            for rule in &entry.rules {
                writeln!(out, "{:19}rule {}", "", rule.id)?;
            }
            if let Some(why) = &entry.why {
                writeln!(out, "{:19}{why}", "")?;
            }
            for remark in self.remarks(entry) {
                writeln!(out, "{:19}{remark}", "")?;
            }
            for attempt in &entry.attempts {
                for error in &attempt.errors {
                    writeln!(out, "{:19}round {}: {error}", "", attempt.round)?;
                }
            }
        }
        let counts: Vec<String> = self.counts.iter().map(|(standing, n)| format!("{standing} {n}")).collect();
        writeln!(out, "{} sentences: {} (by {})", self.sentences.len(), counts.join(", "), self.author)?;
        let rules = self.sentences.iter().flat_map(|entry| &entry.rules).count();
        writeln!(out, "{rules} rules together: {} findings of the hard critic", self.together.findings.len())?;
        if let Some(why) = &self.together.no_solver {
            writeln!(out, "no proofs: {why}; the other checks ran")?;
        }
        let Some(quality) = &self.quality else { return Ok(()) };
        let counts: Vec<String> = quality.counts.iter().map(|(what, n)| format!("{what} {n}")).collect();
        writeln!(out, "against {}: {}", quality.file, counts.join(", "))
    }

    /// One self-contained page: the prose on the left, what became of it on the right.
    pub fn html(&self, prose: &str) -> String {
        let mut page = Beside::default();
        for entry in &self.sentences {
            let mut parts: Vec<String> = entry.rules.iter().map(|rule| beside::pre(&rule.cedar)).collect();
            parts.extend(entry.why.iter().cloned().chain(self.remarks(entry)).map(|text| beside::words(&text)));
            let tried = entry.attempts.iter().map(|a| beside::more(&format!("round {}", a.round), &a.errors));
            parts.extend(tried);
            page.entry(entry.line, entry.standing.as_str(), &entry.text, &parts);
        }
        let said = format!("{} sentences. Author {}, prompts {}.", self.sentences.len(), self.author, self.prompts);
        page.summary(self.counts.iter().map(|(standing, n)| (*standing, *n)), &said);
        if let Some(quality) = &self.quality {
            let said = format!("Hand-written rules of {}, by what was made for them.", quality.file);
            page.summary(quality.counts.iter().map(|(what, n)| (*what, *n)), &said);
        }
        let found: Vec<String> = self.together.findings.iter().map(|(_, what)| what.clone()).collect();
        page.list("All rules together", &found);
        page.html("Policy and rules", prose)
    }
}

/// How a made rule stands to a hand-written one, in one line.
fn against(held: &Held) -> String {
    let name = |id: &Option<String>| id.as_ref().map(|id| format!("`{id}`")).unwrap_or_default();
    let (hand, made) = (name(&held.hand), name(&held.made));
    let remedy = if held.other_remedy { "; it demands another remedy" } else { "" };
    match &held.against {
        Against::Compared(found) => {
            let cases = [("made", &found.only_first), ("hand-written", &found.only_second)];
            let cases: String = cases
                .into_iter()
                .filter_map(|(who, case)| Some(format!("; only the {who} rule denies {}", case.as_ref()?)))
                .collect();
            format!("{made} is {} {hand}{remedy}{cases} ({})", relation(found.relation), found.ground())
        }
        Against::Missing => format!("{hand}, which was written by hand, has no counterpart here"),
        Against::BothAdvise => format!("{made} advises, as {hand} does"),
        Against::NoCounterpart => format!("{made} has no hand-written counterpart"),
    }
}

fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::Equivalent => "equivalent to",
        Relation::Broader => "broader than",
        Relation::Narrower => "narrower than",
        Relation::Different => "different from",
    }
}
