//! What is recorded: one constructor a kind, so that every record of a kind has the same members.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::model::{Draft, PolicyHash, ReportedCall, ToolCall, VerdictReport};
use crate::state::Outcome;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A segment begins.
    Opened,
    /// A torn record was cut off after a power loss.
    Recovered,
    /// The driver spoke and a turn began.
    Turn,
    /// The student proposed something.
    Draft,
    /// A draft was judged.
    Verdict,
    /// A call was made and has an outcome.
    Executed,
    /// The driver was asked.
    Question,
    /// The driver's answer to a question.
    Grant,
    /// The driver was told something.
    Reply,
    /// Something of our own failed.
    Fault,
}

impl Kind {
    /// Whether the car changed or a turn ended: what must survive a power loss under
    /// [`super::Durability::Effects`].
    pub(super) fn is_effect(self) -> bool {
        matches!(self, Self::Opened | Self::Recovered | Self::Executed | Self::Grant | Self::Reply | Self::Fault)
    }
}

/// The session and turn that a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Number of the session.
    pub session: u32,
    /// Number of the turn in its session.
    pub turn: u32,
}

/// Something to record.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it is about.
    pub kind: Kind,
    /// Session and turn, where it belongs to one.
    pub place: Option<Place>,
    /// What happened.
    pub body: Map<String, Json>,
}

/// One field of a read-back: what the call should have made of it and what was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The field, as results spell it.
    pub field: String,
    /// What the call should have made of it, in natural units.
    pub wanted: Json,
    /// What was read after it; `null` when nothing was.
    pub read: Json,
}

/// A call that was made, for [`Entry::executed`].
#[derive(Debug, Clone, Copy)]
pub struct Executed<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// What became of it.
    pub outcome: &'a Outcome,
    /// What was read back.
    pub read_back: &'a [Confirmation],
    /// How long it took, read-back included.
    pub took: Duration,
    /// The policy that cleared it.
    pub policy: PolicyHash,
}

impl Entry {
    /// Any record; the typed constructors below are preferred where they fit.
    pub fn new(kind: Kind, place: Option<Place>, body: Map<String, Json>) -> Self {
        Self { kind, place, body }
    }

    /// A turn began with what the driver said.
    pub fn turn(place: Place, utterance: &str) -> Self {
        Self::of(Kind::Turn, Some(place), json!({ "utterance": utterance }))
    }

    /// The student proposed something; `round` counts the revisions before it.
    pub fn draft(place: Place, round: u32, draft: &Draft) -> Self {
        let malformed: Vec<Json> = draft.malformed.iter().map(|m| json!({"tool": m.tool, "why": m.why})).collect();
        let calls: Vec<Json> = draft.calls.iter().map(call).collect();
        let body = json!({"round": round, "reply": draft.reply, "calls": calls, "malformed": malformed});
        Self::of(Kind::Draft, Some(place), body)
    }

    /// A draft was judged by a policy.
    ///
    /// # Errors
    /// When the report cannot be written as JSON.
    pub fn verdict(place: Place, policy: PolicyHash, report: &VerdictReport) -> Result<Self, serde_json::Error> {
        let body = json!({"policy": policy.to_string(), "report": serde_json::to_value(report)?});
        Ok(Self::of(Kind::Verdict, Some(place), body))
    }

    /// A call was made.
    pub fn executed(place: Place, executed: Executed<'_>) -> Self {
        let (outcome, detail) = match executed.outcome {
            Outcome::Pending => ("pending", Json::Null),
            Outcome::Done(payload) => ("done", payload.as_ref().clone()),
            Outcome::Failed(why) => ("failed", why.as_ref().into()),
            Outcome::Unknown(why) => ("unknown", why.as_ref().into()),
        };
        let member = if outcome == "done" { "result" } else { "why" };
        let read_back: Vec<Json> =
            executed.read_back.iter().map(|c| json!({"field": c.field, "wanted": c.wanted, "read": c.read})).collect();
        let body = json!({
            "call": call(executed.call),
            "outcome": outcome,
            member: detail,
            "read_back": read_back,
            "micros": u64::try_from(executed.took.as_micros()).unwrap_or(u64::MAX),
            "policy": executed.policy.to_string(),
        });
        Self::of(Kind::Executed, Some(place), body)
    }

    /// The driver was asked whether exactly these calls may be made.
    pub fn question(place: Place, question: &str, bound: &[ToolCall]) -> Self {
        Self::of(Kind::Question, Some(place), json!({"question": question, "calls": calls(bound)}))
    }

    /// The driver's answer to a question: whether it granted exactly these calls.
    pub fn grant(place: Place, granted: bool, bound: &[ToolCall]) -> Self {
        Self::of(Kind::Grant, Some(place), json!({"granted": granted, "calls": calls(bound)}))
    }

    /// The driver was told something.
    pub fn reply(place: Place, reply: &str) -> Self {
        Self::of(Kind::Reply, Some(place), json!({ "reply": reply }))
    }

    /// Something of our own failed: a gate, the model, the vehicle connection.
    pub fn fault(place: Option<Place>, what: &str, why: &str) -> Self {
        Self::of(Kind::Fault, place, json!({"what": what, "why": why}))
    }

    fn of(kind: Kind, place: Option<Place>, body: Json) -> Self {
        let body = match body {
            Json::Object(body) => body,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        Self { kind, place, body }
    }
}

fn call(call: &ToolCall) -> Json {
    let reported = ReportedCall::from(call);
    json!({"id": call.id.as_str(), "tool": reported.tool, "arguments": reported.arguments})
}

fn calls(calls: &[ToolCall]) -> Vec<Json> {
    calls.iter().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Arguments, Decision};
    use std::sync::Arc;

    const PLACE: Place = Place { session: 3, turn: 1 };

    fn close() -> ToolCall {
        let arguments = Arguments::from_iter([("percentage".to_owned(), json!(0.0))]);
        ToolCall { id: "c1".into(), ..ToolCall::new("move_window", arguments) }
    }

    #[test]
    fn an_executed_call_says_what_was_wanted_and_what_was_read() {
        let confirmation = Confirmation { field: "window".to_owned(), wanted: json!(0), read: json!(40) };
        let entry = Entry::executed(
            PLACE,
            Executed {
                call: &close(),
                outcome: &Outcome::Unknown(Arc::from("the window reads 40")),
                read_back: std::slice::from_ref(&confirmation),
                took: Duration::from_millis(2),
                policy: PolicyHash::default(),
            },
        );
        assert_eq!(entry.body["outcome"], "unknown");
        assert_eq!(entry.body["why"], "the window reads 40");
        assert_eq!(entry.body["read_back"][0], json!({"field": "window", "wanted": 0, "read": 40}));
        assert_eq!(entry.body["call"]["arguments"]["percentage"], json!(0), "whole numbers stand as integers");
        assert_eq!(entry.body["micros"], 2000);
    }

    #[test]
    fn a_verdict_carries_the_report_and_the_policy_it_came_from() {
        let report = VerdictReport {
            verdict: Decision::Ask,
            micros: 12.5,
            findings: Vec::new(),
            amended: Vec::new(),
            question: Some("Open it?".to_owned()),
            speak: None,
        };
        let entry = Entry::verdict(PLACE, PolicyHash([7; 32]), &report).unwrap();
        assert_eq!(entry.body["report"]["verdict"], "ask");
        assert_eq!(entry.body["policy"], "07".repeat(32));
    }
}
