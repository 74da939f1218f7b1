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
