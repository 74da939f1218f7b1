//! The closed loop on a few recorded tasks.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests are tests")]

mod scenarios;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/carbench").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not here", path.display());
    None
}

/// Runs one fault on the first recordings.
fn bench(fault: &str) -> Option<Vec<Json>> {
    let dir = tempfile::tempdir().unwrap();
    let (blob, out) = (dir.path().join("policy.obl"), dir.path().join("runs.json"));
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/car-bench");
    let obligato = || Command::new(env!("CARGO_BIN_EXE_obligato"));
    let compiled = obligato()
        .args(["compile".as_ref(), set.as_os_str(), "--policy".as_ref(), shared("policy.md")?.as_os_str()])
        .args(["--tools".as_ref(), shared("tools.json")?.as_os_str(), "-o".as_ref(), blob.as_os_str()])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = obligato()
        .args(["bench", "--seeds", "1", "--limit", "12", "--fault", fault])
        .args(["--policy".as_ref(), blob.as_os_str(), "--json".as_ref(), out.as_os_str()])
        .args(["--tasks".as_ref(), shared("tasks.jsonl.gz")?.as_os_str()])
        .args(["--states".as_ref(), shared("gt_final_states.jsonl.gz")?.as_os_str()])
        .args(["--replay".as_ref(), shared("gt_replay.jsonl.gz")?.as_os_str()])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap())
}

#[test]
fn the_recorded_car_ends_where_the_benchmark_did() {
    let Some(runs) = bench("none") else { return };
    assert_eq!(runs.len(), 12);
    assert!(runs.iter().all(|r| r["off"]["right"] == true), "{runs:?}");
}

#[test]
fn a_word_in_the_wrong_case_is_mended_without_the_student() {
    let Some(runs) = bench("enum-case") else { return };
    assert!(!runs.is_empty());
    for run in runs {
        assert_eq!((&run["off"]["right"], &run["on"]["right"]), (&Json::Bool(false), &Json::Bool(true)), "{run}");
        assert_eq!(run["on"]["revisions"], run["guarded_revisions"], "{run}");
    }
}
