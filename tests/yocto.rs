//! What the Yocto layer brings along for the target, run with the programs of this build.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What `yocto/run-ptest` says of a policy and limits that lie here: whether it ends well, and its lines by verdict.
fn ptest(policy: &Path, limits: &Path) -> (bool, Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("obligato.toml");
    fs::write(&config, format!("policy = {policy:?}\nlimits = {limits:?}\n")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_obligato")).parent().unwrap();
    let path = env::join_paths(
        [programs.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let ran = Command::new("sh")
        .arg(root().join("yocto/run-ptest"))
        .arg(&config)
        .env("PATH", path.unwrap())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let of = |verdict: &str| said.lines().filter_map(|line| line.strip_prefix(verdict)).map(str::to_owned).collect();
    (ran.status.success(), of("PASS: "), of("FAIL: "))
}

fn cabin() -> (PathBuf, PathBuf) {
    (root().join("policies/cabin/cabin.obl"), root().join("systemd/hard-limits.toml"))
}

#[test]
fn what_an_image_installs_passes_the_tests_of_the_target() {
    assert!(Path::new(env!("CARGO_BIN_EXE_obligatod")).exists());
    let (policy, limits) = cabin();
    let (well, passed, failed) = ptest(&policy, &limits);
    assert!(well && failed.is_empty(), "{failed:?}");
    assert!(passed.iter().any(|name| name == "the-policy-passes-its-own-tests"), "{passed:?}");
    assert!(passed.iter().any(|name| name == "the-trunk-stays-shut-while-the-car-moves"), "{passed:?}");
}

#[test]
fn a_damaged_policy_and_limits_that_are_not_there_fail_the_tests_of_the_target() {
    let (policy, limits) = cabin();
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.obl");
    let mut bytes = fs::read(&policy).unwrap();
    *bytes.get_mut(9000).unwrap() ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let (well, passed, failed) = ptest(&damaged, &limits);
    assert!(!well && failed.iter().any(|name| name == "the-policy-can-be-read"), "{failed:?}");
    assert_eq!(passed, ["obligato-runs-here", "obligatod-runs-here"], "nothing else passes without a policy");
    let none = folder.path().join("none.toml");
    fs::write(&none, "").unwrap();
    let (well, _, failed) = ptest(&policy, &none);
    assert!(!well && failed == ["a-hard-limit-refuses"], "{failed:?}");
}
