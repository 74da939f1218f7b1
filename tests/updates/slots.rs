//! The slots: what is in force, what is gone back to, what the floor forbids.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use obligato::policy::Policy;
use obligato::policy::update::{
    Checkup, Counter, Floors, Meant, Reading, SecretKey, Setup, Slot, Slots, Status, UpdateError, sign,
};

use super::disk::MemoryDisk;
use super::kit::{EXPIRES, Image, NOW, SickOf, Well, activate, blob, install, issue, started};

fn with_versions(image: &Image, versions: &[u64]) -> (Arc<MemoryDisk>, Slots) {
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots(disk.clone());
    for version in versions {
        assert_eq!(install(&slots, &image.update(*version)).unwrap(), *version);
    }
    (disk, slots)
}

#[test]
fn a_car_without_an_update_starts_with_the_factorys_policy() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[]);
    let start = slots.start();
    assert!(start.policy.is_none() && start.slot == Slot::Factory && start.notes.is_empty(), "{:?}", start.notes);
    assert!(matches!(slots.verify(Meant::Any, NOW), Err(UpdateError::NothingStaged)));
    assert!(matches!(activate(&slots), Err(UpdateError::NothingStaged)));
    assert!(matches!(slots.commit(Meant::Any), Err(UpdateError::NothingToDo("commit"))));
    assert!(matches!(slots.roll_back(Meant::Any), Err(UpdateError::NothingToDo("roll back"))));
}

#[test]
fn each_step_moves_one_slot_and_the_floor_rises_on_commit_alone() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[1]);
    let status =
        |current, previous, staged, on_trial, floor| Status { current, previous, staged, on_trial, floor, keys: 0 };
    assert_eq!(slots.status().unwrap(), status(1, 0, 0, false, 1));
    slots.stage(&image.update(2), NOW).unwrap();
    assert_eq!(slots.status().unwrap(), status(1, 0, 2, false, 1));
    slots.verify(Meant::Any, NOW).unwrap();
    assert_eq!(slots.status().unwrap(), status(1, 0, 2, false, 1));
    activate(&slots).unwrap();
    assert_eq!(slots.status().unwrap(), status(2, 1, 0, true, 1));
    slots.commit(Meant::Any).unwrap();
    assert_eq!(slots.status().unwrap(), status(2, 1, 0, false, 2));
    let error = slots.stage(&image.update(1), NOW).err().unwrap();
    assert!(matches!(error, UpdateError::Rollback { found: 1, floor: 2 }), "{error}");
}

#[test]
fn a_rollback_leads_to_the_version_before_and_only_from_a_trial() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[1, 2]);
    slots.stage(&image.update(3), NOW).unwrap();
    activate(&slots).unwrap();
    assert_eq!(started(&slots), 3);
    assert_eq!(slots.roll_back(Meant::Any).unwrap().version(), 2);
    assert_eq!(started(&slots), 2);
    assert!(matches!(slots.roll_back(Meant::Any), Err(UpdateError::NothingToDo(_))), "what was committed stays");
    // What is staged is dropped by a step of its own, which leaves what is in force alone.
    slots.stage(&image.update(4), NOW).unwrap();
    assert!(matches!(slots.roll_back(Meant::Any), Err(UpdateError::NothingToDo(_))));
    assert_eq!(slots.unstage(Meant::Any).unwrap(), 4);
    let status = slots.status().unwrap();
    assert_eq!((status.current, status.staged), (2, 0));
    assert!(matches!(slots.unstage(Meant::Any), Err(UpdateError::NothingStaged)));
}

#[test]
fn a_first_update_is_rolled_back_to_the_factory() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[]);
    slots.stage(&image.update(1), NOW).unwrap();
    activate(&slots).unwrap();
    assert_eq!(slots.roll_back(Meant::Any).unwrap().version(), 0);
    assert_eq!(started(&slots), 0);
}

#[test]
fn a_policy_whose_tests_fail_is_taken_out_of_force_by_itself() {
    let image = Image::new();
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots_with(disk, Arc::new(SickOf(vec![2])));
    install(&slots, &image.update(1)).unwrap();
    slots.stage(&image.update(2), NOW).unwrap();
    assert!(matches!(slots.verify(Meant::Any, NOW), Err(UpdateError::Unfit { version: 2, .. })));
    let error = activate(&slots).err().unwrap();
    assert!(matches!(error, UpdateError::Unhealthy { version: 2, back: 1, .. }), "{error}");
    let status = slots.status().unwrap();
    assert_eq!((status.current, status.on_trial, status.floor), (1, false, 1));
    assert_eq!(started(&slots), 1);
    assert_eq!(install(&slots, &image.update(3)).unwrap(), 3);
}

/// Well until it is told otherwise.
struct Turning(Arc<Mutex<bool>>);

impl Checkup for Turning {
    fn usable(&self, _: &Policy) -> Result<(), UpdateError> {
        Ok(())
    }

