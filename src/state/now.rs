//! Place and time of the conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::NowPaths;
use crate::model::Value;

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
}
