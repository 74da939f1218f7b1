//! From values of fields to values of signals and back.

use super::raw::Raw;
use crate::model::Value;
use crate::state::{Attribute, Literal, Signal, SignalForm};

/// What to send so that a field gets a value; a sentence why there is nothing.
pub(super) fn encode(attribute: &Attribute, signal: &Signal, value: &Value) -> Result<Raw, String> {
    if let (Value::Int(steps), Some((least, most))) = (value, signal.range)
        && !(least..=most).contains(steps)
    {
        let shown = |n: i64| attribute.resolution.natural(n);
        return Err(format!("{} is outside {} to {}", shown(*steps), shown(least), shown(most)));
    }
    let steps = f64::from(attribute.resolution.steps());
    match (&signal.form, value) {
        (SignalForm::Same { .. }, Value::Bool(on)) => Ok(Raw::Bool(*on)),
        (SignalForm::Same { .. }, Value::Str(word)) => Ok(Raw::Text(word.to_string())),
        (SignalForm::Same { per_unit }, Value::Int(n)) => Ok(Raw::Number(*n as f64 * per_unit / steps)),
        (SignalForm::Levels { numbers, .. }, Value::Int(n)) => usize::try_from(*n)
            .ok()
            .and_then(|level| numbers.get(level))
            .map(|number| Raw::Number(*number))
            .ok_or_else(|| format!("there is no level {n}")),
        (SignalForm::Words(words), _) => words
            .iter()
            .find(|(meant, _)| meant.to_value(attribute.resolution) == *value)
            .and_then(|(_, written)| written.first())
            .map(raw)
            .ok_or_else(|| format!("{} has no value for {}", attribute.name, value.display(attribute.resolution))),
        _ => Err(format!("{} is no value of {}", value.display(attribute.resolution), attribute.name)),
    }
}

/// What a field has when its signal has this value. A value that nothing stands for, or that is outside
/// the field's range, is no knowledge.
pub(super) fn decode(attribute: &Attribute, signal: &Signal, found: &Raw) -> Value {
    let value = match (&signal.form, found) {
        (SignalForm::Same { .. }, Raw::Bool(on)) => Value::Bool(*on),
        (SignalForm::Same { .. }, Raw::Text(word)) => Value::word(word),
        (SignalForm::Same { per_unit }, Raw::Number(n)) => serde_json::Number::from_f64(n / per_unit)
            .and_then(|n| attribute.resolution.scale(&n))
            .map_or(Value::Unknown, Value::Int),
        (SignalForm::Levels { .. }, Raw::Number(_)) if is_other_side(signal, found) => Value::Int(0),
        (SignalForm::Levels { numbers, tolerance }, Raw::Number(n)) => level(numbers, *tolerance, *n),
        (SignalForm::Words(words), _) => words
            .iter()
            .find(|(_, written)| written.iter().any(|w| same(&raw(w), found)))
            .map_or(Value::Unknown, |(meant, _)| meant.to_value(attribute.resolution)),
        (SignalForm::Levels { .. }, _) => Value::Unknown,
    };
    match (&value, signal.range) {
        (Value::Int(steps), Some((least, most))) if !(least..=most).contains(steps) => Value::Unknown,
        _ => value,
    }
}

/// Whether a value was meant for the same side of a signal that two fields share: a seat that cools is
/// not heated at level 0, and stays as it is when its heating is set to 0.
pub(super) fn is_other_side(signal: &Signal, found: &Raw) -> bool {
    let (SignalForm::Levels { numbers, .. }, Raw::Number(n)) = (&signal.form, found) else { return false };
    match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) => (n - first) * (last - first) < 0.0,
        _ => false,
    }
}

/// The level that a number stands for: exactly, or as near as the mapping admits. The nearest one would be
/// another one than was ordered as soon as the car stops half way.
fn level(numbers: &[f64], tolerance: f64, n: f64) -> Value {
    // A float on the wire has seven digits.
    let stands = |level: f64| f64::from(level as f32) == n || (level - n).abs() <= tolerance;
    let found = numbers.iter().zip(0_i64..).find(|(number, _)| stands(**number));
    found.map_or(Value::Unknown, |(_, level)| Value::Int(level))
}

/// Words are compared as written, numbers as numbers.
pub(super) fn same(a: &Raw, b: &Raw) -> bool {
    match (a, b) {
        (Raw::Text(a), Raw::Text(b)) => a.eq_ignore_ascii_case(b),
        _ => a == b,
    }
}

/// A constant of the mapping.
pub(super) fn raw(literal: &Literal) -> Raw {
    match literal {
        Literal::Bool(b) => Raw::Bool(*b),
        Literal::Int(n) => Raw::Number(*n as f64),
        Literal::Number(n) => Raw::Number(*n),
        Literal::Text(t) => Raw::Text(t.clone()),
    }
}

#[cfg(test)]
pub(super) mod testing {
    use crate::model::Resolution;
    use crate::state::{AttrType, Attribute, CellIx, EntityIx};

