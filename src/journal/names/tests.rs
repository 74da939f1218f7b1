use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::*;
use crate::journal::{Action, Entry, Judgement, Kind, Place};
use crate::model::{
    Arguments, Decision, Draft, Malformed, PolicyHash, ReadBack, ReportedCall, ReportedFinding, Tier, ToolCall,
    VerdictReport,
};
use crate::policy::testing::{kitchen, parts};
use crate::policy::{Advice, Forbid, Offer, Program, Trigger};
use crate::state::{EffectModel, EntityIx, Outcome};
use crate::tools::{Tool, import};

/// Where the members of tools begin, and what an offer was compiled to.
const ENDS: [&str; 3] = ["arguments", "result", "done"];
const COMPILED: [&str; 7] = ["tables", "trigger", "entity", "guard", "when", "reads_after", "read"];

fn place() -> Place {
    Place::new("1", 1)
}

fn call() -> ToolCall {
    let arguments = Arguments::from_iter([("level".to_owned(), json!(3))]);
    ToolCall { by: Some("rule".into()), ..ToolCall::new("set_hood_speed", arguments) }
}

fn draft() -> Draft {
    let malformed = Malformed { id: "c2".into(), tool: "set_hood_speed".to_owned(), why: "no JSON".to_owned() };
    Draft { reply: Some("Done.".to_owned()), calls: vec![call()], malformed: vec![malformed] }
}

fn report() -> VerdictReport {
    let text = || Some("a sentence".to_owned());
    let finding = ReportedFinding {
        gate: "obligations".to_owned(),
        tier: Tier::Hard,
        rule: text(),
        source: text(),
        because: "of it".to_owned(),
        remedy: vec![ReportedCall::from(&call())],
    };
    VerdictReport {
        verdict: Decision::Ask,
        micros: 1.0,
        findings: vec![finding],
        amended: vec![ReportedCall::from(&call())],
        question: text(),
        speak: text(),
    }
}

fn judgement() -> Judgement {
    let made = |outcome: Json| {
        json!({"id": "c1", "tool": "a", "arguments": {}, "by": "rule", "step": 1, "turn": 1, "outcome": outcome,
            "at": 1, "ages": [["field", 1]]})
    };
    // What it does not have is lost on the way.
    let ground = json!({
        "whole": true, "system": "prompt", "now": [["hour", 8]], "side": "left", "removed": ["a"], "steps": 1,
        "grants": [{"tool": "a", "arguments": {}, "turn": 1}], "deaf": false, "clock": 1,
        "heard": [{"utterance": "x", "step": 1, "calls": 0}], "spoken": [{"reply": "x", "step": 1, "calls": 0}],
        "calls": [made(json!({"done": {}})), made(json!({"failed": "x"})), made(json!({"unknown": "x"}))],
        "forgotten": [1],
    });
    Judgement {
        number: 1,
        policy: PolicyHash::default(),
        apply: Advice::Remedies,
        in_turn: true,
        critic: false,
        draft: (&draft()).into(),
        ground: serde_json::from_value(ground).unwrap(),
        report: report(),
        faults: vec!["a gate failed".to_owned()],
    }
}

fn offer() -> Offer {
    let forbid = Forbid {
        id: "hood".into(),
        sentence: "The hood stays at 2.".into(),
        trigger: Trigger::Reply,
        entity: EntityIx::CAR,
        guard: Program::default(),
        when: Program::default(),
        reads_after: Vec::new(),
        read: None,
        consent: None,
    };
    Offer { forbids: vec![forbid], advice: vec!["Be quick.".into()], ..Offer::default() }
}

/// Records of a kind with everything that they can hold. Those that tell of the program alone are never redacted.
fn records(kind: Kind) -> Vec<Entry> {
    let (policy, hash) = (kitchen(), PolicyHash::default());
    match kind {
        Kind::Turn => vec![Entry::turn(place(), "Hood to 3.")],
        Kind::Draft => vec![Entry::draft(place(), 0, &draft())],
        Kind::Verdict => vec![Entry::verdict(place(), &judgement()).unwrap()],
        Kind::Executed => [Outcome::Done(Arc::new(json!({}))), Outcome::Failed("x".into())]
            .map(|outcome| {
                let field = |text: &str| text.to_owned();
                let read = ReadBack { field: field("a"), wanted: field("1"), read: field("0"), confirmed: false };
                let mut entry = Entry::executed(place(), hash, &call(), &outcome, &[read], Duration::ZERO);
                // As the turn adds it.
                entry.body.insert("writes".to_owned(), true.into());
                entry
            })
            .to_vec(),
        Kind::Question => vec![Entry::question(place(), "Shall I?", &[call()])],
        Kind::Grant => vec![Entry::grant(place(), true, &[call()])],
        Kind::Reply => vec![Entry::reply(place(), "Done.")],
        Kind::Fault => vec![Entry::fault(None, "vehicle", "gone")],
        Kind::Policy => vec![
            Entry::policy(Some(place()), "kitchen", hash, "x"),
            Entry::offered(place(), &policy, &offer()).unwrap(),
        ],
        Kind::Session => vec![Entry::opened(place(), 7, Some(":1.1")), Entry::closed(place(), "it was not used")],
        Kind::Shadow => vec![Entry::shadow(place(), "rules", hash, &judgement(), &report()).unwrap()],
        Kind::Undone => {
            let action = Action { place: place(), policy: Arc::new(policy), call: call(), changed: Vec::new() };
            let values = ["0", "3", "0"].map(str::to_owned);
            vec![Entry::undone(&action, "hood_level", values, "hands", Duration::ZERO, true)]
        }
        Kind::Opened | Kind::Recovered | Kind::Started | Kind::Stopped | Kind::Update | Kind::Dropped => Vec::new(),
        Kind::Unknown => Vec::new(),
    }
}

