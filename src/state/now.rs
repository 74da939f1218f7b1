//! Place and time of the conversation.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Clock, NowPaths};
use crate::model::{Resolution, Value};

/// A field of `context.now`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NowField {
    /// Identifier of the car's place.
    Location,
    /// Year.
    Year,
    /// Month, 1 to 12.
    Month,
    /// Day of the month, 1 to 31.
    Day,
    /// Hour, 0 to 23.
    Hour,
    /// Minute, 0 to 59.
    Minute,
}

impl NowField {
    /// All fields, in the order of [`Now`]'s storage.
    pub const ALL: [Self; 6] = [Self::Location, Self::Year, Self::Month, Self::Day, Self::Hour, Self::Minute];

    /// The name in rules and templates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Location => "location",
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
        }
    }

    /// The numbers that it can be, both ends included; none where it is a word.
    pub fn range(self) -> Option<(i64, i64)> {
        match self {
            Self::Location => None,
            Self::Year => Some((1970, 9999)),
            Self::Month => Some((1, 12)),
            Self::Day => Some((1, 31)),
            Self::Hour => Some((0, 23)),
            Self::Minute => Some((0, 59)),
        }
    }

    /// The field of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// Where the car is and what time it is. A field that nobody stated is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Now {
    values: [Value; 6],
}

impl Now {
    /// The value of a field.
    pub fn get(&self, field: NowField) -> &Value {
        match (field, &self.values) {
            (NowField::Location, [v, ..])
            | (NowField::Year, [_, v, ..])
            | (NowField::Month, [_, _, v, ..])
            | (NowField::Day, [_, _, _, v, ..])
            | (NowField::Hour, [_, _, _, _, v, _])
            | (NowField::Minute, [.., v]) => v,
        }
    }

    /// Sets a field.
    pub fn set(&mut self, field: NowField, value: Value) {
        if let Some(slot) = NowField::ALL.iter().position(|f| *f == field).and_then(|i| self.values.get_mut(i)) {
            *slot = value;
        }
    }

    /// Place and time as a system message says them, `NAME = {json}`, one a line: what stands there may also be
    /// named in calls.
    pub fn message(&self, paths: &NowPaths) -> String {
        self.message_with(paths, &Map::new())
    }

    /// The same with objects by name that hold more than that; what they say of a field stands.
    pub fn message_with(&self, paths: &NowPaths, objects: &Map<String, Json>) -> String {
        let mut assigned: BTreeMap<&str, Json> = BTreeMap::new();
        for (field, name, path) in &paths.fields {
            let object = objects.get(name);
            let value = self.get(*field);
            if object.is_none() && !value.is_known() {
                continue;
            }
            let mut at = assigned.entry(name).or_insert_with(|| object.cloned().unwrap_or_default());
            if !value.is_known() {
                continue;
            }
            for member in path.split('.') {
                if !at.is_object() {
                    *at = Json::Object(Map::new());
                }
                let Json::Object(members) = at else { break };
                at = members.entry(member).or_insert(Json::Null);
            }
            if at.is_null() {
                *at = value.to_json(Resolution::ONE);
            }
        }
        assigned.iter().map(|(name, json)| format!("{name} = {json}\n")).collect()
    }

    /// The local date and time of a moment, its place unknown: a clock that was not set, or a machine that does
    /// not know its time zone, tells nothing.
    pub fn at(moment: Moment) -> Self {
        let mut now = Self::default();
        let Some(civil) = moment.0 else { return now };
        for (field, value) in [
            (NowField::Year, i64::from(civil.year())),
            (NowField::Month, i64::from(civil.month())),
            (NowField::Day, i64::from(civil.day())),
            (NowField::Hour, i64::from(civil.hour())),
            (NowField::Minute, i64::from(civil.minute())),
        ] {
            now.set(field, Value::Int(value));
        }
        now
    }

