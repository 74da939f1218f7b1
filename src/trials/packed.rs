//! Tests as a blob carries them: a JSON list, deflated.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Event, PolicyTest};
use crate::model::{Arguments, Decision, Draft, Resolution, ToolCall, Value};
use crate::policy::PackedTests;
use crate::state::{Now, NowField};

/// Largest unpacked list, in bytes: fifty times the cabin's. A blob that claims more is not unpacked.
const MOST: u64 = 4 << 20;

/// Why tests cannot be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Not deflated.
    #[error("the packed tests of the policy cannot be inflated: {0}; compile it again")]
    Deflate(#[from] io::Error),
    /// Not a list of tests.
    #[error("the packed tests of the policy are no list of tests: {0}; compile it again")]
    Shape(#[from] serde_json::Error),
    /// Too many.
    #[error("the tests of the policy take more than the {MOST} bytes that are accepted; test with fewer")]
    Oversized,
}

#[derive(Serialize, Deserialize)]
struct Stored<'t> {
    #[serde(rename = "n")]
    name: std::borrow::Cow<'t, str>,
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    now: Vec<(NowField, Json)>,
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<StoredEvent>,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<StoredCall>,
    #[serde(rename = "v")]
    verdict: Decision,
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    owed: Option<Vec<StoredCall>>,
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredCall(String, Arguments);

#[derive(Serialize, Deserialize)]
enum StoredEvent {
    #[serde(rename = "d")]
    Driver(String),
    #[serde(rename = "a")]
    Assistant(String),
    #[serde(rename = "k")]
    Done(StoredCall, Json),
    #[serde(rename = "x")]
    Failed(StoredCall, String),
}

/// Packs tests for a blob. The same tests give the same bytes.
///
/// # Errors
/// [`PackError::Oversized`].
pub fn pack(tests: &[PolicyTest]) -> Result<PackedTests, PackError> {
    if tests.is_empty() {
        return Ok(PackedTests::default());
    }
    let list: Vec<Stored<'_>> = tests.iter().map(stored).collect();
    let json = serde_json::to_vec(&list)?;
    if json.len() as u64 > MOST {
        return Err(PackError::Oversized);
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&json)?;
    Ok(PackedTests(encoder.finish()?))
}

/// The tests of a blob.
///
/// # Errors
/// [`PackError`] when they are damaged, or larger than a policy's tests can be.
pub fn unpack(packed: &PackedTests) -> Result<Vec<PolicyTest>, PackError> {
    if packed.0.is_empty() {
        return Ok(Vec::new());
    }
    let mut json = Vec::new();
    DeflateDecoder::new(packed.0.as_slice()).take(MOST + 1).read_to_end(&mut json)?;
    if json.len() as u64 > MOST {
        return Err(PackError::Oversized);
    }
    let list: Vec<Stored<'_>> = serde_json::from_slice(&json)?;
    Ok(list.into_iter().map(test).collect())
}

fn stored(test: &PolicyTest) -> Stored<'_> {
    let known = |field: NowField| {
        let value = test.now.get(field);
        value.is_known().then(|| (field, value.to_json(Resolution::ONE)))
    };
    Stored {
        name: test.name.as_str().into(),
        rules: test.rules.clone(),
        now: NowField::ALL.into_iter().filter_map(known).collect(),
        history: test.history.iter().map(event).collect(),
        reply: test.draft.reply.clone(),
        calls: test.draft.calls.iter().map(call).collect(),
        verdict: test.verdict,
        owed: test.owed.as_ref().map(|owed| owed.iter().map(call).collect()),
        found: test.found.clone(),
    }
}

fn call(call: &ToolCall) -> StoredCall {
    StoredCall(call.tool.as_str().to_owned(), Arguments::clone(&call.arguments))
}

fn event(event: &Event) -> StoredEvent {
    match event {
        Event::Driver(said) => StoredEvent::Driver(said.clone()),
        Event::Assistant(said) => StoredEvent::Assistant(said.clone()),
        Event::Call { call: made, result: Ok(result) } => StoredEvent::Done(call(made), result.clone()),
        Event::Call { call: made, result: Err(why) } => StoredEvent::Failed(call(made), why.clone()),
    }
}

fn test(stored: Stored<'_>) -> PolicyTest {
    let made = |StoredCall(tool, arguments): StoredCall| ToolCall::new(&tool, arguments);
    let told = |event: StoredEvent| match event {
        StoredEvent::Driver(said) => Event::Driver(said),
        StoredEvent::Assistant(said) => Event::Assistant(said),
        StoredEvent::Done(call, result) => Event::Call { call: made(call), result: Ok(result) },
        StoredEvent::Failed(call, why) => Event::Call { call: made(call), result: Err(why) },
    };
    let mut now = Now::default();
    for (field, value) in stored.now {
        now.set(field, Value::from_json(&value, Resolution::ONE));
    }
    let calls = stored.calls.into_iter().map(made).collect();
    let mut test = PolicyTest {
        name: stored.name.into_owned(),
        rules: stored.rules,
        now,
        history: stored.history.into_iter().map(told).collect(),
        draft: Draft { reply: stored.reply, calls, ..Draft::default() },
        verdict: stored.verdict,
        owed: stored.owed.map(|owed| owed.into_iter().map(made).collect()),
        found: stored.found,
    };
    test.number_calls();
    test
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> PolicyTest {
        let arguments = |json: Json| json.as_object().cloned().unwrap_or_default();
        let mut now = Now::default();
        now.set(NowField::Location, Value::word("bed_7"));
        now.set(NowField::Hour, Value::Int(6));
        let made = ToolCall::new("get_vents", Arguments::new());
        let mut test = PolicyTest {
            name: "a_test".into(),
            rules: vec!["airing".into()],
            now,
            history: vec![
                Event::Driver("air".into()),
                Event::Call { call: made.clone(), result: Ok(json!({"vent": 0.5, "list": [1, "a", null]})) },
                Event::Call { call: made, result: Err("blocked".into()) },
                Event::Assistant("no".into()),
            ],
            draft: Draft {
                reply: Some("x".into()),
                calls: vec![ToolCall::new("set_fan", arguments(json!({"on": true})))],
                ..Draft::default()
            },
            verdict: Decision::Amend,
            owed: Some(vec![]),
            found: vec!["airing".into()],
        };
        test.number_calls();
        test
    }

    #[test]
    fn what_was_packed_comes_out_as_it_was() {
        let tests = vec![sample(), PolicyTest { owed: None, draft: Draft::default(), ..sample() }];
        assert_eq!(unpack(&pack(&tests).unwrap()).unwrap(), tests);
        assert_eq!(pack(&tests).unwrap(), pack(&tests).unwrap());
        assert!(unpack(&PackedTests::default()).unwrap().is_empty());
    }

    #[test]
    fn a_bomb_and_rubbish_are_refused() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; (MOST + 1) as usize]).unwrap();
        let bomb = PackedTests(encoder.finish().unwrap());
        assert!(bomb.0.len() < 10_000);
        assert!(matches!(unpack(&bomb), Err(PackError::Oversized)));
        assert!(unpack(&PackedTests(vec![0xff; 9])).is_err());
    }
}
