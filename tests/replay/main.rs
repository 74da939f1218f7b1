//! `obligato replay` from outside: the report on recorded conversations, and the page in a browser.
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

mod browser;
mod diff;
mod foreign;
mod page;
mod recordings;
mod report;
#[path = "../support/mod.rs"]
mod support;
