//! What the driver's words say about values, so that a draft cannot be written against them.
//!
//! A small model slips most on values: it drafts `off` for "turn on" and 20 for "halfway". Where the
//! words decide, the grammar leaves only what was said; where they do not, it leaves everything and
//! the gates judge (`numeric-provenance`).

/// Values that the driver's last sentence names. Empty: nothing is narrowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grounds {
    /// Whether something is to be on or off; none where neither or both are said.
    pub switch: Option<bool>,
    /// Numbers said, in digits or words, in natural units.
    pub numbers: Vec<f64>,
    /// Whether the most that can be set is asked for (`fully`).
    pub most: bool,
    /// Whether the least is (`closed`).
    pub least: bool,
}

impl Grounds {
    /// The numbers that a parameter within these bounds can only mean; empty where the words leave
    /// it open.
    pub(super) fn values(&self, minimum: Option<f64>, maximum: Option<f64>, multiple_of: Option<f64>) -> Vec<f64> {
        let fits = |n: &f64| {
            minimum.is_none_or(|m| *n >= m)
                && maximum.is_none_or(|m| *n <= m)
                && multiple_of.is_none_or(|s| s <= 0.0 || ((n / s).round() * s - n).abs() < 1e-9)
        };
        let mut values: Vec<f64> = self.numbers.iter().copied().filter(fits).collect();
        if values.is_empty() {
            values.extend(maximum.filter(|_| self.most));
            values.extend(minimum.filter(|_| self.least));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_said_narrow_only_parameters_that_they_fit() {
        let grounds = Grounds { numbers: vec![21.5], ..Grounds::default() };
        assert_eq!(grounds.values(Some(16.0), Some(28.0), Some(0.5)), [21.5]);
        assert!(grounds.values(Some(0.0), Some(5.0), Some(1.0)).is_empty(), "a level is not meant");
    }

    #[test]
    fn most_and_least_are_the_parameters_own_bounds() {
        let fully = Grounds { most: true, ..Grounds::default() };
        assert_eq!(fully.values(Some(0.0), Some(100.0), Some(1.0)), [100.0]);
        assert!(fully.values(None, None, None).is_empty());
    }
}
