//! Whole turns: a scripted student, the real engine, the simulated cabin car.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]
#[path = "../support/mod.rs"]
mod support;

mod consent;
mod faults;
mod foreign;
mod repair;
mod scene;
mod spoken;
