//! The car behind a databroker: one suite against an in-process `kuksa.val.v2` server that mimics the real
//! broker, and against the broker at `KUKSA_ADDR` where that is set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

#[path = "../dbus/logind.rs"]
#[allow(dead_code, reason = "shared with the tests of the bus")]
mod logind;
#[path = "../dbus/provider.rs"]
#[allow(dead_code, reason = "shared with the tests of the bus")]
mod registrant;
#[path = "../dbus/rig.rs"]
#[allow(dead_code, reason = "shared with the tests of the bus")]
mod rig;
#[path = "../support/mod.rs"]
mod support;

mod bench;
mod beside;
mod broker;
mod command;
mod conformance;
mod faults;
mod freshness;
mod load;
mod news;
mod provider;
mod service;
mod side;
mod tree;
mod turns;
mod ways;
mod wire;

/// Messages, client and server of the protocol, apart from those of the crate: only the wire is shared.
pub mod proto {
    #![allow(missing_docs, clippy::all, reason = "generated code")]
    include!(concat!(env!("OUT_DIR"), "/both/kuksa.val.v2.rs"));
}
