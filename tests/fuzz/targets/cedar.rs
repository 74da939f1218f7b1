//! Rules in Cedar: with our annotations over an effect model, and foreign ones over a schema.

use std::sync::OnceLock;

use obligato::compile::{SetSource, SourceFile, compile, compile_foreign};
use obligato::policy::Policy;
use obligato::state::History;

use super::scene::{everything, judge, root};

/// A kitchen: small, so that many are compiled in a second.
fn kitchen() -> &'static SetSource {
    static SET: OnceLock<SetSource> = OnceLock::new();
    SET.get_or_init(|| {
        let mut set = SetSource::read(&root().join("tests/policies/kitchen"), None, None).unwrap();
        set.tests.clear();
        set
    })
}

fn schema() -> &'static SourceFile {
    static SCHEMA: OnceLock<SourceFile> = OnceLock::new();
    SCHEMA.get_or_init(|| SourceFile::read(&root().join("tests/policies/kitchen/rules.cedarschema")).unwrap())
}

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let rules = SourceFile::new("rules.cedar", text);
    let _ = compile_foreign("foreign", &rules, schema());
    let set = SetSource { rules, ..kitchen().clone() };
    let Ok(compiled) = compile(&set) else { return };
    let blob = compiled.parts.to_blob().expect("what compiles can be stored");
    let policy = Policy::from_blob(&blob).expect("what is stored loads");
    let mut history = History::new(&policy.model);
    history.heard("Set the oven to 200 degrees.");
    for draft in everything(&policy) {
        let _ = judge(&policy, &history, &draft);
    }
}
