//! What is on trial and was passed over by a start is not in force: nobody commits to it, and nothing but a start or
//! an activation brings it back.

use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use obligato::policy::update::{Class, Meant, UpdateError, sign_keys};
use obligato::service::Refusal;

use super::car::{Garage, stage};
use super::disk::MemoryDisk;
use super::kit::{Image, NOW, activate, install, started};
use super::rig::{Client, Rig, Setup};

#[test]
fn what_the_start_passed_over_is_committed_to_by_nobody_and_no_step_brings_it_back() {
    let image = Image::new();
    let update = image.update(2);
    let passed = || {
        let disk = Arc::new(MemoryDisk::default());
        let slots = image.slots(disk.clone());
        install(&slots, &image.update(1)).unwrap();
        slots.stage(&update, NOW).unwrap();
        activate(&slots).unwrap();
        disk.fill(0);
        let slots = image.slots(disk.clone());
        assert_eq!(started(&slots), 1, "its start cannot be recorded");
        disk.fill(1 << 30);
        (disk, slots)
    };
    let content = Meant::content(&update).unwrap();
    let (disk, slots) = passed();
    for meant in [Meant::Any, Meant::Version(2), content] {
        let error = slots.commit(meant).unwrap_err();
        assert!(matches!(error, UpdateError::PassedOver(2)) && error.class() == Class::OtherVersion, "{error}");
    }
    assert_eq!(slots.status().unwrap().floor, 1);
    slots.keys(&image.list(1, &[&image.key], &[])).unwrap();
    assert_eq!(slots.in_force().version(), 1, "a list of keys starts nothing");
    // A start that can be recorded counts it, and then it is seen.
    assert_eq!(started(&image.slots(disk)), 2);

    let (_, slots) = passed();
    assert_eq!(slots.roll_back(content).unwrap().version(), 1);
    let status = slots.status().unwrap();
    assert_eq!((status.current, status.on_trial), (1, false));

    let (_, slots) = passed();
    slots.stage(&update, NOW).unwrap();
    activate(&slots).unwrap();
    assert_eq!(slots.in_force().version(), 2, "somebody put it in force");
    assert_eq!(slots.commit(content).unwrap().version, 2);
}

#[test]
fn a_trial_whose_file_cannot_be_used_is_committed_to_by_nobody() {
    let image = Image::new();
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots(disk.clone());
    install(&slots, &image.update(1)).unwrap();
    let before = disk.names();
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    let added = disk.names().into_iter().find(|name| !before.contains(name)).unwrap();
    disk.spoil(&added, |bytes| bytes[150] ^= 1);
    assert_eq!(started(&slots), 1);
    for meant in [Meant::Any, Meant::Version(2)] {
        assert!(matches!(slots.commit(meant), Err(UpdateError::Damaged { .. })));
    }
    assert_eq!((slots.status().unwrap().floor, slots.in_force().version()), (1, 1));
    assert_eq!(slots.roll_back(Meant::Version(2)).unwrap().version(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_does_not_call_what_is_in_force_on_trial_when_its_start_passed_the_trial_over() {
    let garage = Garage::new();
    let setup = || Setup::without_student().config(&garage.config());
    let mut rig = Rig::start(setup()).await;
    let client = Client::new(rig.connect().await).await;
    for version in [2, 3] {
        stage(&client.policy, &garage.update(version, |_| {})).await.unwrap();
        client.policy.activate(version, "").await.unwrap();
        if version == 2 {
            client.policy.commit(version, "").await.unwrap();
        }
    }
    rig.signal("TERM");
    assert!(rig.ended().await.success());
    // The disk does not take the record: a folder stands where it is to go.
    let blocked = garage.at("state/policy/slots.new");
    fs::create_dir(&blocked).unwrap();
    let rig = Rig::start(setup()).await;
    fs::remove_dir(&blocked).unwrap();
    let client = Client::new(rig.connect().await).await;
    let policy = &client.policy;
    let state = async || (policy.version().await.unwrap(), policy.on_trial().await.unwrap());
    assert_eq!(state().await, (2, false));
    for version in [0, 3] {
        let refused = policy.commit(version, "").await;
        assert!(matches!(&refused, Err(Refusal::OtherVersion(why)) if why.contains("not in force")), "{refused:?}");
    }
    let list = garage.at("1.keys");
    fs::write(&list, sign_keys(1, &[garage.key.public()], &[], &garage.root).unwrap()).unwrap();
    let file = fs::File::open(&list).unwrap();
    policy.keys(zbus::wire::OwnedFd::from(OwnedFd::from(file))).await.unwrap();
    assert_eq!((state().await, policy.floor().await.unwrap()), ((2, false), 2));
    assert_eq!(policy.rollback(3, "").await.unwrap(), 2);
    assert_eq!(state().await, (2, false));
}
