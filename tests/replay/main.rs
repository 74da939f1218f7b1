//! `obligato replay` from outside: the report on recorded conversations, and the page in a browser.
#![cfg(feature = "compile")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests are tests")]

mod browser;
mod page;
mod recordings;
mod report;
#[path = "../support/mod.rs"]
mod support;
