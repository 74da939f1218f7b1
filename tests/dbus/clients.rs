//! The command line as a client.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

use super::rig::{Rig, Setup, calls, says};

fn obligato(rig: &Rig, arguments: &[&str], typed: &str) -> Output {
    let (command, rest) = arguments.split_first().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_obligato"))
        .args([command, "--bus", rig.address()])
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn roof() -> Json {
    calls(&[("open_close_sunroof", json!({"percentage": 50}))])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_from_a_pipe_shows_draft_policy_question_execution_and_words() {
    let ac = calls(&[("set_air_conditioning", json!({"on": true}))]);
    let rig = Rig::start(Setup::drafts(&[ac, roof()])).await;
    let script = "# a remark\nTurn on the air conditioning.\n\nOpen the sunroof to 50 percent.\nNo.\n";
    let output = obligato(&rig, &["chat"], script);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = [
        "driver    Turn on the air conditioning.",
        "student   set_air_conditioning(on: true)",
        "policy    amend",
        "because window_driver_position = 25 > 20",
        "car       open_close_window(window: \"DRIVER\", percentage: 0)",
        "done: window_driver_position = 0",
        "says ",
        "replied in ",
        "driver    Open the sunroof to 50 percent.",
        "policy    ask",
        "asks ",
        "a yes does open_close_sunroof(percentage: 50)",
        "driver    No.",
        "consent   no",
    ];
    let mut rest = shown;
    for piece in expected {
        let at = rest.find(piece).unwrap_or_else(|| panic!("{piece} in\n{rest}"));
        rest = &rest[at + piece.len()..];
    }
    assert!(!rest.contains("car  "), "{rest}");
    assert!(!shown.contains("remark") && !shown.contains('\x1b'), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_session_answers_its_question_in_the_next_command() {
    let rig = Rig::start(Setup::drafts(&[roof()])).await;
    let asked = obligato(&rig, &["say", "Open the sunroof to 50 percent.", "--keep"], "");
    assert_eq!(asked.status.code(), Some(0), "{}", text(&asked.stderr));
    let session = text(&asked.stderr).lines().last().unwrap();
    let answered = obligato(&rig, &["say", "Yes.", "--session", session, "--json"], "");
    let events: Vec<Json> = text(&answered.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(events.iter().any(|e| e["event"] == "executed" && e["call"]["tool"] == "open_close_sunroof"), "{events:?}");
    assert_eq!(events.last().unwrap()["event"], "finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_exits_1_and_a_service_that_cannot_serve_exits_3() {
    let rig = Rig::start(Setup::drafts(&[])).await;
    assert_eq!(obligato(&rig, &["say", "Hello?"], "").status.code(), Some(1));
    let rig = Rig::start(Setup::without_student()).await;
    let output = obligato(&rig, &["say", "Hello?"], "");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no student is configured"), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_service_the_client_says_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bus, address) = super::rig::bus(folder.path());
    let output =
        Command::new(env!("CARGO_BIN_EXE_obligato")).args(["say", "Hello?", "--bus", &address]).output().unwrap();
    bus.kill().unwrap();
    bus.wait().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("make demo"), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_leaves_in_the_middle_of_a_turn_is_noticed() {
    let fan = calls(&[("set_fan_speed", json!({"level": 2}))]);
    let rig = Rig::start(Setup::drafts(&[fan, says("Hello.")]).stalling("set_fan_speed")).await;
    let client = rig.client().await;
    let said = {
        let address = rig.address().to_owned();
        tokio::task::spawn_blocking(move || {
            Command::new(env!("CARGO_BIN_EXE_obligato"))
                .args(["say", "Set the fan to 2.", "--bus", &address])
                .output()
                .unwrap()
        })
    };
    client.wait_for_sessions(1).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    rig.signal("KILL");
    let output = said.await.unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("left the bus"), "{}", text(&output.stderr));
}
