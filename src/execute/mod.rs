//! Verified execution (design §7): takes [`Cleared`](crate::verify::Cleared), nothing less.
//!
//! One clearance carries out one call ([`carry_out`]). What is left of the draft comes back
//! *uncleared*, so that the type system itself makes the caller verify the remainder on real outcomes
//! before the next call; [`remainder`] says what of it is still wanted.

mod carry;
mod confirm;
mod remainder;
#[cfg(test)]
mod tests;

pub use carry::{Conditions, Executed, Stale, carry_out};
pub use remainder::{Remainder, companions, owing, remainder};