const KINDS: [Kind; 18] = [
    Kind::Opened,
    Kind::Recovered,
    Kind::Turn,
    Kind::Draft,
    Kind::Verdict,
    Kind::Executed,
    Kind::Question,
    Kind::Grant,
    Kind::Reply,
    Kind::Fault,
    Kind::Started,
    Kind::Stopped,
    Kind::Policy,
    Kind::Update,
    Kind::Session,
    Kind::Dropped,
    Kind::Shadow,
    Kind::Undone,
];

/// The members at the ends, with those that they lie in.
fn ends(map: &Map<String, Json>, above: &str, found: &mut BTreeSet<String>) {
    for (name, value) in map {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        let compiled = path.starts_with("offer.") && (COMPILED.contains(&name.as_str()) || name == "consent");
        let inner: Vec<&Map<String, Json>> = match value {
            Json::Object(map) => vec![map],
            Json::Array(items) => items.iter().filter_map(Json::as_object).collect(),
            _ => Vec::new(),
        };
        if compiled {
            continue;
        }
        if inner.is_empty() || ENDS.contains(&name.as_str()) {
            found.insert(path);
        } else {
            inner.into_iter().for_each(|map| ends(map, &path, found));
        }
    }
}

#[test]
fn the_names_are_those_of_every_record_that_is_redacted_and_no_others() {
    let mut found = BTreeSet::new();
    for entry in KINDS.into_iter().flat_map(records) {
        assert!(!entry.is_of_the_program(), "{entry:?}");
        ends(&entry.body, "", &mut found);
    }
    let own: BTreeSet<String> = OWN.map(str::to_owned).into();
    let (new, gone): (Vec<_>, Vec<_>) = (found.difference(&own).collect(), own.difference(&found).collect());
    assert!(new.is_empty() && gone.is_empty(), "to be added to OWN: {new:?}; in no record: {gone:?}");
}

/// Of a kitchen with one tool, which says what it answers.
fn names() -> Names {
    let cooks =
        json!({"type": "array", "items": {"type": "object", "properties": {"phone_number": {"type": "string"}}}});
    let tool = json!([{
        "name": "find_cook",
        "inputSchema": {"type": "object", "properties": {"first_name": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"cooks": cooks}},
    }]);
    let tools = import(&tool.to_string()).unwrap();
    let mut parts = parts();
    parts.inventory = vec![Tool::from_import(&tools[0]).unwrap()];
    parts.model = EffectModel::default();
    Names::under(&Policy::new(parts, PolicyHash::default()).unwrap())
}

#[test]
fn a_name_is_known_where_a_record_or_a_tool_has_it_and_in_that_order_alone() {
    let names = names();
    for known in [
        "utterance",
        "heard.utterance",
        "arguments",
        "first_name",
        "arguments.first_name",
        "draft.calls.arguments.first_name",
        "report.findings.remedy.arguments.first_name",
        "phone_number",
        "cooks.phone_number",
        "result.cooks.phone_number",
        "outcome.done.cooks",
    ] {
        assert!(names.know(&known.split('.').collect::<Vec<_>>()), "{known}");
    }
    for unknown in ["phone_number.cooks", "arguments.cooks", "report.arguments.first_name", ""] {
        assert!(!names.know(&unknown.split('.').collect::<Vec<_>>()), "{unknown}");
    }
    assert!(!names.know(&[]) && names.open().is_empty());
}

#[test]
fn the_name_that_was_meant_is_the_nearest_or_the_same_one_elsewhere() {
    let names = names();
    for (unknown, near) in [
        ("utterence", Some("utterance")),
        ("argument.first_name", Some("arguments.first_name")),
        ("phone_nubmer", Some("phone_number")),
        ("result.phone_number", Some("phone_number")),
        ("zyx", None),
    ] {
        let path: Vec<&str> = unknown.split('.').collect();
        assert!(!names.know(&path), "{unknown}");
        assert_eq!(names.near(&path).as_deref(), near, "{unknown}");
    }
}

#[test]
fn tools_that_do_not_say_what_they_answer_are_told_apart() {
    assert!(Names::under(&kitchen()).open().iter().any(|tool| tool == "find_guest"));
}
