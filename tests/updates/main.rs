//! Updates of the policy (design §9): every attack with its own error, a kill and a power loss at every
//! write, the real service on a bus of its own, the update tools of the field.
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

mod clocks;
mod crashes;
mod damage;
mod disk;
mod fit;
mod kills;
mod kit;
mod meant;
mod rejections;
mod slots;

mod car;
mod command;
mod costs;
mod drop_folder;
mod owner;
mod passed;
mod provided;
#[path = "../dbus/provider.rs"]
#[allow(dead_code, reason = "the tests of providers use the rest")]
mod provider;
mod recorded;
mod recovery;
#[path = "../dbus/rig.rs"]
#[allow(dead_code, reason = "the tests of the interface use the rest")]
mod rig;
mod rights;
mod sessions;
mod tools;
