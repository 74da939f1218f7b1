//! The real service on a bus of its own: activation between turns, open sessions, signals.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use obligato::compile::{SetSource, compile};
use obligato::policy::update::{Issue, Reading, SecretKey, sign};
use obligato::policy::{PackedTests, Policy, PolicyParts};
use obligato::service::{PolicyProxy, Refusal};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio_stream::StreamExt;

use super::kit::trust_file;
use super::rig::{Client, Ear, PATIENCE, Rig, Setup, calls, root};

/// Folders and keys of a car that takes updates.
pub struct Garage {
    pub folder: TempDir,
    pub key: SecretKey,
    pub root: SecretKey,
}

impl Garage {
    pub fn new() -> Self {
        let (folder, root, key) =
            (tempfile::tempdir().unwrap(), SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        fs::write(folder.path().join("trust.toml"), trust_file(&root, &key, "")).unwrap();
        Self { folder, key, root }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The table of the configuration.
    pub fn config(&self) -> String {
        self.config_for("obligato-update")
    }

    pub fn config_for(&self, group: &str) -> String {
        format!(
            "[update]\ntrust = {:?}\nslots = {:?}\nfloor = {:?}\ngroup = \"{group}\"\n",
            self.at("trust.toml"),
            self.at("state/policy"),
            self.at("state/floor")
        )
    }

    /// Writes a signed update of the cabin and returns its path.
    pub fn update(&self, version: u64, change: impl FnOnce(&mut PolicyParts)) -> PathBuf {
        let now = Reading::system().0.unwrap();
        self.update_at(version, now, change)
    }

    pub fn update_at(&self, version: u64, not_before: u64, change: impl FnOnce(&mut PolicyParts)) -> PathBuf {
        let mut parts = cabin();
        parts.prose.push(format!("This is version {version}."));
        change(&mut parts);
        let issue = Issue { target: "hu", version, not_before, expires: not_before + 86_400 };
        let (_, signed) = sign(&parts.to_blob().unwrap(), &issue, &self.key).unwrap();
        let path = self.at(&format!("{version}.policy"));
        fs::write(&path, signed).unwrap();
        path
    }
}

pub fn cabin() -> PolicyParts {
    let set = SetSource::read(&root().join("policies/cabin"), None, None).unwrap();
    compile(&set).unwrap_or_else(|errors| panic!("{errors}")).parts
}

/// The cabin without one rule, and without the tests that need it.
pub fn without(rule: &str) -> impl FnOnce(&mut PolicyParts) {
    move |parts| {
        let before = parts.rules.len();
        parts.rules.retain(|r| r.id.as_str() != rule);
        assert_eq!(parts.rules.len() + 1, before);
        parts.tests = PackedTests::default();
    }
}

/// The cabin without one rule, and with the tests that need it.
pub fn sick(rule: &str) -> impl FnOnce(&mut PolicyParts) {
    move |parts| parts.rules.retain(|r| r.id.as_str() != rule)
}

pub async fn stage(policy: &PolicyProxy<'_>, path: &Path) -> Result<u64, Refusal> {
    let file = fs::File::open(path).unwrap();
    policy.stage(zbus::wire::OwnedFd::from(OwnedFd::from(file))).await
}

fn ac() -> Json {
    calls(&[("set_air_conditioning", json!({"on": true}))])
}

fn rules(report: &str) -> Vec<String> {
    let report: Json = serde_json::from_str(report).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.filter_map(|f| f["rule"].as_str().map(str::to_owned)).collect()
}

async fn property(client: &Client, name: &str) -> Json {
    let names = zbus::fdo::PropertiesProxy::builder(&client.connection)
        .destination(obligato::service::BUS_NAME)
        .path(obligato::service::ROOT_PATH)
        .build()
        .await
        .unwrap();
    let interface = "org.obligato.Harness1.Policy".try_into().unwrap();
    let value = names.get(interface, name).await.unwrap();
    serde_json::to_value(&*value).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_session_goes_on_under_the_new_policy_and_its_question_dies() {
    let garage = Garage::new();
    let roof = calls(&[("open_close_sunroof", json!({"percentage": 50}))]);
    let drafts = [roof, super::rig::says("I did not ask.")];
    let rig = Rig::start(Setup::drafts(&drafts).config(&garage.config())).await;
    let client = rig.client().await;
    let session = client.open().await;
    assert_eq!(session.say("Open the sunroof.").await.unwrap().0, "asked");
    assert_ne!(session.pending().await.unwrap(), "");
    let before = rules(&session.verify(&ac().to_string()).await.unwrap());
    assert!(before.iter().any(|rule| rule == "ac-needs-fan"), "{before:?}");

    assert_eq!(stage(&client.policy, &garage.update(2, without("ac-needs-fan"))).await.unwrap(), 2);
    let (version, tests) = client.policy.activate(0, "").await.unwrap();
    assert_eq!((version, tests), (2, 0));

    assert_eq!(session.pending().await.unwrap(), "", "the question was asked under another policy");
    let after = rules(&session.verify(&ac().to_string()).await.unwrap());
    assert!(!after.iter().any(|rule| rule == "ac-needs-fan"), "{after:?}");
    assert!(after.iter().any(|rule| rule == "ac-closes-windows"), "{after:?}");
    // A yes finds nothing that it could agree to.
    let mut ear = Ear::of(&client);
    let signals = ear.turn(*session.start("Yes.").await.unwrap().response()).await;
    assert!(signals.iter().all(|s| s.name != "Outcome"), "{signals:?}");

    assert_eq!(client.policy.commit(0, "").await.unwrap(), 2);
    assert_eq!(property(&client, "Floor").await, json!({"signature": "t", "value": 2}));
    assert!(matches!(stage(&client.policy, &garage.update(1, |_| {})).await, Err(Refusal::Rollback(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn activation_waits_for_the_end_of_a_running_turn() {
    let garage = Garage::new();
    let fan = calls(&[("set_fan_speed", json!({"level": 2}))]);
    let setup = Setup::drafts(&[fan]).stalling("set_fan_speed").config(&garage.config());
    let rig = Rig::start(setup).await;
    let client = rig.client().await;
    let session = client.open().await;
    stage(&client.policy, &garage.update(2, |_| {})).await.unwrap();
    let old = client.manager.policy_hash().await.unwrap();

    let turn = *session.start("Set the fan to 2.").await.unwrap().response();
    // The turn is in the middle of a call that is never answered.
    while !session.busy().await.unwrap() {}
    let other = rig.connect().await;
    let policy = PolicyProxy::new(&other).await.unwrap();
    let activating = policy.clone();
    let activation = tokio::spawn(async move { activating.activate(0, "").await });
    // Messages of one connection arrive in order: each of these runs the same tests as the activation that
    // was asked for before, and does not wait for the turn. A slow machine ends the turn in the meantime.
    let mut during = 0;
    for _ in 0..6 {
        let verified = policy.verify(0, "").await;
        let (hash, waits) = (client.manager.policy_hash().await.unwrap(), !activation.is_finished());
        if !session.busy().await.unwrap() {
            break;
        }
        during += 1;
        assert_eq!(verified.unwrap().0, 2);
        assert!(hash == old && waits, "the policy changed during a turn");
    }
    assert!(during > 0, "the turn ended before anything was seen");
    // It may have ended by itself.
    let _ = session.cancel(turn).await;
    assert_eq!(activation.await.unwrap().unwrap().0, 2);
    assert_ne!(client.manager.policy_hash().await.unwrap(), old);
    assert_eq!(property(&client, "OnTrial").await, json!({"signature": "b", "value": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_whose_tests_fail_never_comes_into_force() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let client = Client::new(rig.connect().await).await;
    let hash = client.manager.policy_hash().await.unwrap();
    stage(&client.policy, &garage.update(2, sick("ac-closes-windows"))).await.unwrap();
    let Err(Refusal::Unhealthy(why)) = client.policy.verify(0, "").await else { panic!("its tests fail") };
    assert!(why.contains("tests fail with this engine"), "{why}");
    let Err(Refusal::Unhealthy(why)) = client.policy.activate(0, "").await else { panic!("its tests fail") };
    assert!(why.contains("version 0 is in force again"), "{why}");
    assert_eq!(client.manager.policy_hash().await.unwrap(), hash);
    assert!(matches!(client.policy.commit(0, "").await, Err(Refusal::NothingToDo(_))));
    // The cabin's own tests pass.
    stage(&client.policy, &garage.update(3, |_| {})).await.unwrap();
    let (_, tests) = client.policy.activate(0, "").await.unwrap();
    assert!(tests > 100, "{tests} tests ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_the_tools_sets_the_car_up_anew_and_sessions_go_on_in_it() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let client = Client::new(rig.connect().await).await;
    let session = client.open().await;
    let fan = calls(&[("set_blower", json!({"level": 2}))]).to_string();
    session.heard("Set the blower to 2.", Default::default()).await.unwrap();
    let before: Json = serde_json::from_str(&session.execute(&fan).await.unwrap()).unwrap();
    assert_eq!(before["executed"], json!([]), "{before:#}");
    let renamed = |parts: &mut PolicyParts| {
        // Rules name tools by their positions, which stay.
        let tool = parts.inventory.iter_mut().find(|tool| tool.name.as_str() == "set_fan_speed").unwrap();
        tool.name = "set_blower".into();
        parts.tests = PackedTests::default();
    };
    stage(&client.policy, &garage.update(2, renamed)).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    let after: Json = serde_json::from_str(&session.execute(&fan).await.unwrap()).unwrap();
    assert_eq!(after["executed"][0]["outcome"], "done", "{after:#}");
    // And back: the car knows the old name again.
    client.policy.rollback(0, "").await.unwrap();
    let back: Json = serde_json::from_str(&session.execute(&fan).await.unwrap()).unwrap();
    assert_eq!(back["executed"], json!([]), "{back:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_brings_the_policy_before_back_and_a_restart_keeps_what_was_committed() {
    let garage = Garage::new();
    let setup = || Setup::without_student().config(&garage.config());
    let mut rig = Rig::start(setup()).await;
    let client = Client::new(rig.connect().await).await;
    let factory = client.manager.policy_hash().await.unwrap();
    stage(&client.policy, &garage.update(2, |_| {})).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    let second = client.manager.policy_hash().await.unwrap();
    assert_ne!(second, factory);
    assert_eq!(client.policy.rollback(0, "").await.unwrap(), 0);
    assert_eq!(client.manager.policy_hash().await.unwrap(), factory);
    stage(&client.policy, &garage.update(2, |_| {})).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    client.policy.commit(0, "").await.unwrap();
    rig.signal("TERM");
    assert!(rig.ended().await.success());
    drop(rig);
    let rig = Rig::start(setup()).await;
    let client = Client::new(rig.connect().await).await;
    assert_eq!(client.manager.policy_hash().await.unwrap(), second);
    assert_eq!(client.policy.slot().await.unwrap(), "current");
    assert_eq!(client.policy.version().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_properties_of_the_policy_tell_of_their_changes() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let client = Client::new(rig.connect().await).await;
    let mut staged = client.policy.receive_staged_version_changed().await;
    let mut hash = client.policy.receive_hash_changed().await;
    let mut steps = client.policy.receive_updated().await.unwrap();
    let update = garage.update(2, |_| {});
    stage(&client.policy, &update).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    client.policy.commit(0, "").await.unwrap();
    for expected in ["staged", "activated", "committed"] {
        let step = tokio::time::timeout(PATIENCE, steps.next()).await.unwrap().unwrap();
        let step = step.args().unwrap();
        assert_eq!((step.step.to_owned(), step.version), (expected.to_owned(), 2));
    }
    let wanted =
        Policy::from_blob(obligato::policy::update::unverified(&fs::read(&update).unwrap()).unwrap().1).unwrap();
    loop {
        let change = tokio::time::timeout(PATIENCE, hash.next()).await.unwrap().unwrap();
        if change.get().await.unwrap() == wanted.hash.to_string() {
            break;
        }
    }
    let change = tokio::time::timeout(PATIENCE, staged.next()).await.unwrap().unwrap();
    let _ = change.get().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_handed_over_is_looked_at_by_the_service_itself() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student().config(&garage.config())).await;
    let client = Client::new(rig.connect().await).await;
    for (name, make) in [
        ("a device", (|_: &Path| fs::File::open("/dev/zero").unwrap()) as fn(&Path) -> fs::File),
        ("a folder", |folder| fs::File::open(folder).unwrap()),
        ("endless data attack", |folder| {
            let file = fs::File::create_new(folder.join("huge")).unwrap();
            file.set_len(1 << 40).unwrap();
            fs::File::open(folder.join("huge")).unwrap()
        }),
        ("truncated", |folder| {
            fs::write(folder.join("short"), "OBLIPOLU").unwrap();
            fs::File::open(folder.join("short")).unwrap()
        }),
    ] {
        let file = zbus::wire::OwnedFd::from(OwnedFd::from(make(garage.folder.path())));
        let Err(Refusal::Malformed(why)) = client.policy.stage(file).await else { panic!("{name}") };
        assert!(why.contains(name), "{name}: {why}");
    }
    assert_eq!(client.policy.staged_version().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_trusts_nobody_takes_no_updates() {
    let garage = Garage::new();
    let rig = Rig::start(Setup::without_student()).await;
    let client = Client::new(rig.connect().await).await;
    let update = garage.update(2, |_| {});
    match stage(&client.policy, &update).await {
        // Whoever may not update is told that first.
        Err(Refusal::NoUpdates(why)) => assert!(why.contains("update.trust"), "{why}"),
        Err(Refusal::NotAllowed(_)) => {}
        other => panic!("{other:?}"),
    }
}
