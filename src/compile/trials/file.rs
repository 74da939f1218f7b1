//! The form of a test file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;
use toml::Spanned;

use super::fault::TestFault;
use super::result;
use crate::compile::error::Report;
use crate::compile::names::Near;
use crate::compile::templates::{call, json};
use crate::compile::{CompileError, CompileErrors, Place, SourceFile};
use crate::model::{Decision, Draft, ToolCall, Value};
use crate::policy::Policy;
use crate::state::{Now, NowField};
use crate::tools::{ParamType, Removed, Tool};
use crate::trials::{Event, PolicyTest};

/// A test and where it stands.
#[derive(Debug, Clone)]
pub struct Written {
    /// The test.
    pub test: PolicyTest,
    /// Where it stands.
    pub place: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    test: Vec<Spanned<RawTest>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTest {
    name: String,
    rules: Vec<String>,
    #[serde(default)]
    now: BTreeMap<String, Json>,
    driver: Option<String>,
    #[serde(default)]
    history: Vec<RawEvent>,
    #[serde(default)]
    observed: BTreeMap<String, Json>,
    calls: Option<Vec<String>>,
    reply: Option<String>,
    verdict: Decision,
    owed: Option<Vec<String>>,
    #[serde(default)]
    found: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEvent {
    driver: Option<String>,
    assistant: Option<String>,
    call: Option<String>,
    result: Option<Json>,
    failed: Option<String>,
}

/// Reads a test file against the policy that it tests.
///
/// # Errors
/// [`CompileErrors`] with everything that is wrong.
pub fn read(file: &SourceFile, policy: &Policy) -> Result<Vec<Written>, CompileErrors> {
    let raw: RawFile = toml::from_str(file.text()).map_err(|error| {
        let place = error.span().map_or_else(|| file.whole(), |span| file.at(span.start));
        CompileError::Toml { place, why: error.message().to_owned() }
    })?;
    let mut report = Report::default();
    let mut tests: Vec<Written> = Vec::new();
    for spanned in raw.test {
        let place = file.at(spanned.span().start);
        let raw = spanned.into_inner();
        let fault_of = |fault| CompileError::Test { place: place.clone(), test: raw.name.clone(), fault };
        if let Some(before) = tests.iter().find(|t| t.test.name == raw.name) {
            report.errors.push(fault_of(TestFault::Duplicate(before.place.line)));
        }
        match one(&raw, policy) {
            Ok(test) => tests.push(Written { test, place }),
            Err(fault) => report.errors.push(fault_of(fault)),
        }
    }
    report.failed().map_or(Ok(tests), Err)
}

fn one(raw: &RawTest, policy: &Policy) -> Result<PolicyTest, TestFault> {
    for rule in raw.rules.iter().chain(&raw.found) {
        if !policy.rules().iter().any(|r| r.id.as_str() == rule) {
            let near = Near::among(rule, policy.rules().iter().map(|r| r.id.as_str()));
            return Err(TestFault::Unknown { what: "rule", name: rule.clone(), near });
        }
    }
    let parse = |texts: &Vec<String>| texts.iter().map(|t| tool_call(t, policy)).collect::<Result<Vec<_>, _>>();
    if raw.calls.is_none() && raw.reply.is_none() {
        return Err(TestFault::NoDraft);
    }
    let mut draft = Draft { reply: raw.reply.clone(), ..Draft::default() };
    draft.calls = raw.calls.as_ref().map(parse).transpose()?.unwrap_or_default();
    let mut test = PolicyTest {
        name: raw.name.clone(),
        rules: raw.rules.clone(),
        now: now(&raw.now, policy)?,
        history: history(raw, policy)?,
        draft,
        verdict: raw.verdict,
        owed: raw.owed.as_ref().map(|owed| owed.iter().map(|t| valid_call(t, "owed", policy)).collect()).transpose()?,
        found: raw.found.clone(),
    };
    test.number_calls();
    Ok(test)
}

fn now(raw: &BTreeMap<String, Json>, policy: &Policy) -> Result<Now, TestFault> {
    let mut now = Now::default();
    for (name, value) in raw {
        let Some(field) = NowField::by_name(name) else {
            let near = Near::among(name, NowField::ALL.iter().map(|f| f.name()));
            return Err(TestFault::Unknown { what: "field of `now`", name: name.clone(), near });
        };
        if !policy.model.now.fields.iter().any(|(declared, ..)| *declared == field) {
            return Err(TestFault::Now(field.name()));
        }
        if let Some((low, high)) = field.range()
            && value.as_i64().is_none_or(|n| n < low || n > high)
        {
            return Err(TestFault::Time { field: field.name(), value: value.to_string(), low, high });
        }
        now.set(field, Value::from_json(value, Default::default()));
    }
    now.impossible().map_or(Ok(now), |what| Err(TestFault::Day(what)))
}

/// The conversation, then what the driver said last, then the readings.
fn history(raw: &RawTest, policy: &Policy) -> Result<Vec<Event>, TestFault> {
    let mut events = raw.history.iter().map(|e| event(e, policy)).collect::<Result<Vec<_>, _>>()?;
    events.extend(raw.driver.clone().map(Event::Driver));
    for (name, result) in &raw.observed {
        let Some(tool) = policy.inventory.get(name) else {
            let near = Near::among(name, policy.inventory.iter().map(|t| t.name.as_str()));
            return Err(TestFault::Unknown { what: "tool", name: name.clone(), near });
        };
        if tool.params.iter().any(|p| p.required) {
            return Err(TestFault::Observed(name.clone()));
        }
        let result = said(tool, result, policy)?;
        events.push(Event::Call { call: ToolCall::new(name, Default::default()), result: Ok(result) });
    }
    Ok(events)
}

fn event(raw: &RawEvent, policy: &Policy) -> Result<Event, TestFault> {
    match raw {
        RawEvent { driver: Some(said), assistant: None, call: None, result: None, failed: None } => {
            Ok(Event::Driver(said.clone()))
        }
        RawEvent { driver: None, assistant: Some(said), call: None, result: None, failed: None } => {
            Ok(Event::Assistant(said.clone()))
        }
        RawEvent { driver: None, assistant: None, call: Some(text), result: Some(result), failed: None } => {
            let call = valid_call(text, "carried out in `history`", policy)?;
            let tool = policy.inventory.get(call.tool.as_str());
            let result = tool.map_or_else(|| Ok(result.clone()), |tool| said(tool, result, policy))?;
            Ok(Event::Call { call, result: Ok(result) })
        }
        RawEvent { driver: None, assistant: None, call: Some(text), result: None, failed: Some(why) } => {
            Ok(Event::Call { call: tool_call(text, policy)?, result: Err(why.clone()) })
        }
        _ => Err(TestFault::Entry),
    }
}

fn said(tool: &Tool, result: &Json, policy: &Policy) -> Result<Json, TestFault> {
    let fault = |fault| TestFault::Result { tool: tool.name.to_string(), fault };
    result::read(tool, &policy.model.result, result).map_err(fault)
}

/// A call that the tools take.
fn valid_call(text: &str, what: &'static str, policy: &Policy) -> Result<ToolCall, TestFault> {
    let call = tool_call(text, policy)?;
    match policy.inventory.check(&call, &Removed::default()).into_iter().next() {
        None => Ok(call),
        Some(fault) => Err(TestFault::Call { text: text.to_owned(), what, why: fault.because }),
    }
}

/// A call as written; the tool need not exist, for drafts invent tools too.
fn tool_call(text: &str, policy: &Policy) -> Result<ToolCall, TestFault> {
    let parsed = call(text).map_err(|why| TestFault::Syntax { text: text.to_owned(), why })?;
    let tool = policy.inventory.get(&parsed.tool);
    let mut arguments = crate::model::Arguments::new();
    for (name, value) in &parsed.arguments {
        let kind = tool.and_then(|t| t.param(name)).map_or(&ParamType::Any, |p| &p.kind);
        let value = json(value, kind).ok_or_else(|| TestFault::Hole(text.to_owned()))?;
        arguments.insert(name.clone(), value);
    }
    Ok(ToolCall::new(&parsed.tool, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::testing::compiled;
    use crate::model::PolicyHash;

    fn told(test: &str) -> String {
        let policy = Policy::new(compiled("").parts, PolicyHash::default()).unwrap();
        let text = format!("# one test\n[[test]]\nname = \"x\"\nverdict = \"clear\"\n{test}");
        match read(&SourceFile::new("t.toml", text), &policy) {
            Ok(tests) => format!("{:?}", tests[0].test.draft.calls),
            Err(errors) => errors.to_string(),
        }
    }

    #[test]
    fn every_mistake_is_named_with_its_test() {
        for (test, says) in [
            ("rules = []", "it has neither `calls` nor `reply`"),
            ("rules = [\"airing\"]\nreply = \"a\"", "there is no rule `airing`; none is declared"),
            ("rules = []\ncalls = [\"set_fan\"]", "`set_fan` is no call: expected `(`"),
            ("rules = []\ncalls = [\"set_fan(on: <input.on>)\"]", "has a hole"),
            ("rules = []\nreply = \"a\"\nobserved.get_ar = {}", "there is no tool `get_ar`; did you mean `get_air`?"),
            ("rules = []\nreply = \"a\"\nobserved.get_forecast = {}", "`get_forecast` needs arguments"),
            ("rules = []\nreply = \"a\"\nhistory = [{ result = {} }]", "an entry of `history` is one of"),
            ("rules = []\nreply = \"a\"\nnow = { era = 1 }", "there is no field of `now` `era`"),
            ("rules = []\nreply = \"a\"\nnow = { hour = 1 }", "does not say where `now.hour` stands"),
            (
                "rules = []\nreply = \"a\"\nobserved.get_vents = { vent_nroth = 4 }",
                "`get_vents` has no field `vent_nroth`; did you mean `vent_north`?",
            ),
            (
                "rules = []\nreply = \"a\"\nobserved.get_vents = { vent_north = \"open\" }",
                "`get_vents` cannot say that: `vent_north`: ",
            ),
            (
                "rules = []\nreply = \"a\"\nobserved.get_air = { flow = \"WALL\" }",
                "`get_air` cannot say that: `flow`: ",
            ),
            (
                "rules = []\nreply = \"a\"\nowed = [\"set_vent(vent: WEST, opening: 1)\"]",
                "is owed, and the car takes no such call",
            ),
            (
                "rules = []\nreply = \"a\"\nowed = [\"set_vent(vent: NORTH, openning: 1)\"]",
                "`set_vent` has no parameter `openning`",
            ),
            ("rules = []\nreply = \"a\"\nowed = [\"set_vnet(vent: NORTH)\"]", "there is no tool `set_vnet`"),
            (
                "rules = []\nreply = \"a\"\nhistory = [{ call = \"set_fan(on: 3)\", result = {} }]",
                "carried out in `history`, and the car",
            ),
        ] {
            let told = told(test);
            assert!(told.starts_with("t.toml:2: test `x`: ") && told.contains(says), "{test}: {told}");
        }
        assert!(told("rules = []\nrepply = \"a\"").starts_with("t.toml:6: unknown field `repply`"));
        let twice = "rules = []\nreply = \"a\"\n[[test]]\nname = \"x\"\nverdict = \"clear\"\nrules = []\nreply = \"b\"";
        assert!(told(twice).contains("t.toml:7: test `x`: line 2 has a test of the same name"));
    }

    /// What a test with this reading of the vents is told in a set with this shape of results.
    fn read_with(shape: &str, reading: &str) -> Result<Vec<Event>, String> {
        let vehicle = crate::compile::testing::VEHICLE.replacen("[group]", &format!("[result]\n{shape}\n[group]"), 1);
        let policy = Policy::new(crate::compile::testing::compiled_vehicle(&vehicle).parts, PolicyHash::default());
        let test = "rules = []\nreply = \"a\"\nobserved.get_vents = ";
        let text = format!("[[test]]\nname = \"x\"\nverdict = \"clear\"\n{test}{reading}");
        let tests = read(&SourceFile::new("t.toml", text), &policy.unwrap());
        tests.map(|tests| tests[0].test.history.clone()).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_reading_without_the_mark_of_success_or_with_that_of_failure_is_refused() {
        let bare = "success = { field = \"status\", is = \"OK\" }";
        let wrapped = format!("{bare}\npayload = \"result\"");
        for (shape, reading, says) in [
            (bare, "{ vent_north = 4 }", "t.toml:1: test `x`: `get_vents` has no `status`, by which"),
            (bare, "{ status = \"OK\", vent_nroth = 4 }", "has no field `vent_nroth`"),
            (bare, "{ status = \"BUSY\", vent_north = 4 }", "says `status = \"BUSY\"`, and a success says `\"OK\"`"),
            (&wrapped, "{ result = { vent_north = 4 } }", "or write what stands in `result` alone"),
            (&wrapped, "{ status = \"OK\", result = { vent_nroth = 4 } }", "has no field `vent_nroth`"),
            (&wrapped, "{ status = \"BUSY\", result = { vent_north = 4 } }", "says `status = \"BUSY\"`"),
        ] {
            let told = read_with(shape, reading).unwrap_err();
            assert!(told.contains(says), "{shape}, {reading}: {told}");
        }
    }

    #[test]
    fn a_reading_is_written_as_the_payload_alone_or_with_all_around_it() {
        let bare = "success = { field = \"status\", is = \"OK\" }";
        let wrapped = format!("{bare}\npayload = \"result\"");
        let payload = |events: Vec<Event>| match events.into_iter().next() {
            Some(Event::Call { result: Ok(result), .. }) => result,
            other => panic!("{other:?}"),
        };
        for (shape, reading) in [
            ("errors = [\"no\"]", "{ vent_north = 4 }"),
            (bare, "{ status = \"OK\", vent_north = 4 }"),
            (&wrapped, "{ vent_north = 4 }"),
            (&wrapped, "{ status = \"OK\", result = { vent_north = 4 } }"),
        ] {
            let read = payload(read_with(shape, reading).unwrap());
            assert_eq!(read["vent_north"], 4, "{shape}, {reading}");
        }
    }

    #[test]
    fn a_day_that_no_calendar_has_is_refused() {
        let now = "[now]\nmonth = \"T.month\"\nday = \"T.day\"\n[group]";
        let vehicle = crate::compile::testing::VEHICLE.replacen("[group]", now, 1);
        let parts = crate::compile::testing::compiled_vehicle(&vehicle).parts;
        let policy = Policy::new(parts, PolicyHash::default()).unwrap();
        let told = |day: u32| {
            let test = "rules = []\nreply = \"a\"";
            let text =
                format!("[[test]]\nname = \"x\"\nverdict = \"clear\"\n{test}\nnow = {{ month = 2, day = {day} }}");
            read(&SourceFile::new("t.toml", text), &policy).map(|_| ()).map_err(|errors| errors.to_string())
        };
        assert_eq!(told(29), Ok(()));
        let says = "t.toml:1: test `x`: `now`: there is no day 30 in month 2, which has 29; correct the date";
        assert!(told(30).unwrap_err().starts_with(says));
    }

    #[test]
    fn a_bare_word_is_what_the_argument_takes() {
        let told = told("rules = []\ncalls = ['send_note(to: [7, b], text: 12, urgent: true)']");
        assert!(told.contains(r#"Array [String("7"), String("b")]"#) && told.contains(r#"String("12")"#), "{told}");
        assert!(told.contains("Bool(true)"), "{told}");
    }
}
