//! Files of the state directory that are damaged, gone, out of reach or no longer of use, and a disk that is full:
//! what is in force is what a start would choose, and what was committed stays in force as long as its own file
//! is whole.

use std::sync::{Arc, Mutex};

use obligato::policy::Policy;
use obligato::policy::update::{Checkup, Meant, SecretKey, Slots, UpdateError, sign};

use super::disk::MemoryDisk;
use super::kit::{Image, NOW, SickOf, Well, activate, blob, install, issue, started, version_of};

/// A car that cannot run some versions any more, and whose policies may turn sick.
#[derive(Default)]
struct Car {
    unfit: Mutex<Vec<u64>>,
    sick: Mutex<bool>,
}

impl Checkup for Car {
    fn usable(&self, policy: &Policy) -> Result<(), UpdateError> {
        match self.unfit.lock().unwrap().contains(&version_of(policy)) {
            true => Err(UpdateError::UnknownPart("a seat".into())),
            false => Ok(()),
        }
    }

    fn check(&self, _: &Policy) -> Result<usize, String> {
        if *self.sick.lock().unwrap() { Err("it turned".into()) } else { Ok(1) }
    }
}

/// What may become of a file.
const FATES: [&str; 4] = ["flipped", "gone", "out of reach", "no longer fitting"];

fn hit(fate: &str, disk: &MemoryDisk, car: &Car, version: u64, name: &str) {
    match fate {
        "flipped" => assert_eq!(disk.spoil(name, |bytes| bytes[90] ^= 1), 1),
        "gone" => disk.lose(name),
        "out of reach" => disk.deny(name),
        _ => car.unfit.lock().unwrap().push(version),
    }
}

