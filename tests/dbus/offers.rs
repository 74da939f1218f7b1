//! Policy text that a session brings along.

use std::fs;
use std::path::Path;

use obligato::service::{Refusal, SessionProxy};
use serde_json::{Value as Json, json};

use super::rig::{Client, Rig, Setup, calls};

const TEXT: &str = "The fan never runs above level 3.\nBe quick.";

fn line(task: &str, begins: &str, answer: &str) -> String {
    json!({"task": task, "begins": begins, "answer": answer}).to_string() + "\n"
}

/// Answers of a model for the text; the rule comes with a remedy, which an offer cannot have.
fn answers() -> String {
    let rule = "@kind(\"auto-action\") @remedy(\"set_fan_speed(level: 3)\")\nforbid (principal, action == Action::\"set_fan_speed\", resource is Car)\nwhen { resource.fan_speed > 3 };";
    let good = json!({"faithful": true, "broader": false, "narrower": false, "pragmatic": true});
    [
        line("generate", "The fan", &json!({"outcome": "executable", "rules": [rule]}).to_string()),
        line("judge", "The fan", &good.to_string()),
        line("verify", "The fan", "{\"counterexample\": null}"),
        line("generate", "Be quick", "{\"outcome\": \"out-of-reach\", \"why\": \"A matter of tone.\"}"),
    ]
    .concat()
}

/// A service with a cache in a folder; with recorded answers where there are any.
async fn rig(folder: &Path, answers: Option<&str>, more: &str) -> Rig {
    let mut config = format!("[offer]\ncache = {:?}\n{more}\n", folder.join("cache").display().to_string());
    if let Some(answers) = answers {
        let path = folder.join("answers.jsonl");
        fs::write(&path, answers).unwrap();
        config.push_str(&format!("answers = {:?}\n", path.display().to_string()));
    }
    Rig::start(Setup::without_student().config(&config)).await
}

async fn open(rig: &Rig) -> SessionProxy<'static> {
    Client::new(rig.connect().await).await.open().await
}

async fn rules(session: &SessionProxy<'_>, level: u8) -> Vec<String> {
    let draft = calls(&[("set_fan_speed", json!({"level": level}))]).to_string();
    let report: Json = serde_json::from_str(&session.verify(&draft).await.unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().filter_map(|f| f["rule"].as_str()).map(str::to_owned).collect()
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder.join("cache")).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_forbids_in_its_session_alone_and_is_served_from_the_cache_without_a_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let host = rig(folder.path(), Some(&answers()), "").await;
    let (session, other) = (open(&host).await, open(&host).await);
    assert!(rules(&session, 4).await.is_empty(), "the signed policy lets it pass");
    let (origin, report) = session.offer(TEXT).await.unwrap();
    let report: Json = serde_json::from_str(&report).unwrap();
    assert_eq!((origin.as_str(), &report["rules"]), ("compiled", &json!(["line_1"])));
    assert_eq!(report["unkept"], json!(["Be quick.: A matter of tone."]));
    assert_eq!(rules(&session, 4).await, ["offer:0:line_1"]);
    assert!(rules(&session, 3).await.is_empty());
    assert!(rules(&other, 4).await.is_empty(), "another session is not bound");
    let draft = calls(&[("set_fan_speed", json!({"level": 4}))]).to_string();
    let done: Json = serde_json::from_str(&session.execute(&draft).await.unwrap()).unwrap();
    assert_eq!(done["executed"], json!([]), "no remedy of an offer is ever carried out: {done:#}");
    assert_eq!(entries(folder.path()), 1);

    let target = rig(folder.path(), None, "").await;
    let session = open(&target).await;
    assert_eq!(session.offer(TEXT).await.unwrap().0, "cached");
    assert_eq!(rules(&session, 4).await, ["offer:0:line_1"]);
    let refused = session.offer("The fan never runs.").await;
    assert!(matches!(refused, Err(Refusal::NoCompiler(_))), "{refused:?}");
    let entry = fs::read_dir(folder.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&entry).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&entry, bytes).unwrap();
    let damaged = open(&target).await.offer(TEXT).await;
    assert!(matches!(damaged, Err(Refusal::NoCompiler(_))), "{damaged:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_compiler_the_lines_are_hints_where_that_is_configured_and_the_answer_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let target = rig(folder.path(), None, "without_compiler = \"advise\"").await;
    let session = open(&target).await;
    let draft = calls(&[("set_fan_speed", json!({"level": 4}))]).to_string();
    let judge = async || -> Json { serde_json::from_str(&session.verify(&draft).await.unwrap()).unwrap() };
    let before = judge().await;
    let (origin, report) = session.offer(TEXT).await.unwrap();
    let report: Json = serde_json::from_str(&report).unwrap();
    assert_eq!((origin.as_str(), &report["rules"]), ("advisory", &json!([])));
    assert_eq!(report["advice"], json!(["The fan never runs above level 3.", "Be quick."]));
    let after = judge().await;
    let hints = after["findings"].as_array().unwrap().iter();
    let hints: Vec<&Json> = hints.filter(|f| f["rule"].as_str().is_some_and(|r| r.starts_with("offer:"))).collect();
    assert!(hints.len() == 2 && hints.iter().all(|f| f["tier"] == "advisory"), "{after:#}");
    assert_eq!(after["verdict"], before["verdict"], "hints decide nothing by themselves");
    assert_eq!(entries(folder.path()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_compiled_is_told_and_never_kept() {
    let folder = tempfile::tempdir().unwrap();
    let host = rig(folder.path(), Some(&answers()), "").await;
    let session = open(&host).await;
    let Err(Refusal::NotCompiled(why)) = session.offer("Nobody answered this.").await else { panic!("no answer") };
    assert!(why.contains("no answer to `generate`"), "{why}");
    assert!(matches!(session.offer(" \n").await, Err(Refusal::BadArgument(_))));
    assert!(matches!(session.offer(&"x".repeat(1 << 20)).await, Err(Refusal::BadArgument(_))));
    assert!(rules(&session, 4).await.is_empty());
    assert_eq!(entries(folder.path()), 0);

    let folder = tempfile::tempdir().unwrap();
    let mumbling = line("generate", "The fan", "hm") + &line("generate", "Be quick", "hm");
    let host = rig(folder.path(), Some(&mumbling), "").await;
    let (origin, report) = open(&host).await.offer(TEXT).await.unwrap();
    assert_eq!(origin, "compiled");
    assert!(report.contains("no rule passed in 3 rounds"), "{report}");
    assert_eq!(entries(folder.path()), 0, "what ran out of rounds may come out better the next time");
    let stranger = Client::new(host.connect().await).await;
    let session = open(&host).await;
    let through = stranger.session(session.inner().path().to_owned().into()).await;
    assert!(matches!(through.offer(TEXT).await, Err(Refusal::NotYours(_))));
}
