//! Points in time, as people write and read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;

/// Reads `90s`, `10m`, `2h`, `3d` (ago) or `2026-11-30[T08:15[:00]]` (UTC) as milliseconds since 1970.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no time; write `10m`, `2h`, `3d` or `2026-11-30T08:15`");
    if let Some(ago) = ago(text) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        return Ok(u64::try_from(now.saturating_sub(ago).as_millis()).unwrap_or(u64::MAX));
    }
    let (date, time) = text.trim_end_matches('Z').split_once(['T', ' ']).unwrap_or((text, "0:0:0"));
    let numbers = |text: &str, at: char| text.split(at).map(str::parse).collect::<Result<Vec<u64>, _>>().ok();
    let (date, time) = numbers(date, '-').zip(numbers(time, ':')).ok_or_else(wrong)?;
    let [year, month, day] = date[..] else { return Err(wrong()) };
    let (hour, minute, second) = match time[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(wrong()),
    };
    let sound = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !sound || hour > 23 || minute > 59 || second > 60 {
        return Err(wrong());
    }
    Ok((days(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second) * 1_000)
}

fn ago(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => DAY_S,
        _ => return None,
    };
    Some(Duration::from_secs(number.saturating_mul(seconds)))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, *chrono-compatible low-level date
/// algorithms*, `days_from_civil`).
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Milliseconds since 1970 as `2026-11-30 08:15:00.123`, in UTC.
pub(super) fn told(millis: u64) -> String {
    let (seconds, rest) = (millis / 1_000, millis % 1_000);
    let z = seconds / DAY_S + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{rest:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_as_the_same_time() {
        for millis in [0, 951_782_400_000, 1_709_164_800_000, 1_709_251_199_000, 1_796_037_122_000, 4_102_444_800_000] {
            let text = told(millis);
            assert_eq!(parse(text.split('.').next().unwrap()), Ok(millis), "{text}");
        }
        assert_eq!(told(1_709_164_800_123), "2024-02-29 00:00:00.123");
        assert_eq!(parse("2024-02-29T00:01"), Ok(1_709_164_860_000));
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        for text in ["", "soon", "2024-13-01", "2024-02-29T25:00", "10x", "m", "2024-02", "1969-12-31"] {
            assert!(parse(text).unwrap_err().contains("is no time"), "{text}");
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        assert!(parse("2h").unwrap() <= now - 7_199_000 && parse("0s").unwrap() >= now);
    }
}
