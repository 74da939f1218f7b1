//! A kill and a power loss at every write: the next start always has a valid policy, old or new, and never
//! one below the floor.

use std::sync::Arc;

use obligato::policy::update::Meant;

use super::disk::{Fate, MemoryDisk};
use super::kit::{Image, SickOf, install, started};

/// Most combinations of fates that one moment is tried with.
const COMBINATIONS: usize = 2000;

/// A scenario: what is done to slots that have committed to version 1. Errors are the machine dying.
type Scenario = fn(&Image, &Arc<MemoryDisk>);

fn update(image: &Image, disk: &Arc<MemoryDisk>) {
    let _ = install(&image.slots(disk.clone()), &image.update(2));
}

fn sick_update(image: &Image, disk: &Arc<MemoryDisk>) {
    let slots = image.slots_with(disk.clone(), Arc::new(SickOf(vec![2])));
    let _ = slots.stage(&image.update(2), super::kit::NOW);
    let _ = super::kit::activate(&slots);
}

fn rolled_back(image: &Image, disk: &Arc<MemoryDisk>) {
    let slots = image.slots(disk.clone());
    let _ = slots.stage(&image.update(2), super::kit::NOW);
    let _ = super::kit::activate(&slots);
    let _ = slots.roll_back(Meant::Any);
}

fn new_keys(image: &Image, disk: &Arc<MemoryDisk>) {
    let slots = image.slots(disk.clone());
    let _ = slots.keys(&image.list(1, &[&image.key], &[]));
    let _ = install(&slots, &image.update(2));
}

fn restarted(image: &Image, disk: &Arc<MemoryDisk>) {
    let slots = image.slots(disk.clone());
    let _ = slots.stage(&image.update(2), super::kit::NOW);
    let _ = super::kit::activate(&slots);
    for _ in 0..5 {
        slots.start();
    }
}

const SCENARIOS: [(&str, Scenario); 5] = [
    ("update", update),
    ("an update that is not well", sick_update),
    ("an update that is rolled back", rolled_back),
    ("a list of keys and an update", new_keys),
    ("starts on trial", restarted),
];

/// A disk that has committed to version 1.
fn settled(image: &Image) -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::default());
    assert_eq!(install(&image.slots(disk.clone()), &image.update(1)).unwrap(), 1);
    Arc::new(disk.after_power_loss(&vec![Fate::Kept; disk.pending()]))
}

/// What must hold of a disk after whatever happened.
fn holds(image: &Image, disk: MemoryDisk, what: &str) {
    let disk = Arc::new(disk);
    let slots = image.slots(disk.clone());
    let version = started(&slots);
    assert!([1, 2].contains(&version), "{what}: version {version} is in force");
    let status = slots.status().unwrap();
    assert!(version >= status.floor, "{what}: version {version} lies below {status:?}");
    assert!([1, 2].contains(&status.floor), "{what}: {status:?}");
    assert!(!disk.names().iter().any(|name| name.ends_with(".new")), "{what}: {:?}", disk.names());
    // And it is no dead end: the next update arrives.
    if status.on_trial {
        slots.commit(Meant::Any).unwrap();
    }
    assert_eq!(install(&slots, &image.update(3)).unwrap(), 3, "{what}");
    assert_eq!(started(&slots), 3, "{what}");
}

fn operations(image: &Image, settled: &MemoryDisk, scenario: Scenario) -> usize {
    let disk = Arc::new(settled.after_kill());
    scenario(image, &disk);
    disk.operations()
}

#[test]
fn a_kill_at_every_write_leaves_a_valid_policy() {
    let image = Image::new();
    let settled = settled(&image);
    for (name, scenario) in SCENARIOS {
        let operations = operations(&image, &settled, scenario);
        assert!(operations > 8, "{name} takes {operations} operations");
        for at in 0..operations {
            for percent in [0, 40, 100] {
                let disk = Arc::new(settled.dying(at, percent));
                scenario(&image, &disk);
                holds(&image, disk.after_kill(), &format!("{name}, killed at {at}, {percent} %"));
            }
        }
    }
}

