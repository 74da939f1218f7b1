//! A clock may be wrong at any step, ahead or behind. What a car remembers of the time is what signers say.

use std::sync::Arc;

use obligato::policy::update::{Issue, Meant, Reading, SecretKey, UpdateError, sign};
use obligato::policy::{HardLimits, Policy};

use super::crashes::Dice;
use super::disk::MemoryDisk;
use super::kit::{EPOCH, EXPIRES, Image, NOT_BEFORE, NOW, blob, install, issue};

fn signed(version: u64, from: u64, until: u64, key: &SecretKey) -> Vec<u8> {
    let issue = Issue { target: "hu", version, not_before: from, expires: until };
    sign(&blob(version), &issue, key).unwrap().1
}

fn fits(policy: &Policy) -> Result<(), UpdateError> {
    let removed = obligato::tools::Removed::default();
    let limits = HardLimits::default();
    obligato::policy::update::LiveCar { limits: &limits, removed: &removed, serves: &|_| true }.fits(policy)
}

#[test]
fn what_is_valid_now_is_taken_now_whatever_the_clock_said_at_the_steps_before() {
    let image = Image::new();
    let (now, year) = (NOW.0.unwrap(), 365 * 86_400);
    let mut committed = 0;
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let slots = image.slots(Arc::new(MemoryDisk::default()));
        for version in 1..5 {
            // Signed before now, for a year or for a lifetime.
            let from = now - dice.roll(1_000_000) as u64;
            let until = from + [year, 10 * year, 100 * year][dice.roll(3)];
            let mut wrong = || {
                let near = now + dice.roll(2_000_000) as u64 - 1_000_000;
                let readings = [None, Some(0), Some(near), Some(until - 1), Some(now + 2_000_000_000), Some(u64::MAX)];
                Reading(readings[dice.roll(readings.len())])
            };
            let _ = slots.stage(&signed(version, from, until, &image.key), wrong());
            let _ = slots.verify(Meant::Any, wrong());
            let _ = slots.activate(Meant::Any, wrong(), &fits);
            committed += u32::from(slots.commit(Meant::Any).is_ok());
        }
        let next = signed(9, now - 9, now + 9, &image.key);
        slots.stage(&next, NOW).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        slots.activate(Meant::Version(9), NOW, &fits).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(committed > 100, "{committed} commits");
}

#[test]
fn a_policy_that_a_wrong_clock_let_in_before_its_day_holds_others_back_until_that_day_at_most() {
    let image = Image::new();
    let slots = image.slots(Arc::new(MemoryDisk::default()));
    let (now, day) = (NOW.0.unwrap(), 86_400);
    let early = signed(1, now + 7 * day, now + 90 * day, &image.key);
    slots.stage(&early, Reading(Some(now + 80 * day))).unwrap();
    slots.activate(Meant::Any, Reading(Some(now + 80 * day)), &fits).unwrap();
    slots.commit(Meant::Any).unwrap();
    let next = signed(2, now, now + 90 * day, &image.key);
    let error = slots.stage(&next, NOW).err().unwrap();
    assert!(matches!(error, UpdateError::ClockUnset { .. }), "{error}");
    assert!(error.to_string().contains("the car remembers that 2027-01-22"), "{error}");
    slots.stage(&next, Reading(Some(now + 7 * day))).unwrap();
}

#[test]
fn a_clock_set_back_behind_what_was_signed_deceives_nobody() {
    let image = Image::new();
    let slots = image.slots(Arc::new(MemoryDisk::default()));
    install(&slots, &image.update(1)).unwrap();
    let old = Issue { not_before: EPOCH, expires: NOT_BEFORE - 1, ..issue(2) };
    let old = sign(&blob(2), &old, &image.key).unwrap().1;
    for set_back in [Reading(Some(NOT_BEFORE - 2)), Reading(Some(EPOCH)), Reading(None)] {
        let error = slots.stage(&old, set_back).err().unwrap();
        assert!(matches!(error, UpdateError::Expired { clock: false, .. }), "{error}");
        assert!(error.to_string().contains("the car remembers that"), "{error}");
    }
    // What was not expired by then needs a clock.
    let error = slots.stage(&image.update(3), Reading(Some(NOT_BEFORE - 2))).err().unwrap();
    assert!(matches!(error, UpdateError::ClockUnset { .. }), "{error}");
}

#[test]
fn whoever_is_told_of_an_expiry_is_told_what_time_it_is_taken_to_be() {
    let image = Image::new();
    let slots = image.slots(Arc::new(MemoryDisk::default()));
    let error = slots.stage(&image.update(1), Reading(Some(EXPIRES + 60))).err().unwrap().to_string();
    assert!(error.contains("expired on 2027-12-28 13:20:00 UTC, and it is 2027-12-28 13:21:00 UTC now"), "{error}");
}
