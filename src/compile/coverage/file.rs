//! The form of `coverage.toml`: what no rule's `@source` says.

use serde::Deserialize;
use toml::Spanned;

use super::fault::CoverageFault;
use crate::compile::error::{CompileError, Report};
use crate::compile::source::{Place, SourceFile};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    sentence: Vec<Spanned<RawEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    line: usize,
    begins: String,
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    gates: Vec<String>,
    rest: Option<String>,
    advisory: Option<String>,
    undecidable: Option<String>,
    description: Option<String>,
}

/// Why no rule and no gate decides a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Advisory,
    Undecidable,
    Description,
}

/// One entry.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) line: usize,
    pub(super) begins: String,
    pub(super) rules: Vec<String>,
    pub(super) gates: Vec<String>,
    /// What neither rules nor gates decide of it.
    pub(super) rest: Option<String>,
    /// Why nothing is executable.
    pub(super) verdict: Option<(Verdict, String)>,
}

/// Reads the entries; what is wrong is reported.
pub(super) fn read(file: &SourceFile, report: &mut Report) -> Vec<Entry> {
    let raw: RawFile = match toml::from_str(file.text()) {
        Ok(raw) => raw,
        Err(error) => {
            let place = error.span().map_or_else(|| file.whole(), |span| file.at(span.start));
            report.errors.push(CompileError::Toml { place, why: error.message().to_owned() });
            return Vec::new();
        }
    };
    let mut entries = Vec::new();
    for spanned in raw.sentence {
        let place = file.at(spanned.span().start);
        match entry(spanned.into_inner(), place.clone()) {
            Ok(entry) => entries.push(entry),
            Err(fault) => report.errors.push(CompileError::Coverage { place, fault }),
        }
    }
    entries
}

fn entry(raw: RawEntry, place: Place) -> Result<Entry, CoverageFault> {
    let verdicts = [
        (Verdict::Advisory, raw.advisory),
        (Verdict::Undecidable, raw.undecidable),
        (Verdict::Description, raw.description),
    ];
    let mut verdicts = verdicts.into_iter().filter_map(|(verdict, why)| Some((verdict, why?)));
    let verdict = verdicts.next();
    if verdicts.next().is_some() {
        return Err(CoverageFault::Verdicts);
    }
    let reasons = verdict.iter().map(|(_, why)| why).chain(raw.rest.iter());
    if raw.begins.trim().is_empty() || reasons.into_iter().any(|why| why.trim().is_empty()) {
        return Err(CoverageFault::Empty);
    }
    if verdict.is_none() && raw.rules.is_empty() && raw.gates.is_empty() && raw.rest.is_none() {
        return Err(CoverageFault::Nothing);
    }
    Ok(Entry {
        place,
        line: raw.line,
        begins: raw.begins.split_whitespace().collect::<Vec<_>>().join(" "),
        rules: raw.rules,
        gates: raw.gates,
        rest: raw.rest,
        verdict,
    })
}
