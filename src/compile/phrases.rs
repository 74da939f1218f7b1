//! The phrase tables, compiled into every blob: the engine reads no file at run time.

use super::error::{CompileError, Report};
use super::source::SourceFile;
use crate::policy::Phrases;

/// One file a language. A new language is a file and a line here.
const FILES: [(&str, &str); 2] = [
    ("src/gates/phrases/en.toml", include_str!("../gates/phrases/en.toml")),
    ("src/gates/phrases/de.toml", include_str!("../gates/phrases/de.toml")),
];

/// All phrase tables, in the order of the list.
pub(super) fn all(report: &mut Report) -> Vec<Phrases> {
    let mut tables = Vec::with_capacity(FILES.len());
    for (name, text) in FILES {
        match Phrases::parse(text) {
            Ok(table) => tables.push(table),
            Err(error) => {
                let place = SourceFile::new(name, text).whole();
                report.errors.push(CompileError::Toml { place, why: error.to_string() });
            }
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_the_same_roles_and_occasions() {
        let mut report = Report::default();
        let tables = all(&mut report);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let (first, rest) = tables.split_first().unwrap();
        for table in rest {
            assert!(table.roles.keys().eq(first.roles.keys()), "{}", table.language);
            assert!(table.say.keys().eq(first.say.keys()), "{}: the occasions of [say] differ", table.language);
        }
    }
}
