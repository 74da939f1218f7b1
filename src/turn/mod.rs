//! One turn: from what the driver said to what was done and said (paper 1, Algorithm 1; design §6).

mod config;
mod event;

pub use config::{Budget, Config, Replies};
pub use event::{Event, Events, Heard, Done, TurnReport};
