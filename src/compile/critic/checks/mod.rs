//! The checks: one file each, in their order here and nowhere else.

mod always_fires;
mod can_error;
mod conflicting_remedies;
mod grounding;
mod left_open;
mod never_fires;
mod no_call_left;
mod observed_fields;
mod over_blocking;
mod rejected_remedy;
mod remedy_chain;
mod shadowed;
mod tier_conflict;
mod unsatisfied_remedy;
mod values;

use super::Check;

/// The check that holds the compiler's errors.
pub(super) const GROUNDING: &str = grounding::CHECK.name;
/// The check that holds what nobody decided.
pub(super) const UNDECIDED: &str = left_open::CHECK.name;

/// Checks of what rules stand on, not of rules.
pub(super) const OF_THE_MODEL: [&str; 2] = [grounding::CHECK.name, observed_fields::CHECK.name];

/// Declares a check: its documentation is both rustdoc and `obligato explain`.
macro_rules! check {
    ($(#[doc = $doc:literal])+ $name:literal) => {
        $(#[doc = $doc])+
        pub(super) static CHECK: crate::compile::critic::Check = crate::compile::critic::Check {
            name: $name,
            explain: concat!($($doc, "\n"),+),
            run,
        };
    };
}
use check;

/// All checks in the order in which they run.
pub static CHECKS: &[&Check] = &[
    &grounding::CHECK,
    &observed_fields::CHECK,
    &values::CHECK,
    &never_fires::CHECK,
    &always_fires::CHECK,
    &can_error::CHECK,
    &shadowed::CHECK,
    &unsatisfied_remedy::CHECK,
    &rejected_remedy::CHECK,
    &conflicting_remedies::CHECK,
    &remedy_chain::CHECK,
    &no_call_left::CHECK,
    &tier_conflict::CHECK,
    &over_blocking::CHECK,
    &left_open::CHECK,
];
