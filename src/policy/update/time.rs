//! What time it is, as far as anybody knows.

use std::time::{SystemTime, UNIX_EPOCH};

/// The clock's reading, in seconds since 1970, UTC; none: the clock is known to be unset.
///
/// Head units without a battery behind their clock start in 1970 or at the date of their build until
/// they have heard of a satellite or a server. A reading before the latest moment that is known to have
/// passed (the image was built, a committed policy became valid) is therefore no reading: see `Moment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading(pub Option<u64>);

impl Reading {
    /// The system's clock.
    pub fn system() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs()))
    }
}

/// What is known of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// It is this time.
    At(u64),
    /// It is this time or later; nobody knows how much.
    After(u64),
}

impl Moment {
    /// A reading, given a moment that has certainly passed.
    pub(super) fn of(reading: Reading, passed: u64) -> Self {
        match reading.0 {
            Some(now) if now >= passed => Self::At(now),
            _ => Self::After(passed),
        }
    }
}

/// A time for people: `2027-03-01 00:00:00 UTC`.
pub fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a civil date (Howard Hinnant, "chrono-compatible low-level date algorithms"): eras of 400
    // years that begin on 1 March.
    let shifted = days.saturating_add(719_468);
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let (date, month) = (in_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02} UTC", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_827_696), "2000-02-29 12:34:56 UTC");
        assert_eq!(utc(1_772_323_199), "2026-02-28 23:59:59 UTC");
        assert!(utc(u64::MAX).ends_with("UTC"));
    }

    #[test]
    fn a_reading_before_what_is_known_to_have_passed_is_no_reading() {
        assert_eq!(Moment::of(Reading(Some(7)), 7), Moment::At(7));
        assert_eq!(Moment::of(Reading(Some(6)), 7), Moment::After(7));
        assert_eq!(Moment::of(Reading(None), 7), Moment::After(7));
    }
}
