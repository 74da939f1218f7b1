//! One turn: from what the driver said to what was done and said (paper 1, Algorithm 1; design §6).
//!
//! ```text
//! heard ─▶ yes or no? ─▶ ask ledger ─▶ draft (vote) ─▶ verify ─┬▶ gather ─▶ verify again
//!                                         ▲                    ├▶ ask (ends the turn)
//!                                         └── revise ≤ R ◀─────┤
//!                                            escalate once     └▶ carry out, call by call ─▶ reply ─▶ verify ─▶ sanitise
//! ```

mod adopt;
mod answer;
mod budget;
mod carry;
mod config;
mod event;
mod foreign;
mod ledger;
mod missing;
mod overheard;
mod propose;
mod run;
mod sanitise;
mod session;
mod situation;
mod speak;
mod succeed;
mod vote;
mod witness;

pub use budget::Exhausted;
pub use config::{Budget, Config, Replies};
pub use event::{Done, Event, Events, Heard, TurnReport};
pub use overheard::Overheard;
pub use sanitise::sanitise;
pub use session::{Models, Session};
pub use situation::Situation;
pub use succeed::SuccessionError;
