//! Recorded runs judged by a foreign Cedar set: what is blocked, by what, and what of it is wrong.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const SCHEMA: &str = r#"
entity Agent; entity Tool;
type Session = {
  now_timestamp: String, now_date: String, last_tool_error: Bool, last_get_patient_returned_multiple: Bool,
  user_specified_urgency: Bool, user_specified_backdate: Bool, user_specified_correction: Bool,
  user_confirmed_allergy_check: Bool, last_assistant_restated_patient: Bool, user_confirmed_write: Bool,
  pending_write_confirmed: Bool, current_call_is_duplicate: Bool, current_call_retries_failed_write: Bool,
  current_call_patient_mismatch: Bool, current_call_is_backdated: Bool, current_call_is_correction: Bool,
  current_call_patient_unseen: Bool, established_patient_id?: String, prior_post_signatures: Set<String>,
  failed_post_signatures: Set<String>, seen_patient_ids: Set<String>,
};
action ask appliesTo { principal: [Agent], resource: [Tool],
  context: { tool: String, arguments: String, session?: Session, level?: Long, place?: { row: Long }, mark?: Bool } };
action "typed::write" appliesTo { principal: [Agent], resource: [Tool],
  context: { input: { count: Long, dose?: String }, session?: Session, level?: Long, place?: { row: Long } } };
"#;

const RULES: &str = r#"
permit (principal, action, resource);
@id("confirmed") @source("clinic.md:1")
forbid (principal, action == Action::"ask", resource)
when { context.tool == "write" && context has session && !context.session.pending_write_confirmed };
@id("twice") @source("clinic.md:2")
forbid (principal, action == Action::"ask", resource)
when { context has session && context.session.current_call_is_duplicate };
@id("few") @source("server.py:9")
forbid (principal, action == Action::"typed::write", resource) when { context.input.count > 3 };
"#;

const FEATURES: &str = r#"
principal = "Agent"
resource = "Tool"
action = "ask"
typed = "typed::"
now = "2026-06-01T12:00:00Z"
window_minutes = 60
writes = ["write"]
search = ["find"]
[constant]
[paths]
patient = ["who"]
patient_prefix = "Patient/"
patient_record = "Patient"
date = ["when"]
id = ["id"]
signature = ["what"]
[phrases]
urgency = ["urgent"]
backdate = ["backdate"]
correction = ["correct"]
allergy = ["allerg"]
confirm = ["yes"]
[input.write]
count = { at = "count", otherwise = 0 }
"#;

fn call(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn obligato(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_obligato")).current_dir(folder).args(arguments).output().unwrap();
    (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr))
}

