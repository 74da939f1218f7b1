//! The architecture of `design.md`, held by tests: data flows one way, gates look alike, files stay
//! readable.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// A module may use only modules above it.
const LAYERS: &[&str] = &[
    "model",
    "tools",
    "state",
    "policy",
    "journal",
    "obligations",
    "gates",
    "critic",
    "verify",
    "trials",
    "vehicle",
    "execute",
    "student",
    "turn",
    "compile",
    "service",
    "cli",
];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.map(|e| e.unwrap().path()) {
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn all(dir: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut out);
    assert!(!out.is_empty(), "no sources under {dir}");
    out
}

#[test]
fn dependencies_point_one_way() {
    for (rank, layer) in LAYERS.iter().enumerate() {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(layer), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains("crate::{"), "{}: one `use crate::module::…` a line", file.display());
            for used in text.split("crate::").skip(1) {
                let name = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                if let Some(other) = LAYERS.iter().position(|l| *l == name) {
                    assert!(other <= rank, "{} uses crate::{name}, which is below {layer}", file.display());
                }
            }
        }
    }
}

#[test]
fn files_do_one_thing() {
    for file in all("src").into_iter().chain(all("tests")) {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 500, "{} has {lines} lines; split it by what it does", file.display());
    }
}

#[test]
fn gates_are_uniform() {
    for gate in obligato::gates::GATES {
        for heading in ["# Why", "# Blocks", "# Allows", "# Remedy"] {
            assert!(gate.explain.contains(heading), "{} lacks {heading}", gate.name);
        }
        let file = format!("src/gates/{}.rs", gate.name.replace('-', "_"));
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
        let text = text.unwrap_or_else(|e| panic!("{file}: {e}"));
        for test in ["fn blocks_", "fn allows_"] {
            assert!(text.contains(test), "{file} has no {test}*");
        }
        assert!(text.lines().count() <= 300, "{file} is too long");
    }
}

#[test]
fn unsafe_code_stands_only_at_the_llama_boundary() {
    for file in all("src") {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        let found =
            code.into_iter().any(|l| l.contains("unsafe {") || l.contains("unsafe fn") || l.contains("unsafe impl"));
        assert!(!found || file.to_string_lossy().contains("student/llama"), "{} has unsafe code", file.display());
    }
}

/// Every `fn` of the sources and the tests, in one text.
fn code() -> String {
    let mut files = all("src");
    files.extend(all("tests"));
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// Whether a file of that name, or path, is there.
fn there(name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join(name).exists() || all("src").iter().chain(&all("tests")).any(|file| file.ends_with(name))
}

#[test]
fn every_claim_of_safety_and_security_names_a_test_that_is_there() {
    let code = code();
    for document in ["SAFETY.md", "SECURITY.md"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document)).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("| "));
        let mut tables = 0;
        for row in rows {
            let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
            let last = cells.last().unwrap();
            // The row that names the columns.
            if ["shown by", "what holds"].contains(last) {
                tables += 1;
                continue;
            }
            let quoted: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
            let is_path = |name: &&&str| name.contains('/') || name.ends_with(".rs");
            let is_test = |name: &&&str| name.matches('_').count() >= 3 && !name.contains(['/', '.']);
            for path in quoted.iter().filter(is_path) {
                assert!(there(path), "{document}: `{path}` is not here: {row}");
            }
            for test in quoted.iter().filter(is_test) {
                // A family of tests ends with an ellipsis.
                let (name, family) = (test.trim_end_matches('…'), test.ends_with('…'));
                let found = if family { format!("fn {name}") } else { format!("fn {name}(") };
                assert!(code.contains(&found), "{document}: no test is called `{test}`: {row}");
            }
            assert!(quoted.iter().any(|name| is_path(&name) || is_test(&name)), "{document} shows nothing for: {row}");
        }
        assert!(tables > 0, "{document} has no table of claims");
    }
}
