//! A skeleton: which tools were called in which order. Arguments, what was said and what came back
//! are unknown, and with them most of the session.

use serde_json::{Map, Value, json};

use super::Event;
use super::features::Features;
use super::report::{Certainty, Report};
use super::session::Session;
use crate::policy::foreign::{ForeignSet, Request, decide};

/// Judges every call of a skeleton as far as its order decides.
pub(super) fn judge(set: &ForeignSet, features: &Features, group: &str, events: &[Event], report: &mut Report<'_>) {
    let mut before: Vec<&str> = Vec::new();
    let mut writes = false;
    for event in events {
        if event.stage != features.action {
            continue;
        }
        let write = features.writes.contains(&event.tool);
        writes |= write;
        let certainty = one(set, features, &event.tool, &before, report);
        report.event(group, certainty, write, event.thirdparty_decision == "DENY");
        before.push(&event.tool);
    }
    report.skeleton(group, writes);
}

fn one(set: &ForeignSet, features: &Features, tool: &str, before: &[&str], report: &mut Report<'_>) -> Certainty {
    let session = Session::default().features(features, tool, &json!({}));
    let unknown = unknown(features, before, &session);
    let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
    let mut context = features.constant.clone();
    context.insert("session".to_owned(), Value::Object(session));
    let mut call = context.clone();
    call.insert("tool".to_owned(), json!(tool));
    let mut certainty = Certainty::Passes;
    let typed = format!("{}{tool}", features.typed);
    let mut ask = |action: &str, context: &Map<String, Value>| {
        let (principal, resource) = (features.principal.as_str(), features.resource.as_str());
        let request = Request { principal, action, resource, context, unknown: &unknown };
        let Some(answer) = decide(set, &request).answer else { return };
        report.decided(&request, &answer);
        certainty = certainty.max(match (answer.determining.is_empty(), answer.undecided.is_empty()) {
            (false, _) => Certainty::Blocks,
            (true, false) => Certainty::Open,
            (true, true) => Certainty::Passes,
        });
    };
    ask(&features.action, &call);
    if set.has_action(&typed) {
        ask(&typed, &context);
    }
    certainty
}

/// Everything that the order of the calls does not settle. What nobody did yet cannot have failed, been
/// repeated or named another patient.
fn unknown(features: &Features, before: &[&str], session: &Map<String, Value>) -> Vec<String> {
    let called = |tools: &[String]| before.iter().any(|tool| tools.iter().any(|t| t == tool));
    let mut settled = vec!["now_timestamp", "now_date"];
    if before.is_empty() {
        settled.extend(["last_tool_error", "current_call_patient_mismatch", "established_patient_id"]);
    }
    if !called(&features.search) {
        settled.push("last_get_patient_returned_multiple");
    }
    if !called(&features.writes) {
        settled.extend(["current_call_is_duplicate", "current_call_retries_failed_write"]);
    }
    let absent = ["established_patient_id".to_owned()];
    let members = session.keys().chain(&absent).filter(|m| !settled.contains(&m.as_str()));
    members.map(|m| format!("session.{m}")).chain(["arguments".to_owned(), "input".to_owned()]).collect()
}
