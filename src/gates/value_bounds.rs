//! Numbers that no schema bounds.

use serde_json::{Map, Value as Json};

use super::{Exhausted, Findings, View, gate};
use crate::model::{Finding, Tier, Value};
use crate::state::NowField;

gate! {
    /// The parts of a date in a call make a day that exists.
    ///
    /// # Why
    /// A schema bounds the day by 31, whatever the month. That a calendar or a forecast is asked for the
    /// day that the policy allows is a rule and comes through `obligations`.
    ///
    /// # Blocks
    /// 31 June and, in a year that is no leap year, 29 February: where a call, or a member of it, carries
    /// a month and a day.
    ///
    /// # Allows
    /// Every day that exists; arguments that are called otherwise.
    ///
    /// # Remedy
    /// None: compute the date.
    "value-bounds", Hard
}

fn check(view: &View<'_>, findings: &mut Findings) -> Result<(), Exhausted> {
    for (at, call) in view.draft.calls.iter().enumerate() {
        dates(view, &call.arguments, &mut |day, month| {
            let because =
                format!("there is no day {day} in month {month}; compute the date before calling `{}`", call.tool);
            findings.push(Finding::new(NAME, Tier::Hard, because).at(at));
        })?;
    }
    Ok(())
}

fn dates(view: &View<'_>, members: &Map<String, Json>, found: &mut impl FnMut(i64, i64)) -> Result<(), Exhausted> {
    view.spend(members.len() + 1)?;
    let part = |field: NowField| members.iter().find(|(name, _)| is_part(name, field)).and_then(|(_, v)| v.as_i64());
    if let (Some(month), Some(day)) = (part(NowField::Month), part(NowField::Day)) {
        let now = match view.history.now().get(NowField::Year) {
            Value::Int(year) => Some(*year),
            _ => None,
        };
        if days(month, part(NowField::Year).or(now)).is_some_and(|most| day < 1 || day > most) {
            found(day, month);
        }
    }
    for value in members.values() {
        match value {
            Json::Object(inner) => dates(view, inner, found)?,
            Json::Array(items) => {
                for inner in items.iter().filter_map(Json::as_object) {
                    dates(view, inner, found)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a parameter is one part of a date: a word of its name says so.
fn is_part(name: &str, field: NowField) -> bool {
    name.as_bytes().split(|b| *b == b'_').any(|word| word.eq_ignore_ascii_case(field.name().as_bytes()))
}

/// Days of a month; without a year February has its 29th.
fn days(month: i64, year: Option<i64>) -> Option<i64> {
    let leap = year.is_none_or(|y| (y % 4 == 0 && y % 100 != 0) || y % 400 == 0);
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if leap { 29 } else { 28 }),
        _ => None, // the schema check's business
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Talk, calls, check, kitchen};
    use super::*;
    use crate::state::Now;
    use serde_json::json;

    fn found(arguments: Json) -> usize {
        let policy = kitchen();
        let mut history = Talk::new(&policy).driver("book it").history();
        let mut now = Now::default();
        now.set(NowField::Year, Value::Int(2025));
        history.set_now(now);
        check(&GATE, &policy, &history, &calls(&[("search_recipes", arguments)])).len()
    }

    #[test]
    fn blocks_a_day_that_does_not_exist_also_in_a_member() {
        assert_eq!(found(json!({"month": 6, "day": 31})), 1);
        assert_eq!(found(json!({"start": {"month": 2, "day": 29}})), 1);
    }

    #[test]
    fn allows_days_that_exist() {
        assert_eq!(found(json!({"month": 12, "day": 31})), 0);
        assert_eq!(found(json!({"start": {"year": 2024, "month": 2, "day": 29}})), 0);
        assert_eq!(found(json!({"day": 31})), 0);
    }
}
