//! Policy sets as the compiler sees them from outside.
#![cfg(feature = "compile")]

mod differential;
mod kitchen;
mod world;
