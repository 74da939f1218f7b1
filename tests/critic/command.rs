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
}

#[test]
fn a_solver_that_is_not_there_is_named_with_what_to_do() {
    if !cfg!(feature = "solver") {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
    let command = command.current_dir(root()).env("CVC5", "/nowhere/cvc5").args(["critic", "policies/cabin"]);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(text.contains("cvc5 cannot be started") && text.contains("apt-get install cvc5"), "{text}");
}

#[test]
fn a_check_explains_itself_and_an_unknown_one_is_refused() {
    for arguments in [["critic", "--explain", "shadowed"].as_slice(), ["explain", "shadowed"].as_slice()] {
        let told = String::from_utf8(obligato(arguments).stdout).unwrap();
        assert!(told.starts_with("shadowed (critic)") && told.contains("# Mend"), "{told}");
    }
    assert_eq!(obligato(&["explain", "shaded"]).status.code(), Some(2));
}
