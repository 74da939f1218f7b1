//! Policy tests: `tests/*.toml` of a set (policies/README.md).
//!
//! A test is a conversation, a reading of the car and a draft; it says which verdict is due. Each
//! names the rules that it fails without, and that is tried as well: a test that passes without its
//! rule tests nothing, and a rule without a test is not known to work.

mod file;
mod run;

pub use file::{Event, PolicyTest, TestFault, read};
pub use run::{Failure, Mismatch, Trials, Weak, run, try_all};
