//! The real service when a file of its state is damaged, and when what is delivered does not answer.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use obligato::policy::update::{SecretKey, sign_keys};
use obligato::service::{PolicyProxy, Refusal};
use sha2::{Digest, Sha256};

use super::car::{Garage, sick, stage};
use super::command::obligato;
use super::rig::{Client, Rig, Setup};

fn setup(garage: &Garage) -> Setup {
    Setup::without_student().config(&garage.config())
}

async fn installed(client: &Client, garage: &Garage, version: u64) {
    stage(&client.policy, &garage.update(version, |_| {})).await.unwrap();
    client.policy.activate(version, "").await.unwrap();
    assert_eq!(client.policy.commit(version, "").await.unwrap(), version);
}

async fn stopped(mut rig: Rig) {
    rig.signal("TERM");
    assert!(rig.ended().await.success(), "{}", rig.log());
}

/// The policy that the car runs, by the hash of its content.
async fn running(rig: &Rig) -> (Client, String) {
    let client = Client::new(rig.connect().await).await;
    let hash = client.manager.policy_hash().await.unwrap();
    (client, hash)
}

/// Where the slots keep the update of a version that was delivered last.
fn kept(garage: &Garage, version: u64) -> PathBuf {
    let digest = Sha256::digest(fs::read(garage.at(&format!("{version}.policy"))).unwrap());
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    garage.at("state/policy").join(format!("{name}.policy"))
}

