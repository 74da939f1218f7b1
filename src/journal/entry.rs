//! What is recorded: one constructor a kind, so that every record of a kind has the same members.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{Action, Judgement};
use crate::model::{Draft, PolicyHash, ReadBack, ReportedCall, RuleId, ToolCall, VerdictReport};
use crate::policy::{HardLimits, Offer, Policy, Rule};
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
    /// The service began.
    Started,
    /// The service ended in order.
    Stopped,
    /// Another policy judges from here on.
    Policy,
    /// A step of an update was taken or refused.
    Update,
    /// A session was opened or closed.
    Session,
    /// Records were lost before they could be written.
    Dropped,
    /// What a policy that does not act would have said.
    Shadow,
    /// Something that we did was undone.
    Undone,
    /// Of a later release, which this one does not know.
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// Whether the car changed or a turn ended: what must survive a power loss under
    /// [`super::Durability::Effects`].
    pub(super) fn is_effect(self) -> bool {
        match self {
            Self::Opened | Self::Recovered | Self::Executed | Self::Grant | Self::Reply | Self::Fault => true,
            Self::Started | Self::Stopped | Self::Policy | Self::Update | Self::Dropped => true,
            Self::Turn | Self::Draft | Self::Verdict | Self::Question => false,
            Self::Session | Self::Shadow | Self::Undone | Self::Unknown => false,
        }
    }

    /// The name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Recovered => "recovered",
            Self::Turn => "turn",
            Self::Draft => "draft",
            Self::Verdict => "verdict",
            Self::Executed => "executed",
            Self::Question => "question",
            Self::Grant => "grant",
            Self::Reply => "reply",
            Self::Fault => "fault",
            Self::Started => "started",
            Self::Stopped => "stopped",
            Self::Policy => "policy",
            Self::Update => "update",
            Self::Session => "session",
            Self::Dropped => "dropped",
            Self::Shadow => "shadow",
            Self::Undone => "undone",
            Self::Unknown => "unknown",
        }
    }
}

/// The session and turn that a record belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The session.
    pub session: String,
    /// Number of the turn in its session.
    pub turn: u32,
}

impl Place {
    /// A turn of a session.
    pub fn new(session: impl Into<String>, turn: u32) -> Self {
        Self { session: session.into(), turn }
    }
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

impl Entry {
    /// Any record; the typed constructors below are preferred where they fit.
    pub fn new(kind: Kind, place: Option<Place>, body: Map<String, Json>) -> Self {
        Self { kind, place, body }
    }