    /// The moment that year, month, day, hour and minute are; none where one of them is missing.
    pub fn moment(&self) -> Option<Moment> {
        let number = |field| if let Value::Int(n) = self.get(field) { Some(*n) } else { None };
        let small = |field| i8::try_from(number(field)?).ok();
        let date = civil::Date::new(
            i16::try_from(number(NowField::Year)?).ok()?,
            small(NowField::Month)?,
            small(NowField::Day)?,
        );
        let time = civil::Time::new(small(NowField::Hour)?, small(NowField::Minute)?, 0, 0);
        Some(Moment(Some(date.ok()?.to_datetime(time.ok()?))))
    }

    /// What no clock and no calendar can show of it, as a sentence: an hour 25, a 30th of February. Where the year is
    /// not known it may be a leap year.
    pub fn impossible(&self) -> Option<String> {
        let number = |field| if let Value::Int(n) = self.get(field) { Some(*n) } else { None };
        for field in NowField::ALL {
            if let (Some((low, high)), Some(n)) = (field.range(), number(field))
                && !(low..=high).contains(&n)
            {
                return Some(format!("the {} is {n}; it lies between {low} and {high}", field.name()));
            }
        }
        let (month, day) = (number(NowField::Month)?, number(NowField::Day)?);
        let year = number(NowField::Year);
        let first = civil::Date::new(i16::try_from(year.unwrap_or(2024)).ok()?, i8::try_from(month).ok()?, 1).ok()?;
        let most = i64::from(first.days_in_month());
        let of = year.map(|year| format!(" of {year}")).unwrap_or_default();
        (day > most).then(|| format!("there is no day {day} in month {month}{of}, which has {most}"))
    }

    /// Reads `NAME = {json}` assignments out of a system message.
    pub fn read(&mut self, paths: &NowPaths, system: &str) {
        for (field, name, path) in &paths.fields {
            if let Some(object) = assignment(system, name) {
                let value = super::observe::select(&object, path);
                let value = value.map_or(Value::Unknown, |v| Value::from_json(v, Default::default()));
                if value.is_known() {
                    self.set(*field, value);
                }
            }
        }
    }
}

/// A date with a time of day, as clocks on the wall show it; nothing where nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment(Option<civil::DateTime>);

/// The beginning of 2026 in seconds since 1970: before this was written no car ran it, so a clock that says
/// so was not set yet.
const EARLIEST: Duration = Duration::from_secs(1_767_225_600);

impl Moment {
    /// What the clock of the machine and its time zone say; nothing while the clock is unset, or where the
    /// zone is not known.
    pub fn local(clock: &dyn Clock) -> Self {
        Self::in_zone(clock.unix(), &TimeZone::system())
    }

    fn in_zone(unix: Duration, zone: &TimeZone) -> Self {
        if unix < EARLIEST || zone.is_unknown() {
            return Self(None);
        }
        let seconds = i64::try_from(unix.as_secs()).ok().and_then(|s| Timestamp::from_second(s).ok());
        Self(seconds.map(|at| zone.to_datetime(at)))
    }

    /// So much later.
    #[must_use]
    pub fn after(self, passed: Duration) -> Self {
        Self(self.0.and_then(|at| at.checked_add(passed).ok()))
    }
}

