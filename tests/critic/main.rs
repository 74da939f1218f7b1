//! The hard critic from outside: faults that were put in on purpose are found, and clean sets pass.
//!
//! Faults are made by a deterministic mutator from the cabin's own rules: twenty of each class, all of
//! them in the default run. Where cvc5 is absent, what needs a proof is skipped with a printed reason.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]
#![cfg(feature = "compile")]

mod clean;
mod command;
mod conditions;
mod fields;
mod loops;
mod mutator;
mod own;
mod pairs;
mod remedies;
mod tiers;

use obligato::compile::SetSource;
use obligato::compile::critic::{Critique, Means, criticise};

/// Faults of each class.
const FAULTS: usize = 20;

/// A set with one fault in it.
pub struct Faulty {
    /// What was done, for the message when it is not found.
    pub what: String,
    /// The sources with the fault in them.
    pub set: SetSource,
    /// A rule that the finding must name; none where it is about no rule.
    pub culprit: Option<String>,
}

/// Whether the solver runs here; if not, says what is skipped.
pub fn solver(what: &str) -> bool {
    let started = std::process::Command::new(std::env::var("CVC5").unwrap_or_else(|_| "cvc5".to_owned()))
        .arg("--version")
        .output()
        .is_ok();
    let there = cfg!(feature = "solver") && started;
    if !there {
        println!("skipped: {what}: no solver (feature `solver` and cvc5 are needed)");
    }
    there
}

/// What one check says of a set.
pub fn critique(set: &SetSource, check: &str) -> Critique {
    criticise(set, Means { observed: None, solver: true, only: &[check] })
}

/// Every fault is found by its check, at the rule where it was put in.
pub fn all_found(check: &str, faults: impl IntoIterator<Item = Faulty>) {
    let faults: Vec<Faulty> = faults.into_iter().take(FAULTS).collect();
    assert_eq!(faults.len(), FAULTS, "{check}: the mutator ran out of faults");
    let missed: Vec<String> = faults
        .iter()
        .filter_map(|fault| {
            let critique = critique(&fault.set, check);
            let named = |rules: &[String]| fault.culprit.as_ref().is_none_or(|id| rules.contains(id));
            let found = critique.errors(check).any(|f| named(&f.rules));
            let said: Vec<String> = critique.findings.iter().map(|f| format!("[{}] {}", f.check, f.what)).collect();
            (!found).then(|| format!("{}: said {said:?}", fault.what))
        })
        .collect();
    assert!(missed.is_empty(), "{check}: {} of {FAULTS} missed:\n{}", missed.len(), missed.join("\n"));
    println!("{check}: {FAULTS} of {FAULTS} found");
}
