//! The phrase tables, compiled into every blob: the engine reads no file at run time.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::{CompileError, Report};
use super::source::SourceFile;
use crate::policy::Phrases;

/// One file a language. A new language is a file and a line here.
const FILES: [(&str, &str); 2] = [
    ("src/gates/phrases/en.toml", include_str!("../gates/phrases/en.toml")),
    ("src/gates/phrases/de.toml", include_str!("../gates/phrases/de.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPhrases {
    language: String,
    #[serde(default)]
    roles: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    numbers: BTreeMap<String, i64>,
}

/// All phrase tables, in the order of the list.
pub(super) fn all(report: &mut Report) -> Vec<Phrases> {
    let mut tables = Vec::with_capacity(FILES.len());
    for (name, text) in FILES {
        match toml::from_str::<RawPhrases>(text) {
            Ok(raw) => {
                tables.push(Phrases { language: raw.language, roles: raw.roles, numbers: raw.numbers });
            }
            Err(error) => {
                let file = SourceFile::new(name, text);
                let place = error.span().map_or_else(|| file.whole(), |span| file.at(span.start));
                report.errors.push(CompileError::Toml { place, why: error.message().to_owned() });
            }
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_the_same_roles_and_plain_phrases() {
        let mut report = Report::default();
        let tables = all(&mut report);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let first: Vec<&String> = tables[0].roles.keys().collect();
        for table in &tables {
            assert_eq!(table.roles.keys().collect::<Vec<_>>(), first, "{}", table.language);
            for phrase in table.roles.values().flatten() {
                assert_eq!(phrase, &phrase.to_lowercase(), "{}: phrases are compared in lower case", table.language);
                assert!(!phrase.contains("  ") && phrase.trim() == phrase, "{}: `{phrase}`", table.language);
            }
        }
    }
}
