//! Numbers within bounds and steps, digit by digit.

use super::Node;

/// Largest magnitude of a number whose schema sets no bound: nine digits.
const UNBOUNDED: i64 = 999_999_999;
/// Up to this many values are listed one by one.
const LISTED: i64 = 256;

/// Bounds of a number, as its schema states them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) multiple_of: Option<f64>,
    /// Whether the schema says `integer`.
    pub(super) whole: bool,
}

/// Every number within the bounds, in the shortest way to write it. Without a step, fractions have
/// at most two digits.
pub(super) fn number(bounds: Bounds) -> Node {
    let step = match bounds.multiple_of.filter(|s| *s > 0.0 && s.is_finite()) {
        Some(step) => step,
        None if bounds.whole => 1.0,
        None => 0.01,
    };
    // Steps per unit, for steps that divide one (0.5, 0.25, 0.1, 0.01).
    let per_unit = (1.0 / step).round();
    if step < 1.0 && (per_unit * step - 1.0).abs() < 1e-9 && per_unit <= 100.0 && !bounds.whole {
        let per_unit = per_unit as i64;
        return fractions(scaled(bounds.minimum, step, f64::ceil), scaled(bounds.maximum, step, f64::floor), per_unit);
    }
    if step <= 1.0 {
        return integers(scaled(bounds.minimum, 1.0, f64::ceil), scaled(bounds.maximum, 1.0, f64::floor));
    }
    let low = scaled(bounds.minimum, step, f64::ceil).unwrap_or(-LISTED / 2);
    let high = scaled(bounds.maximum, step, f64::floor).unwrap_or(LISTED / 2).min(low.saturating_add(LISTED));
    Node::one_of((low..=high).map(|n| Node::literal(shortest(n as f64 * step))).collect())
}

fn scaled(bound: Option<f64>, step: f64, round: fn(f64) -> f64) -> Option<i64> {
    // A bound such as 28 / 0.1 must not miss its step by a rounding error.
    let steps = bound? / step;
    let steps = if (steps - steps.round()).abs() < 1e-9 { steps.round() } else { round(steps) };
    (steps.abs() <= UNBOUNDED as f64 * 100.0).then_some(steps as i64)
}

fn shortest(value: f64) -> String {
    serde_json::Number::from_f64(value).map_or_else(|| "0".to_owned(), |n| crate::model::number(&n).to_string())
}

/// Multiples of `1 / per_unit`, bounds in those multiples.
fn fractions(low: Option<i64>, high: Option<i64>, per_unit: i64) -> Node {
    let low = low.unwrap_or(-UNBOUNDED * per_unit);
    let high = high.unwrap_or(UNBOUNDED * per_unit);
    if high.saturating_sub(low) < LISTED {
        return Node::one_of((low..=high).map(|n| Node::literal(shortest(n as f64 / per_unit as f64))).collect());
    }
    let (below, above) = (low.div_euclid(per_unit) + 1, high.div_euclid(per_unit) - 1);
    let tail = Node::optional(Node::Sequence(vec![Node::literal("."), tail_digits(per_unit)]));
    // Whole numbers strictly inside the bounds may carry any fraction; the ends stand alone.
    let mut ways = Vec::new();
    if low < 0 {
        ways.push(Node::Sequence(vec![Node::literal("-"), positive(1, (-below).max(1)), tail.clone()]));
    }
    ways.push(Node::Sequence(vec![positive(below.max(0), above.max(0)), tail]));
    ways.push(Node::literal(shortest(low as f64 / per_unit as f64)));
    ways.push(Node::literal(shortest(high as f64 / per_unit as f64)));
    Node::one_of(ways)
}

/// The digits after the point of each multiple below one.
fn tail_digits(per_unit: i64) -> Node {
    match per_unit {
        10 => Node::digits('1', '9'),
        100 => Node::Sequence(vec![Node::digits('0', '9'), Node::optional(Node::digits('1', '9'))]),
        _ => Node::one_of(
            (1..per_unit)
                .map(|n| shortest(n as f64 / per_unit as f64))
                .filter_map(|text| text.strip_prefix("0.").map(Node::literal))
                .collect(),
        ),
    }
}

fn integers(low: Option<i64>, high: Option<i64>) -> Node {
    let (low, high) = (low.unwrap_or(-UNBOUNDED), high.unwrap_or(UNBOUNDED));
    let mut ways = Vec::new();
    if low < 0 {
        ways.push(Node::Sequence(vec![Node::literal("-"), positive((-high).max(1), -low)]));
    }
    if high >= 0 {
        ways.push(positive(low.max(0), high));
    }
    Node::one_of(ways)
}

