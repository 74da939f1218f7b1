//! Every step of an update on record.

use std::path::{Path, PathBuf};

use obligato::journal::{Kind, records, verify};
use serde_json::{Value as Json, json};
use tokio_stream::StreamExt;

use super::car::{Garage, sick, stage, without};
use super::rig::{Client, PATIENCE, Rig, Setup};

fn steps(folder: &Path) -> Vec<Json> {
    let records = records(folder).unwrap().map(Result::unwrap).filter(|record| record.kind == Kind::Update);
    records.map(|record| record.body).collect()
}

/// A service that keeps a journal, with further settings of it: the journal's folder, the service and a client.
async fn keeping(garage: &Garage, settings: &str) -> (PathBuf, Rig, Client) {
    let folder = garage.at("journal");
    let config = format!("{}[journal]\nfolder = {folder:?}\n{settings}", garage.config());
    let rig = Rig::start(Setup::without_student().config(&config)).await;
    let client = Client::new(rig.connect().await).await;
    (folder, rig, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_of_an_update_is_on_record_and_a_refused_one_with_the_error_that_the_caller_was_told() {
    let garage = Garage::new();
    let (folder, mut rig, client) = keeping(&garage, "").await;
    let policy = &client.policy;
    policy.commit(0, "").await.unwrap_err();
    stage(policy, &garage.update(2, |_| {})).await.unwrap();
    policy.verify(0, "").await.unwrap();
    policy.activate(0, "").await.unwrap();
    policy.commit(0, "").await.unwrap();
    let told = stage(policy, &garage.update(1, |_| {})).await.unwrap_err();
    stage(policy, &garage.update(3, |_| {})).await.unwrap();
    policy.activate(0, "").await.unwrap();
    policy.rollback(0, "").await.unwrap();
    stage(policy, &garage.update(4, sick("ac-closes-windows"))).await.unwrap();
    policy.activate(0, "").await.unwrap_err();
    rig.signal("TERM");
    assert!(rig.ended().await.success());

    let steps = steps(&folder);
    let short: Vec<Json> = steps
        .iter()
        .map(|s| match s["what"] == "refused" {
            true => json!([s["step"], s["error"]]),
            false => json!([s["what"], s["version"]]),
        })
        .collect();
    let expected = json!([
        ["commit", "NothingToDo"],
        ["staged", 2],
        ["verified", 2],
        ["activated", 2],
        ["committed", 2],
        ["stage", "Rollback"],
        ["staged", 3],
        ["activated", 3],
        ["rolled-back", 2],
        ["staged", 4],
        ["activate", "Unhealthy"],
    ]);
    assert_eq!(Json::from(short), expected);
    let me = rustix::process::getuid().as_raw();
    assert!(steps.iter().all(|step| step["by"] == me), "{steps:?}");
    let why = steps[5]["why"].as_str().unwrap();
    assert!(why.contains("rollback attack") && told.to_string().contains(why), "{why}\n{told}");
    assert!(verify(&folder).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_hides_nothing_is_told_again_under_the_policy_that_is_put_in_force() {
    let garage = Garage::new();
    let (_, mut rig, client) = keeping(&garage, "redact = [\"utterence\"]\n").await;
    stage(&client.policy, &garage.update(2, without("ac-needs-fan"))).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    rig.signal("TERM");
    assert!(rig.ended().await.success());
    let log = rig.log();
    let told = log.lines().filter(|line| line.contains("did you mean `utterance`?")).count();
    assert_eq!(told, 2, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_changes_nothing_is_announced_to_nobody_and_recorded_as_such() {
    let garage = Garage::new();
    let (folder, mut rig, client) = keeping(&garage, "").await;
    let policy = &client.policy;
    stage(policy, &garage.update(3, |_| {})).await.unwrap();
    policy.activate(3, "").await.unwrap();
    policy.commit(3, "").await.unwrap();
    let fourth = garage.update(4, |_| {});
    stage(policy, &fourth).await.unwrap();
    let mut told = policy.receive_updated().await.unwrap();
    let mut changes = policy.receive_staged_version_changed().await;
    // The first one is what it was when it was subscribed to.
    changes.next().await.unwrap();
    assert_eq!(policy.unstage(9, "").await.unwrap(), 0);
    assert_eq!(policy.rollback(9, "").await.unwrap(), 3);
    assert_eq!(policy.commit(3, "").await.unwrap(), 3);
    assert_eq!(stage(policy, &fourth).await.unwrap(), 4);
    assert_eq!(policy.unstage(4, "").await.unwrap(), 4);
    let first = tokio::time::timeout(PATIENCE, told.next()).await.unwrap().unwrap();
    let first = first.args().unwrap();
    assert_eq!((first.step.to_owned(), first.version), ("unstaged".to_owned(), 4), "the only one that did something");
    let change = tokio::time::timeout(PATIENCE, changes.next()).await.unwrap().unwrap();
    assert_eq!(change.get().await.unwrap(), 0);
    rig.signal("TERM");
    assert!(rig.ended().await.success());
    let idle: Vec<Json> = steps(&folder)
        .iter()
        .filter(|step| step["what"] == "unchanged")
        .map(|step| json!([step["step"], step["version"]]))
        .collect();
    assert_eq!(Json::from(idle), json!([["unstage", 9], ["rollback", 9], ["commit", 3], ["stage", 4]]));
}
