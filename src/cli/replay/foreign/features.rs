//! The features file: how a recorded call becomes the context of a request.

use std::collections::BTreeMap;

use jiff::civil;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What `--features` names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Features {
    pub(super) principal: String,
    pub(super) resource: String,
    /// The action asked about every call.
    pub(super) action: String,
    /// Before the tool's name: the action asked too where the schema has it.
    pub(super) typed: String,
    /// The clock of the runs, RFC 3339.
    pub(super) now: String,
    pub(super) window_minutes: i64,
    pub(super) writes: Vec<String>,
    pub(super) search: Vec<String>,
    pub(super) constant: Map<String, Value>,
    pub(super) paths: Paths,
    pub(super) phrases: Phrases,
    #[serde(default)]
    pub(super) input: BTreeMap<String, BTreeMap<String, Input>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paths {
    pub(super) patient: Vec<String>,
    pub(super) patient_prefix: String,
    pub(super) patient_record: String,
    pub(super) date: Vec<String>,
    pub(super) id: Vec<String>,
    pub(super) signature: Vec<String>,
}

impl Paths {
    /// Each list with its key.
    pub(super) fn all(&self) -> [(&'static str, &[String]); 4] {
        [("patient", &self.patient), ("date", &self.date), ("id", &self.id), ("signature", &self.signature)]
    }
}

/// Phrases in lower case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phrases {
    pub(super) urgency: Vec<String>,
    pub(super) backdate: Vec<String>,
    pub(super) correction: Vec<String>,
    pub(super) allergy: Vec<String>,
    pub(super) confirm: Vec<String>,
}

impl Phrases {
    /// Each list with its key.
    pub(super) fn all(&self) -> [(&'static str, &[String]); 5] {
        [
            ("urgency", &self.urgency),
            ("backdate", &self.backdate),
            ("correction", &self.correction),
            ("allergy", &self.allergy),
            ("confirm", &self.confirm),
        ]
    }
}

/// One member of a typed input.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Input {
    At { at: String, otherwise: Option<Value> },
    Present { present: String },
    Within { within: String },
    Each { each: String, has: Vec<String> },
}

impl Input {
    /// The path into the arguments that it follows.
    pub(super) fn path(&self) -> &String {
        match self {
            Self::At { at, .. } => at,
            Self::Present { present } => present,
            Self::Within { within } => within,
            Self::Each { each, .. } => each,
        }
    }
}

impl Features {
    /// The typed input of a call.
    pub(super) fn input(&self, tool: &str, arguments: &Value) -> Map<String, Value> {
        let members = self.input.get(tool).into_iter().flatten();
        let value = |input: &Input| match input {
            Input::At { at, otherwise } => found(arguments, at).or_else(|| otherwise.clone()),
            Input::Present { present } => Some(json!(found(arguments, present).is_some())),
            Input::Within { within } => {
                let at = found(arguments, within)?;
                Some(json!(self.in_window(at.as_str()?)))
            }
            Input::Each { each, has } => {
                let entries = found(arguments, each);
                let entries = entries.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let whole = |entry: &Value| has.iter().all(|m| entry.get(m).is_some_and(|v| !v.is_null()));
                Some(json!(!entries.is_empty() && entries.iter().all(whole)))
            }
        };
        members.filter_map(|(name, input)| Some((name.clone(), value(input)?))).collect()
    }

    /// Whether a time lies within the window around the clock of the runs. What is no time does not.
    fn in_window(&self, at: &str) -> bool {
        let (Some(at), Some(now)) = (minutes(at), minutes(&self.now)) else { return false };
        (at - now).abs() <= self.window_minutes
    }

    /// The date of the clock.
    pub(super) fn today(&self) -> &str {
        self.now.split('T').next().unwrap_or_default()
    }
}

/// The value at a dotted path; numbers are positions, a text that holds JSON is entered. Null is absent.
pub(super) fn found(arguments: &Value, path: &str) -> Option<Value> {
    let mut at = arguments.clone();
    for step in path.split('.') {
        if let Value::String(text) = &at {
            at = serde_json::from_str(text).ok()?;
        }
        at = match &mut at {
            Value::Object(members) => members.remove(step)?,
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?.clone(),
            _ => return None,
        };
    }
    (!at.is_null()).then_some(at)
}

/// Minutes since the year 0 of an RFC 3339 time, UTC.
pub(super) fn minutes(time: &str) -> Option<i64> {
    let (date, rest) = time.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let mut clock = rest.splitn(3, ':');
    let (hour, minute) = (clock.next()?.parse::<i64>().ok()?, clock.next()?.parse::<i64>().ok()?);
    let seconds = clock.next().unwrap_or_default();
    let offset = match seconds.find(['+', '-']) {
        Some(at) => {
            let (sign, offset) = seconds.split_at_checked(at)?.1.split_at_checked(1)?;
            let (hours, minutes) = offset.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
        None => 0,
    };
    let named = civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    if named.is_err() || !(0..24).contains(&hour) || !(0..60).contains(&minute) {
        return None;
    }
    // Days from the civil calendar, March first, so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    Some(days * 1440 + hour * 60 + minute - offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_compared_across_offsets_days_and_leap_days() {
        let m = |t: &str| minutes(t).unwrap();
        assert_eq!(m("2023-11-13T10:15:00+00:00"), m("2023-11-13T12:15:00+02:00"));
        assert_eq!(m("2024-03-01T00:00:00Z") - m("2024-02-28T23:00:00Z"), 25 * 60);
        assert_eq!(m("2024-01-01T00:10:00-00:30") - m("2023-12-31T23:50:00Z"), 50);
        assert!(minutes("yesterday").is_none() && minutes("2023-11-13").is_none());
        assert!(minutes("2023-02-30T10:15:00Z").is_none() && minutes("2023-02-28T25:15:00Z").is_none());
    }

    #[test]
    fn paths_enter_lists_and_texts_that_hold_json_and_null_is_absent() {
        let arguments = json!({"payload": "{\"a\": [{\"b\": 1}], \"c\": null}"});
        assert_eq!(found(&arguments, "payload.a.0.b"), Some(json!(1)));
        assert_eq!(found(&arguments, "payload.c"), None);
        assert_eq!(found(&arguments, "payload.a.1.b"), None);
    }
}
