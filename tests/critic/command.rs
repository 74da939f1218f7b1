//! `obligato critic` as people call it.

use std::process::{Command, Output};

use serde_json::Value as Json;

use crate::mutator::{cabin, root, rules};

fn obligato(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_obligato")).current_dir(root()).args(arguments).output().unwrap()
}

/// The cabin's folder with other rules.
fn folder(rules: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["policy.md", "tools.json", "vehicle.toml"] {
        std::fs::copy(root().join("policies/cabin").join(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("rules.cedar"), rules).unwrap();
    folder
}

#[test]
fn a_faulty_set_is_answered_with_no_and_told_with_file_line_and_check() {
    let rule = rules(&cabin()).into_iter().find(|r| r.id == "outer-openings-at-standstill").unwrap();
    let folder = folder(&rule.when("context.input.action == \"OPNE\" && context.before.speed > 0").text());
    let path = folder.path().to_str().unwrap();
    let told = obligato(&["critic", path, "--no-solver"]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(1), "{text}");
    assert!(text.contains("rules.cedar:1: error [values] `context.input.action` is never \"OPNE\""), "{text}");
    assert!(text.contains("no proofs: the solver was left out"), "{text}");
    let told = obligato(&["critic", path, "--no-solver", "--json"]);
    let json: Json = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&json["passes"], &json["findings"][0]["line"]), (&false.into(), &1.into()));
}

#[test]
fn a_set_that_does_not_compile_has_the_compilers_errors() {
    let rule = rules(&cabin()).into_iter().find(|r| r.id == "ac-needs-fan").unwrap();
    let folder = folder(&rule.when("context.input.on && resource.fan_sped < 1").text());
    let told = obligato(&["critic", folder.path().to_str().unwrap(), "--no-solver"]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert!(text.contains("[grounding]") && text.contains("fan_sped"), "{text}");
    assert_eq!(text.matches("rules.cedar:").count(), 1, "a place is told once: {text}");
}

/// What the critic says of the cabin when `CVC5` names a script of this body, or a program that is not there.
fn with_solver(body: Option<&str>) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("solver");
    if let Some(body) = body {
        std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
    let told = command.current_dir(root()).env("CVC5", &program).args(["critic", "policies/cabin"]).output().unwrap();
    (told.status.code(), String::from_utf8(told.stdout).unwrap())
}

#[test]
fn a_solver_that_is_not_there_is_named_with_what_to_do() {
    if !cfg!(feature = "solver") {
        return;
    }
    let (_, text) = with_solver(None);
    assert!(text.contains("cannot be started") && text.contains("apt-get install cvc5"), "{text}");
}

/// A program that ends, chatters, errs, lies, answers only at first or hangs: proofs are not to be had, small rules are
/// enumerated and the others are named, as where there is none.
#[test]
fn a_program_that_is_no_solver_counts_as_none() {
    if !cfg!(feature = "solver") {
        return;
    }
    let fine_at_first = "read a; echo sat; read b; read c; read d; echo unsat";
    for body in [
        "exit 0",
        "cat",
        "while read l; do echo sat; done",
        "echo '(error \"no\")'; cat >/dev/null",
        "exec sleep 600",
        fine_at_first,
    ] {
        let (code, text) = with_solver(Some(body));
        assert_eq!(code, Some(0), "{body}: {text}");
        assert!(text.contains("no proofs: ") && text.contains("/solver"), "{body}: {text}");
        assert!(text.contains("`tour-starts-at-the-car` was not proven"), "{body}: {text}");
        assert!(text.contains(" 0 questions to the solver"), "{body}: {text}");
    }
}

#[test]
fn a_check_explains_itself_and_an_unknown_one_is_refused() {
    for arguments in [["critic", "--explain", "shadowed"].as_slice(), ["explain", "shadowed"].as_slice()] {
        let told = String::from_utf8(obligato(arguments).stdout).unwrap();
        assert!(told.starts_with("shadowed (critic)") && told.contains("# Mend"), "{told}");
    }
    assert_eq!(obligato(&["explain", "shaded"]).status.code(), Some(2));
}
