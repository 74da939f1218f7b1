//! Numbers as JSON means them: exact, whole or not by their value and not by how they are written.

use std::cmp::Ordering;

use serde_json::{Number, Value as Json};

/// A number: what fits an integer is one, however it was written.
#[derive(Debug, Clone, Copy)]
enum Exact {
    Whole(i128),
    /// Has a fraction, or is beyond ±2^100.
    Float(f64),
}

/// Floats below are converted to integers without loss.
const BOUND: f64 = 1.267_650_600_228_229_4e30;

fn exact(number: &Number) -> Exact {
    if let Some(whole) = number.as_i64() {
        return Exact::Whole(i128::from(whole));
    }
    if let Some(whole) = number.as_u64() {
        return Exact::Whole(i128::from(whole));
    }
    let float = number.as_f64().unwrap_or(f64::NAN);
    if float.fract() == 0.0 && float.abs() < BOUND { Exact::Whole(truncated(float)) } else { Exact::Float(float) }
}

#[allow(clippy::cast_possible_truncation)]
fn truncated(float: f64) -> i128 {
    float as i128
}

/// Whether it has no fraction.
pub(super) fn is_whole(number: &Number) -> bool {
    match exact(number) {
        Exact::Whole(_) => true,
        Exact::Float(float) => float.fract() == 0.0,
    }
}

/// The order of two numbers by their exact values.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (exact(left), exact(right)) {
        (Exact::Whole(left), Exact::Whole(right)) => left.cmp(&right),
        (Exact::Float(left), Exact::Float(right)) => left.total_cmp(&right),
        (Exact::Whole(left), Exact::Float(right)) => against(left, right),
        (Exact::Float(left), Exact::Whole(right)) => against(right, left).reverse(),
    }
}

fn against(whole: i128, float: f64) -> Ordering {
    if float.abs() >= BOUND {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    // Equal to the floor means less: the float has a fraction.
    whole.cmp(&truncated(float.floor())).then(Ordering::Less)
}

/// Whether two values are the same; 1 and 1.0 are.
pub(super) fn equal(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => compare(left, right) == Ordering::Equal,
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

/// Whether `number` is a whole multiple of `step` (above 0), both as the decimals they are written as: 0.3 is one of
/// 0.1.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Exact::Whole(number), Exact::Whole(step)) = (exact(number), exact(step)) {
        return step != 0 && number % step == 0;
    }
    let (Some(number), Some(step)) = (decimal(number), decimal(step)) else { return false };
    if number.digits == 0 {
        return true;
    }
    if step.digits == 0 {
        return false;
    }
    if number.exponent >= step.exponent {
        let mut rest = number.digits % step.digits;
        for _ in 0..number.exponent - step.exponent {
            rest = rest * 10 % step.digits;
            if rest == 0 {
                break;
            }
        }
        return rest == 0;
    }
    let finer = u32::try_from(step.exponent - number.exponent).unwrap_or(u32::MAX);
    // More digits than that the number does not have.
    10_u128
        .checked_pow(finer)
        .and_then(|scale| scale.checked_mul(step.digits))
        .is_some_and(|step| number.digits % step == 0)
}

/// `digits` times ten to the `exponent`, without the sign. Below 10^20, so that products fit.
struct Decimal {
    digits: u128,
    exponent: i32,
}

/// The shortest decimal that means the number.
fn decimal(number: &Number) -> Option<Decimal> {
    if let Exact::Whole(whole) = exact(number)
        && whole.unsigned_abs() < 100_000_000_000_000_000_000
    {
        return Some(Decimal { digits: whole.unsigned_abs(), exponent: 0 });
    }
    let text = format!("{:e}", number.as_f64()?.abs());
    let (digits, exponent) = text.split_once('e')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i32 = exponent.parse().ok()?;
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some(Decimal { digits, exponent: exponent.checked_sub(i32::try_from(fraction.len()).ok()?)? })
}
