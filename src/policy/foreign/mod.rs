//! Foreign Cedar sets: plain forbids over a JSON context, without our annotations and without a car.
//!
//! The compiler (`compile::foreign`) specialises each forbid for every *environment* of the schema
//! (principal type, action, resource type) and lowers what is left to a [`super::Program`] over
//! [`super::Slot::Context`] members. [`decide`] binds the context of a request to the declared
//! members in one pass, runs the programs of its environment, and lays the fail-closed overlay on
//! top: what Cedar would skip or let pass denies, each with its own reason.

mod bind;
mod decide;
mod set;

pub use decide::{Answer, Decision, Denial, Request, RuleSet, decide};
pub use set::{
    Context, Environment, ForeignParts, ForeignRule, ForeignSet, MEMBERS, Member, PartsError, RULES, Tier, Type,
};