    fn check(&self, _: &Policy) -> Result<usize, String> {
        if *self.0.lock().unwrap() { Err("it turned".into()) } else { Ok(1) }
    }
}

#[test]
fn a_policy_that_turns_sick_on_trial_is_not_committed_to() {
    let image = Image::new();
    let sick = Arc::new(Mutex::new(false));
    let slots = image.slots_with(Arc::new(MemoryDisk::default()), Arc::new(Turning(sick.clone())));
    install(&slots, &image.update(1)).unwrap();
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    *sick.lock().unwrap() = true;
    let error = slots.commit(Meant::Any).err().unwrap();
    assert!(matches!(error, UpdateError::Unhealthy { version: 2, back: 1, .. }), "{error}");
    assert_eq!(slots.status().unwrap().floor, 1);
}

#[test]
fn a_trial_is_decided_before_the_next_one() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[1]);
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    slots.stage(&image.update(3), NOW).unwrap();
    assert!(matches!(activate(&slots), Err(UpdateError::OnTrial(2))));
    slots.commit(Meant::Any).unwrap();
    assert_eq!(activate(&slots).unwrap().version, 3);
}

#[test]
fn a_trial_that_nobody_decides_is_undone_at_the_fourth_start() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[1]);
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    assert_eq!([started(&slots), started(&slots), started(&slots)], [2, 2, 2]);
    let start = slots.start();
    assert_eq!(start.policy.unwrap().0.version, 1);
    assert!(start.notes.iter().any(|note| note.contains("never committed")), "{:?}", start.notes);
}

#[test]
fn a_repeated_delivery_changes_nothing() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[1, 2]);
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    let status = slots.status().unwrap();
    assert_eq!((status.current, status.previous, status.on_trial), (2, 1, false));
}

#[test]
fn what_expires_while_it_is_staged_is_not_put_in_force_and_what_is_in_force_stays() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[1]);
    slots.stage(&image.update(2), NOW).unwrap();
    let error = slots.verify(Meant::Any, Reading(Some(EXPIRES))).err().unwrap();
    assert!(matches!(error, UpdateError::Expired { .. }), "{error}");
    assert_eq!(started(&slots), 1);
}

#[test]
fn bad_flash_in_the_current_policy_leads_to_what_the_floor_allows() {
    let image = Image::new();
    // On trial the version before is good enough.
    let (disk, slots) = with_versions(&image, &[1]);
    slots.stage(&image.update(2), NOW).unwrap();
    let before = disk.names();
    activate(&slots).unwrap();
    let staged = image.accept(&image.update(2)).unwrap();
    let name: String = staged.digest().iter().map(|b| format!("{b:02x}")).collect();
    assert!(before.iter().any(|n| n.starts_with(&name)), "{before:?}");
    assert_eq!(disk.spoil(&name, |bytes| bytes[90] ^= 1), 1);
    let start = slots.start();
    assert_eq!((start.slot, start.policy.unwrap().0.version), (Slot::Previous, 1));
    // Once it was committed to, nothing older is, whatever lies there.
    let (disk, slots) = with_versions(&image, &[1, 2]);
    disk.spoil(&name, |bytes| bytes[90] ^= 1);
    let start = slots.start();
    assert_eq!(start.slot, Slot::Factory);
    assert!(start.notes.iter().any(|note| note.contains("version 2 is not used")), "{:?}", start.notes);
}

#[test]
fn a_thief_who_writes_to_the_folder_puts_nothing_in_force() {
    let (image, thief) = (Image::new(), Image::new());
    let (disk, slots) = with_versions(&image, &[1]);
    let theirs = thief.update(9);
    disk.spoil(".policy", |bytes| bytes.clone_from(&theirs));
    assert_eq!(started(&slots), 0, "the factory's");
}

#[test]
fn a_damaged_record_of_the_slots_is_restored_from_the_floor() {
    let image = Image::new();
    for damage in 0..3 {
        let (disk, slots) = with_versions(&image, &[1, 2]);
        match damage {
            0 => drop(disk.spoil("slots", |bytes| bytes[45] ^= 1)),
            1 => drop(disk.spoil("slots", Vec::clear)),
            _ => drop(disk.spoil("slots", |bytes| bytes.push(0))),
        }
        assert_eq!(started(&slots), 2, "damage {damage}");
        assert_eq!(install(&slots, &image.update(3)).unwrap(), 3, "damage {damage}");
    }
}

#[test]
fn a_lost_floor_is_raised_to_what_is_in_force_and_a_damaged_one_takes_no_update() {
    let image = Image::new();
    let (disk, slots) = with_versions(&image, &[1, 2]);
    disk.lose("floor");
    assert!(matches!(slots.stage(&image.update(1), NOW), Err(UpdateError::Rollback { .. })));
    assert_eq!(started(&slots), 2);
    assert_eq!(slots.status().unwrap().floor, 2);
    disk.spoil("floor", |bytes| bytes[50] ^= 1);
    assert!(matches!(slots.stage(&image.update(3), NOW), Err(UpdateError::Damaged { .. })));
    assert_eq!(started(&slots), 2);
}

