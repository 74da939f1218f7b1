//! skeleton
pub mod model;
pub mod tools;
pub mod state;
pub mod critic;
pub mod student;
