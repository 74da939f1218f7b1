//! What is recorded, and how it is read.

use std::collections::BTreeMap;

use obligato::journal::{Kind, verify};
use serde_json::json;
use tokio_stream::StreamExt;

use super::rig::{Rig, Setup, calls, says};
use super::tools::*;

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_a_turn_does_is_on_record_with_rule_sentence_evidence_and_policy() {
    let folder = tempfile::tempdir().unwrap();
    let draft = calls(&[("set_air_conditioning", json!({"on": true}))]);
    let rig = Rig::start(
        Setup::drafts(&[draft, calls(&[("open_close_sunroof", json!({"percentage": 50}))])])
            .config(&settings(folder.path())),
    )
    .await;
    let client = rig.client().await;
    let hash = client.manager.policy_hash().await.unwrap();
    let session = client.open().await;
    session.say("Turn on the air conditioning.").await.unwrap();
    let (done, question) = session.say("Open the sunroof to 50 percent.").await.unwrap();
    assert_eq!(done, "asked");
    session.say("No.").await.unwrap();
    session.close().await.unwrap();
    let _rig = ended(rig).await;

    let records = all(folder.path());
    let verified = verify(folder.path()).unwrap();
    assert_eq!((verified.records as usize, verified.torn), (records.len(), None));
    let kinds: BTreeMap<&str, usize> = records.iter().fold(BTreeMap::new(), |mut kinds, r| {
        *kinds.entry(r.kind.as_str()).or_default() += 1;
        kinds
    });
    for kind in [
        "opened", "started", "session", "turn", "draft", "verdict", "executed", "question", "grant", "reply", "stopped",
    ] {
        assert!(kinds.contains_key(kind), "no {kind} in {kinds:?}");
    }
    assert_eq!((kinds["turn"], kinds["session"], kinds["draft"]), (3, 2, 2));

    let started = &of(folder.path(), Kind::Started)[0].body;
    assert_eq!((started["policy"].as_str().unwrap(), started["id"].as_str().unwrap()), (hash.as_str(), "cabin"));
    assert!(!started["limits"]["limit"].as_array().unwrap().is_empty(), "{started}");

    let verdicts = of(folder.path(), Kind::Verdict);
    let amend = verdicts.iter().find(|r| r.body["report"]["verdict"] == "amend").unwrap();
    let finding =
        amend.body["report"]["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "ac-closes-windows").unwrap();
    assert!(finding["because"].as_str().unwrap().contains("window_driver_position = 25 > 20"), "{finding}");
    assert!(finding["source"].as_str().unwrap().starts_with("policy.md:"), "{finding}");
    assert_eq!(amend.body["policy"], hash);
    assert!(amend.body["report"]["micros"].as_f64().unwrap() > 0.0);
    assert_eq!(amend.place.as_ref().unwrap().turn, 1);

    let executed = of(folder.path(), Kind::Executed);
    let window = executed.iter().find(|r| r.body["call"]["tool"] == "open_close_window").unwrap();
    assert_eq!((&window.body["call"]["by"], &window.body["outcome"]), (&json!("ac-closes-windows"), &json!("done")));
    assert!(window.body["read_back"][0]["confirmed"].as_bool().unwrap(), "{}", window.body);

    assert_eq!(of(folder.path(), Kind::Question)[0].body["question"], question);
    let grant = &of(folder.path(), Kind::Grant)[0].body;
    assert_eq!(grant["granted"], false);
    assert!(grant["calls"].as_array().unwrap().iter().any(|c| c["tool"] == "open_close_sunroof"), "{grant}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_read_by_session_gate_rule_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let (first, second) = (client.open().await, client.open().await);
    cool(&first).await;
    heard(&second, "Hello.").await;
    execute(&second, &says("")).await;
    let _rig = ended(rig).await;

    let path = folder.path().to_str().unwrap();
    let everything = printed(&["log", path], 0);
    assert!(everything.contains("ac-closes-windows (policy.md:"), "{everything}");
    let first = printed(&["log", path, "--session", "1"], 0);
    assert!(first.contains("air conditioning") && !first.contains("Hello."), "{first}");
    let rule = printed(&["log", path, "--rule", "ac-closes-windows", "--json"], 0);
    let kinds: Vec<String> = rule
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect();
    assert!(kinds.contains(&"verdict".to_owned()) && kinds.contains(&"executed".to_owned()), "{kinds:?}");
    let gate = printed(&["log", path, "--gate", "output-integrity", "--json"], 0);
    assert_eq!(gate.lines().count(), 1, "{gate}");
    assert!(printed(&["log", path, "--since", "1h"], 0).contains("air conditioning"));
    assert_eq!(printed(&["log", path, "--since", "2090-01-01"], 0), "");
    assert!(printed(&["log", path, "--verify"], 0).starts_with("the chain is whole"));
    assert_eq!(obligato(&["log", path, "--since", "soon"]).status.code(), Some(2));
    assert_eq!(obligato(&["log", "/nowhere"]).status.code(), Some(2));

    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("out.jsonl");
    printed(&["log", path, "--export", out.to_str().unwrap(), "--session", "2"], 0);
    let exported = std::fs::read_to_string(out).unwrap();
    assert!(exported.lines().all(|l| l.contains("session/2")) && exported.contains("Hello."), "{exported}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_journal_shows_what_comes_in() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    until("a record", || async { object.records().await.unwrap() > 0 }).await;
    let mut follow = Command::new(env!("CARGO_BIN_EXE_obligato"))
        .args(["log", folder.path().to_str().unwrap(), "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap().contains(" started ")));
    heard(&client.open().await, "Is anybody there?").await;
    assert!(lines.any(|line| line.unwrap().contains("Is anybody there?")));
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_by_gate_and_rule_stand_on_the_bus_and_their_changes_are_announced() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    assert_eq!(object.folder().await.unwrap(), folder.path().display().to_string());
    let cached = obligato::service::JournalProxy::new(&client.connection).await.unwrap();
    let mut changes = cached.receive_rules_changed().await;
    let session = client.open().await;
    let report = cool(&session).await;
    until("the count", || async { object.rules().await.unwrap().contains_key("ac-closes-windows") }).await;
    let announced = async {
        while let Some(change) = changes.next().await {
            if change.get().await.unwrap().contains_key("ac-closes-windows") {
                return;
            }
        }
        panic!("no change was announced");
    };
    tokio::time::timeout(super::rig::PATIENCE, announced).await.unwrap();
    let verdicts = object.verdicts().await.unwrap();
    assert!(verdicts["gather"] >= 1 && verdicts["amend"] >= 1, "{verdicts:?}");
    assert!(object.gates().await.unwrap()["obligations"] >= 1);
    let writes =
        report["executed"].as_array().unwrap().iter().filter(|e| e["wanted_by"] == "rule ac-closes-windows").count();
    until("the actions", || async {
        object.actions().await.unwrap().get("ac-closes-windows") == Some(&(writes as u64))
    })
    .await;
    assert_eq!(object.actions().await.unwrap()["request"], 1);
    assert_eq!((object.state().await.unwrap().as_str(), object.dropped().await.unwrap()), ("recording", 0));
    until("the head", || async { object.head().await.unwrap() == verify(folder.path()).unwrap().head }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_configured_as_personal_never_reaches_the_medium() {
    let folder = tempfile::tempdir().unwrap();
    let redact = "redact = [\"utterance\", \"reply\", \"arguments\"]\n";
    let rig = Rig::start(keeping(folder.path()).config(redact)).await;
    let client = client(&rig).await;
    let session = client.open().await;
    let secret = "meet me at the old lighthouse";
    heard(&session, &format!("Send Anna a mail: {secret}.")).await;
    let mail = calls(&[("send_email", json!({"content_message": secret, "email_addresses": ["anna@example.org"]}))]);
    execute(&session, &mail).await;
    session.spoken(&format!("I wrote: {secret}")).await.unwrap();
    let _rig = ended(rig).await;
    let written: String = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|f| String::from_utf8_lossy(&std::fs::read(f.unwrap().path()).unwrap()).into_owned())
        .collect();
    assert!(written.contains("send_email") && written.contains("\"redacted\""), "it was recorded");
    for personal in ["lighthouse", "anna@example.org"] {
        assert!(!written.contains(personal), "{personal} stands in the journal");
    }
    assert!(verify(folder.path()).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_folder_nothing_is_written_and_everything_is_counted() {
    let rig = Rig::start(Setup::without_student()).await;
    let client = client(&rig).await;
    cool(&client.open().await).await;
    let object = journal(&client).await;
    until("the count", || async { object.verdicts().await.unwrap().contains_key("amend") }).await;
    assert_eq!((object.state().await.unwrap().as_str(), object.records().await.unwrap()), ("off", 0));
    assert_eq!(object.folder().await.unwrap(), "");
}
