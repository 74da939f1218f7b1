//! Every sentence of the shipped policies is accounted for, and every rule has a test that needs it.

use std::fs;
use std::path::{Path, PathBuf};

use obligato::compile::coverage::{Account, Standing, coverage};
use obligato::compile::trials::{self, Written};
use obligato::compile::{SetSource, SourceFile, compile};
use obligato::policy::Policy;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies").join(name)
}

fn cabin() -> SetSource {
    SetSource::read(&folder("cabin"), None, None).unwrap()
}

/// The car-bench set, where its prose and its inventory are here.
fn car_bench() -> Option<SetSource> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/carbench");
    if !shared.exists() {
        println!("skipped: ../shared/carbench is absent, so there is no prose to account for");
        return None;
    }
    let (prose, tools) = (shared.join("policy.md"), shared.join("tools.json"));
    Some(SetSource::read(&folder("car-bench"), Some(&prose), Some(&tools)).unwrap())
}

fn accounts(set: &SetSource) -> Vec<Account> {
    let compiled = compile(set).unwrap_or_else(|errors| panic!("{errors}"));
    coverage(set, &compiled.parts.rules).unwrap_or_else(|errors| panic!("{errors}"))
}

fn with(accounts: &[Account], standing: Standing) -> usize {
    accounts.iter().filter(|a| a.standing == standing).count()
}

#[test]
fn every_sentence_of_the_cabin_policy_is_accounted_for() {
    let accounts = accounts(&cabin());
    assert!(with(&accounts, Standing::Executable) >= 30, "most of this policy is executable");
    assert_eq!(with(&accounts, Standing::Undecidable), 0, "what nothing can decide has no place in our own policy");
}

#[test]
fn every_sentence_of_the_car_bench_policy_is_accounted_for() {
    let Some(set) = car_bench() else { return };
    let accounts = accounts(&set);
    // Every numbered rule is executable, guarded, or says why it is not.
    let reasoned = |a: &Account| a.standing != Standing::Advisory || a.why.is_some();
    assert!(accounts.iter().filter(|a| !a.sentence.labels.is_empty()).all(reasoned));
    assert!(with(&accounts, Standing::Executable) >= 30);
}

fn every_rule_is_tested(set: &SetSource) {
    let parts = compile(set).unwrap_or_else(|errors| panic!("{errors}")).parts;
    let policy = Policy::from_blob(&parts.to_blob().unwrap()).unwrap();
    let mut tests: Vec<Written> = Vec::new();
    for entry in fs::read_dir(set.folder.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let file = SourceFile::new(&path.display().to_string(), fs::read_to_string(&path).unwrap());
        tests.extend(trials::read(&file, &policy).unwrap_or_else(|errors| panic!("{errors}")));
    }
    let trials = trials::try_all(&parts, &policy, &tests);
    for failure in &trials.failures {
        println!(
            "{}: `{}` {:?} {:?}",
            failure.test.place, failure.test.test.name, failure.mismatches, failure.report.findings
        );
    }
    trials.weak.iter().for_each(|weak| println!("{weak}"));
    assert!(trials.good(), "policy tests of {} fail, or do not need their rules", policy.id);
}

#[test]
fn every_rule_of_the_cabin_has_a_test_that_needs_it() {
    every_rule_is_tested(&cabin());
}

#[test]
fn every_rule_of_car_bench_has_a_test_that_needs_it() {
    car_bench().iter().for_each(every_rule_is_tested);
}
