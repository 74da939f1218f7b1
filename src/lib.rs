//! skeleton
pub mod critic;
pub mod gates;
pub mod journal;
pub mod model;
pub mod obligations;
pub mod policy;
pub mod state;
pub mod student;
pub mod tools;
pub mod vehicle;