/// The JSON object that follows `name =` in a text.
pub(super) fn assignment(text: &str, name: &str) -> Option<Json> {
    text.match_indices(name).find_map(|(at, _)| {
        let rest = text.get(at + name.len()..)?.trim_start().strip_prefix('=')?;
        serde_json::Deserializer::from_str(rest).into_iter::<Json>().next()?.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_place_and_time_from_assignments() {
        let paths = NowPaths {
            fields: vec![
                (NowField::Location, "CURRENT_LOCATION".into(), "id".into()),
                (NowField::Hour, "DATETIME".into(), "hour".into()),
            ],
        };
        let mut now = Now::default();
        now.read(
            &paths,
            "The CURRENT_LOCATION is in CURRENT_LOCATION = {\"id\":\"loc_1\"}\nDATETIME = {\"hour\": 17}, 24h",
        );
        assert_eq!(now.get(NowField::Location), &Value::word("loc_1"));
        assert_eq!(now.get(NowField::Hour), &Value::Int(17));
        assert_eq!(now.get(NowField::Minute), &Value::Unknown);
    }

    #[test]
    fn a_day_that_no_calendar_has_is_told() {
        use NowField::{Day, Hour, Month, Year};
        let of = |fields: &[(NowField, i64)]| {
            let mut now = Now::default();
            fields.iter().for_each(|(field, n)| now.set(*field, Value::Int(*n)));
            now.impossible()
        };
        let february = |day| [(Month, 2), (Day, day)];
        assert_eq!(
            of(&[&[(Year, 2026)], february(30).as_slice()].concat()).unwrap(),
            "there is no day 30 in month 2 of 2026, which has 28"
        );
        assert_eq!(of(&[&[(Year, 2028)], february(29).as_slice()].concat()), None);
        assert!(of(&[&[(Year, 2027)], february(29).as_slice()].concat()).is_some());
        // Some February has 29, none has 30.
        assert_eq!(of(&february(29)), None);
        assert!(of(&february(30)).unwrap().contains("month 2, which has 29"));
        assert!(of(&[(Hour, 24)]).unwrap().contains("the hour is 24"));
        assert_eq!(of(&[(Day, 31)]), None);
        assert_eq!(of(&[(Month, 4), (Day, 31)]).unwrap(), "there is no day 31 in month 4, which has 30");
    }

    fn paths() -> NowPaths {
        let at = |field, name: &str, path: &str| (field, name.to_owned(), path.to_owned());
        NowPaths { fields: vec![at(NowField::Location, "HERE", "id"), at(NowField::Hour, "HERE", "clock.hour")] }
    }

    #[test]
    fn place_and_time_stand_in_a_message_as_they_are_read_from_one() {
        let mut now = Now::default();
        now.set(NowField::Location, Value::word("bed_7"));
        now.set(NowField::Hour, Value::Int(6));
        let message = now.message(&paths());
        let json = message.strip_prefix("HERE = ").and_then(|json| json.strip_suffix('\n')).unwrap();
        let json: Json = serde_json::from_str(json).unwrap();
        assert_eq!(json, serde_json::json!({"clock": {"hour": 6}, "id": "bed_7"}));
        let mut read = Now::default();
        read.read(&paths(), &message);
        assert_eq!(read, now);
        let known = serde_json::json!({"HERE": {"id": "bed_8", "name": "Bed"}});
        let message = now.message_with(&paths(), known.as_object().unwrap());
        assert!(message.contains("bed_8") && message.contains("Bed") && message.contains("6"), "{message}");
    }

    #[test]
    fn an_unset_clock_and_an_unknown_zone_tell_no_time() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        // 2026-06-15 22:30 UTC is half past midnight there.
        let night = Duration::from_secs(1_781_562_600);
        let at = |unix, zone: &TimeZone| Now::at(Moment::in_zone(unix, zone));
        let now = at(night, &berlin);
        let fields = [NowField::Year, NowField::Month, NowField::Day, NowField::Hour, NowField::Minute];
        assert_eq!(fields.map(|f| now.get(f).clone()), [2026, 6, 16, 0, 30].map(Value::Int));
        assert_eq!(now.moment().unwrap(), Moment::in_zone(night, &berlin));
        assert_eq!(
            Now::at(now.moment().unwrap().after(Duration::from_secs(3_600))).get(NowField::Hour),
            &Value::Int(1)
        );
        for unknown in [at(Duration::from_secs(86_400), &berlin), at(night, &TimeZone::unknown())] {
            assert_eq!(unknown, Now::default());
        }
    }
}
