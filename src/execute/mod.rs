//! Verified execution (design §7): takes [`Cleared`](crate::verify::Cleared), nothing less.
//!
//! One clearance carries out one call. What is left of the draft comes back *uncleared*, so that the
//! type system itself makes the caller verify the remainder on real outcomes before the next call.

mod carry;
mod confirm;

pub use carry::{Conditions, Executed, Stale, carry_out};
pub use confirm::ReadBack;
