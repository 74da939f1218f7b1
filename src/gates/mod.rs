//! The gates: one file each, in evaluation order here and nowhere else (design §5).
//!
//! A gate is a name, a tier, an explanation and a total function of what it may see. It runs
//! isolated: a panic, an error or an exhausted budget in one gate silences that gate alone.

mod addresses;
mod announce_stall;
mod ask_guard;
mod ask_ledger;
mod batch_conflict;
mod call_substitution;
mod capability;
mod claims;
mod completion;
mod computed_disclosure;
mod conditional_consent;
mod conditional_scope;
mod confirmation;
mod consent_scope;
mod entity_binding;
mod exhaustive;
mod findings;
mod future_condition;
mod future_time_argument;
mod gather_before_act;
mod hard_limits;
mod identifier_provenance;
mod inability_contradiction;
mod lately;
mod leakage;
mod mixed_message;
mod mood;
mod named;
mod no_op;
mod numeric_claim;
mod numeric_provenance;
mod obligations;
mod offers;
mod output_integrity;
mod outward_duplicate;
mod plan_completion;
mod policy_advisory;
mod preference_mismatch;
mod preferences_first;
mod probe;
mod promise_audit;
mod promise_capability;
mod rebuild;
mod records;
mod refusal;
mod refusal_read;
mod related;
mod repeated_question;
mod repetition;
mod required_parameters;
mod route_anchors;
mod run;
mod said;
mod schema_validity;
mod sources;
mod state_precondition;
mod stored;
#[cfg(test)]
mod testing;
mod tour;
mod unknown_acknowledgement;
mod value_bounds;
mod view;
mod wish;

pub use findings::{CAPACITY, Findings};
pub use lately::Lately;
pub use probe::probe;
pub use run::{GateFault, Health, run};
pub use said::{numbers, says_unit, segment};
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
    &capability::GATE,
    &obligations::GATE,
    &gather_before_act::GATE,
    &confirmation::GATE,
    &conditional_consent::GATE,
    &consent_scope::GATE,
    &repetition::GATE,
    &output_integrity::GATE,
    &completion::GATE,
    &promise_capability::GATE,
    &announce_stall::GATE,
    &inability_contradiction::GATE,
    &unknown_acknowledgement::GATE,
    &numeric_claim::GATE,
    &repeated_question::GATE,
    &leakage::GATE,
    &refusal_read::GATE,
    &future_condition::GATE,
    &numeric_provenance::GATE,
    &entity_binding::GATE,
    &preferences_first::GATE,
    &ask_guard::GATE,
    &route_anchors::GATE,
    &state_precondition::GATE,
    &batch_conflict::GATE,
    &no_op::GATE,
    &conditional_scope::GATE,
    &preference_mismatch::GATE,
    &value_bounds::GATE,
    &outward_duplicate::GATE,
    &plan_completion::GATE,
    &future_time_argument::GATE,
    &computed_disclosure::GATE,
    &promise_audit::GATE,
    &refusal::GATE,
    &call_substitution::GATE,
    &rebuild::GATE,
    &ask_ledger::GATE,
    &policy_advisory::GATE,
];

/// The phrase tables that every policy brings, by language; a set may add its own.
pub const PHRASES: [(&str, &str); 2] =
    [("en", include_str!("phrases/en.toml")), ("de", include_str!("phrases/de.toml"))];
