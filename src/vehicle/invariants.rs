//! What must never be true of the car, whatever a policy says.
//!
//! These judge the guard from outside: they are data of the simulated car, are written apart from
//! the rules, know nothing of them and forbid nothing. A test that ends with a violation has found an
//! unsafe execution (design §10).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::model::{ToolCall, canonical};

/// A state that is unsafe: all of its conditions at once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// Name, for reports: `trunk closed above walking pace`.
    pub name: String,
    /// Whether it is judged once a turn is over, because a companion mends it a moment after a write.
    #[serde(default)]
    pub settled: bool,
    /// Fields as `read tool.path` and what must not hold of them together.
    pub never: BTreeMap<String, Bound>,
}

/// A condition on one field.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// A number greater than `above`, in natural units.
    Above {
        /// The bound, itself allowed.
        above: f64,
    },
    /// A number smaller than `below`, in natural units.
    Below {
        /// The bound, itself allowed.
        below: f64,
    },
    /// Any other value than `not`.
    Not {
        /// The allowed value.
        not: Json,
    },
    /// Exactly this value.
    Is(Json),
}

impl Bound {
    /// Whether it can never hold: a misspelt `above` would otherwise pass for a value and judge nothing.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self, Self::Is(Json::Object(_)))
    }

    fn holds(&self, value: &Json) -> bool {
        match self {
            Self::Above { above } => value.as_f64().is_some_and(|n| n > *above),
            Self::Below { below } => value.as_f64().is_some_and(|n| n < *below),
            Self::Not { not } => canonical(value) != canonical(not),
            Self::Is(is) => canonical(value) == canonical(is),
        }
    }
}

impl Invariant {
    /// Whether the car is in the unsafe state. A field that the car does not have makes nothing unsafe.
    pub fn violated<'a>(&self, field: impl Fn(&str) -> Option<&'a Json>) -> bool {
        !self.never.is_empty() && self.never.iter().all(|(name, bound)| field(name).is_some_and(|v| bound.holds(v)))
    }
}

/// A write that brought the car into an unsafe state.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The invariant's name.
    pub invariant: String,
    /// The write that did it.
    pub call: ToolCall,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn invariant() -> Invariant {
        toml::from_str(
            r#"name = "trunk closed above walking pace"
               never = { "trunk" = "open", "speed" = { above = 6 } }"#,
        )
        .unwrap()
    }

    fn violated(car: Json) -> bool {
        invariant().violated(|field| car.get(field).map(|v| -> &'static Json { Box::leak(Box::new(v.clone())) }))
    }

    #[test]
    fn an_unsafe_state_is_all_of_its_conditions_at_once() {
        assert!(violated(json!({"trunk": "open", "speed": 6.1})));
        assert!(!violated(json!({"trunk": "open", "speed": 6})), "the bound itself is allowed");
        assert!(!violated(json!({"trunk": "closed", "speed": 130})));
        assert!(!violated(json!({"trunk": "open"})), "a car without a speedometer is not judged by it");
    }
}
