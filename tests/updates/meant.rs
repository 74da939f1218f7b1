//! Several tools deliver at a time: each step is taken on the version that is meant, or not at all.

use std::sync::Arc;

use obligato::policy::HardLimits;
use obligato::policy::update::{Class, LiveCar, Meant, Slots, UpdateError};
use obligato::tools::Removed;

use super::disk::MemoryDisk;
use super::kit::{Image, NOW, activate, install, started};

fn activate_meant(slots: &Slots, meant: Meant) -> Result<(u64, bool), UpdateError> {
    let (limits, removed) = (HardLimits::default(), Removed::default());
    let car = LiveCar { limits: &limits, removed: &removed, serves: &|_| true };
    slots.activate(meant, NOW, &|policy| car.fits(policy)).map(|active| (active.header.version, active.on_trial))
}

/// Version 1 is committed.
fn car(image: &Image) -> Slots {
    let slots = image.slots(Arc::new(MemoryDisk::default()));
    install(&slots, &image.update(1)).unwrap();
    slots
}

fn other(error: &UpdateError) -> bool {
    error.class() == Class::OtherVersion
}

#[test]
fn nobody_decides_on_what_somebody_else_staged_or_has_on_trial() {
    let image = Image::new();
    let slots = car(&image);
    slots.stage(&image.update(2), NOW).unwrap();
    slots.stage(&image.update(3), NOW).unwrap();
    let before = slots.status().unwrap();
    assert!(other(&slots.verify(Meant::Version(2), NOW).unwrap_err()), "3 is staged");
    assert!(other(&activate_meant(&slots, Meant::Version(2)).unwrap_err()));
    assert_eq!(slots.unstage(Meant::Version(2)).unwrap(), 0, "it is not staged");
    assert_eq!(slots.status().unwrap(), before);
    assert_eq!(activate_meant(&slots, Meant::Version(3)).unwrap(), (3, true));
    slots.stage(&image.update(4), NOW).unwrap();
    let before = slots.status().unwrap();
    assert!(matches!(activate_meant(&slots, Meant::Version(4)), Err(UpdateError::OnTrial(3))));
    assert!(other(&slots.commit(Meant::Version(4)).unwrap_err()), "3 is on trial");
    assert_eq!(slots.roll_back(Meant::Version(4)).unwrap().version(), 3, "4 is not in force, 3 is");
    assert_eq!(slots.status().unwrap(), before);
    assert_eq!(slots.unstage(Meant::Version(4)).unwrap(), 4);
    assert_eq!(slots.commit(Meant::Version(3)).unwrap().version, 3);
}

#[test]
fn a_commit_succeeds_when_and_only_when_the_version_that_is_meant_is_committed_then() {
    let image = Image::new();
    let slots = car(&image);
    assert_eq!(slots.commit(Meant::Version(1)).unwrap().version, 1, "it is already");
    assert!(matches!(slots.commit(Meant::Any), Err(UpdateError::NothingToDo(_))), "nobody said which");
    slots.stage(&image.update(2), NOW).unwrap();
    assert!(other(&slots.commit(Meant::Version(2)).unwrap_err()), "it is staged, no more");
    activate(&slots).unwrap();
    // Nobody decides, and the fourth start undoes it.
    (0..4).for_each(|_| drop(slots.start()));
    let error = slots.commit(Meant::Version(2)).unwrap_err();
    assert!(other(&error) && error.to_string().contains("version 2 is not on trial, nothing is"), "{error}");
    assert_eq!(slots.status().unwrap().floor, 1);
    install(&slots, &image.update(3)).unwrap();
    assert!(other(&slots.commit(Meant::Version(1)).unwrap_err()), "3 took its place");
}

