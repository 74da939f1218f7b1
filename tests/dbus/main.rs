//! The service on a bus of its own: the real `obligatod`, a script for a student, the simulated car.
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

mod bounded;
mod clients;
mod door;
mod drafts;
mod faults;
mod hostile;
mod interface;
mod load;
mod logind;
mod offers;
mod order;
mod provider;
mod providers;
#[cfg(feature = "llama")]
mod real_model;
mod reference;
mod rig;
#[cfg(feature = "sample-provider")]
mod sample;
mod sessions;
mod sleep;
mod soak;
mod system;
#[cfg(feature = "otel")]
mod telemetry;
mod turns;
