//! Values as signals carry them.

use super::proto::value::TypedValue;
use super::proto::{DataType, Value};

/// A value of a signal, whatever it travels as.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    Bool(bool),
    Number(f64),
    Text(String),
}

/// Greatest whole number that a double carries exactly: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Raw {
    /// What came in. Lists are no values of fields, and a number that is none (NaN, an infinity) says
    /// nothing.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let number = match value.typed_value.as_ref()? {
            TypedValue::Bool(b) => return Some(Self::Bool(*b)),
            TypedValue::String(s) => return Some(Self::Text(s.clone())),
            TypedValue::Int32(n) => f64::from(*n),
            TypedValue::Uint32(n) => f64::from(*n),
            TypedValue::Int64(n) => *n as f64,
            TypedValue::Uint64(n) => *n as f64,
            TypedValue::Float(n) => f64::from(*n),
            TypedValue::Double(n) => *n,
            _ => return None,
        };
        number.is_finite().then_some(Self::Number(number))
    }

    /// The values of an array, such as the allowed ones of a signal.
    pub(super) fn list(value: &Value) -> Vec<Self> {
        let numbers = |all: &[f64]| all.iter().copied().map(Self::Number).collect();
        match value.typed_value.as_ref() {
            Some(TypedValue::StringArray(all)) => all.values.iter().cloned().map(Self::Text).collect(),
            Some(TypedValue::BoolArray(all)) => all.values.iter().copied().map(Self::Bool).collect(),
            Some(TypedValue::Int32Array(all)) => all.values.iter().map(|n| Self::Number(f64::from(*n))).collect(),
            Some(TypedValue::Uint32Array(all)) => all.values.iter().map(|n| Self::Number(f64::from(*n))).collect(),
            Some(TypedValue::Int64Array(all)) => all.values.iter().map(|n| Self::Number(*n as f64)).collect(),
            Some(TypedValue::Uint64Array(all)) => all.values.iter().map(|n| Self::Number(*n as f64)).collect(),
            Some(TypedValue::FloatArray(all)) => all.values.iter().map(|n| Self::Number(f64::from(*n))).collect(),
            Some(TypedValue::DoubleArray(all)) => numbers(&all.values),
            _ => Vec::new(),
        }
    }

    /// The value as a signal of that type takes it. The broker is strict about types, and takes what is
    /// no number; neither is left to it.
    pub(super) fn write(&self, data: DataType) -> Option<Value> {
        let whole = |least: f64, most: f64| match self {
            Self::Number(n) if n.fract() == 0.0 && (least..=most).contains(n) => Some(*n),
            _ => None,
        };
        let finite = match self {
            Self::Number(n) if n.is_finite() => Some(*n),
            _ => None,
        };
        let typed = match (data, self) {
            (DataType::Boolean, Self::Bool(b)) => TypedValue::Bool(*b),
            (DataType::String, Self::Text(s)) => TypedValue::String(s.clone()),
            (DataType::Int8, _) => TypedValue::Int32(whole(-128.0, 127.0)? as i32),
            (DataType::Int16, _) => TypedValue::Int32(whole(-32_768.0, 32_767.0)? as i32),
            (DataType::Int32, _) => TypedValue::Int32(whole(f64::from(i32::MIN), f64::from(i32::MAX))? as i32),
            (DataType::Int64, _) => TypedValue::Int64(whole(-EXACT, EXACT)? as i64),
            (DataType::Uint8, _) => TypedValue::Uint32(whole(0.0, 255.0)? as u32),
            (DataType::Uint16, _) => TypedValue::Uint32(whole(0.0, 65_535.0)? as u32),
            (DataType::Uint32, _) => TypedValue::Uint32(whole(0.0, f64::from(u32::MAX))? as u32),
            (DataType::Uint64, _) => TypedValue::Uint64(whole(0.0, EXACT)? as u64),
            (DataType::Float, _) => TypedValue::Float(finite.map(|n| n as f32).filter(|n| n.is_finite())?),
            (DataType::Double, _) => TypedValue::Double(finite?),
            _ => return None,
        };
        Some(Value { typed_value: Some(typed) })
    }

    /// Whether a signal of that type carries values of this kind.
    pub(super) fn fits(&self, data: DataType) -> bool {
        match self {
            Self::Bool(_) => data == DataType::Boolean,
            Self::Text(_) => data == DataType::String,
            Self::Number(_) => is_number(data),
        }
    }
}

impl std::fmt::Display for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(s) => f.write_str(s),
        }
    }
}

/// Whether a signal of that type carries a number.
pub(super) fn is_number(data: DataType) -> bool {
    !matches!(data, DataType::Unspecified | DataType::String | DataType::Boolean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_never_leaves_and_never_counts_as_one() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for data in [DataType::Float, DataType::Double, DataType::Int32, DataType::Uint8, DataType::Uint64] {
                assert_eq!(Raw::Number(number).write(data), None);
            }
            assert_eq!(Raw::read(&Value { typed_value: Some(TypedValue::Double(number)) }), None);
        }
        assert_eq!(Raw::Number(1e300).write(DataType::Float), None, "too large for a float is an infinity there");
    }

    #[test]
    fn small_types_travel_as_wide_ones_and_keep_their_bounds() {
        let typed = |n: f64, data| Raw::Number(n).write(data).and_then(|v| v.typed_value);
        assert_eq!(typed(255.0, DataType::Uint8), Some(TypedValue::Uint32(255)));
        assert_eq!(typed(-100.0, DataType::Int8), Some(TypedValue::Int32(-100)));
        for (n, data) in
            [(256.0, DataType::Uint8), (-1.0, DataType::Uint16), (128.0, DataType::Int8), (0.5, DataType::Int32)]
        {
            assert_eq!(typed(n, data), None, "{n} as {data:?}");
        }
        assert_eq!(Raw::Text("1".into()).write(DataType::Uint8), None);
        assert_eq!(Raw::Bool(true).write(DataType::Uint8), None);
    }
}
