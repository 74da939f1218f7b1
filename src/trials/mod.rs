//! The tests that a policy brings along, run without a compiler: on a host before it is signed, on board
//! before and after it is put in force (design §9, health check).
//!
//! A test is a conversation, readings of the car and a draft; it says which verdict is due. Blobs carry
//! them packed ([`pack`]); nobody unpacks them until they are run.

mod health;
mod judge;
mod packed;
mod test;

pub use health::{Health, Unwell};
pub use judge::{Mismatch, run};
pub use packed::{PackError, pack, unpack};
pub use test::{Event, PolicyTest};
