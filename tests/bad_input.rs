//! Bad input on the command line: each ends with exit code 2 or a verdict, and a sentence that names
//! the cause.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]
#![cfg(feature = "compile")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn obligato(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_obligato")).args(arguments).output().unwrap()
}

/// A folder with a compiled cabin and an empty conversation.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let set = root("policies/cabin");
        let out = obligato(&["compile", set.to_str().unwrap(), "-o", &desk.path("cabin.obl")]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        std::fs::write(desk.path("talk.jsonl"), "{\"role\":\"user\",\"content\":\"hello\"}\n").unwrap();
        desk
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn verify(&self, draft: &[u8]) -> Output {
        std::fs::write(self.path("draft.json"), draft).unwrap();
        let (policy, talk, draft) = (self.path("cabin.obl"), self.path("talk.jsonl"), self.path("draft.json"));
        obligato(&["verify", "--policy", &policy, "--transcript", &talk, "--draft", &draft, "--json"])
    }

    fn refused(&self, draft: &[u8], because: &str) {
        let out = self.verify(draft);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(because), "{said}");
        assert!(out.stdout.is_empty(), "nothing is printed that a machine could take for a verdict");
    }

    fn objected(&self, calls: Json, because: &str) {
        let draft = json!({"role": "assistant", "content": null, "tool_calls": calls});
        let out = self.verify(draft.to_string().as_bytes());
        let report: Json = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(out.status.code(), Some(1), "{report}");
        assert!(report.to_string().contains(because), "{report}");
    }
}

fn call(tool: &str, arguments: &str) -> Json {
    json!([{"id": "a", "type": "function", "function": {"name": tool, "arguments": arguments}}])
}

#[test]
fn every_unreadable_draft_is_refused_with_its_cause() {
    let desk = Desk::new();
    desk.refused(b"{\"role\": \"assistant\", \"content\": \"\xff\"}", "not valid UTF-8 at byte");
    desk.refused(b"not json", "not an OpenAI assistant message");
    desk.refused(b"{\"role\": \"user\", \"content\": \"hi\"}", "only an assistant message can be a draft");
    let large = json!({"role": "assistant", "tool_calls": call("send_email", &format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)))});
    desk.refused(large.to_string().as_bytes(), "more than the 65536 that one call may carry");
    let many: Vec<Json> = (0..40).map(|_| call("get_weather", "{}")[0].clone()).collect();
    let many = json!({"role": "assistant", "tool_calls": many});
    desk.refused(many.to_string().as_bytes(), "40 calls");
}

#[test]
fn a_readable_draft_with_bad_calls_is_objected_to_by_name() {
    let desk = Desk::new();
    desk.objected(call("fly", "{}"), "there is no tool `fly`");
    desk.objected(call("set_fan_speed", "{\"level\": \"fast\"}"), "`level` of `set_fan_speed` cannot be");
    desk.objected(call("set_fan_speed", "{\"level\": 99}"), "`level` of `set_fan_speed` cannot be 99");
    desk.objected(call("set_fan_speed", "{oops"), "the arguments are not JSON");
    desk.objected(call("set_fan_speed", &"[".repeat(200)), "the arguments are not JSON");
}

#[test]
fn a_damaged_policy_is_refused_with_its_cause() {
    let desk = Desk::new();
    let good = std::fs::read(desk.path("cabin.obl")).unwrap();
    let draft = b"{\"role\":\"assistant\",\"content\":\"Hello.\"}";
    for (bytes, because) in [
        (&good[..good.len() / 2], "truncated"),
        (&b"not a policy at all"[..], "not a compiled policy"),
        (&[good.as_slice(), b"x"].concat()[..], "after its end"),
    ] {
        std::fs::write(desk.path("cabin.obl"), bytes).unwrap();
        desk.refused(draft, because);
    }
    std::fs::remove_file(desk.path("cabin.obl")).unwrap();
    desk.refused(draft, "No such file");
}

#[test]
fn a_transcript_that_makes_no_sense_is_refused_with_its_line() {
    let desk = Desk::new();
    let draft = b"{\"role\":\"assistant\",\"content\":\"Hello.\"}";
    std::fs::write(desk.path("talk.jsonl"), "{\"role\":\"user\",\"content\":\"a\"}\n{]\n").unwrap();
    desk.refused(draft, "line 2 is not a chat message");
    std::fs::write(desk.path("talk.jsonl"), "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"{}\"}\n").unwrap();
    desk.refused(draft, "the result of call `x`, which nobody made");
}

