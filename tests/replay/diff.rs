//! `obligato diff` from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

use super::recordings::{cabin, write_recordings};

/// The cabin with one passage of its rules exchanged, compiled.
fn changed(folder: &Path, passage: &str, with: &str) -> PathBuf {
    let set = folder.join("set");
    fs::create_dir_all(&set).unwrap();
    let cabin = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin");
    for name in ["policy.md", "tools.json", "vehicle.toml", "rules.cedar"] {
        fs::copy(cabin.join(name), set.join(name)).unwrap();
    }
    let rules = fs::read_to_string(set.join("rules.cedar")).unwrap();
    assert_eq!(rules.matches(passage).count(), 1, "{passage}");
    fs::write(set.join("rules.cedar"), rules.replace(passage, with)).unwrap();
    let blob = folder.join("changed.obl");
    let status = Command::new(env!("CARGO_BIN_EXE_obligato")).arg("compile").arg(&set).arg("-o").arg(&blob).output();
    assert!(status.unwrap().status.success());
    blob
}

fn diff(old: &Path, new: &Path, recordings: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
    command.arg("diff").arg(old).arg(new).arg("--replay").arg(recordings).args(more);
    command.output().unwrap()
}

fn json(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap()
}

const RULE: &str = "when { context.input.on && resource.position > 20 };";

#[test]
fn a_set_compared_with_itself_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (blob, recordings) = (cabin(folder.path()), write_recordings(folder.path()));
    let output = diff(&blob, &blob, &recordings, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let told = json(&output);
    assert_eq!((told["flips"].as_array().unwrap().len(), told["unintended"].as_u64()), (0, Some(0)));
    assert!(told["messages"].as_u64().unwrap() > 0);
}

#[test]
fn a_flip_names_the_rule_and_fails_until_it_is_expected() {
    let folder = tempfile::tempdir().unwrap();
    let (old, recordings) = (cabin(folder.path()), write_recordings(folder.path()));
    let new = changed(folder.path(), RULE, "when { context.input.on && resource.position > 80 };");
    let output = diff(&old, &new, &recordings, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let told = json(&output);
    let edit = &told["rules"]["changed"][0];
    assert_eq!(edit["rule"]["id"], "ac-closes-windows");
    assert_eq!(edit["edits"][0]["old"], "context.input.on && resource.position > 20 %");
    assert_eq!(edit["edits"][0]["new"], "context.input.on && resource.position > 80 %");
    let flips = told["flips"].as_array().unwrap();
    assert!(!flips.is_empty());
    for flip in flips {
        assert!(flip["reasons"].as_array().unwrap().iter().any(|r| r["rule"] == "ac-closes-windows"), "{flip:#}");
        assert_eq!(flip["old"], "amend");
    }
    let expect = folder.path().join("expect.toml");
    let with = |text: &str| {
        fs::write(&expect, text).unwrap();
        diff(&old, &new, &recordings, &["--expect", expect.to_str().unwrap()])
    };
    let causes: std::collections::BTreeSet<String> = flips
        .iter()
        .flat_map(|f| f["reasons"].as_array().unwrap())
        .map(|r| if r["rule"].is_string() { format!("rule = {}", r["rule"]) } else { format!("gate = {}", r["gate"]) })
        .collect();
    let expected: String = causes.iter().map(|cause| format!("[[flip]]\n{cause}\nfrom = \"amend\"\n")).collect();
    assert_eq!(with(&expected).status.code(), Some(0));
    let unfit = with(&expected.replace("from = \"amend\"", "from = \"ask\""));
    assert_eq!(unfit.status.code(), Some(1));
    let shown = String::from_utf8(unfit.stdout).unwrap();
    assert!(shown.contains("UNINTENDED cool/passing[") && shown.contains("- rule ac-closes-windows: "), "{shown}");
    assert!(shown.contains("expect.toml:1: no flip by "), "{shown}");
}

#[test]
fn added_and_removed_rules_are_listed_with_sentence_and_condition() {
    let folder = tempfile::tempdir().unwrap();
    let (old, recordings) = (cabin(folder.path()), write_recordings(folder.path()));
    let new = changed(folder.path(), "@id(\"ac-closes-windows\")", "@id(\"ac-shuts-windows\")");
    let shown = String::from_utf8(diff(&old, &new, &recordings, &[]).stdout).unwrap();
    assert!(shown.contains("added    ac-shuts-windows") && shown.contains("removed  ac-closes-windows"), "{shown}");
    assert!(shown.contains("when context.input.on && resource.position > 20 %"), "{shown}");
    assert!(shown.contains("rules: 1 added, 1 removed, 0 changed"), "{shown}");
}

#[test]
fn an_expectation_that_cannot_be_used_is_wrong_input_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (blob, recordings) = (cabin(folder.path()), write_recordings(folder.path()));
    let expect = folder.path().join("expect.toml");
    for (text, says) in [
        ("[[flip]]\nrule = \"a\"\ngate = \"b\"\n", "expect.toml:1: a [[flip]] names one"),
        ("\n[[flip]]\nrule = \"a\"\nform = \"ask\"\n", "expect.toml:4: unknown field `form`"),
        ("[[flip]]\nrule = \"a\"\nto = \"maybe\"\n", "expect.toml:3: unknown variant `maybe`"),
        ("[[flip]]\nrule = \"ac-closes-widnows\"\n", "expect.toml:1: neither policy has the rule ac-closes-widnows"),
        ("[[flip]]\ngate = \"no-opp\"\n", "expect.toml:1: neither policy has the gate no-opp"),
    ] {
        fs::write(&expect, text).unwrap();
        let output = diff(&blob, &blob, &recordings, &["--expect", expect.to_str().unwrap()]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.contains(says)), (Some(2), true), "{told}");
    }
}
