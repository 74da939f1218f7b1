//! The journal by outside behaviour: the real `obligatod` on a private bus, the real `obligato` on what it wrote.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    dead_code,
    reason = "helpers of tests are tests"
)]

#[path = "../dbus/rig.rs"]
mod rig;
#[path = "../support/mod.rs"]
mod support;

mod damage;
#[cfg(feature = "parquet")]
mod fleet;
mod live;
mod names;
#[cfg(feature = "man")]
mod pages;
mod recorded;
mod redacted;
mod reproduced;
mod shadow;
mod tools;
mod trouble;
mod undone;