    pub(in super::super) fn attribute(kind: AttrType, steps: u32) -> Attribute {
        Attribute {
            entity: EntityIx::CAR,
            name: "it".into(),
            kind,
            resolution: Resolution::per_unit(steps),
            unit: String::new(),
            field: "it".into(),
            read: None,
            also: Vec::new(),
            base: CellIx(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::attribute;
    use super::*;
    use crate::state::{AttrIx, AttrType};

    fn signal(form: SignalForm, range: Option<(i64, i64)>) -> Signal {
        Signal { attribute: AttrIx(0), items: Vec::new(), form, range, sampled: false }
    }

    #[test]
    fn every_value_in_range_survives_the_way_there_and_back() {
        let tenths = attribute(AttrType::Int, 10);
        let same = signal(SignalForm::Same { per_unit: 1.0 }, Some((160, 280)));
        for steps in 160..=280 {
            let Raw::Number(sent) = encode(&tenths, &same, &Value::Int(steps)).unwrap() else { panic!("a number") };
            // A float on the wire has seven digits.
            assert_eq!(decode(&tenths, &same, &Raw::Number(f64::from(sent as f32))), Value::Int(steps));
        }
        let whole = attribute(AttrType::Int, 1);
        let metres = signal(SignalForm::Same { per_unit: 1000.0 }, Some((0, 2000)));
        assert_eq!(encode(&whole, &metres, &Value::Int(7)), Ok(Raw::Number(7000.0)));
        assert_eq!(decode(&whole, &metres, &Raw::Number(7_400.0)), Value::Int(7));
    }

    #[test]
    fn a_value_outside_the_declared_range_is_neither_sent_nor_believed() {
        let tenths = attribute(AttrType::Int, 10);
        let same = signal(SignalForm::Same { per_unit: 1.0 }, Some((160, 280)));
        assert_eq!(encode(&tenths, &same, &Value::Int(285)), Err("28.5 is outside 16 to 28".to_owned()));
        assert_eq!(decode(&tenths, &same, &Raw::Number(1e9)), Value::Unknown);
    }

    fn levels(numbers: &[f64], tolerance: f64) -> SignalForm {
        SignalForm::Levels { numbers: numbers.to_vec(), tolerance }
    }

    #[test]
    fn a_number_between_two_levels_is_neither_unless_the_mapping_says_how_near_is_near() {
        let whole = attribute(AttrType::Int, 1);
        let exact = signal(levels(&[0.0, 33.0, 66.0, 100.0], 0.0), Some((0, 3)));
        let near = signal(levels(&[0.0, 33.0, 66.0, 100.0], 2.0), Some((0, 3)));
        for n in 0..=110 {
            let n = f64::from(n);
            let exactly = [0.0, 33.0, 66.0, 100.0].iter().zip(0..).find(|(l, _)| **l == n);
            let nearly = [0.0, 33.0, 66.0, 100.0].iter().zip(0..).find(|(l, _)| (**l - n).abs() <= 2.0);
            let value = |found: Option<(&f64, i64)>| found.map_or(Value::Unknown, |(_, level)| Value::Int(level));
            assert_eq!(decode(&whole, &exact, &Raw::Number(n)), value(exactly), "{n}");
            assert_eq!(decode(&whole, &near, &Raw::Number(n)), value(nearly), "{n}");
        }
        let thirds = signal(levels(&[0.0, 100.0 / 3.0], 0.0), Some((0, 1)));
        let float = f64::from((100.0 / 3.0) as f32);
        assert_eq!(decode(&whole, &thirds, &Raw::Number(float)), Value::Int(1), "as a float carries it");
    }

    #[test]
    fn two_fields_share_a_signal_by_its_sign() {
        let whole = attribute(AttrType::Int, 1);
        let heating = signal(levels(&[0.0, 33.0, 66.0, 100.0], 0.0), Some((0, 3)));
        let cooling = signal(levels(&[0.0, -33.0, -66.0, -100.0], 0.0), Some((0, 3)));
        assert_eq!(decode(&whole, &heating, &Raw::Number(-66.0)), Value::Int(0));
        assert_eq!(decode(&whole, &cooling, &Raw::Number(-66.0)), Value::Int(2));
        assert_eq!(encode(&whole, &cooling, &Value::Int(3)), Ok(Raw::Number(-100.0)));
        assert!(is_other_side(&heating, &Raw::Number(-1.0)) && !is_other_side(&cooling, &Raw::Number(-1.0)));
        assert!(!is_other_side(&heating, &Raw::Number(0.0)));
    }

    #[test]
    fn a_word_without_a_value_cannot_be_sent_and_a_value_without_a_word_is_unknown() {
        let word = attribute(AttrType::Word, 1);
        let text = |t: &str| Literal::Text(t.to_owned());
        let pairs = vec![(text("P"), vec![Literal::Int(126)]), (text("D"), vec![Literal::Int(127), Literal::Int(1)])];
        let gear = signal(SignalForm::Words(pairs), None);
        assert_eq!(encode(&word, &gear, &Value::word("D")), Ok(Raw::Number(127.0)));
        assert!(encode(&word, &gear, &Value::word("X")).is_err());
        assert_eq!(decode(&word, &gear, &Raw::Number(1.0)), Value::word("D"));
        assert_eq!(decode(&word, &gear, &Raw::Number(99.0)), Value::Unknown);
    }
}
