//! The JSON report on real recordings.

use std::io::Read;
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value as Json};

use crate::recordings::{cabin, car_bench, replay, trajectories, write_recordings};

fn recorded(files: &[PathBuf]) -> Vec<Json> {
    let lines = files.iter().flat_map(|path| {
        let raw = std::fs::read(path).unwrap();
        let mut text = String::new();
        MultiGzDecoder::new(raw.as_slice()).read_to_string(&mut text).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Positions of the assistant's messages.
fn drafts(conversation: &Json) -> Vec<u64> {
    let messages = conversation["messages"].as_array().unwrap().iter().zip(0_u64..);
    messages.filter(|(m, _)| m["role"] == "assistant").map(|(_, at)| at).collect()
}

/// That an object has these members and at most those others.
fn holds(object: &Json, always: &[&str], sometimes: &[&str]) -> Map<String, Json> {
    let map = object.as_object().unwrap();
    for name in always {
        assert!(map.contains_key(*name), "`{name}` is missing in {object}");
    }
    for name in map.keys() {
        assert!(always.contains(&name.as_str()) || sometimes.contains(&name.as_str()), "`{name}` is not in design §8");
    }
    map.clone()
}

fn check_calls(calls: &Json) {
    for call in calls.as_array().unwrap() {
        let call = holds(call, &["tool", "arguments"], &[]);
        assert!(call["tool"].is_string() && call["arguments"].is_object(), "{call:?}");
    }
}

fn check_turn(turn: &Json) {
    let turn = holds(turn, &["index", "verdict", "micros", "findings"], &["amended", "question", "speak"]);
    let verdicts = ["clear", "amend", "ask", "gather", "revise", "refuse"];
    assert!(verdicts.contains(&turn["verdict"].as_str().unwrap()), "{turn:?}");
    assert!(turn["micros"].as_f64().unwrap() >= 0.0);
    for finding in turn["findings"].as_array().unwrap() {
        let finding = holds(finding, &["gate", "tier", "rule", "source", "because"], &["remedy"]);
        assert!(["hard", "owed", "advisory"].contains(&finding["tier"].as_str().unwrap()), "{finding:?}");
        assert!(finding["gate"].is_string() && finding["because"].is_string());
        assert_eq!(
            finding["rule"].is_string(),
            finding["source"].is_string(),
            "a rule cites its sentence: {finding:?}"
        );
        finding.get("remedy").into_iter().for_each(check_calls);
    }
    turn.get("amended").into_iter().for_each(check_calls);
    assert_eq!(turn.contains_key("question"), turn["verdict"] == "ask", "only an ask has a question: {turn:?}");
}

fn without_times(mut report: Json) -> Json {
    for name in ["micros_p50", "micros_p99"] {
        report["summary"].as_object_mut().unwrap().remove(name).unwrap();
    }
    for turn in
        report["trajectories"].as_array_mut().unwrap().iter_mut().flat_map(|t| t["turns"].as_array_mut().unwrap())
    {
        turn.as_object_mut().unwrap().remove("micros").unwrap();
    }
    report
}

#[test]
fn every_recorded_message_is_judged_in_order_and_the_same_way_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(policy), Some(files)) = (car_bench(folder.path()), trajectories()) else { return };
    let run = || -> Json {
        let out = folder.path().join("report.json");
        replay(&policy, &files, "--json", &out);
        serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap()
    };
    let report = run();
    holds(&report, &["summary", "trajectories"], &[]);
    let (judged, recorded) = (report["trajectories"].as_array().unwrap(), recorded(&files));
    assert_eq!(judged.len(), recorded.len());
    let mut messages = 0;
    for (judged, recorded) in judged.iter().zip(&recorded) {
        holds(judged, &["id", "turns"], &[]);
        assert_eq!(judged["id"], recorded["id"], "the order is that of the files");
        let turns = judged["turns"].as_array().unwrap();
        let indices: Vec<u64> = turns.iter().map(|t| t["index"].as_u64().unwrap()).collect();
        assert_eq!(indices, drafts(recorded), "{}", judged["id"]);
        turns.iter().for_each(check_turn);
        messages += turns.len();
    }
    assert_eq!(report["summary"]["turns"], messages);
    assert_eq!(without_times(report), without_times(run()));
}

#[test]
fn a_message_that_is_no_draft_is_judged_and_the_rest_of_its_conversation_too() {
    let folder = tempfile::tempdir().unwrap();
    let policy = cabin(folder.path());
    let long = "x".repeat(4 << 20);
    let line = serde_json::json!({"id": "long", "messages": [
        {"role": "user", "content": "hello"}, {"role": "assistant", "content": long}, {"role": "assistant", "content": "Hello."}]});
    let file = folder.path().join("long.jsonl");
    std::fs::write(&file, line.to_string()).unwrap();
    let out = folder.path().join("report.json");
    replay(&policy, &[file], "--json", &out);
    let report: Json = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    let turns = report["trajectories"][0]["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["verdict"], "revise");
    assert!(turns[0]["findings"][0]["because"].as_str().unwrap().contains("bytes"), "{}", turns[0]);
    assert_eq!(turns[1]["index"], 2);
}

#[test]
fn a_car_with_fewer_tools_than_the_policy_is_judged_on_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let policy = cabin(folder.path());
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/policies/cabin/tools.json")).unwrap();
    let mut tools: Json = serde_json::from_str(&text).unwrap();
    tools["tools"].as_array_mut().unwrap().retain(|tool| tool["name"] != "set_dome_light");
    let (less, more) = (folder.path().join("less.json"), folder.path().join("more.json"));
    std::fs::write(&less, tools.to_string()).unwrap();
    let call = serde_json::json!([{"id": "1", "type": "function", "function": {"name": "set_dome_light", "arguments": "{\"on\": true}"}}]);
    let line = serde_json::json!({"id": "light", "messages": [
        {"role": "user", "content": "Turn on the dome light."}, {"role": "assistant", "content": null, "tool_calls": call}]});
    let file = folder.path().join("light.jsonl");
    std::fs::write(&file, line.to_string()).unwrap();
    let gates = |tools: &std::path::Path| -> Vec<String> {
        let flags = ["replay", "--policy", "--tools", "--json"].map(std::path::Path::new);
        crate::recordings::obligato(&[flags[0], flags[1], &policy, flags[2], tools, flags[3], &more, &file]);
        let report: Json = serde_json::from_slice(&std::fs::read(&more).unwrap()).unwrap();
        let findings = report["trajectories"][0]["turns"][0]["findings"].as_array().unwrap().clone();
        findings.iter().filter(|f| f["tier"] == "hard").map(|f| f["gate"].as_str().unwrap().to_owned()).collect()
    };
    let whole = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/cabin/tools.json");
    assert!(!gates(&whole).contains(&"schema-validity".to_owned()), "{:?}", gates(&whole));
    assert!(!gates(&less).is_empty() && gates(&less) != gates(&whole), "{:?}", gates(&less));
}

#[test]
fn a_line_that_is_no_conversation_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let policy = cabin(folder.path());
    let file = write_recordings(folder.path());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\n{{\"id\": 1}}\n")).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_obligato"))
        .args(["replay", "--policy"])
        .args([&policy, &file])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("recordings.jsonl: line 5 is not a recorded conversation"), "{error}");
}
