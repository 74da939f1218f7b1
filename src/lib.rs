//! Obligato is the guard between an in-car language model and the car.
//!
//! The model (the *student*) may only propose. Obligato (the *teacher*) checks every proposal against
//! the written policy, the tool schemas and what was really observed, repairs what it can compute,
//! asks the driver where consent is owed, and executes only calls that passed.
//!
//! ```text
//! transcript + draft ─▶ state::project ─▶ obligations ─▶ amended draft ─▶ gates ─▶ verdict ─▶ execute ─▶ observations ─┐
//!         ▲                                                                        │ (revise ≤ R, ask, refuse)          │
//!         └────────────────────────────────────────────────────────────────────────┴────────────────────────────────────┘
//! ```
//!
//! A module may use only modules above it in this table; `tests/architecture.rs` holds that.
//!
//! | module | what it holds |
//! |---|---|
//! | [`model`] | plain data: values (unknown is a value), calls, drafts, findings, verdicts |
//! | [`tools`] | the tool inventory, full schema checks, what this car lacks |
//! | [`state`] | observed fields with their origin, the effect model, projection |
//! | [`policy`] | rules as flat programs, their evaluator, phrase tables, the blob, hard limits |
//! | [`journal`] | append-only, hash-chained decision records |
//! | [`obligations`] | what the policy still owes for a draft, to a fixpoint |
//! | [`gates`] | one file a check |
//! | [`critic`] | who rules on advisory findings, by index |
//! | [`verify`] | obligations, gates, critic and valve; the only maker of [`verify::Cleared`] |
//! | [`trials`] | a policy's own tests, run without a compiler |
//! | [`vehicle`] | the car: simulated, or real |
//! | [`execute`] | carries out one cleared call and reads it back |
//! | [`student`] | who drafts: a local model, a remote one, a script |
//! | [`turn`] | one turn: vote, revise, escalate, ask, sanitise, say |
//! | `compile` | Cedar to programs (feature `compile`, host only) |
//! | [`service`] | the D-Bus interfaces |
//! | [`cli`] | one file a subcommand |

pub mod cli;
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
pub mod tools;
pub mod trials;
pub mod turn;
pub mod vehicle;
pub mod verify;
