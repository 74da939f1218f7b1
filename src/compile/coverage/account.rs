//! Rules and entries laid beside the sentences.

use super::fault::CoverageFault;
use super::file::{Entry, Verdict};
use super::sentences::Sentence;
use crate::compile::error::{CompileError, Report};
use crate::compile::names::Near;
use crate::compile::source::{Place, SourceFile};
use crate::gates::GATES;
use crate::policy::Rule;

/// How a sentence is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Rules decide it.
    Executable,
    /// Gates guard it.
    Gate,
    /// The critic is told when it matters, or the student alone keeps it.
    Advisory,
    /// No transcript could decide it.
    Undecidable,
    /// It demands nothing.
    Description,
    /// It leads to the items nested under it.
    Lead,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Executable, Self::Gate, Self::Advisory, Self::Undecidable, Self::Description, Self::Lead];

    /// Its name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::Gate => "gate",
            Self::Advisory => "advisory",
            Self::Undecidable => "undecidable",
            Self::Description => "description",
            Self::Lead => "lead",
        }
    }
}

/// A sentence with what keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The sentence.
    pub sentence: Sentence,
    /// How it is kept.
    pub standing: Standing,
    /// The rules that decide it, or that call the critic for it.
    pub rules: Vec<String>,
    /// The gates that guard it.
    pub gates: Vec<String>,
    /// Why nothing decides it, or what rules and gates leave open.
    pub why: Option<String>,
}

/// Accounts for all sentences; what is missing or does not fit is reported.
pub(super) fn all(
    prose: &SourceFile,
    sentences: Vec<Sentence>,
    entries: Vec<Entry>,
    rules: &[Rule],
    report: &mut Report,
) -> Vec<Account> {
    let mut ledger = Ledger { prose, rules, report, pages: Vec::new() };
    ledger.pages = sentences.into_iter().map(|sentence| Page { sentence, entry: None, rules: Vec::new() }).collect();
    entries.into_iter().for_each(|entry| ledger.enter(entry));
    ledger.cite();
    let pages = std::mem::take(&mut ledger.pages);
    pages.into_iter().filter_map(|page| ledger.close(page)).collect()
}

struct Page<'a> {
    sentence: Sentence,
    entry: Option<Entry>,
    rules: Vec<&'a Rule>,
}

struct Ledger<'a> {
    prose: &'a SourceFile,
    rules: &'a [Rule],
    report: &'a mut Report,
    pages: Vec<Page<'a>>,
}

impl<'a> Ledger<'a> {
    fn fail(&mut self, place: Place, fault: CoverageFault) {
        self.report.errors.push(CompileError::Coverage { place, fault });
    }

    /// Lays an entry beside its sentence.
    fn enter(&mut self, entry: Entry) {
        let place = entry.place.clone();
        if let Some(fault) = unknown_name(&entry, self.rules) {
            self.fail(place.clone(), fault);
        }
        let begins = |s: &Sentence| s.text.starts_with(&entry.begins);
        let mut fitting = self.pages.iter_mut().filter(|p| p.sentence.line == entry.line && begins(&p.sentence));
        let fault = match (fitting.next(), fitting.next()) {
            (Some(Page { entry: Some(before), .. }), _) => CoverageFault::Twice(before.place.line),
            (Some(_), Some(_)) => CoverageFault::Ambiguous(entry.begins),
            (Some(page), None) => {
                let named = self.rules.iter().filter(|rule| entry.rules.iter().any(|id| id == rule.id.as_str()));
                page.rules.extend(named);
                page.entry = Some(entry);
                return;
            }
            (None, _) => {
                let elsewhere = self.pages.iter().find(|p| begins(&p.sentence));
                let remedy = elsewhere.map_or_else(
                    || "quote it as it is, or delete the entry".to_owned(),
                    |p| format!("it stands on line {}: read it there and set `line`", p.sentence.line),
                );
                CoverageFault::Stale { line: entry.line, begins: entry.begins, remedy }
            }
        };
        self.fail(place, fault);
    }

