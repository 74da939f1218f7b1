//! The gates: one file each, in evaluation order here and nowhere else (design §5).
//!
//! A gate is a name, a tier, an explanation and a total function of what it may see. It runs
//! isolated: a panic, an error or an exhausted budget in one gate silences that gate alone.

mod claims;
mod completion;
mod conditional_consent;
mod confirmation;
mod consent_scope;
mod findings;
mod future_condition;
mod gather_before_act;
mod hard_limits;
mod identifier_provenance;
mod mixed_message;
mod obligations;
mod policy_advisory;
mod refusal_read;
mod repetition;
mod required_parameters;
mod run;
mod schema_validity;
#[cfg(test)]
mod testing;
mod view;

pub use findings::{CAPACITY, Findings};
pub use run::{GateFault, Health, run};
pub use view::{Exhausted, View};

use crate::model::{GateName, Tier};

/// One gate.
#[derive(Debug)]
pub struct Gate {
    /// Its name, the same in code, JSON, D-Bus and documentation.
    pub name: GateName,
    /// The strongest tier of its findings.
    pub tier: Tier,
    /// Its documentation, also printed by `obligato explain`.
    pub explain: &'static str,
    check: fn(&View<'_>, &mut Findings) -> Result<(), Exhausted>,
}

/// Declares the gate of a file; its doc comment is also its `explain` text.
macro_rules! gate {
    ($(#[doc = $doc:literal])+ $name:literal, $tier:ident) => {
        $(#[doc = $doc])+
        pub(super) static GATE: super::Gate = super::Gate {
            name: $name,
            tier: crate::model::Tier::$tier,
            explain: concat!($($doc, "\n"),+),
            check,
        };
        const NAME: crate::model::GateName = $name;
    };
}
pub(crate) use gate;

/// All gates in evaluation order.
pub static GATES: &[&Gate] = &[
    &schema_validity::GATE,
    &hard_limits::GATE,
    &mixed_message::GATE,
    &required_parameters::GATE,
    &identifier_provenance::GATE,
    &obligations::GATE,
    &gather_before_act::GATE,
    &confirmation::GATE,
    &conditional_consent::GATE,
    &consent_scope::GATE,
    &repetition::GATE,
    &completion::GATE,
    &refusal_read::GATE,
    &future_condition::GATE,
    &policy_advisory::GATE,
];

/// The phrase tables that every policy brings, by language; a set may add its own.
pub const PHRASES: [(&str, &str); 2] =
    [("en", include_str!("phrases/en.toml")), ("de", include_str!("phrases/de.toml"))];
