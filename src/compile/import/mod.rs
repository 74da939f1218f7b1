//! Rules that another compiler made of the same policy: which of them are rules at all, and how they stand
//! to the ones written by hand.

mod map;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

pub use super::compare::Against;
use super::compare::{Compare, Proof, Relation, Text, other_remedy};
use super::coverage::sentences;
use super::error::CompileErrors;
use super::ground::Ground;
use super::source::{SetSource, SourceFile};
use crate::policy::Rule;
use map::{Mapped, map};
use read::Foreign;

/// What a foreign rule is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It compiles to a rule.
    Executable,
    /// It is prose with a type and triggers: a hint at most.
    Advisory,
    /// It cannot be a rule.
    Refused,
}

/// One identifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The identifier.
    pub id: String,
    /// What it demands, in its own words.
    pub requirement: String,
    /// What it is to us; none where only the hand-written set has the identifier.
    pub standing: Option<Standing>,
    /// Why it is no executable rule.
    pub reasons: Vec<String>,
    /// How it stands to the hand-written rule.
    pub against: Against,
    /// Whether it demands another remedy than the hand-written rule.
    pub other_remedy: bool,
}

/// The report on an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The file.
    pub file: String,
    /// Identifiers by how they stand to the hand-written set.
    pub counts: BTreeMap<&'static str, usize>,
    /// Every identifier of either side.
    pub rules: Vec<Imported>,
}

/// Holds the rules of a file against those of a set.
///
/// # Errors
/// [`CompileErrors`] when the file or the set cannot be read.
pub fn import(set: &SetSource, file: &SourceFile) -> Result<ImportReport, CompileErrors> {
    let ground = super::ground(set)?;
    let foreign = read::read(file)?;
    let proof = Proof::over(set, &ground)?;
    let own = proof.text(&set.rules)?;
    let desk = Desk { set, ground: &ground, proof: &proof };
    let mut rules: Vec<Imported> = foreign.iter().map(|rule| desk.hold(rule, &own)).collect();
    for rule in own.rules.rules.iter().filter(|rule| !foreign.iter().any(|f| f.id == rule.id.as_str())) {
        rules.push(Imported {
            id: rule.id.to_string(),
            requirement: rule.sentence.to_string(),
            standing: None,
            reasons: vec!["the import has no rule of this identifier".to_owned()],
            against: Against::Missing,
            other_remedy: false,
        });
    }
    rules.sort_by(|a, b| a.id.cmp(&b.id));
    let mut counts = BTreeMap::new();
    rules.iter().for_each(|rule| *counts.entry(rule.against.as_str()).or_default() += 1);
    Ok(ImportReport { file: file.name().to_owned(), counts, rules })
}

struct Desk<'a> {
    set: &'a SetSource,
    ground: &'a Ground,
    proof: &'a Proof<'a>,
}

impl Desk<'_> {
    fn hold(&self, foreign: &Foreign, own: &Text) -> Imported {
        let hand = own.rules.rules.iter().find(|rule| rule.id.as_str() == foreign.id);
        let (standing, reasons, compiled) = match map(self.ground, foreign, &self.source(foreign, hand)) {
            Mapped::Prose => {
                let why = "it has no executable form: a type, its triggers and prose".to_owned();
                (Standing::Advisory, vec![why], None)
            }
            Mapped::Refused(reasons) => (Standing::Refused, reasons, None),
            Mapped::Rule(text) => match self.proof.text(&SourceFile::new("import", text)) {
                Ok(rules) => (Standing::Executable, Vec::new(), Some(rules)),
                Err(errors) => (Standing::Refused, errors.0.iter().map(ToString::to_string).collect(), None),
            },
        };
        let made = compiled.as_ref().and_then(|text| Some((text, text.rules.rules.first()?)));
        let against = match (made, hand) {
            (_, None) => Against::NoCounterpart,
            (Some((text, rule)), Some(hand)) => Against::Compared(self.proof.compare(text.side(rule), own.side(hand))),
            (None, Some(hand)) if hand.advise.is_some() => Against::BothAdvise,
            (None, Some(_)) => Against::Missing,
        };
        let other_remedy = made.zip(hand).is_some_and(|((_, rule), hand)| other_remedy(rule, hand));
        Imported {
            id: foreign.id.clone(),
            requirement: foreign.requirement.clone(),
            standing: Some(standing),
            reasons,
            against,
            other_remedy,
        }
    }

    /// The line of the hand-written rule, else of the sentence with that number, else the first sentence.
    fn source(&self, foreign: &Foreign, hand: Option<&Rule>) -> String {
        if let Some(hand) = hand {
            return hand.source.to_string();
        }
        let number = foreign.id.split('_').next().unwrap_or_default();
        let sentences = sentences(&self.set.prose);
        let found = sentences.iter().find(|s| s.labels.iter().any(|l| l == number)).or(sentences.first());
        format!("{}:{}", self.set.prose.name(), found.map_or(1, |s| s.line))
    }
}

impl ImportReport {
    /// For a person at a terminal.
    ///
    /// # Errors
    /// What writing fails with.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for rule in &self.rules {
            let standing = rule.standing.map_or("absent", |s| match s {
                Standing::Executable => "executable",
                Standing::Advisory => "advisory",
                Standing::Refused => "refused",
            });
            writeln!(out, "{:<16} {standing:<11} {:<14} {}", rule.id, rule.against.as_str(), rule.requirement)?;
            rule.reasons.iter().try_for_each(|why| writeln!(out, "{:17}{why}", ""))?;
            if let Against::Compared(found) = &rule.against {
                for (who, case) in [("only the import", &found.only_first), ("only ours", &found.only_second)] {
                    if let Some(case) = case {
                        writeln!(out, "{:17}{who} denies {case}", "")?;
                    }
                }
                if found.relation == Relation::Equivalent || !(found.exhaustive || found.proved) {
                    writeln!(out, "{:17}{}", "", found.ground())?;
                }
            }
            if rule.other_remedy {
                writeln!(out, "{:17}its remedy is another one", "")?;
            }
        }
        let counts: Vec<String> = self.counts.iter().map(|(what, n)| format!("{what} {n}")).collect();
        writeln!(out, "{}: {} identifiers: {}", self.file, self.rules.len(), counts.join(", "))
    }
}