    /// Gives each rule to the sentence that it cites.
    fn cite(&mut self) {
        for rule in self.rules {
            let Some(line) = rule.source.rsplit_once(':').and_then(|(_, line)| line.parse::<usize>().ok()) else {
                continue; // a foreign set cites nothing
            };
            let mut there: Vec<&mut Page<'a>> = self.pages.iter_mut().filter(|p| p.sentence.line == line).collect();
            let named = |page: &Page<'a>| page.rules.iter().any(|r| r.id == rule.id);
            let place = Place { file: self.prose.whole().file, line };
            let rule_id = || rule.id.as_str().to_owned();
            let fault = match there.as_mut_slice() {
                [] => CoverageFault::NoSentence { rule: rule_id(), line },
                [only] if named(only) => CoverageFault::Derived(rule_id()),
                [only] => {
                    only.rules.push(rule);
                    continue;
                }
                several if several.iter().any(|page| named(page)) => continue,
                several => CoverageFault::Unassigned { rule: rule_id(), line, count: several.len() },
            };
            self.fail(place, fault);
        }
    }

    /// What a sentence comes to.
    fn close(&mut self, page: Page<'a>) -> Option<Account> {
        let Page { sentence, entry, rules } = page;
        let here = Place { file: self.prose.whole().file, line: sentence.line };
        let place = entry.as_ref().map_or_else(|| here, |e| e.place.clone());
        let executes = rules.iter().find(|r| r.advise.is_none() && !r.shadow);
        let (gates, rest, verdict) = entry.map(|e| (e.gates, e.rest, e.verdict)).unwrap_or_default();
        let standing = match (executes, &verdict, gates.is_empty()) {
            (Some(rule), Some((verdict, _)), _) => {
                Err(CoverageFault::Executable { rule: rule.id.as_str().to_owned(), verdict: verdict.as_str() })
            }
            (Some(_), None, _) => Ok(Standing::Executable),
            (None, Some((verdict @ (Verdict::Undecidable | Verdict::Description), _)), false) => {
                Err(CoverageFault::Guarded(verdict.as_str()))
            }
            (None, Some((Verdict::Advisory, _)), _) => Ok(Standing::Advisory),
            (None, Some((Verdict::Undecidable, _)), true) => Ok(Standing::Undecidable),
            (None, Some((Verdict::Description, _)), true) => Ok(Standing::Description),
            (None, None, false) => Ok(Standing::Gate),
            (None, None, true) => match rules.first() {
                Some(rule) => Err(CoverageFault::Unreasoned(rule.id.as_str().to_owned())),
                None if sentence.leads => Ok(Standing::Lead),
                None => Err(CoverageFault::Missing(beginning(&sentence.text))),
            },
        };
        match standing {
            Ok(standing) => Some(Account {
                sentence,
                standing,
                rules: rules.iter().map(|r| r.id.as_str().to_owned()).collect(),
                gates,
                why: verdict.map(|(_, why)| why).or(rest),
            }),
            Err(fault) => {
                self.fail(place, fault);
                None
            }
        }
    }
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Undecidable => "undecidable",
            Self::Description => "mere description",
        }
    }
}

fn unknown_name(entry: &Entry, rules: &[Rule]) -> Option<CoverageFault> {
    let known_rules: Vec<&str> = rules.iter().map(|r| r.id.as_str()).collect();
    let known_gates: Vec<&str> = GATES.iter().map(|g| g.name).collect();
    let unknown = |what, names: &[String], known: &[&str]| {
        let name = names.iter().find(|name| !known.contains(&name.as_str()))?;
        Some(CoverageFault::Unknown { what, name: name.clone(), near: Near::among(name, known.iter().copied()) })
    };
    unknown("rule", &entry.rules, &known_rules).or_else(|| unknown("gate", &entry.gates, &known_gates))
}

/// Enough of a sentence to find it.
fn beginning(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    words.get(..8).map_or_else(|| text.to_owned(), |first| format!("{} …", first.join(" ")))
}
