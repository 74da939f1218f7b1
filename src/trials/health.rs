//! The health check of a policy: its own tests, on this machine, with this engine.

use super::{PackError, run, unpack};
use crate::policy::Policy;

/// What became of a policy's own tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// How many tests ran, and passed.
    pub tests: usize,
}

/// Why a policy is not well.
#[derive(Debug, thiserror::Error)]
pub enum Unwell {
    /// Its tests cannot be read.
    #[error(transparent)]
    Packed(#[from] PackError),
    /// Tests fail.
    #[error("{failed} of its {tests} tests fail with this engine, the first is `{first}`: {why}")]
    Failed {
        /// How many fail.
        failed: usize,
        /// How many there are.
        tests: usize,
        /// The first that fails.
        first: String,
        /// How it fails.
        why: String,
    },
    /// The engine broke down over them.
    #[error("the engine breaks down over its test `{0}`")]
    Broke(String),
}

impl Health {
    /// Runs the tests that a policy carries, one after the other on the calling thread. A policy without
    /// tests is well: nothing is known against it.
    ///
    /// # Errors
    /// [`Unwell`] when one fails, or when they cannot be read.
    pub fn check(policy: &Policy) -> Result<Self, Unwell> {
        let tests = unpack(&policy.tests)?;
        let mut failed = 0;
        let mut first = None;
        for test in &tests {
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(policy, test).0));
            let mismatches = judged.map_err(|_| Unwell::Broke(test.name.clone()))?;
            if let Some(mismatch) = mismatches.first() {
                failed += 1;
                first.get_or_insert_with(|| (test.name.clone(), mismatch.to_string()));
            }
        }
        match first {
            Some((first, why)) => Err(Unwell::Failed { failed, tests: tests.len(), first, why }),
            None => Ok(Self { tests: tests.len() }),
        }
    }
}