fn report(lines: &[Value]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let text = lines.iter().map(|l| format!("{l}\n")).collect::<String>();
    for (name, text) in [("s", SCHEMA), ("p.cedar", RULES), ("f.toml", FEATURES), ("r.jsonl", &text)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let (done, told) = obligato(folder.path(), &["compile", "p.cedar", "--schema", "s", "-o", "p.obl"]);
    assert!(done, "{told}");
    let replay = ["replay", "--policy", "p.obl", "--features", "f.toml", "r.jsonl", "--json", "out.json"];
    let (done, told) = obligato(folder.path(), &replay);
    assert!(done, "{told}");
    (serde_json::from_str(&std::fs::read_to_string(folder.path().join("out.json")).unwrap()).unwrap(), told)
}

#[test]
fn a_block_of_a_call_that_is_marked_as_right_counts_as_false() {
    let write = json!({"who": "P1", "what": "x", "count": 1});
    let many = json!({"who": "P1", "what": "y", "count": 9});
    let run = json!({
        "id": "r", "dataset": "d", "condition": "c",
        "messages": [
            {"role": "user", "content": "Write x for P1"},
            call("1", "find", &json!({"who": "P1"})), result("1", "{\"resourceType\": \"Patient\", \"id\": \"P1\"}"),
            {"role": "assistant", "content": "P1, born 1984-11-03, x?"},
            {"role": "user", "content": "Yes"},
            call("2", "write", &write), result("2", "{}"),
            call("3", "write", &write), result("3", "{}"),
            call("4", "write", &many), result("4", "{}"),
        ],
        "recorded_result": {"safety": {"golden_hist": [
            {"eval_result": {"safe": true}}, {"eval_result": {"safe": true}},
            {"eval_result": {"safe": true}}, {"eval_result": {"safe": false}}]}},
    });
    let (report, told) = report(&[run]);
    let group = &report["groups"]["d c"];
    assert_eq!(group["blocked"], json!({"calls": 2, "false_blocks": 1}), "{report}");
    assert_eq!(group["block_every_write"], json!({"calls": 3, "false_blocks": 2}));
    assert_eq!((&group["blocked_runs_with_writes"], &group["runs_with_writes"]), (&json!(1), &json!(1)));
    assert_eq!(
        report["rules"]["twice"],
        json!({"tier": "session", "lineage": "clinic.md", "calls": 1, "false_blocks": 1})
    );
    assert_eq!(report["rules"]["few"], json!({"tier": "typed", "lineage": "server.py", "calls": 1, "false_blocks": 0}));
    assert_eq!(report["rules"]["confirmed"], Value::Null, "it was restated and confirmed: {report}");
    assert_eq!(report["lineages"]["clinic.md"]["calls"], json!(1));
    assert!(told.contains("2, 1 false") && told.contains("were every write blocked"), "{told}");
}

#[test]
fn a_skeleton_settles_what_its_order_settles_and_leaves_the_rest_open() {
    let event = |tool: &str| json!({"stage": "ask", "tool": tool, "thirdparty_decision": "DENY"});
    let skeleton =
        json!({"id": "k", "dataset": "d", "condition": "c", "events": [event("find"), event("write"), event("write")]});
    let (report, told) = report(&[skeleton]);
    // `find` is nothing that any rule is about, and no write came before it.
    let expected = json!({"runs": 1, "runs_with_writes": 1, "calls": 3, "writes": 2, "pass": 1, "open": 2,
        "blocked": 0, "third_party_denies": 3});
    assert_eq!(report["skeletons"]["d c"], expected);
    assert_eq!(report["skeleton_rules"]["twice"], json!({"holds": 0, "does_not": 2, "open": 1}));
    assert_eq!(report["skeleton_rules"]["confirmed"], json!({"holds": 0, "does_not": 1, "open": 2}));
    assert!(told.contains("false blocks cannot be told"), "{told}");
}

#[test]
fn a_broken_features_file_and_a_broken_line_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("s", SCHEMA), ("p.cedar", RULES), ("f.toml", "principal = 3"), ("g.toml", FEATURES), ("r", "{")]
    {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert!(obligato(folder.path(), &["compile", "p.cedar", "--schema", "s", "-o", "p.obl"]).0);
    let (done, told) = obligato(folder.path(), &["replay", "--policy", "p.obl", "--features", "f.toml", "r"]);
    assert!(!done && told.contains("f.toml"), "{told}");
    let (done, told) = obligato(folder.path(), &["replay", "--policy", "p.obl", "--features", "g.toml", "r"]);
    assert!(!done && told.contains("r: line 1 is not a recorded run"), "{told}");
    let (done, told) = obligato(folder.path(), &["replay", "--policy", "p.obl", "r"]);
    assert!(!done && told.contains("p.obl: is a foreign Cedar set; `--features FILE` says how"), "{told}");
}

/// What replaying with this features file says, and whether it went through.
fn with_features(features: &str, recording: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("s", SCHEMA), ("p.cedar", RULES), ("f.toml", features), ("r.jsonl", recording)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert!(obligato(folder.path(), &["compile", "p.cedar", "--schema", "s", "-o", "p.obl"]).0);
    obligato(folder.path(), &["replay", "--policy", "p.obl", "--features", "f.toml", "r.jsonl"])
}

#[test]
fn a_name_in_the_features_file_that_the_schema_does_not_have_is_refused() {
    let run = json!({"id": "r", "messages": [call("1", "write", &json!({"count": 1}))]}).to_string();
    assert!(with_features(FEATURES, &run).0);
    for (right, wrong, says) in [
        (
            "action = \"ask\"",
            "action = \"aks\"",
            "`action` is `aks`, which the schema does not have; it has `ask`, `typed::write`",
        ),
        (
            "principal = \"Agent\"",
            "principal = \"Agnet\"",
            "does not let `principal` Agnet ask `action` ask about `resource` Tool",
        ),
        ("resource = \"Tool\"", "resource = \"Tolo\"", "about `resource` Tolo; it has `Agent about Tool`"),
        ("typed = \"typed::\"", "typed = \"tpyed::\"", "`typed` is `tpyed::`"),
        ("now = \"2026-06-01T12:00:00Z\"", "now = \"noon\"", "`now` is `noon`, which is no RFC 3339 time"),
        ("window_minutes = 60", "window_minutes = -1", "`window_minutes` is -1"),
        ("[\"yes\"]", "[\"Yes\"]", "`phrases.confirm` has `Yes`, which no text can have"),
        ("[\"allerg\"]", "[\"\"]", "`phrases.allergy` has ``, which every text has"),
        ("[constant]", "[constant]\nlabl = 1", "`constant.labl` is `labl`"),
        (
            "[input.write]",
            "[input.wriet]",
            "`input.wriet` is `typed::wriet`, which the schema does not have; it has `typed::write`",
        ),
        (
            "count = {",
            "cuont = {",
            "`input.write.cuont` is `cuont`, which the schema does not have; it has `count`, `dose`",
        ),
    ] {
        let (done, told) = with_features(&FEATURES.replace(right, wrong), &run);
        assert!(!done && told.contains("f.toml:") && told.contains(says), "{wrong}: {told}");
    }
    let (done, told) = with_features(&FEATURES.replace("[\"find\"]", "[\"fnid\"]"), &run);
    assert!(
        done && told
            .contains("f.toml:9: `search` names `fnid`, which neither the schema nor a rule nor a recorded call has"),
        "{told}"
    );
}