/// A counter of the hardware.
#[derive(Default)]
struct Tpm(AtomicU64);

impl Counter for Tpm {
    fn value(&self) -> io::Result<u64> {
        Ok(self.0.load(Ordering::SeqCst))
    }

    fn raise(&self, to: u64) -> io::Result<()> {
        self.0.fetch_max(to, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn a_counter_of_the_hardware_remembers_when_the_whole_state_directory_was_put_back() {
    let image = Image::new();
    let tpm = Arc::new(Tpm::default());
    let slots = |disk: &Arc<MemoryDisk>| {
        let floors = Floors::new(disk.clone(), "/state/floor".into(), Some(tpm.clone()));
        let trust = image.trust.clone();
        Slots::new(Setup { disk: disk.clone(), folder: "/state/policy".into(), floors, trust, checkup: Arc::new(Well) })
    };
    let disk = Arc::new(MemoryDisk::default());
    install(&slots(&disk), &image.update(1)).unwrap();
    let copy = Arc::new(disk.after_kill());
    install(&slots(&disk), &image.update(2)).unwrap();
    assert_eq!(tpm.value().unwrap(), 2);
    // The copy of the state directory holds version 1 and floor 1; the counter knows better.
    let old = slots(&copy);
    assert_eq!(started(&old), 0, "not version 1");
    assert!(matches!(old.stage(&image.update(1), NOW), Err(UpdateError::Rollback { floor: 2, .. })));
    assert_eq!(install(&old, &image.update(3)).unwrap(), 3);
}

#[test]
fn keys_rotate_and_are_revoked_and_old_lists_do_not_bring_them_back() {
    let image = Image::new();
    let (disk, slots) = with_versions(&image, &[1]);
    let next = SecretKey::generate().unwrap();
    let by_next = |version| sign(&blob(version), &issue(version), &next).unwrap().1;
    assert!(matches!(slots.stage(&by_next(2), NOW), Err(UpdateError::UnknownKey(_))));
    let first = image.list(1, &[&next], &[]);
    slots.keys(&first).unwrap();
    assert_eq!(install(&slots, &by_next(2)).unwrap(), 2);
    assert_eq!(install(&slots, &image.update(3)).unwrap(), 3, "the image's key is in use still");
    slots.keys(&image.list(2, &[&next], &[&image.key])).unwrap();
    assert!(matches!(slots.stage(&image.update(4), NOW), Err(UpdateError::RevokedKey(_))));
    assert_eq!(started(&slots), 3, "what is in force stays, whatever became of its key");
    assert!(matches!(slots.keys(&first), Err(UpdateError::KeysRollback { found: 1, floor: 2 })));
    let other = image.list(2, &[&next], &[]);
    assert!(matches!(slots.keys(&other), Err(UpdateError::SameVersion(2))));
    // Taking the list away does not help either.
    disk.lose("/keys");
    assert!(matches!(slots.stage(&image.update(4), NOW), Err(UpdateError::Damaged { .. })));
    slots.keys(&image.list(3, &[&next], &[&image.key])).unwrap();
    assert_eq!(install(&slots, &by_next(5)).unwrap(), 5);
}

#[test]
fn a_list_may_not_forget_who_signed_what_is_in_force() {
    let image = Image::new();
    let (_, slots) = with_versions(&image, &[]);
    let next = SecretKey::generate().unwrap();
    slots.keys(&image.list(1, &[&next], &[])).unwrap();
    install(&slots, &sign(&blob(1), &issue(1), &next).unwrap().1).unwrap();
    assert!(matches!(slots.keys(&image.list(2, &[], &[])), Err(UpdateError::KeysForget(_))));
    slots.keys(&image.list(2, &[], &[&next])).unwrap();
    assert_eq!(started(&slots), 1);
}

/// The car was configured otherwise since, so that it cannot run version 2 any more.
struct Refitted;

impl Checkup for Refitted {
    fn usable(&self, policy: &Policy) -> Result<(), UpdateError> {
        match super::kit::version_of(policy) {
            2 => Err(UpdateError::UnknownPart("a seat".into())),
            _ => Ok(()),
        }
    }

    fn check(&self, _: &Policy) -> Result<usize, String> {
        Ok(1)
    }
}

#[test]
fn a_policy_that_the_car_cannot_run_is_passed_over_at_the_start_and_cannot_be_committed_to() {
    let image = Image::new();
    let (disk, slots) = with_versions(&image, &[1]);
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    let slots = image.slots_with(disk, Arc::new(Refitted));
    let start = slots.start();
    assert_eq!((start.slot, start.version()), (Slot::Previous, 1));
    let error = slots.commit(Meant::Version(2)).err().unwrap();
    assert!(matches!(error, UpdateError::UnknownPart(_)), "{error}: it is not in force");
    assert_eq!(slots.roll_back(Meant::Version(2)).unwrap().version(), 1);
}
