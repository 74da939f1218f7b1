//! A journal is proved up to the record that the running service wrote last.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use obligato::journal::{Entry, Journal, Kind, Place, Settings, verify};
use obligato::service::JournalProxy;
use obligato::state::SystemClock;
use serde_json::{Value as Json, json};
use tokio::task::spawn_blocking;

use super::rig::{Rig, Setup, calls};
use super::tools::*;

/// The newest segment.
fn newest(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|e| e == "jsonl")).max().unwrap()
}

/// Waits until everything up to the end of a session is written, and gives the hash of the record that says so.
async fn closed(folder: &Path, object: &JournalProxy<'_>) -> String {
    until("the end of the session", || async {
        let head = object.head().await.unwrap();
        of(folder, Kind::Session).iter().any(|record| record.body["what"] == "closed" && record.hash == head)
    })
    .await;
    object.head().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_cut_off_while_the_service_runs_is_found_without_a_hash_at_hand() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(keeping(folder.path())).await;
    let client = client(&rig).await;
    let object = journal(&client).await;
    let session = client.open().await;
    cool(&session).await;
    session.close().await.unwrap();
    let head = closed(folder.path(), &object).await;
    let (at, bus) = (folder.path().to_str().unwrap(), rig.address());
    let told = printed(&["log", at, "--verify", "--live", "--bus", bus], 0);
    assert!(told.contains(&format!("the newest record of the running service, {head}, is in it")), "{told}");
    // The folder is the service's own where none is named.
    let told = printed(&["log", "--verify", "--live", "--bus", bus, "--json"], 0);
    let told: Json = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["whole"], &told["service_head"]), (&json!(true), &json!(head)));

    let segment = newest(folder.path());
    let whole = fs::read_to_string(&segment).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for kept in [lines.len() - 1, lines.len() / 2, 1, 0] {
        fs::write(&segment, lines[..kept].concat()).unwrap();
        if kept > 0 {
            printed(&["log", at, "--verify"], 0);
        }
        let told = printed(&["log", at, "--verify", "--live", "--bus", bus], 1);
        assert!(kept == 0 || told.contains("its end was cut off"), "{kept}: {told}");
    }
    // In the middle of a record.
    fs::write(&segment, &whole[..whole.len() - 7]).unwrap();
    let told = printed(&["log", at, "--verify", "--live", "--bus", bus, "--json"], 1);
    assert!(told.contains("\"whole\":false") && told.contains(&head), "{told}");
    fs::write(&segment, &whole).unwrap();
    printed(&["log", at, "--verify", "--live", "--bus", bus], 0);

    // The service does not know that something is gone, and what it writes next does not fit to the rest.
    fs::write(&segment, lines[..lines.len() - 2].concat()).unwrap();
    let before = object.head().await.unwrap();
    client.open().await;
    until("a record", || async { object.head().await.unwrap() != before }).await;
    let told = printed(&["log", at, "--verify", "--live", "--bus", bus], 1);
    assert!(told.contains("the chain is broken"), "{told}");
}

/// Fills a journal of a MiB to its cap, as a service that ran before left it.
fn filled(folder: &Path) {
    let settings = Settings { segment_bytes: 64 << 10, total_bytes: 1 << 20, ..Settings::new(folder) };
    let mut journal = Journal::open(settings, Arc::new(SystemClock)).unwrap();
    for i in 0..1_200 {
        journal.append(Entry::reply(Place::new("1", 1), &format!("{i} {}", "x".repeat(1_000)))).unwrap();
    }
    journal.sync().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intact_journal_is_not_objected_to_while_the_service_writes_and_drops_segments() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let before = verify(folder.path()).unwrap();
    let small = "segment_kib = 64\ntotal_mib = 1\n[service]\ncalls_per_second = 0\n";
    let rig = Rig::start(keeping(folder.path()).config(small)).await;
    let client = client(&rig).await;
    let session = client.open().await;
    let done = Arc::new(AtomicBool::new(false));
    let told = done.clone();
    let busy = tokio::spawn(async move {
        for level in (1..4).cycle() {
            heard(&session, &format!("Set the fan to {level}.")).await;
            execute(&session, &calls(&[("set_fan_speed", json!({ "level": level }))])).await;
            if told.load(Ordering::Acquire) {
                return;
            }
        }
    });
    let (at, bus) = (folder.path().to_path_buf(), rig.address().to_owned());
    let looks = spawn_blocking(move || {
        let mut looks: Vec<u64> = Vec::new();
        // A segment is 64 records and less: some of them are dropped meanwhile.
        while looks.len() < 12 || looks.last().unwrap() - looks[0] < 200 {
            let told = printed(&["log", at.to_str().unwrap(), "--verify", "--live", "--bus", &bus, "--json"], 0);
            looks.push(serde_json::from_str::<Json>(&told).unwrap()["last"].as_u64().unwrap());
        }
        looks
    });
    let looks = looks.await.unwrap();
    done.store(true, Ordering::Release);
    busy.await.unwrap();
    assert!(looks.is_sorted(), "{looks:?}");
    let _rig = ended(rig).await;
    let after = verify(folder.path()).unwrap();
    assert!(after.first > before.first && after.last > looks[0], "{before:?} {after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_cannot_tell_is_named_and_none_is_started_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let without = Rig::start(Setup::without_student()).await;
    let ask = |bus: &str| obligato(&["log", "/nowhere", "--verify", "--live", "--bus", bus]);
    let told = |output: std::process::Output| {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let off = told(ask(without.address()));
    assert!(off.contains("the service keeps no journal") && off.contains("[journal] folder"), "{off}");
    let gone = ended(Rig::start(keeping(folder.path())).await).await;
    let nobody = told(ask(gone.address()));
    assert!(
        nobody.contains("nobody owns `org.obligato.Harness1`") && nobody.contains("is `obligatod` running"),
        "{nobody}"
    );
    assert_eq!(obligato(&["log", "--verify", "--live", "--bus", "sesion"]).status.code(), Some(2));
    assert_eq!(obligato(&["log", "--live"]).status.code(), Some(2), "only a proof needs it");
}