fn name_of(image: &Image, update: &[u8]) -> String {
    image.accept(update).unwrap().digest().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_a_step_leads_back_to_is_what_a_start_would_choose() {
    let image = Image::new();
    for fate in FATES {
        // Version 3 is committed, 2 was before it, 1 before that; 4 is on trial.
        for hits in [&[][..], &[1], &[2], &[3], &[2, 3], &[1, 2, 3], &[4]] {
            for turned in [false, true] {
                let (disk, car) = (Arc::new(MemoryDisk::default()), Arc::new(Car::default()));
                let slots = image.slots_with(disk.clone(), car.clone());
                let updates: Vec<Vec<u8>> = (1..=4).map(|version| image.update(version)).collect();
                for update in &updates[..3] {
                    install(&slots, update).unwrap();
                }
                slots.stage(&updates[3], NOW).unwrap();
                activate(&slots).unwrap();
                for version in hits {
                    let update = &updates[*version as usize - 1];
                    let name = name_of(&image, update);
                    if disk.names().iter().any(|found| found.starts_with(&name)) {
                        hit(fate, &disk, &car, *version, &name);
                    }
                }
                let what = format!("{hits:?} {fate}, {}", if turned { "commit" } else { "rollback" });
                let back = match turned {
                    true => {
                        *car.sick.lock().unwrap() = true;
                        match slots.commit(Meant::Version(4)) {
                            Err(UpdateError::Unhealthy { version: 4, back, .. }) => back,
                            // The trial itself is out of use: it is not committed to, and can be taken back.
                            Err(_) if hits == [4] => slots.roll_back(Meant::Version(4)).unwrap().version(),
                            other => panic!("{what}: {other:?}"),
                        }
                    }
                    false => slots.roll_back(Meant::Version(4)).unwrap().version(),
                };
                let expected = if hits.contains(&3) { 0 } else { 3 };
                assert_eq!(back, expected, "{what}");
                assert_eq!(slots.in_force().version(), back, "{what}");
                assert!(!slots.status().unwrap().on_trial, "{what}");
                *car.sick.lock().unwrap() = false;
                assert_eq!(started(&slots), back, "{what}: a start chooses otherwise");
                // Delivered again it is in force again, unless the car cannot run it.
                if fate != "no longer fitting" && fate != "out of reach" {
                    assert_eq!(install(&slots, &updates[2]).unwrap(), 3, "{what}");
                    assert_eq!(started(&slots), 3, "{what}");
                }
            }
        }
    }
}

/// A car with every file that there can be: a list of keys that vouches for the policy in force, one before it,
/// one staged.
fn lived_in(image: &Image, next: &SecretKey) -> (Arc<MemoryDisk>, Slots) {
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots(disk.clone());
    slots.keys(&image.list(1, &[], &[])).unwrap();
    slots.keys(&image.list(2, &[next], &[])).unwrap();
    install(&slots, &image.update(1)).unwrap();
    install(&slots, &sign(&blob(2), &issue(2), next).unwrap().1).unwrap();
    slots.stage(&image.update(3), NOW).unwrap();
    (disk, slots)
}

#[test]
fn any_one_file_may_be_lost_or_damaged_and_what_was_committed_stays_in_force_but_its_own() {
    let (image, next) = (Image::new(), SecretKey::generate().unwrap());
    let names = lived_in(&image, &next).0.names();
    assert_eq!(names.len(), 7, "floor, slots, two copies of the list, three policies: {names:?}");
    let own = name_of_held(&image, &next);
    for name in names {
        for damage in 0..4 {
            let (disk, slots) = lived_in(&image, &next);
            match damage {
                0 => disk.lose_exactly(&name),
                1 => disk.spoil_exactly(&name, |bytes| *bytes.last_mut().unwrap() ^= 1),
                2 => disk.spoil_exactly(&name, |bytes| bytes[9] ^= 1),
                _ => disk.spoil_exactly(&name, Vec::clear),
            }
            let start = slots.start();
            let whole = !name.starts_with(&own);
            assert_eq!(start.version() == 2, whole, "{name}, damage {damage}: {:?}", start.notes);
            assert!(!start.notes.is_empty() || is_spare(&name), "{name}, damage {damage}: nobody hears of it");
            let said = start.notes.join("\n");
            assert!(!said.contains("attack"), "{name}, damage {damage}: damage is no attack: {said}");
            // Again, after whatever was repaired.
            assert_eq!(started(&slots) == 2, whole, "{name}, damage {damage}, the second start");
        }
    }
}

/// What can be damaged without anybody needing to hear of it at a start: what is not in force.
fn is_spare(name: &str) -> bool {
    name.ends_with(".policy") || name == "floor"
}

fn name_of_held(image: &Image, next: &SecretKey) -> String {
    let trust = image.trusting(&image.list(2, &[next], &[]));
    let update = sign(&blob(2), &issue(2), next).unwrap().1;
    let installed = obligato::policy::update::Installed::default();
    let accepted = obligato::policy::update::accept(&update, &trust, &installed, NOW).unwrap();
    accepted.digest().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_list_of_keys_that_is_lost_for_good_is_named_and_delivered_again_it_brings_the_policy_back() {
    let (image, next) = (Image::new(), SecretKey::generate().unwrap());
    let (disk, slots) = lived_in(&image, &next);
    disk.spoil("/keys", |bytes| bytes[20] ^= 1);
    let start = slots.start();
    assert_eq!(start.version(), 0, "nobody vouches for it any more");
    assert!(start.notes.iter().any(|note| note.contains("keys is damaged")), "{:?}", start.notes);
    assert!(!start.notes.iter().any(|note| note.contains("attack")), "{:?}", start.notes);
    slots.keys(&image.list(2, &[&next], &[])).unwrap();
    assert_eq!(slots.in_force().version(), 2, "without another start");
}

#[test]
fn a_record_that_is_gone_is_restored_from_the_floor_and_nothing_that_the_floor_names_is_swept() {
    let image = Image::new();
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots(disk.clone());
    install(&slots, &image.update(1)).unwrap();
    install(&slots, &image.update(2)).unwrap();
    disk.lose_exactly("slots");
    let start = slots.start();
    assert_eq!(start.version(), 2, "{:?}", start.notes);
    assert!(start.notes.iter().any(|note| note.contains("slots is gone")), "{:?}", start.notes);
    assert_eq!(install(&slots, &image.update(3)).unwrap(), 3);
}

#[test]
fn nothing_is_swept_while_nobody_can_tell_what_is_in_which_slot() {
    let image = Image::new();
    for (hidden, lost) in [("slots", ""), ("floor", "slots")] {
        let disk = Arc::new(MemoryDisk::default());
        install(&image.slots(disk.clone()), &image.update(1)).unwrap();
        let before = disk.names().into_iter().filter(|name| name != lost).collect::<Vec<_>>();
        disk.deny(hidden);
        disk.lose_exactly(lost);
        image.slots(disk.clone()).start();
        assert_eq!(disk.names(), before, "{hidden} is out of reach");
    }
}

#[test]
fn a_disk_that_is_full_takes_nothing_keeps_nothing_and_leaves_what_is_in_force() {
    let image = Image::new();
    for left in (0..10_000).step_by(17) {
        let disk = Arc::new(MemoryDisk::default());
        let slots = image.slots(disk.clone());
        install(&slots, &image.update(1)).unwrap();
        let before = disk.names();
        disk.fill(left);
        match slots.stage(&image.update(2), NOW) {
            Ok(_) => return assert!(left > 100, "there was room in {left} bytes"),
            Err(error) => assert!(error.to_string().contains("make room"), "{error}"),
        }
        assert_eq!(disk.names(), before, "{left} bytes left");
        assert_eq!(started(&slots), 1, "{left} bytes left");
    }
    panic!("there never was room");
}

#[test]
fn a_commit_whose_record_cannot_be_written_is_a_commit_and_is_not_rolled_back() {
    let image = Image::new();
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots_with(disk.clone(), Arc::new(Well));
    install(&slots, &image.update(1)).unwrap();
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    // The machine dies once the floor has risen: write, sync, rename, sync.
    let dying = Arc::new(disk.dying(4, 0));
    let _ = image.slots(dying.clone()).commit(Meant::Any);
    let slots = image.slots(Arc::new(dying.after_kill()));
    assert!(!slots.status().unwrap().on_trial, "{:?}", slots.status());
    let error = slots.roll_back(Meant::Version(2)).err().unwrap();
    assert!(matches!(error, UpdateError::Committed(2)), "{error}");
    assert!(matches!(slots.roll_back(Meant::Any), Err(UpdateError::NothingToDo(_))));
    assert_eq!(slots.commit(Meant::Version(2)).unwrap().version, 2);
    assert_eq!(started(&slots), 2);
}

#[test]
fn a_policy_that_is_not_well_is_never_on_record_as_the_one_in_force() {
    let image = Image::new();
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots_with(disk.clone(), Arc::new(SickOf(vec![2])));
    install(&slots, &image.update(1)).unwrap();
    slots.stage(&image.update(2), NOW).unwrap();
    // Not even where the disk takes nothing any more that would lead back.
    disk.fill(0);
    let _ = activate(&slots);
    assert_eq!(started(&slots), 1);
    assert_eq!(slots.status().unwrap().current, 1);
}

#[test]
fn a_trial_whose_starts_cannot_be_counted_is_not_started() {
    let image = Image::new();
    let disk = Arc::new(MemoryDisk::default());
    let slots = image.slots(disk.clone());
    install(&slots, &image.update(1)).unwrap();
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    let trials: Vec<u64> = (0..9)
        .map(|start| {
            // The disk takes nothing more from some start on.
            if start == 2 {
                disk.fill(0);
            }
            started(&slots)
        })
        .collect();
    assert_eq!(trials, [2, 2, 1, 1, 1, 1, 1, 1, 1]);
    assert!(slots.start().notes.iter().any(|note| note.contains("cannot be recorded")));
}

#[test]
fn at_any_failing_write_a_trial_is_started_three_times_at_most() {
    let image = Image::new();
    for failing in 0..60 {
        let disk = Arc::new(MemoryDisk::default());
        let slots = image.slots(disk.clone());
        install(&slots, &image.update(1)).unwrap();
        slots.stage(&image.update(2), NOW).unwrap();
        activate(&slots).unwrap();
        // From one operation on every one fails, as on a medium that was remounted read-only.
        let dying = image.slots(Arc::new(disk.dying(failing, 0)));
        let trials = (0..9).filter(|_| started(&dying) == 2).count();
        assert!(trials <= 3, "{trials} starts on trial, writes fail from {failing} on");
    }
}
