//! What is missing or broken at the start.

use std::fs;
use std::process::Command;

use obligato::service::Refusal;
use serde_json::json;
use zbus::fdo::RequestNameFlags;

use super::rig::{Client, Rig, Setup, bus, cabin_blob, calls};

/// The service has no student, says why, and does everything that needs none.
async fn serves_without_a_model(setup: Setup, cause: &[&str]) {
    let rig = Rig::start(setup).await;
    let client = Client::new(rig.connect().await).await;
    client.wait_for_state("no-model").await;
    let reason = client.manager.state_reason().await.unwrap();
    assert!(cause.iter().all(|c| reason.contains(c)), "{reason}");
    let session = client.open().await;
    for refused in [session.say("Hello?").await.map(drop), session.start("Hello?").await.map(drop)] {
        let Err(Refusal::NoModel(why)) = refused else { panic!("there is no model: {refused:?}") };
        assert!(why.contains(&reason), "{why}");
    }
    session.verify(&calls(&[("set_fan_speed", json!({"level": 2}))]).to_string()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_missing_or_broken_leaves_a_service_that_judges() {
    let scripted = |script: &str| {
        ["--student", "scripted", "--script", script].into_iter().fold(Setup::default(), Setup::argument)
    };
    serves_without_a_model(scripted("no-such.jsonl"), &["no-such.jsonl"]).await;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("broken.jsonl").display().to_string();
    fs::write(&script, "{\"role\":\"user\",\"content\":\"hi\"}\n").unwrap();
    serves_without_a_model(scripted(&script), &["broken.jsonl", "line 1"]).await;
}

#[cfg(feature = "llama")]
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_missing_or_truncated_leaves_a_service_that_judges() {
    let local =
        |model: &str| ["--student", "llama", "--model", model].into_iter().fold(Setup::default(), Setup::argument);
    serves_without_a_model(local("no-such.gguf"), &["no-such.gguf"]).await;
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("short.gguf").display().to_string();
    let Ok(whole) = fs::read(super::rig::root().join("models/SmolLM2-135M-Instruct.Q4_1.gguf")) else {
        println!("skipped: the model is not here; run cross/fetch-model smollm2");
        return;
    };
    fs::write(&model, &whole[..whole.len() / 2]).unwrap();
    serves_without_a_model(local(&model), &["short.gguf"]).await;
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
    let lacking = file("lacking.toml", b"[vehicle]\nremoved = [\"fold_mirrors.side\"]\n");
    let state = file("state.toml", b"[no_such_tool]\na = 1\n");

    let cases: &[(&[&str], i32, &str)] = &[
        (&[], 2, "no policy is configured"),
        (&["--policy", "no-such.obl"], 2, "no-such.obl"),
        (&["--policy", &truncated], 2, "truncated"),
        (&["--policy", &cabin, "--limits", &limits], 2, "`Car.moon`"),
        (&["--policy", &cabin, "--config", &config], 2, "unknown field `idle`"),
        (&["--policy", &cabin, "--config", &lacking], 2, "`fold_mirrors.side`"),
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
async fn a_bus_that_goes_away_ends_the_service_with_a_failure() {
    let mut rig = Rig::start(Setup::without_student()).await;
    rig.stop_bus();
    assert_eq!(rig.ended().await.code(), Some(3));
    assert!(rig.log().contains("closed the connection"), "{}", rig.log());
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