#[test]
fn a_rollback_succeeds_when_and_only_when_the_version_that_is_meant_is_out_of_force_then() {
    let image = Image::new();
    let slots = car(&image);
    assert_eq!(slots.roll_back(Meant::Version(2)).unwrap().version(), 1, "it never was in force");
    assert!(matches!(slots.roll_back(Meant::Version(1)), Err(UpdateError::Committed(1))));
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    assert_eq!(slots.roll_back(Meant::Version(2)).unwrap().version(), 1);
    assert_eq!(slots.roll_back(Meant::Version(2)).unwrap().version(), 1, "a repeated one");
    assert_eq!(started(&slots), 1);
}

#[test]
fn a_delivery_is_repeated_at_every_point_of_its_way() {
    let image = Image::new();
    let update = image.update(2);
    let steps = |slots: &Slots, times: usize| {
        let steps: [&dyn Fn() -> u64; 4] = [
            &|| slots.stage(&update, NOW).unwrap().version,
            &|| slots.verify(Meant::Version(2), NOW).unwrap().0.version,
            &|| activate_meant(slots, Meant::Version(2)).unwrap().0,
            &|| slots.commit(Meant::Version(2)).unwrap().version,
        ];
        steps[..times].iter().for_each(|step| assert_eq!(step(), 2));
    };
    for broken_off in 1..=4 {
        let slots = car(&image);
        steps(&slots, broken_off);
        steps(&slots, 4);
        let status = slots.status().unwrap();
        assert_eq!((status.current, status.previous, status.staged), (2, 1, 0), "broken off after {broken_off}");
        assert_eq!((status.on_trial, status.floor), (false, 2), "broken off after {broken_off}");
    }
}

#[test]
fn a_trial_whose_delivery_is_repeated_goes_on_with_the_starts_that_it_had() {
    let image = Image::new();
    let slots = car(&image);
    slots.stage(&image.update(2), NOW).unwrap();
    activate(&slots).unwrap();
    for expected in [2, 2, 2, 1] {
        assert_eq!(started(&slots), expected);
        if expected == 2 {
            slots.stage(&image.update(2), NOW).unwrap();
            assert_eq!(activate_meant(&slots, Meant::Version(2)).unwrap(), (2, true));
        }
    }
}

#[test]
fn a_content_is_meant_whatever_number_another_one_carries() {
    let image = Image::new();
    let genuine = image.update(2);
    let mut forged = genuine.clone();
    *forged.last_mut().unwrap() ^= 1;
    let second = image.signed(&super::kit::blob(7), &super::kit::issue(2), &image.key);
    let meant = Meant::content(&genuine).unwrap();
    assert_eq!(meant.version(), 2);
    for impostor in [&forged, &second].map(|bytes| Meant::content(bytes).unwrap()) {
        let slots = car(&image);
        slots.stage(&genuine, NOW).unwrap();
        let staged = slots.status().unwrap();
        assert_eq!(slots.unstage(impostor).unwrap(), 0);
        let error = slots.verify(impostor, NOW).unwrap_err();
        assert!(other_content(&error), "{error}");
        assert!(other_content(&activate_meant(&slots, impostor).unwrap_err()));
        assert_eq!(slots.status().unwrap(), staged);
        assert_eq!(activate_meant(&slots, meant).unwrap(), (2, true));
        let tried = slots.status().unwrap();
        assert!(other_content(&slots.commit(impostor).unwrap_err()));
        assert_eq!(slots.roll_back(impostor).unwrap().version(), 2, "it is not in force, the genuine one is");
        assert_eq!(slots.status().unwrap(), tried);
        assert_eq!(slots.commit(meant).unwrap().version, 2);
        assert!(other(&slots.commit(impostor).unwrap_err()), "nobody committed to that");
        assert_eq!(slots.roll_back(impostor).unwrap().version(), 2);
        assert!(matches!(slots.roll_back(meant), Err(UpdateError::Committed(2))));
    }
    assert!(Meant::content(&genuine[..200]).is_err(), "what is cut off was never staged");
}

fn other_content(error: &UpdateError) -> bool {
    other(error) && error.to_string().contains("version 2 with another content")
}