#[test]
fn a_reader_that_closes_the_pipe_ends_every_command_in_peace() {
    let desk = Desk::new();
    desk.verify(b"{\"role\":\"assistant\",\"content\":\"Hello!\"}");
    let cabin = root("policies/cabin").display().to_string();
    let (policy, talk, draft) = (desk.path("cabin.obl"), desk.path("talk.jsonl"), desk.path("draft.json"));
    std::fs::write(desk.path("one.jsonl"), "{\"id\": \"a\", \"messages\": []}\n").unwrap();
    let recorded = desk.path("one.jsonl");
    let verify = ["verify", "--policy", &policy, "--transcript", &talk, "--draft", &draft];
    let mut commands: Vec<Vec<&str>> = vec![verify.to_vec(), [verify.as_slice(), &["--json"]].concat()];
    commands.push(vec!["explain"]);
    commands.push(vec!["explain", "confirmation"]);
    commands.push(vec!["replay", "--policy", &policy, &recorded]);
    for json in [&[][..], &["--json"]] {
        commands.push([&["compile", &cabin][..], json].concat());
        commands.push([&["test", &cabin, "--filter", "a_charge_limit_of"][..], json].concat());
    }
    for arguments in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
        let out = command.args(&arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!said.contains("panicked") && !said.contains("pipe"), "{arguments:?}: {said}");
        assert!(matches!(out.status.code(), Some(0 | 1)), "{arguments:?}: {:?}", out.status);
    }
}

/// Files that are nothing: missing, empty, a folder, one endless line, no text.
fn nothings(desk: &Desk) -> Vec<String> {
    std::fs::write(desk.path("empty"), "").unwrap();
    std::fs::create_dir(desk.path("folder")).unwrap();
    std::fs::write(desk.path("endless"), "a".repeat(1 << 20)).unwrap();
    std::fs::write(desk.path("bytes"), b"\xff\xfe\x00").unwrap();
    ["missing", "empty", "folder", "endless", "bytes"].map(|name| desk.path(name)).to_vec()
}

#[test]
fn every_command_ends_in_order_on_files_that_are_nothing_and_names_them() {
    let desk = Desk::new();
    let nothings = nothings(&desk);
    let cabin = |name: &str| root("policies/cabin").join(name).display().to_string();
    let (policy, set) = (desk.path("cabin.obl"), root("policies/cabin").display().to_string());
    let (prose, tools, vehicle) = (cabin("policy.md"), cabin("tools.json"), cabin("vehicle.toml"));
    let rules = cabin("rules.cedar");
    let formalize = |policy: &str, tools: &str, vehicle: &str, answers: &str| {
        let of = ["formalize", policy, "--tools", tools, "--vehicle", vehicle, "--answers", answers];
        [&of[..], &["-o", "made.cedar"]].concat().iter().map(|s| (*s).to_owned()).collect::<Vec<String>>()
    };
    let (talk, answers) = (desk.path("talk.jsonl"), desk.path("answers.jsonl"));
    std::fs::write(&answers, "").unwrap();
    for bad in &nothings {
        let owned = |arguments: &[&str]| arguments.iter().map(|s| (*s).to_owned()).collect::<Vec<String>>();
        for arguments in [
            owned(&["compile", bad]),
            owned(&["compile", bad, "--schema", bad]),
            owned(&["compile", &rules, "--schema", bad]),
            owned(&["critic", bad]),
            owned(&["critic", &set, "--no-solver", "--results", bad]),
            owned(&["coverage", bad]),
            owned(&["test", bad]),
            owned(&["fmt", bad]),
            owned(&["diff", bad, &policy]),
            owned(&["diff", &policy, &policy, "--replay", bad]),
            owned(&["replay", "--policy", bad, &talk]),
            owned(&["replay", "--policy", &policy, bad]),
            owned(&["replay", "--policy", &policy, "--tools", bad, &talk]),
            owned(&["verify", "--policy", &policy, "--transcript", bad, "--draft", bad]),
            formalize(bad, &tools, &vehicle, &answers),
            formalize(&prose, bad, &vehicle, &answers),
            formalize(&prose, &tools, bad, &answers),
            formalize(&prose, &tools, &vehicle, bad),
            owned(&["formalize", &prose, "--tools", &tools, "--vehicle", &vehicle, "--import", bad]),
        ] {
            // What an earlier command made of better input is none of this one.
            let _ = std::fs::remove_file(desk.0.path().join("made.cedar"));
            let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"));
            let out = command.args(&arguments).current_dir(desk.0.path()).output().unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(!said.contains("panicked"), "{arguments:?}: {said}");
            assert!(matches!(out.status.code(), Some(0..=3)), "{arguments:?}: {:?} {said}", out.status);
            let name = bad.rsplit('/').next().unwrap();
            assert!(out.status.code() != Some(2) || said.contains(name), "{arguments:?}: {said}");
            assert!(!desk.0.path().join("made.cedar").exists() || out.status.success(), "{arguments:?}");
            let hidden = std::fs::read_dir(desk.0.path()).unwrap().filter_map(Result::ok);
            let left: Vec<_> = hidden.filter(|e| e.file_name().to_string_lossy().starts_with('.')).collect();
            assert!(left.is_empty(), "{arguments:?} left {left:?}");
        }
    }
}

