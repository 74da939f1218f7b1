//! Whole turns: a scripted student, the real engine, the simulated cabin car.
#[path = "../support/mod.rs"]
mod support;

mod consent;
mod faults;
mod repair;
mod scene;
