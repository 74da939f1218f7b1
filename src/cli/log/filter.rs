//! Which records are wanted.

use serde_json::Value as Json;

use crate::journal::Record;

/// Which records are wanted; what is not named excludes nothing.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) session: Option<String>,
    pub(super) gate: Option<String>,
    pub(super) rule: Option<String>,
    /// Milliseconds since 1970.
    pub(super) since: Option<u64>,
}

impl Filter {
    pub(super) fn takes(&self, record: &Record) -> bool {
        self.since.is_none_or(|since| record.time >= since)
            && self.session.as_ref().is_none_or(|wanted| is_session(record, wanted))
            && self.gate.as_ref().is_none_or(|gate| findings(record).any(|f| text(f, "gate") == gate))
            && self.rule.as_ref().is_none_or(|rule| names_rule(record, rule))
    }
}

fn is_session(record: &Record, wanted: &str) -> bool {
    record.place.as_ref().is_some_and(|place| {
        let session = place.session.as_str();
        session == wanted || session.rsplit('/').next() == Some(wanted)
    })
}

fn names_rule(record: &Record, rule: &str) -> bool {
    findings(record).any(|f| text(f, "rule") == rule)
        || text(&record.body, "rule") == rule
        || record.body.get("call").is_some_and(|call| text(call, "by") == rule)
}

/// The findings of a record of a verdict.
pub(super) fn findings(record: &Record) -> impl Iterator<Item = &Json> {
    let found = record.body.get("report").and_then(|r| r.get("findings")).and_then(Json::as_array);
    found.into_iter().flatten()
}

/// A text member; empty where there is none.
pub(super) fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}
