//! Values of observed fields.

use std::fmt;
use std::sync::Arc;

/// What is known of one field of the car or of one observation.
///
/// `Unknown` is a value, not an absence: a field that was never read, that a failed write may have
/// changed, or that a result reports as `null` or `"unknown"` is `Unknown`, and every comparison
/// with it is undecided (design §3, *three-valued*).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Value {
    /// Nothing certain is known.
    #[default]
    Unknown,
    /// A switch.
    Bool(bool),
    /// A number in units of its field's [`Resolution`].
    Int(i64),
    /// A word, usually a member of an enumeration.
    Str(Arc<str>),
    /// An ordered list of words (waypoints, routes).
    List(Arc<[Arc<str>]>),
}

impl Value {
    /// A word.
    pub fn word(text: &str) -> Self {
        Self::Str(Arc::from(text))
    }

    /// Whether anything certain is known.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown)
    }

    /// Reads a JSON value. `null` and the literal `"unknown"` are [`Value::Unknown`] (how the
    /// recorded benchmark marks a removed field), and so is anything the engine cannot compare.
    pub fn from_json(json: &serde_json::Value, resolution: Resolution) -> Self {
        match json {
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => resolution.scale(n).map_or(Self::Unknown, Self::Int),
            serde_json::Value::String(s) if is_unknown_word(s) => Self::Unknown,
            serde_json::Value::String(s) => Self::word(s),
            serde_json::Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().map(Arc::from))
                .collect::<Option<Arc<[Arc<str>]>>>()
                .map_or(Self::Unknown, Self::List),
            serde_json::Value::Null | serde_json::Value::Object(_) => Self::Unknown,
        }
    }

    /// The value as JSON in natural units; `null` for [`Value::Unknown`].
    pub fn to_json(&self, resolution: Resolution) -> serde_json::Value {
        match self {
            Self::Unknown => serde_json::Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Int(i) => resolution.natural(*i),
            Self::Str(s) => s.as_ref().into(),
            Self::List(items) => items.iter().map(|item| item.as_ref()).collect(),
        }
    }

    /// The value for a person, in natural units.
    pub fn display(&self, resolution: Resolution) -> String {
        match self {
            Self::Unknown => "unknown".to_owned(),
            Self::Str(s) => s.as_ref().to_owned(),
            other => other.to_json(resolution).to_string(),
        }
    }
}

/// Whether a word is one of those that results use for "no value here".
pub fn is_unknown_word(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || ["unknown", "n/a", "none", "null"].iter().any(|w| text.eq_ignore_ascii_case(w))
}

/// How many integer steps make one natural unit: 10 for tenths of a degree, 1 for whole percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Resolution(u32);

impl Resolution {
    /// Whole units.
    pub const ONE: Self = Self(1);

    /// `steps` integer steps per natural unit; zero is read as one.
    pub fn per_unit(steps: u32) -> Self {
        Self(if steps == 0 { 1 } else { steps })
    }

    /// Integer steps per natural unit.
    pub fn steps(self) -> u32 {
        self.0
    }

    /// Natural number to scaled integer; `None` when it does not fit or is not finite.
    ///
    /// A number between two steps is rounded half away from zero: sensors report more digits than a
    /// rule can mean. Arguments are held to `multipleOf` by the schema check instead.
    pub fn scale(self, number: &serde_json::Number) -> Option<i64> {
        if let Some(whole) = number.as_i64() {
            return whole.checked_mul(i64::from(self.0));
        }
        let scaled = (number.as_f64()? * f64::from(self.0)).round();
        // 2^53 bounds the integers that a double carries exactly.
        (scaled.is_finite() && scaled.abs() <= 9_007_199_254_740_992.0).then_some(scaled as i64)
    }

    /// Scaled integer to natural JSON number; whole numbers print as integers.
    pub fn natural(self, scaled: i64) -> serde_json::Value {
        let steps = i64::from(self.0);
        match scaled.checked_rem(steps) {
            Some(0) => scaled.checked_div(steps).unwrap_or(scaled).into(),
            _ => (scaled as f64 / f64::from(self.0)).into(),
        }
    }
}

impl Default for Resolution {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_and_unknown_words_are_unknown_and_never_compare() {
        for json in [json!(null), json!("unknown"), json!("N/A"), json!(""), json!({"a": 1})] {
            assert_eq!(Value::from_json(&json, Resolution::ONE), Value::Unknown, "{json}");
        }
    }

    #[test]
    fn tenths_round_trip_in_natural_units() {
        let tenth = Resolution::per_unit(10);
        assert_eq!(Value::from_json(&json!(22.5), tenth), Value::Int(225));
        assert_eq!(Value::Int(225).display(tenth), "22.5");
        assert_eq!(Value::Int(220).display(tenth), "22");
    }

    #[test]
    fn numbers_that_do_not_fit_are_unknown() {
        assert_eq!(Value::from_json(&json!(1e300), Resolution::ONE), Value::Unknown);
        assert_eq!(Value::from_json(&json!(i64::MAX), Resolution::per_unit(10)), Value::Unknown);
    }
}
