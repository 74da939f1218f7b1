//! A turn can be judged again from its record.

use serde_json::{Value as Json, json};

use super::rig::{Rig, Setup, cabin_blob, calls, says};
use super::tools::*;

/// What `obligato replay --journal` writes.
fn replayed(folder: &std::path::Path, policy: &std::path::Path, exit: i32) -> Json {
    let out = folder.join("replay.json");
    let (folder, policy) = (folder.to_str().unwrap(), policy.to_str().unwrap());
    printed(&["replay", "--policy", policy, "--journal", folder, "--json", out.to_str().unwrap()], exit);
    serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap()
}

/// Turns of every kind: companions, a question and both answers, a refusal, a correction, a read, a failure.
async fn drive(folder: &std::path::Path, more: &str) {
    let roof = calls(&[("open_close_sunroof", json!({"percentage": 50}))]);
    let unknown = calls(&[("fold_mirrors", json!({}))]);
    let drafts = [
        calls(&[("set_air_conditioning", json!({"on": true}))]),
        roof.clone(),
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
        unknown,
        calls(&[("open_close_trunk_door", json!({"action": "OPEN"}))]),
        says("You are welcome."),
    ];
    let setup = Setup::drafts(&drafts).config(&settings(folder)).config(more);
    let rig = Rig::start(setup).await;
    let client = rig.client().await;
    let session = client.open().await;
    for said in [
        "Turn on the air conditioning.",
        "Open the sunroof to 50 percent.",
        "Yes.",
        "Fold the mirrors.",
        "Open the trunk.",
        "Thank you.",
    ] {
        session.say(said).await.unwrap();
    }
    let other = client.open().await;
    heard(&other, "Close all windows.").await;
    other
        .verify(&calls(&[("open_close_window", json!({"window": "ALL", "percentage": 0}))]).to_string())
        .await
        .unwrap();
    execute(&other, &calls(&[("open_close_window", json!({"window": "ALL", "percentage": 0}))])).await;
    let _rig = ended(rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verdict_of_a_drive_comes_out_again_from_its_record() {
    let folder = tempfile::tempdir().unwrap();
    drive(folder.path(), "").await;
    let told = replayed(folder.path(), cabin_blob(), 0);
    assert_eq!(told["differ"], json!([]), "{told:#}");
    assert_eq!((&told["unknown"], &told["other_policy"]), (&json!(0), &json!(0)));
    assert!(told["same"].as_u64().unwrap() >= 10 && told["same"] == told["verdicts"], "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn under_another_policy_it_is_said_which_verdicts_differ_and_by_which_rule() {
    let folder = tempfile::tempdir().unwrap();
    drive(folder.path(), "").await;
    let other = super::shadow::without_rule(folder.path(), "ac-closes-windows");
    let told = replayed(folder.path(), &other, 1);
    let differ = told["differ"].as_array().unwrap();
    assert!(!differ.is_empty() && told["other_policy"].as_u64().unwrap() > 0, "{told:#}");
    let text =
        printed(&["replay", "--policy", other.to_str().unwrap(), "--journal", folder.path().to_str().unwrap()], 1);
    assert!(text.contains("- rule ac-closes-windows: "), "{text}");
    assert!(text.contains("were recorded under another policy"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_redacted_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    drive(folder.path(), "redact = [\"utterance\"]\n").await;
    let told = replayed(folder.path(), cabin_blob(), 1);
    assert!(told["unknown"].as_u64().unwrap() > 0 && told["unknown"] == told["verdicts"], "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_of_a_session_that_brought_text_along_come_out_again_and_the_text_is_on_record() {
    for (redact, exit) in [("", 0), ("redact = [\"offer\"]\n", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let advise = format!("{redact}[offer]\nwithout_compiler = \"advise\"\n");
        let rig =
            Rig::start(super::rig::Setup::without_student().config(&settings(folder.path())).config(&advise)).await;
        let client = client(&rig).await;
        let session = client.open().await;
        session.offer("Never open the driver window.\nBe quick.").await.unwrap();
        cool(&session).await;
        session.offer("Be kind.").await.unwrap();
        heard(&session, "Set the fan to 4.").await;
        execute(&session, &calls(&[("set_fan_speed", json!({"level": 4}))])).await;
        let _rig = ended(rig).await;
        let told = replayed(folder.path(), cabin_blob(), exit);
        assert_eq!((&told["differ"], &told["other_policy"]), (&json!([]), &json!(0)), "{told:#}");
        let due = if exit == 0 { &told["same"] } else { &told["unknown"] };
        assert!(due.as_u64().unwrap() >= 4 && *due == told["verdicts"], "{told:#}");
        let records = of(folder.path(), obligato::journal::Kind::Policy);
        let offered = |r: &obligato::journal::Record| r.body["offer"].to_string().contains("driver window");
        assert_eq!(records.iter().any(offered), exit == 0, "{records:?}");
    }
}