    /// Whether it tells of the program, its policy and its limits alone: nobody's secret, and what other records are
    /// read by.
    pub(super) fn is_of_the_program(&self) -> bool {
        let program = [Kind::Opened, Kind::Recovered, Kind::Started, Kind::Stopped, Kind::Policy, Kind::Update];
        self.place.is_none() && (program.contains(&self.kind) || self.kind == Kind::Dropped)
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

    /// A draft was judged.
    ///
    /// # Errors
    /// When the judgement cannot be written as JSON.
    pub fn verdict(place: Place, judgement: &Judgement) -> Result<Self, serde_json::Error> {
        Ok(Self::of(Kind::Verdict, Some(place), serde_json::to_value(judgement)?))
    }

    /// What a policy that does not act says of a draft that another one judged: `of` is `candidate` for a
    /// whole policy set, `rules` for the rules of the set in force that are in shadow; `same` says whether as much
    /// would have happened.
    ///
    /// # Errors
    /// When the report cannot be written as JSON.
    pub fn shadow(
        place: Place,
        of: &str,
        policy: PolicyHash,
        judged: &Judgement,
        report: &VerdictReport,
    ) -> Result<Self, serde_json::Error> {
        let body = json!({
            "of": of, "policy": policy.to_string(), "number": judged.number,
            "was": judged.report.verdict.as_str(), "same": report.moves_as(&judged.report),
            "report": serde_json::to_value(report)?,
        });
        Ok(Self::of(Kind::Shadow, Some(place), body))
    }

    /// A value that a call of ours had set was changed back. `how` is `hands` or `request`; `first` says whether it
    /// is the first value of its call that was: a call counts once.
    pub fn undone(action: &Action, field: &str, values: [String; 3], how: &str, after: Duration, first: bool) -> Self {
        let [before, ours, now] = values;
        let body = json!({
            "call": call(&action.call), "rule": action.rule().map(RuleId::as_str), "field": field,
            "before": before, "ours": ours, "now": now, "how": how, "first": first,
            "after_ms": u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            "policy": action.policy.hash.to_string(),
        });
        Self::of(Kind::Undone, Some(action.place.clone()), body)
    }

    /// The service began, under a policy and the limits beneath it.
    pub fn started(version: &str, policy: &Policy, limits: &HardLimits) -> Self {
        let body = json!({
            "version": version, "id": policy.id, "policy": policy.hash.to_string(), "rules": rules(policy),
            "limits": serde_json::to_value(limits).unwrap_or_default(),
        });
        Self::of(Kind::Started, None, body)
    }

    /// Another policy judges from here on: in a session that brought text along, or everywhere.
    pub fn policy(place: Option<Place>, id: &str, hash: PolicyHash, why: &str) -> Self {
        Self::of(Kind::Policy, place, json!({"id": id, "policy": hash.to_string(), "why": why}))
    }

    /// Another policy is in force, with what its rules say: findings name a rule, and its sentence stands here once.
    pub fn in_force(policy: &Policy) -> Self {
        let why = "it was put in force";
        let body = json!({"id": policy.id, "policy": policy.hash.to_string(), "why": why, "rules": rules(policy)});
        Self::of(Kind::Policy, None, body)
    }

    /// A session added forbids to the policy that it runs under: what they are, so that its verdicts can be reached
    /// again.
    ///
    /// # Errors
    /// When the offer cannot be written as JSON.
    pub fn offered(place: Place, policy: &Policy, offer: &Offer) -> Result<Self, serde_json::Error> {
        let body = json!({
            "id": policy.id, "policy": policy.hash.to_string(), "why": "the session brought policy text along",
            "offer": serde_json::to_value(offer)?,
        });
        Ok(Self::of(Kind::Policy, Some(place), body))
    }

    /// A step of an update was taken (`what`: `staged`, `unstaged`, `keys`, `verified`, `activated`,
    /// `committed` or `rolled-back`) with this version, after `rolled-back` the one in force, by this user.
    pub fn update(what: &str, version: u64, by: Option<u32>) -> Self {
        Self::of(Kind::Update, None, json!({"what": what, "version": version, "by": by}))
    }

    /// A step of an update found nothing to change, with the version that was meant; 0: none was named.
    pub fn update_unchanged(step: &str, meant: u64, by: Option<u32>) -> Self {
        Self::of(Kind::Update, None, json!({"what": "unchanged", "step": step, "version": meant, "by": by}))
    }

    /// A step of an update was refused to this user, with the error that the caller was told.
    pub fn update_refused(step: &str, error: &str, why: &str, by: Option<u32>) -> Self {
        Self::of(Kind::Update, None, json!({"what": "refused", "step": step, "error": error, "why": why, "by": by}))
    }

    /// A session was opened for a user, by a connection with which it ends or for all connections of that user.
    pub fn opened(place: Place, user: u32, connection: Option<&str>) -> Self {
        Self::of(Kind::Session, Some(place), json!({"what": "opened", "user": user, "connection": connection}))
    }

    /// A session was closed, and why.
    pub fn closed(place: Place, why: &str) -> Self {
        Self::of(Kind::Session, Some(place), json!({"what": "closed", "why": why}))
    }

    /// So many records were lost before they could be written.
    pub fn dropped(records: u64, why: &str) -> Self {
        Self::of(Kind::Dropped, None, json!({"records": records, "why": why}))
    }

    /// So many records of a user's sessions were left out: they had filled their share of the journal.
    pub fn left_out(records: u64, user: u32) -> Self {
        let why = "the sessions of this user had filled their share of the journal";
        Self::of(Kind::Dropped, None, json!({"records": records, "why": why, "user": user}))
    }

    /// So many records of a user's steps of updates were left out.
    pub fn steps_left_out(records: u64, user: Option<u32>) -> Self {
        let why =
            "the same step of an update ended as the one before, or such steps had filled their share of the journal";
        Self::of(Kind::Dropped, None, json!({"records": records, "why": why, "user": user}))
    }

    /// A call was made under a policy; `took` is its wall time, the read-back included.
    pub fn executed(
        place: Place,
        policy: PolicyHash,
        made: &ToolCall,
        outcome: &Outcome,
        read_back: &[ReadBack],
        took: Duration,
    ) -> Self {
        let (outcome, member, detail) = match outcome {
            Outcome::Pending => ("pending", "why", Json::Null),
            Outcome::Done(payload) => ("done", "result", payload.as_ref().clone()),
            Outcome::Failed(why) => ("failed", "why", why.as_ref().into()),
            Outcome::Unknown(why) => ("unknown", "why", why.as_ref().into()),
        };
        let read_back: Vec<Json> = read_back
            .iter()
            .map(|r| json!({"field": r.field, "wanted": r.wanted, "read": r.read, "confirmed": r.confirmed}))
            .collect();
        let body = json!({
            "call": call(made),
            "outcome": outcome,
            member: detail,
            "read_back": read_back,
            "micros": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "policy": policy.to_string(),
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

/// What the rules of a policy say, and where.
fn rules(policy: &Policy) -> Json {
    let rule = |rule: &Rule| (rule.id.to_string(), json!({"source": &*rule.source, "sentence": &*rule.sentence}));
    Json::Object(policy.rules().iter().map(rule).collect())
}

fn call(call: &ToolCall) -> Json {
    let reported = ReportedCall::from(call);
    json!({
        "id": call.id.as_str(),
        "tool": reported.tool,
        "arguments": reported.arguments,
        "by": call.by.as_ref().map(|rule| rule.as_str()),
    })
}

fn calls(calls: &[ToolCall]) -> Vec<Json> {
    calls.iter().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Arguments, Decision};
    use std::sync::Arc;

    #[test]
    fn an_executed_call_says_what_was_wanted_and_what_was_read() {
        let arguments = Arguments::from_iter([("percentage".to_owned(), json!(0.0))]);
        let close = ToolCall { id: "c1".into(), by: Some("rule".into()), ..ToolCall::new("move_window", arguments) };
        let read_back =
            ReadBack { field: "window".to_owned(), wanted: "0".to_owned(), read: "40".to_owned(), confirmed: false };
        let outcome = Outcome::Unknown(Arc::from("the window reads 40"));
        let took = Duration::from_millis(2);
        let fields = std::slice::from_ref(&read_back);
        let entry = Entry::executed(Place::new("1", 1), PolicyHash::default(), &close, &outcome, fields, took);
        assert_eq!(entry.body["outcome"], "unknown");
        assert_eq!(entry.body["why"], "the window reads 40");
        assert_eq!(serde_json::from_value::<ReadBack>(entry.body["read_back"][0].clone()).unwrap(), read_back);
        assert_eq!(entry.body["call"]["arguments"]["percentage"], json!(0), "whole numbers stand as integers");
        assert_eq!(entry.body["call"]["by"], "rule");
        assert_eq!(entry.body["micros"], 2000);
    }

    #[test]
    fn a_verdict_carries_the_report_and_the_draft_and_reads_back_whole() {
        let report = VerdictReport {
            verdict: Decision::Ask,
            micros: 12.5,
            findings: Vec::new(),
            amended: Vec::new(),
            question: Some("Open it?".to_owned()),
            speak: None,
        };
        let judgement = Judgement {
            number: 1,
            policy: PolicyHash([7; 32]),
            apply: crate::policy::Advice::Remedies,
            in_turn: true,
            critic: false,
            draft: (&Draft::calls(vec![ToolCall::new("open", Arguments::default())])).into(),
            ground: crate::state::Ground::default(),
            report,
            faults: vec!["the gate `x` failed".to_owned()],
        };
        let entry = Entry::verdict(Place::new("1", 1), &judgement).unwrap();
        assert_eq!(entry.body["report"]["verdict"], "ask");
        assert_eq!(entry.body["policy"], "07".repeat(32));
        assert_eq!(serde_json::from_value::<Judgement>(Json::Object(entry.body)).unwrap(), judgement);
    }

    #[test]
    fn a_kind_is_written_by_its_name() {
        for kind in [Kind::Opened, Kind::Started, Kind::Shadow, Kind::Undone, Kind::Update, Kind::Dropped] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
