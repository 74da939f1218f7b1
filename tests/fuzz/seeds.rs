//! Where a search in blobs begins: their content is no text that a person writes.

use std::fs;
use std::path::Path;

use obligato::compile::{SetSource, compile};
use obligato::policy::PolicyParts;

use super::corpus;
use super::targets::seal;

/// Writes them into the corpus: `cargo test --test fuzz -- --ignored`, after a change of the format.
#[test]
#[ignore = "writes into the corpus"]
fn blobs_to_begin_with() {
    let kitchen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/kitchen");
    let mut parts = compile(&SetSource::read(&kitchen, None, None).unwrap()).unwrap_or_else(|e| panic!("{e}")).parts;
    (parts.phrases, parts.prose) = (Vec::new(), Vec::new());
    write("kitchen", &parts);
    parts.tests = Default::default();
    let rules = std::mem::take(&mut parts.rules);
    write("no-rules", &parts);
    for rule in &rules {
        write(&format!("rule-{}", rule.id), &PolicyParts { rules: vec![rule.clone()], ..parts.clone() });
    }
    write("nothing", &PolicyParts::default());
    fs::write(corpus("blob").join("seed-sealed"), seal(&content(&PolicyParts::default()))).unwrap();
}

fn content(parts: &PolicyParts) -> Vec<u8> {
    // Magic, format, length and digest come before it.
    parts.to_blob().unwrap().split_off(8 + 2 + 4 + 32)
}

fn write(name: &str, parts: &PolicyParts) {
    fs::create_dir_all(corpus("blob")).unwrap();
    fs::write(corpus("blob").join(format!("seed-{name}")), content(parts)).unwrap();
}
