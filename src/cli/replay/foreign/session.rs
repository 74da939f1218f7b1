//! The session features of the second paper (A.2), from what a run has said and done so far.
//!
//! Deterministic and deliberately small: phrases, paths and equality, no model.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::features::{Features, found};

/// What has happened before a call.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Everything users said, in lower case, and the latest of it.
    said: String,
    latest: String,
    /// What the assistant said last.
    restated: String,
    error: bool,
    multiple: bool,
    established: Option<String>,
    seen: BTreeSet<String>,
    written: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Session {
    pub(super) fn user(&mut self, text: &str) {
        self.latest = text.to_lowercase();
        self.said.push_str(&self.latest);
        self.said.push('\n');
    }

    pub(super) fn assistant(&mut self, text: &str) {
        text.clone_into(&mut self.restated);
    }

    /// A call that was carried out, and what came back.
    pub(super) fn done(&mut self, features: &Features, tool: &str, arguments: &Value, result: &str) {
        let value: Value = serde_json::from_str(result).unwrap_or_else(|_| json!(result));
        self.error = failed(&value);
        if features.search.iter().any(|t| t == tool) {
            let list = value.get("result").unwrap_or(&value);
            let entries = list.as_array().map_or(0, Vec::len);
            let total = value.get("total").and_then(Value::as_u64).unwrap_or_default();
            self.multiple = entries > 1 || total > 1;
        }
        if features.writes.iter().any(|t| t == tool)
            && let Some(signature) = signature(features, tool, arguments)
        {
            if self.error {
                self.failed.insert(signature)
            } else {
                self.written.insert(signature)
            };
        }
        if let Some(patient) = patient(features, arguments) {
            self.established.get_or_insert_with(|| patient.clone());
            self.seen.insert(patient);
        }
        collect(features, &value, &mut self.seen);
    }

    /// The features at a call. Names are those of the paper's schema.
    pub(super) fn features(&self, features: &Features, tool: &str, arguments: &Value) -> Map<String, Value> {
        let said = |phrases: &[String]| phrases.iter().any(|phrase| self.said.contains(phrase));
        let patient = patient(features, arguments);
        let write = features.writes.iter().any(|t| t == tool);
        let signature = signature(features, tool, arguments).filter(|_| write);
        let known = |of: &BTreeSet<String>| signature.as_ref().is_some_and(|s| of.contains(s));
        let restated = patient.as_ref().is_some_and(|p| self.restated.contains(p.as_str())) && dated(&self.restated);
        let confirmed = features.phrases.confirm.iter().any(|phrase| self.latest.contains(phrase));
        let date = features.paths.date.iter().filter_map(|path| found(arguments, path));
        let other_day = |date: &Value| date.as_str().is_some_and(|d| !d.starts_with(features.today()));
        let members = json!({
            "now_timestamp": features.now,
            "now_date": features.today(),
            "last_tool_error": self.error,
            "last_get_patient_returned_multiple": self.multiple,
            "user_specified_urgency": said(&features.phrases.urgency),
            "user_specified_backdate": said(&features.phrases.backdate),
            "user_specified_correction": said(&features.phrases.correction),
            "user_confirmed_allergy_check": said(&features.phrases.allergy),
            "last_assistant_restated_patient": restated,
            "user_confirmed_write": confirmed,
            "pending_write_confirmed": restated && confirmed,
            "current_call_is_duplicate": known(&self.written),
            "current_call_retries_failed_write": known(&self.failed),
            "current_call_patient_mismatch": self.established.is_some() && patient.is_some() && self.established != patient,
            "current_call_is_backdated": write && date.collect::<Vec<_>>().iter().any(other_day),
            "current_call_is_correction": write && features.paths.id.iter().any(|path| found(arguments, path).is_some()),
            "current_call_patient_unseen": patient.as_ref().is_some_and(|p| !self.seen.contains(p)),
            "prior_post_signatures": self.written,
            "failed_post_signatures": self.failed,
            "seen_patient_ids": self.seen,
        });
        match members {
            Value::Object(mut members) => {
                if let Some(established) = &self.established {
                    members.insert("established_patient_id".to_owned(), json!(established));
                }
                members
            }
            _ => Map::new(),
        }
    }
}

fn failed(result: &Value) -> bool {
    let begins = |text: &str| text.trim_start().to_lowercase().starts_with("error");
    match result {
        Value::String(text) => begins(text),
        Value::Object(o) => {
            o.contains_key("error")
                || o.get("resourceType").and_then(Value::as_str) == Some("OperationOutcome")
                || o.get("result").and_then(Value::as_str).is_some_and(begins)
        }
        _ => false,
    }
}

/// The patient that a call names.
fn patient(features: &Features, arguments: &Value) -> Option<String> {
    let named = features.paths.patient.iter().find_map(|path| found(arguments, path))?;
    let named = named.as_str()?;
    Some(named.strip_prefix(features.paths.patient_prefix.as_str()).unwrap_or(named).to_owned())
}

/// What makes a write the same as another one; none where it says nothing of that.
fn signature(features: &Features, tool: &str, arguments: &Value) -> Option<String> {
    let parts: Vec<String> =
        features.paths.signature.iter().filter_map(|p| Some(format!("{p}={}", found(arguments, p)?))).collect();
    (!parts.is_empty()).then(|| format!("{tool} {}", parts.join(" ")))
}

/// Whether a text names a day: `1984-11-03`.
fn dated(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != '-').any(|word| {
        let parts: Vec<usize> = word.split('-').map(str::len).collect();
        parts == [4, 2, 2]
    })
}

/// Patients that a result shows.
fn collect(features: &Features, value: &Value, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if members.get("resourceType").and_then(Value::as_str) == Some(features.paths.patient_record.as_str()) {
                seen.extend(members.get("id").and_then(Value::as_str).map(str::to_owned));
            }
            members.values().for_each(|member| collect(features, member, seen));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(features, item, seen)),
        Value::String(text) => {
            seen.extend(text.strip_prefix(features.paths.patient_prefix.as_str()).map(str::to_owned));
        }
        _ => {}
    }
}