/// Every command that writes a file, told to write over what it reads: the file stays as it is.
#[test]
fn no_command_writes_over_what_it_reads() {
    let desk = Desk::new();
    let set = desk.path("set");
    for name in ["policy.md", "tools.json", "vehicle.toml", "rules.cedar", "coverage.toml", "tests/climate.toml"] {
        let to = std::path::Path::new(&set).join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(root("policies/cabin").join(name), to).unwrap();
    }
    let inside = |name: &str| format!("{set}/{name}");
    let recording = desk.path("recording.jsonl");
    std::fs::write(&recording, "{\"id\": \"a\", \"messages\": [{\"role\": \"user\", \"content\": \"hello\"}]}\n")
        .unwrap();
    let blob = desk.path("cabin.obl");
    let mut runs: Vec<(Vec<&str>, String)> = Vec::new();
    for name in ["policy.md", "tools.json", "vehicle.toml", "rules.cedar", "tests/climate.toml"] {
        runs.push((vec!["compile", &set, "-o"], inside(name)));
        runs.push((vec!["coverage", &set, "--html"], inside(name)));
    }
    runs.push((vec!["coverage", &set, "--replay", &recording, "--html"], recording.clone()));
    for out in ["--json", "--html"] {
        runs.push((vec!["replay", "--policy", &blob, &recording, out], recording.clone()));
        runs.push((vec!["replay", "--policy", &blob, &recording, out], blob.clone()));
    }
    runs.push((
        vec![
            "bench", "--policy", &blob, "--tasks", &recording, "--states", &recording, "--replay", &recording, "--json",
        ],
        recording.clone(),
    ));
    for (mut arguments, output) in runs {
        let before = std::fs::read(&output).unwrap();
        arguments.push(&output);
        let told = obligato(&arguments);
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(
            told.status.code() == Some(2) && said.contains("give each output a file of its own"),
            "{arguments:?}: {said}"
        );
        assert!(std::fs::read(&output).unwrap() == before, "{arguments:?} changed it");
    }
}

/// Text of a policy cannot move a terminal's cursor.
#[test]
fn control_characters_of_a_policy_are_shown_and_not_obeyed() {
    let desk = Desk::new();
    let set = root("policies/cabin");
    let prose = std::fs::read_to_string(set.join("policy.md")).unwrap();
    let hostile = desk.path("policy.md");
    let (first, rest) = prose.split_once("\n- ").unwrap();
    std::fs::write(&hostile, format!("{first}\n- \u{1b}[2J\u{9b}31m{rest}")).unwrap();
    for command in ["coverage", "compile", "critic", "test"] {
        let out = obligato(&[command, set.to_str().unwrap(), "--policy", &hostile]);
        for text in [&out.stdout, &out.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains(['\u{1b}', '\u{9b}']), "{command}: {text}");
        }
    }
}

#[test]
fn a_file_in_place_of_a_folder_and_a_filter_without_a_match_are_named_with_what_to_do() {
    let rules = root("policies/cabin/rules.cedar");
    for command in ["compile", "critic", "coverage", "test"] {
        let told = obligato(&[command, rules.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(
            told.status.code() == Some(2) && said.contains("is a file, and a policy set is a folder"),
            "{command}: {said}"
        );
    }
    let told = obligato(&["test", root("policies/cabin").to_str().unwrap(), "--filter", "no such name"]);
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.code() == Some(2) && said.contains("contains `no such name`, so nothing was tried"), "{said}");
    let prose = root("policies/cabin/policy.md");
    let told = obligato(&["compile", rules.to_str().unwrap(), "--schema", prose.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.code() == Some(2) && said.contains("`--schema` takes a Cedar schema"), "{said}");
}
