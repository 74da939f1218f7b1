//! The service goes on whatever becomes of its journal.

use std::fs;
use std::path::Path;
use std::process::Command;

use obligato::journal::{Kind, verify};
use serde_json::json;

use super::rig::{Rig, calls};
use super::tools::*;

/// A small file system in a folder; unmounted at the end.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    /// None, with the reason printed, where nothing can be mounted here.
    fn mount(at: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(at).output();
        if mounted.is_ok_and(|m| m.status.success()) {
            return Some(Self(at));
        }
        println!("skipped: no file system can be mounted here (it needs root)");
        None
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        // It may be busy for a moment: lazily, then.
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_on_the_bus_stops_no_turn_and_is_made_up_for_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_small) = Small::mount(folder.path()) else { return };
    let at = folder.path().join("journal");
    let rig = Rig::start(keeping(&at)).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    let session = client.open().await;
    until("a record", || async { object.records().await.unwrap() > 0 }).await;
    let ballast = folder.path().join("ballast");
    let _ = fs::write(&ballast, vec![0; 64 << 10]); // as much of it as there is room for
    for turn in 0.. {
        heard(&session, &format!("Fan to 3, for the {turn}th time. {}", "Please. ".repeat(60))).await;
        let report = execute(&session, &calls(&[("set_fan_speed", json!({"level": 3}))])).await;
        assert!(report["verdict"].is_string(), "turns go on: {report}");
        if object.state().await.unwrap() == "failing" {
            break;
        }
        assert!(turn < 200, "the disk never became full");
    }
    let why = object.state_reason().await.unwrap();
    assert!(why.contains("the journal cannot write") && why.contains("No space"), "{why}");
    until("the count of what is lost", || async { object.dropped().await.unwrap() > 0 }).await;

    fs::remove_file(&ballast).unwrap();
    heard(&session, "Hello again.").await;
    until("recording", || async { object.state().await.unwrap() == "recording" }).await;
    execute(&session, &calls(&[("get_climate_settings", json!({}))])).await;
    let _rig = ended(rig).await;
    verify(&at).unwrap();
    let dropped: u64 = of(&at, Kind::Dropped).iter().map(|r| r.body["records"].as_u64().unwrap()).sum();
    assert!(dropped > 0, "what is missing is on record");
    let last = of(&at, Kind::Verdict).pop().unwrap();
    assert_eq!(last.body["ground"]["whole"], true, "what was lost is told again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_used_is_no_reason_not_to_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let rig = Rig::start(keeping(&file.join("journal"))).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    until("the state", || async { object.state().await.unwrap() == "failing" }).await;
    assert!(object.state_reason().await.unwrap().contains("journal"), "{}", object.state_reason().await.unwrap());
    cool(&client.open().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_writes_the_next_start_goes_on_with_a_whole_chain() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4_u32 {
        let rig = Rig::start(keeping(folder.path())).await;
        let client = client(&rig).await;
        let session = client.open().await;
        let busy = tokio::spawn(async move {
            let drafts =
                [calls(&[("set_fan_speed", json!({"level": 1}))]), calls(&[("set_fan_speed", json!({"level": 2}))])];
            for draft in drafts.iter().cycle() {
                if session.verify(&draft.to_string()).await.is_err() {
                    return;
                }
            }
        });
        let object = journal(&client).await;
        until("some records", || async { object.records().await.unwrap() > u64::from(round) * 7 + 5 }).await;
        rig.signal("KILL");
        busy.await.unwrap();
        let found = verify(folder.path()).unwrap();
        assert!(found.records > 0);
    }
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    until("a record", || async { object.records().await.unwrap() > 0 }).await;
    let _rig = ended(rig).await;
    assert_eq!(verify(folder.path()).unwrap().torn, None);
    assert_eq!(of(folder.path(), Kind::Started).len(), 5);
    assert_eq!(of(folder.path(), Kind::Stopped).len(), 1, "only the last end was in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_talks_without_end_overwrites_nothing_of_what_the_car_did() {
    let folder = tempfile::tempdir().unwrap();
    let small = "segment_kib = 64\ntotal_mib = 1\n[service]\ncalls_per_second = 0\n";
    let rig = Rig::start(keeping(folder.path()).config(small)).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    cool(&client.open().await).await;
    // Records are written behind the answers.
    until("what was done on record", || async { of(folder.path(), Kind::Executed).len() > 2 }).await;
    let executed = of(folder.path(), Kind::Executed).len();
    let flood = client.open().await;
    let long = calls(&vec![("set_fan_speed", json!({"level": "x".repeat(700)})); 28]).to_string();
    for _ in 0..400 {
        flood.verify(&long).await.unwrap();
    }
    until("the count of what is left out", || async { object.dropped().await.unwrap() > 100 }).await;
    // What is done meanwhile is recorded whoever did what before.
    heard(&flood, "Set the fan to 5.").await;
    execute(&flood, &calls(&[("set_fan_speed", json!({"level": 5}))])).await;
    let _rig = ended(rig).await;
    verify(folder.path()).unwrap();
    let calls = of(folder.path(), Kind::Executed);
    assert!(executed > 2 && calls.len() > executed, "{executed} before, {} after", calls.len());
    assert!(calls.last().unwrap().body["call"]["arguments"]["level"] == 5, "{:?}", calls.last());
    let left_out = of(folder.path(), Kind::Dropped);
    assert!(left_out.iter().any(|r| r.body["user"].is_number()), "{left_out:?}");
    // What is there comes out again, and what rests on what was left out is not guessed.
    let (folder, policy) = (folder.path().to_str().unwrap(), super::rig::cabin_blob().to_str().unwrap());
    let told = printed(&["replay", "--policy", policy, "--journal", folder], 0);
    assert!(told.contains(" 0 differ"), "{told}");
}