/// All fates of the pending operations, or a spread of them where there are too many.
fn fates(disk: &MemoryDisk) -> Vec<Vec<Fate>> {
    let choices: Vec<&[Fate]> = (0..disk.pending())
        .map(|at| if disk.tears(at) { &[Fate::Lost, Fate::Torn, Fate::Kept][..] } else { &[Fate::Lost, Fate::Kept] })
        .collect();
    let all: usize = choices.iter().map(|c| c.len()).product();
    let stride = all.div_ceil(COMBINATIONS);
    let mut found = Vec::new();
    for mut number in (0..all).step_by(stride).chain([all - 1]) {
        let pick = |options: &&[Fate]| {
            let fate = options[number % options.len()];
            number /= options.len();
            fate
        };
        found.push(choices.iter().map(pick).collect());
    }
    found
}

#[test]
fn a_power_loss_at_every_write_with_every_fate_of_what_was_not_synced_leaves_a_valid_policy() {
    let image = Image::new();
    let settled = settled(&image);
    let mut tried = 0;
    for (name, scenario) in SCENARIOS {
        for at in 0..operations(&image, &settled, scenario) {
            let disk = Arc::new(settled.dying(at, 100));
            scenario(&image, &disk);
            for fates in fates(&disk) {
                tried += 1;
                holds(&image, disk.after_power_loss(&fates), &format!("{name}, power lost at {at}, {fates:?}"));
            }
        }
    }
    println!("{tried} power losses");
    assert!(tried > 500);
}

/// A power loss during the start after a power loss.
#[test]
fn a_power_loss_during_the_repair_of_a_power_loss_leaves_a_valid_policy() {
    let image = Image::new();
    let settled = settled(&image);
    for at in 0..operations(&image, &settled, update) {
        let first = Arc::new(settled.dying(at, 100));
        update(&image, &first);
        for lost in [Fate::Lost, Fate::Kept] {
            let base = first.after_power_loss(&vec![lost; first.pending()]);
            let whole = Arc::new(base.after_kill());
            started(&image.slots(whole.clone()));
            for again in 0..whole.operations() {
                let second = Arc::new(base.dying(again, 100));
                image.slots(second.clone()).start();
                for fates in fates(&second) {
                    holds(&image, second.after_power_loss(&fates), &format!("power lost at {at}, then at {again}"));
                }
            }
        }
    }
}

/// A small generator of numbers, so that a failure can be repeated from its seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[test]
fn a_life_of_random_kills_and_power_losses_never_goes_below_the_floor() {
    let image = Image::new();
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let mut disk = settled(&image);
        let (mut next, mut floor) = (2, 1);
        for life in 0..60 {
            let dying = Arc::new(disk.dying(dice.roll(40), dice.roll(101)));
            let slots = image.slots(dying.clone());
            slots.start();
            let _ = install(&slots, &image.update(next));
            let left = match dice.roll(2) {
                0 => dying.after_kill(),
                _ => {
                    let fates: Vec<Fate> =
                        (0..dying.pending()).map(|_| [Fate::Lost, Fate::Torn, Fate::Kept][dice.roll(3)]).collect();
                    dying.after_power_loss(&fates)
                }
            };
            disk = Arc::new(left);
            let slots = image.slots(disk.clone());
            let version = started(&slots);
            let status = slots.status().unwrap();
            assert!(version >= status.floor && status.floor >= floor, "seed {seed}, life {life}: {version} {status:?}");
            assert!(version > 0, "seed {seed}, life {life}: the factory's policy");
            floor = status.floor;
            if status.on_trial {
                slots.commit(Meant::Any).unwrap();
            }
            next = slots.status().unwrap().current + 1;
        }
        assert!(floor > 3, "seed {seed}: nothing was ever installed");
    }
}
