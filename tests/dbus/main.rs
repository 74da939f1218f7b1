//! The service on a bus of its own: the real `obligatod`, a script for a student, the simulated car.

#[path = "../support/mod.rs"]
mod support;

mod clients;
mod drafts;
mod faults;
mod interface;
mod rig;
mod sessions;
mod system;
mod turns;
