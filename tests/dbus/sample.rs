//! The sample provider as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};
use zbus::fdo;

use super::provider::{execute, heard, phone};
use super::rig::{Client, Rig, Setup, calls, says};

const CONFIG: &str = "[vehicle]\nprovided = [\"call_phone_by_number\", \"send_email\"]\n\
    [[vehicle.provider]]\nname = \"org.obligato.SampleProvider1\"\n";
const HOME: &str = "loc_hallbach_1001";
const GOAL: &str = "loc_marlau_1003";

/// A running sample provider.
struct Sample {
    child: Child,
    data: PathBuf,
}

impl Sample {
    fn start(address: &str, folder: &Path) -> Self {
        let data = folder.join("sample.db");
        let child = Command::new(env!("CARGO_BIN_EXE_obligato-sample-provider"))
            .args(["--bus", address, "--data"])
            .arg(&data)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, data }
    }

    /// Started and registered.
    async fn of(rig: &Rig, client: &Client) -> Self {
        let sample = Self::start(rig.address(), rig.folder());
        client.wait_for_absent(&[]).await;
        sample
    }

    /// What it has in its database.
    fn shown(&self) -> Json {
        let output = Command::new(env!("CARGO_BIN_EXE_obligato-sample-provider"))
            .arg("--show")
            .arg("--data")
            .arg(&self.data)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn navigation_is_set_and_a_mail_is_sent_after_a_yes_and_both_outlive_the_provider() {
    let mail = json!({"email_addresses": ["anna.berger@example.org"], "content_message": "I am late."});
    let tour = json!({"waypoint_ids": [HOME, GOAL], "route_ids": ["rt_hallbach_marlau_3001"]});
    let drafts = [
        calls(&[("get_location_id_by_location_name", json!({"location": "Marlau"}))]),
        calls(&[("get_routes_from_start_to_destination", json!({"start_id": HOME, "destination_id": GOAL}))]),
        calls(&[("set_new_navigation", tour)]),
        says("The navigation to Marlau is running on the fastest route."),
        calls(&[("send_email", mail.clone())]),
        says("The mail to Anna is sent."),
    ];
    let config = format!("{CONFIG}[turn]\nreplies = \"student\"\n");
    let rig = Rig::start(Setup::drafts(&drafts).config(&config)).await;
    let client = rig.client().await;
    let sample = Sample::of(&rig, &client).await;
    let session = client.open().await;
    let say = async |text: &str, expected: &str| {
        let (done, said) = session.say(text).await.unwrap();
        assert_eq!(done, expected, "{text} {said}");
        said
    };
    let said = say("Start the navigation to Marlau on the fastest route.", "replied").await;
    assert!(said.contains("toll"), "what the provider answered is what the policy wants said: {said}");
    let asked = say("Send a mail to anna.berger@example.org with the text: I am late.", "asked").await;
    assert!(asked.contains("anna.berger@example.org") && asked.contains("I am late."), "{asked}");
    assert_eq!(sample.shown()["mails"], json!([]), "nothing is sent before the yes");
    assert_eq!(say("Yes.", "replied").await, "The mail to Anna is sent.");

    drop(sample);
    client.wait_for_absent(&["set_new_navigation"]).await;
    let sample = Sample::of(&rig, &client).await;
    let shown = sample.shown();
    assert_eq!(shown["mails"].as_array().unwrap().len(), 1);
    assert_eq!(shown["mails"][0]["content_message"], mail["content_message"]);
    let other = client.open().await;
    heard(&other, "Is the navigation running?").await;
    let report = execute(&other, &calls(&[("get_current_navigation_state", json!({}))])).await;
    let read: Json = serde_json::from_str(report["executed"][0]["detail"].as_str().unwrap()).unwrap();
    let tour = json!({"navigation_active": true, "waypoint_ids": [HOME, GOAL],
        "route_ids": ["rt_hallbach_marlau_3001"], "includes_toll": true});
    assert_eq!(read, tour);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_survives_a_crash_of_the_provider() {
    let rig = Rig::start(Setup::without_student().config(CONFIG)).await;
    let client = Client::new(rig.connect().await).await;
    let sample = Sample::of(&rig, &client).await;
    let session = client.open().await;
    assert_eq!(phone(&session, "+493023125101").await.unwrap().0, "done");
    sample.signal("KILL");
    client.wait_for_absent(&["call_phone_by_number", "send_email"]).await;
    assert!(phone(&session, "+493023125102").await.is_err());
    drop(sample);
    let sample = Sample::of(&rig, &client).await;
    assert_eq!(phone(&session, "+493023125103").await.unwrap().0, "done");
    let shown = sample.shown();
    let numbers: Vec<&Json> = shown["phone_calls"].as_array().unwrap().iter().map(|c| &c["phone_number"]).collect();
    assert_eq!(numbers, ["+493023125101", "+493023125103"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_slept_over_a_call_does_not_carry_it_out_when_it_wakes() {
    let rig = Rig::start(Setup::without_student().config(CONFIG)).await;
    let client = Client::new(rig.connect().await).await;
    let sample = Sample::of(&rig, &client).await;
    let session = client.open().await;
    sample.signal("STOP");
    let (outcome, detail) = phone(&session, "+493023125101").await.unwrap();
    assert_eq!(outcome, "unknown");
    assert!(detail.contains("no answer within 5000 ms"), "{detail}");
    sample.signal("CONT");
    // Calls are worked off in their order: when the next one is done, the first one was looked at.
    assert_eq!(phone(&session, "+493023125102").await.unwrap().0, "done");
    let shown = sample.shown();
    let numbers: Vec<&Json> = shown["phone_calls"].as_array().unwrap().iter().map(|c| &c["phone_number"]).collect();
    assert_eq!(numbers, ["+493023125102"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_answers_the_guard_alone() {
    let rig = Rig::start(Setup::without_student().config(CONFIG)).await;
    let client = Client::new(rig.connect().await).await;
    let sample = Sample::of(&rig, &client).await;
    let arguments = json!({"phone_number": "+493023125101"}).to_string();
    let body = ("call_phone_by_number", arguments.as_str(), "mine", u64::MAX);
    let name = "org.obligato.SampleProvider1";
    let past = client
        .connection
        .call_method(Some(name), "/org/obligato/Provider1", Some("org.obligato.Provider1"), "Call", &body)
        .await;
    let Err(zbus::Error::FDO(refused)) = past else { panic!("{past:?}") };
    assert!(matches!(*refused, fdo::Error::AccessDenied(_)), "{refused:?}");
    assert_eq!(sample.shown()["phone_calls"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_registers_whenever_the_service_comes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bus, address) = super::rig::bus(folder.path());
    let mut sample = Sample::start(&address, folder.path());
    std::fs::write(folder.path().join("obligato.toml"), CONFIG).unwrap();
    let connection = zbus::connection::Builder::address(address.as_str()).build().await.unwrap();
    let client = Client::new(connection).await;
    for _ in 0..2 {
        let mut service = Command::new(env!("CARGO_BIN_EXE_obligatod"))
            .args(["--bus", &address, "--student", "none", "--config"])
            .arg(folder.path().join("obligato.toml"))
            .arg("--policy")
            .arg(super::rig::cabin_blob())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !client.providers.provided().await.is_ok_and(|p| !p.is_empty()) {
            assert!(sample.child.try_wait().unwrap().is_none(), "it goes on without the service");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        service.kill().unwrap();
        service.wait().unwrap();
    }
    drop(sample);
    bus.kill().unwrap();
    bus.wait().unwrap();
}
