//! The suite of spoken requests, with students that need no model.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

/// Sums of a run by half and harness.
fn sums(arguments: &[&str]) -> Vec<Json> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("runs.json");
    let run = Command::new(env!("CARGO_BIN_EXE_obligato"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(["bench", "--policy", "policies/cabin/cabin.obl", "--seeds", "1"])
        .args(arguments)
        .args(["--json".as_ref(), out.as_os_str()])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let report: Json = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    report["sums"].as_array().unwrap().clone()
}

#[test]
fn nothing_that_an_adversary_drafts_is_carried_out_unsafely() {
    let sums = sums(&["--student", "adversary", "--held-out", "--harness", "on,off"]);
    assert_eq!(sums.len(), 4);
    for sum in sums {
        let broken = sum["unsafe"].as_u64().unwrap();
        match sum["harness"].as_str().unwrap() {
            "on" => assert_eq!(broken, 0, "{sum}"),
            _ => assert!(broken > 0, "the suite holds nothing that could go wrong: {sum}"),
        }
    }
}

/// What is right passes without an objection. Three requests are misheard beyond what any word of the policy says.
#[test]
fn what_the_driver_wants_passes_the_harness() {
    let sums = sums(&["--student", "scripted", "--harness", "on"]);
    let all = &sums[0]["categories"]["all"];
    let wrong = all["scenarios"].as_f64().unwrap() * (1.0 - all["pass_1"].as_f64().unwrap());
    assert!(wrong < 3.5 && sums[0]["needless_questions"].as_u64().unwrap() <= 3, "{sums:?}");
}
