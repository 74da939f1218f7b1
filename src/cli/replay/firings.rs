//! How often each rule and gate speaks in recorded conversations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{judge, recorded};
use crate::cli::CliError;
use crate::policy::{Advice, Policy};

/// Messages with a finding, advisory ones included; pairs are passing and failing conversations. One
/// that was not scored counts as passing.
#[derive(Debug, Default)]
pub(in crate::cli) struct Firings {
    /// By rule.
    pub(in crate::cli) rules: BTreeMap<String, [usize; 2]>,
    /// By gate.
    pub(in crate::cli) gates: BTreeMap<String, [usize; 2]>,
    /// Conversations.
    pub(in crate::cli) conversations: [usize; 2],
}

/// Judges the conversations of the files and counts.
///
/// # Errors
/// [`CliError`] for a file that cannot be read.
pub(in crate::cli) fn firings(policy: &Policy, files: &[PathBuf]) -> Result<Firings, CliError> {
    let mut firings = Firings::default();
    for one in judge::all(policy, Advice::default(), &recorded(files)?) {
        let side = usize::from(one.passed == Some(false));
        let bump = |pair: &mut [usize; 2]| pair.iter_mut().skip(side).take(1).for_each(|count| *count += 1);
        bump(&mut firings.conversations);
        for turn in &one.turns {
            let findings = &turn.report.findings;
            let mut rules: Vec<&String> = findings.iter().filter_map(|f| f.rule.as_ref()).collect();
            let mut gates: Vec<&String> = findings.iter().map(|f| &f.gate).collect();
            for (names, counts) in [(&mut rules, &mut firings.rules), (&mut gates, &mut firings.gates)] {
                names.sort();
                names.dedup();
                names.iter().for_each(|name| bump(counts.entry((*name).clone()).or_default()));
            }
        }
    }
    Ok(firings)
}