/// Whole numbers between two that are not negative, without leading zeros.
fn positive(low: i64, high: i64) -> Node {
    let mut ways = Vec::new();
    let mut from = low;
    while from <= high {
        let text = from.to_string();
        let longest = "9".repeat(text.len()).parse::<i64>().unwrap_or(high);
        let to = longest.min(high);
        ways.push(same_length(text.as_bytes(), to.to_string().as_bytes()));
        let Some(next) = to.checked_add(1) else { break };
        from = next;
    }
    Node::one_of(ways)
}

/// Digit strings of one length between two of them.
fn same_length(low: &[u8], high: &[u8]) -> Node {
    let (Some((&l, low_rest)), Some((&h, high_rest))) = (low.split_first(), high.split_first()) else {
        return Node::Sequence(Vec::new());
    };
    let class = |a: u8, b: u8| Node::digits(char::from(a), char::from(b));
    if low_rest.is_empty() {
        return class(l, h);
    }
    if l == h {
        return Node::Sequence(vec![class(l, h), same_length(low_rest, high_rest)]);
    }
    let rest = low_rest.len();
    let (mut first, mut last) = (l, h);
    let mut ways = Vec::new();
    if low_rest.iter().any(|d| *d != b'0') {
        ways.push(Node::Sequence(vec![class(l, l), same_length(low_rest, "9".repeat(rest).as_bytes())]));
        first += 1;
    }
    let mut end = None;
    if high_rest.iter().any(|d| *d != b'9') {
        end = Some(Node::Sequence(vec![class(h, h), same_length("0".repeat(rest).as_bytes(), high_rest)]));
        last -= 1;
    }
    if first <= last {
        let any = Node::Repeat { node: Box::new(Node::digits('0', '9')), min: rest, max: rest };
        ways.push(Node::Sequence(vec![class(first, last), any]));
    }
    ways.extend(end);
    Node::one_of(ways)
}

#[cfg(test)]
mod tests {
    use super::super::random::accepts;
    use super::*;

    fn whole(minimum: f64, maximum: f64) -> Bounds {
        Bounds { minimum: Some(minimum), maximum: Some(maximum), multiple_of: None, whole: true }
    }

    #[test]
    fn accepts_exactly_the_integers_of_a_range() {
        for (low, high) in [(0, 100), (0, 5), (16, 28), (7, 203), (-20, 15), (-30, -4), (1, 1), (99, 1001)] {
            let node = number(whole(f64::from(low), f64::from(high)));
            for n in -1200..1200 {
                assert_eq!(accepts(&node, &n.to_string()), (low..=high).contains(&n), "{n} in {low}..={high}");
            }
            assert!(!accepts(&node, "007") && !accepts(&node, "-0") && !accepts(&node, ""));
        }
    }

    #[test]
    fn accepts_half_degrees_and_nothing_between() {
        let node = number(Bounds { minimum: Some(16.0), maximum: Some(28.0), multiple_of: Some(0.5), whole: false });
        for good in ["16", "16.5", "22", "28"] {
            assert!(accepts(&node, good), "{good}");
        }
        for bad in ["15.5", "28.5", "22.3", "22.0", "22."] {
            assert!(!accepts(&node, bad), "{bad}");
        }
    }

    #[test]
    fn a_wide_range_of_fractions_stays_small_and_exact_at_its_ends() {
        let node = number(Bounds { minimum: Some(-90.0), maximum: Some(90.0), multiple_of: None, whole: false });
        for good in ["-90", "90", "-89.99", "0", "48.13", "7.5", "0.01"] {
            assert!(accepts(&node, good), "{good}");
        }
        for bad in ["90.01", "-90.5", "91", "48.137", "1.50"] {
            assert!(!accepts(&node, bad), "{bad}");
        }
    }

    #[test]
    fn steps_above_one_are_listed() {
        let node = number(Bounds { minimum: Some(0.0), maximum: Some(60.0), multiple_of: Some(15.0), whole: true });
        let accepted: Vec<i32> = (0..=100).filter(|n| accepts(&node, &n.to_string())).collect();
        assert_eq!(accepted, [0, 15, 30, 45, 60]);
    }

    #[test]
    fn a_number_without_bounds_has_at_most_nine_digits() {
        let node = number(Bounds { whole: true, ..Bounds::default() });
        assert!(accepts(&node, "999999999") && accepts(&node, "-12") && !accepts(&node, "1000000000"));
    }
}
