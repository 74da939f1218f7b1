//! skeleton
pub mod model;
pub mod tools;
pub mod state;
