//! The gates seen from outside: what their sources may not hold, and how they do in another domain.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

#[path = "../support/mod.rs"]
mod support;

mod kitchen;

use std::fs;
use std::path::{Path, PathBuf};

/// The name of a hole in what the harness says; a question word only by chance.
const HOLE: &str = "what";

/// The code of a source file: no comments, no tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let before_tests = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    before_tests.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path());
    files.filter(|p| p.extension().is_some_and(|e| e == "rs")).collect()
}

#[test]
fn no_gate_and_no_obligation_names_a_tool() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tools = fs::read_to_string(root.join("policies/cabin/tools.json")).unwrap();
    let tools = obligato::tools::import(&tools).unwrap();
    assert!(tools.len() > 40, "the cabin has its tools");
    for path in sources("src/gates").into_iter().chain(sources("src/obligations")) {
        let code = code(&path);
        for tool in &tools {
            assert!(!code.contains(tool.name.as_str()), "{} names {}", path.display(), tool.name);
        }
    }
}

#[test]
fn no_gate_holds_a_phrase_that_belongs_in_a_table() {
    let tables: Vec<_> =
        obligato::gates::PHRASES.iter().map(|(_, t)| obligato::policy::Phrases::parse(t).unwrap()).collect();
    let occasions = |word: &str| tables.iter().any(|t| t.say.contains_key(word));
    for path in sources("src/gates") {
        for literal in code(&path).split('"').skip(1).step_by(2) {
            let spoken = tables.iter().any(|t| t.roles.values().flatten().any(|p| p == literal));
            assert!(
                !spoken || occasions(literal) || literal == HOLE,
                "{} holds the phrase `{literal}`",
                path.display()
            );
        }
    }
}
