//! skeleton
#[cfg(feature = "compile")]
pub mod compile;
pub mod critic;
pub mod execute;
pub mod gates;
pub mod journal;
pub mod model;
pub mod obligations;
pub mod policy;
pub mod service;
pub mod state;
pub mod student;
pub mod turn;
pub mod cli;
pub mod tools;
pub mod vehicle;
pub mod verify;

