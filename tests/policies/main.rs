//! Policy sets as the compiler sees them from outside.
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

mod completions;
mod coverage;
mod differential;
mod foreign;
mod formalize;
mod import;
mod kitchen;
mod paper;
mod world;
