//! What the driver undid is counted by the rule that had done it.

use obligato::journal::Kind;
use serde_json::json;

use super::rig::{Rig, calls};
use super::tools::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_companion_that_the_driver_has_taken_back_counts_against_its_rule() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let session = client.open().await;
    let report = cool(&session).await;
    let closed =
        |item: &str| report["executed"].as_array().unwrap().iter().any(|e| e["call"]["arguments"]["window"] == item);
    assert!(closed("DRIVER") && closed("PASSENGER"), "{report:#}");
    heard(&session, "Turn off the air conditioning and set the fan to 3.").await;
    execute(
        &session,
        &calls(&[("set_air_conditioning", json!({"on": false})), ("set_fan_speed", json!({"level": 3}))]),
    )
    .await;
    heard(&session, "Open the driver window to 25 percent.").await;
    let report =
        execute(&session, &calls(&[("open_close_window", json!({"window": "DRIVER", "percentage": 25}))])).await;
    assert!(report["executed"].as_array().unwrap().iter().any(|e| e["outcome"] == "done"), "{report:#}");
    let object = journal(&client).await;
    until("the count", || async { object.undone().await.unwrap().get("ac-closes-windows") == Some(&1) }).await;
    let undone = object.undone().await.unwrap();
    assert_eq!(
        undone.get("request"),
        Some(&1),
        "the air conditioning that was asked for and switched off again: {undone:?}"
    );
    assert_eq!(undone.get("ac-needs-fan"), None, "a fan that runs faster is not taken back: {undone:?}");
    let _rig = ended(rig).await;
    let records = of(folder.path(), Kind::Undone);
    let record = records.iter().find(|r| r.body["rule"] == "ac-closes-windows").unwrap();
    let told = ["field", "before", "ours", "now", "how"].map(|name| record.body[name].as_str().unwrap().to_owned());
    assert_eq!(told, ["window_driver_position", "25", "0", "25", "request"]);
    assert!(
        printed(&["log", folder.path().to_str().unwrap(), "--rule", "ac-closes-windows"], 0)
            .contains("window_driver_position 25 -> 0 -> 25 by request")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_counts_once_however_many_of_its_values_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let session = client.open().await;
    let windows = calls(&[("open_close_window", json!({"window": "ALL", "percentage": 60}))]);
    heard(&session, "Open all windows to 60 percent.").await;
    execute(&session, &windows).await;
    cool(&session).await;
    heard(&session, "Turn off the air conditioning.").await;
    execute(&session, &calls(&[("set_air_conditioning", json!({"on": false}))])).await;
    heard(&session, "Open all windows to 60 percent.").await;
    execute(&session, &windows).await;
    let object = journal(&client).await;
    until("the count", || async { object.undone().await.unwrap().contains_key("ac-closes-windows") }).await;
    let (actions, undone) = (object.actions().await.unwrap(), object.undone().await.unwrap());
    for (name, count) in &undone {
        assert!(actions.get(name).is_some_and(|actions| count <= actions), "{name}: {undone:?} of {actions:?}");
    }
    let _rig = ended(rig).await;
    let records = of(folder.path(), Kind::Undone);
    let of_the_rule: Vec<_> = records.iter().filter(|r| r.body["rule"] == "ac-closes-windows").collect();
    let firsts = of_the_rule.iter().filter(|r| r.body["first"] == true).count() as u64;
    assert!(of_the_rule.len() > 1 && firsts == undone["ac-closes-windows"], "{of_the_rule:?}");
    assert!(of_the_rule.iter().all(|r| r.body["policy"].is_string()));
}
