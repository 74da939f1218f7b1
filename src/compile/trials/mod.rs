//! Policy tests as people write them: `tests/*.toml` of a set (policies/README.md).
//!
//! A test is a conversation, a reading of the car and a draft; it says which verdict is due. Each
//! names the rules that it fails without, and that is tried as well: a test that passes without its
//! rule tests nothing, and a rule without a test is not known to work. A compiled set carries its tests
//! along ([`crate::trials`]).

mod fault;
mod file;
mod result;
mod run;

pub use fault::TestFault;
pub use file::{Written, read};
pub use result::ResultFault;
pub use run::{Failure, Trials, Weak, try_all};
