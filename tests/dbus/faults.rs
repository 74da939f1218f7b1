//! What is missing or broken at the start.

use std::fs;
use std::process::Command;

use obligato::service::Refusal;
use serde_json::json;
use zbus::fdo::RequestNameFlags;

use super::rig::{Client, Rig, Setup, bus, cabin_blob, calls};

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_missing_leaves_a_service_that_judges_and_says_why_it_cannot_draft() {
    let setup =
        Setup::default().argument("--student").argument("scripted").argument("--script").argument("no-such.jsonl");
    let rig = Rig::start(setup).await;
    let client = Client::new(rig.connect().await).await;
    client.wait_for_state("no-model").await;
    let reason = client.manager.state_reason().await.unwrap();
    assert!(reason.contains("no-such.jsonl"), "{reason}");
    let session = client.open().await;
    let Err(Refusal::NoModel(why)) = session.say("Hello?").await else { panic!("there is no model") };
    assert!(why.contains("no-such.jsonl"), "{why}");
    session.verify(&calls(&[("set_fan_speed", json!({"level": 2}))]).to_string()).await.unwrap();
}

/// What `obligatod` says and how it exits when it cannot start.
fn failure(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_obligatod")).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_start_that_is_impossible_names_its_cause_and_exits_2_or_3() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let cabin = cabin_blob().display().to_string();
    let whole = fs::read(&cabin).unwrap();
    let truncated = file("short.obl", &whole[..whole.len() / 2]);
    let limits = "[[limit]]\nname = \"moon\"\ntool = \"x\"\nfield = \"Car.moon\"\nat_most = 1\nsay = \"no\"\n";
    let limits = file("limits.toml", limits.as_bytes());
    let config = file("bad.toml", b"[service]\nidle = 5\n");
    let state = file("state.toml", b"[no_such_tool]\na = 1\n");

    let cases: &[(&[&str], i32, &str)] = &[
        (&[], 2, "no policy is configured"),
        (&["--policy", "no-such.obl"], 2, "no-such.obl"),
        (&["--policy", &truncated], 2, "truncated"),
        (&["--policy", &cabin, "--limits", &limits], 2, "`Car.moon`"),
        (&["--policy", &cabin, "--config", &config], 2, "unknown field `idle`"),
        (&["--policy", &cabin, "--vehicle-state", &state], 2, "no_such_tool"),
        (&["--policy", &cabin, "--student", "scripted"], 2, "--script"),
        (&["--policy", &cabin, "--bus", "unix:path=/no/such/bus"], 3, "the bus at `unix:path=/no/such/bus`"),
    ];
    for (arguments, code, cause) in cases {
        let (exit, said) = failure(arguments);
        assert_eq!(exit, *code, "{arguments:?}: {said}");
        assert!(said.contains(cause), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_no_reason_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    let (mut daemon, address) = bus(folder.path());
    let connection = zbus::connection::Builder::address(address.as_str()).build().await.unwrap();
    let flags = RequestNameFlags::ALLOW_REPLACEMENT;
    connection.request_name_with_flags(obligato::service::BUS_NAME, flags).await.unwrap();
    let cabin = cabin_blob().display().to_string();
    let (exit, said) = failure(&["--policy", &cabin, "--bus", &address]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("org.obligato.Harness1"), "{said}");
}
