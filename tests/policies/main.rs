//! Policy sets as the compiler sees them from outside.
#![cfg(feature = "compile")]

mod kitchen;