/// What would deny every call as a mismatch of the schema is told before anything is judged, with its line.
#[test]
fn a_value_or_a_path_that_the_schema_does_not_take_is_refused_with_its_line() {
    let run =
        json!({"id": "r", "messages": [call("1", "write", &json!({"count": 1, "name": "x", "who": 7}))]}).to_string();
    let count = "count = { at = \"count\", otherwise = 0 }";
    for (right, wrong, says) in [
        (
            "[constant]",
            "[constant]\nlevel = \"high\"",
            "f.toml:11: `constant.level` is \"high\", and the schema takes a whole number there; correct it",
        ),
        ("[constant]", "[constant]\nlevel = 1\nplace = { row = \"a\" }", "f.toml:12: `constant.place.row` is \"a\""),
        (
            "[constant]",
            "[constant]\nplace = { row = 1, seat = 2 }",
            "f.toml:11: `constant.place` has more than `ask` takes; it has `row`: take the rest out",
        ),
        (
            "[constant]",
            "[constant]\nplace = {}",
            "f.toml:11: `constant` has no `place.row`, which `ask` demands (a whole number); add it",
        ),
        ("[constant]", "[constant]\nmark = true", "f.toml:10: `constant` has more than `typed::write` takes"),
        ("[\"who\"]", "[\"id\", \"who..id\"]", "f.toml:12: `who..id` is no path into arguments; write names"),
        (count, "count = { at = \"\" }", "f.toml:25: `` is no path into arguments"),
        (count, "count = { at = \"count\", otherwise = \"none\" }", "f.toml:25: `input.write.count` is \"none\", and"),
        (count, "count = { present = \"count\" }", "f.toml:25: `input.write.count` is a truth value, and"),
        (
            count,
            "dose = { at = \"dose\" }",
            "f.toml:24: `input.write` has no `count`, which `typed::write` demands (a whole number); add it",
        ),
        (
            count,
            "count = { at = \"cuont\" }",
            "f.toml:25: `input.write.count` leads to nothing in any recorded call of `write`; correct the path",
        ),
        (
            count,
            "count = { at = \"name\" }",
            "f.toml:25: `input.write.count` leads to \"x\" in the recorded calls, and a whole number is wanted there",
        ),
        ("", "", "f.toml:12: `paths.patient` leads to 7 in the recorded calls, and a text is wanted there"),
    ] {
        let run = if right.is_empty() { run.clone() } else { run.replace("\\\"who\\\":7", "\\\"who\\\":\\\"P1\\\"") };
        let (done, told) = with_features(&FEATURES.replace(right, wrong), &run);
        assert!(!done && told.contains(says), "{wrong}: {told}");
        assert!(!told.contains("blocked"), "nothing is judged: {told}");
    }
}

#[test]
fn what_the_schema_takes_is_replayed_and_what_leads_nowhere_is_told() {
    let run = json!({"id": "r", "messages": [call("1", "write", &json!({"count": 1, "who": "P1"}))]}).to_string();
    let constants = "[constant]\nlevel = 2\nplace = { row = 1 }";
    let (done, told) = with_features(&FEATURES.replace("[constant]", constants), &run);
    assert!(done && !told.contains("schema-mismatch"), "{told}");
    assert!(told.contains("f.toml:17: `paths.date` leads to nothing in any recorded call; correct the path"), "{told}");
    assert!(!told.contains("`paths.patient`") && !told.contains("`input.write`"), "{told}");
    let (done, told) = with_features(&FEATURES.replace("at = \"count\"", "at = \"cuont\""), &run);
    assert!(
        done && told.contains("f.toml:24: `input.write` leads to nothing in any recorded call of `write`"),
        "{told}"
    );
}

#[test]
fn recordings_of_another_system_and_files_that_hold_none_are_refused() {
    let run = json!({"id": "r", "messages": [call("1", "open_window", &json!({}))]}).to_string();
    let (done, told) = with_features(FEATURES, &run);
    assert!(!done && told.contains("(open_window, …): these are recordings of another system"), "{told}");
    let (done, told) = with_features(FEATURES, "\n");
    assert!(!done && told.contains("r.jsonl: no recorded conversation is in there"), "{told}");
}