fn flip(path: PathBuf) {
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_is_rolled_back_to_the_factory_where_the_policy_before_it_is_damaged() {
    let garage = Garage::new();
    let rig = Rig::start(setup(&garage)).await;
    let (client, factory) = running(&rig).await;
    installed(&client, &garage, 5).await;
    stopped(rig).await;
    flip(kept(&garage, 5));
    for wanted in ["rollback", "commit"] {
        let rig = Rig::start(setup(&garage)).await;
        let (client, hash) = running(&rig).await;
        assert_eq!(hash, factory, "as is documented");
        stage(&client.policy, &garage.update(6, |_| {})).await.unwrap();
        client.policy.activate(6, "").await.unwrap();
        assert_ne!(client.manager.policy_hash().await.unwrap(), factory);
        match wanted {
            "rollback" => assert_eq!(client.policy.rollback(6, "").await.unwrap(), 0),
            // The trial's own file goes bad meanwhile: it is no longer committed to, and still taken back.
            _ => {
                flip(kept(&garage, 6));
                let Err(Refusal::Storage(_)) = client.policy.commit(6, "").await else { panic!("it cannot be read") };
                assert_eq!(client.policy.rollback(6, "").await.unwrap(), 0);
            }
        }
        assert_eq!(client.manager.policy_hash().await.unwrap(), factory, "{wanted}");
        let fresh = running(&rig).await.0.policy;
        assert_eq!((fresh.version().await.unwrap(), fresh.slot().await.unwrap().as_str()), (0, "factory"), "{wanted}");
        assert!(!fresh.on_trial().await.unwrap());
        stopped(rig).await;
    }
    // And the way forward is open.
    let rig = Rig::start(setup(&garage)).await;
    let (client, _) = running(&rig).await;
    stage(&client.policy, &garage.update(7, sick("ac-closes-windows"))).await.unwrap();
    let Err(Refusal::Unhealthy(why)) = client.policy.activate(7, "").await else { panic!("its tests fail") };
    assert!(why.contains("version 0 is in force again"), "{why}");
    installed(&client, &garage, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_is_in_force_again_once_the_list_that_vouches_for_it_is_delivered_again() {
    let garage = Garage::new();
    let old = SecretKey::generate().unwrap();
    let list = garage.at("2.keys");
    fs::write(&list, sign_keys(2, &[old.public()], &[], &garage.root).unwrap()).unwrap();
    let garage = Garage { key: old, ..garage };
    let keys = async |client: &Client| {
        let file = fs::File::open(&list).unwrap();
        client.policy.keys(zbus::wire::OwnedFd::from(OwnedFd::from(file))).await.unwrap()
    };
    let rig = Rig::start(setup(&garage)).await;
    let (client, factory) = running(&rig).await;
    assert_eq!(keys(&client).await, 2);
    installed(&client, &garage, 13).await;
    stopped(rig).await;
    // Either copy alone may go.
    for copy in ["keys", "keys.copy"] {
        flip(garage.at("state/policy").join(copy));
        let rig = Rig::start(setup(&garage)).await;
        assert_ne!(running(&rig).await.1, factory, "{copy}");
        stopped(rig).await;
    }
    flip(garage.at("state/policy/keys"));
    flip(garage.at("state/policy/keys.copy"));
    let rig = Rig::start(setup(&garage)).await;
    let (client, hash) = running(&rig).await;
    assert_eq!(hash, factory);
    assert!(rig.log().contains("keys is damaged") && !rig.log().contains("attack"), "{}", rig.log());
    assert_eq!(keys(&client).await, 2);
    assert_ne!(client.manager.policy_hash().await.unwrap(), factory, "without a restart");
    assert_eq!(running(&rig).await.0.policy.version().await.unwrap(), 13);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_nobody_knows_are_not_made_up() {
    let garage = Garage::new();
    let rig = Rig::start(setup(&garage)).await;
    let (client, _) = running(&rig).await;
    installed(&client, &garage, 3).await;
    assert_eq!(client.policy.slots_reason().await.unwrap(), "");
    stopped(rig).await;
    flip(garage.at("state/floor"));
    let rig = Rig::start(setup(&garage)).await;
    let (client, _) = running(&rig).await;
    assert_eq!(client.policy.version().await.unwrap(), 3, "what is in force is known");
    let why = client.policy.slots_reason().await.unwrap();
    assert!(why.contains("floor is damaged"), "{why}");
    let output = obligato(&["policy", "--bus", rig.address(), "status"]);
    assert_eq!(output.status.code(), Some(20));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("version 3 is in force") && said.contains("floor is damaged"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivered_file_that_never_answers_keeps_nobody_waiting_and_the_service_ends_when_it_is_told_to() {
    // The kernel's log is a regular file, and reading it waits for the next line.
    let log = "/proc/kmsg";
    if !waits(log) {
        println!("skipped: this user may not read the kernel's log, or it has something to say");
        return;
    }
    let never = fs::File::open(log).unwrap();
    let garage = Garage::new();
    let rig = Rig::start(setup(&garage)).await;
    let (client, _) = running(&rig).await;
    let hung = zbus::wire::OwnedFd::from(OwnedFd::from(never));
    let policy = client.policy.clone();
    let staging = tokio::spawn(async move { policy.stage(hung).await });
    for _ in 0..3 {
        assert!(matches!(client.policy.verify(0, "").await, Err(Refusal::NothingToDo(_))));
        assert_eq!(client.manager.state().await.unwrap(), "no-model");
    }
    installed(&client, &garage, 2).await;
    let Err(Refusal::Storage(why)) = staging.await.unwrap() else { panic!("it was never read") };
    assert!(why.contains("could not be read in 5 s"), "{why}");
    stopped(rig).await;
}

/// Whether reading a file would wait now.
fn waits(path: &str) -> bool {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let Ok(mut file) = fs::OpenOptions::new().read(true).custom_flags(flags).open(path) else { return false };
    file.read(&mut [0; 1]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_read_before_it_was_handed_over_is_read_from_its_beginning() {
    let garage = Garage::new();
    let rig = Rig::start(setup(&garage)).await;
    let (client, _) = running(&rig).await;
    let mut file = fs::File::open(garage.update(2, |_| {})).unwrap();
    std::io::copy(&mut file, &mut std::io::sink()).unwrap();
    let handed = zbus::wire::OwnedFd::from(OwnedFd::from(file));
    assert_eq!(client.policy.stage(handed).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_policy_is_in_force_although_the_factorys_cannot_be_read() {
    let garage = Garage::new();
    let factory = garage.at("factory.obl");
    fs::copy(super::rig::cabin_blob(), &factory).unwrap();
    let factory_of = |garage: &Garage| setup(garage).argument("--policy").argument(factory.to_str().unwrap());
    let rig = Rig::start(factory_of(&garage)).await;
    let (client, _) = running(&rig).await;
    installed(&client, &garage, 2).await;
    stopped(rig).await;
    flip(factory.clone());
    let rig = Rig::start(factory_of(&garage)).await;
    let (client, _) = running(&rig).await;
    assert_eq!(client.policy.version().await.unwrap(), 2);
    // Where it is needed and cannot be read, what is in force goes on, and the caller is told.
    let hash = client.manager.policy_hash().await.unwrap();
    stage(&client.policy, &garage.update(3, |_| {})).await.unwrap();
    client.policy.activate(3, "").await.unwrap();
    assert_eq!(client.policy.rollback(3, "").await.unwrap(), 2);
    assert_eq!(client.manager.policy_hash().await.unwrap(), hash);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_hands_files_over_too_often_is_told_to_wait_and_the_service_goes_on() {
    let garage = Garage::new();
    let pace = format!("{}[service]\ncalls_per_second = 20\n", garage.config());
    let rig = Rig::start(Setup::without_student().config(&pace)).await;
    let (client, _) = running(&rig).await;
    let update = garage.update(2, |_| {});
    let other = PolicyProxy::new(&rig.connect().await).await.unwrap();
    let calls: Vec<_> = (0..60)
        .map(|_| {
            let (policy, path) = (other.clone(), update.clone());
            tokio::spawn(async move { stage(&policy, &path).await })
        })
        .collect();
    let mut turned_away = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(2) => {}
            Err(Refusal::TooMany(_)) => turned_away += 1,
            told => panic!("{told:?}"),
        }
    }
    assert!(turned_away > 20, "{turned_away} were turned away");
    assert_eq!(client.manager.state().await.unwrap(), "no-model", "{}", rig.log());
}
