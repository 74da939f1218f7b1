//! Whether the car, as it is, can keep the rules of a policy.

use obligato::policy::HardLimits;
use obligato::policy::update::{InventoryDigest, LiveCar, UpdateError};
use obligato::tools::Removed;

use super::support;

fn limits(text: &str) -> HardLimits {
    HardLimits::parse(text).unwrap()
}

fn fits(limits: &HardLimits, removed: &[&str], unserved: &[&str]) -> Result<(), UpdateError> {
    let removed = Removed::from_iter(removed);
    LiveCar { limits, removed: &removed, serves: &|tool| !unserved.contains(&tool) }.fits(support::cabin())
}

#[test]
fn a_rule_whose_remedy_nobody_serves_is_broken_and_named() {
    let none = HardLimits::default();
    assert!(fits(&none, &[], &[]).is_ok());
    let error = fits(&none, &[], &["set_fan_speed"]).err().unwrap();
    assert!(
        matches!(&error, UpdateError::BrokenRule { rule, tool } if rule == "ac-needs-fan" && tool == "set_fan_speed"),
        "{error}"
    );
}

#[test]
fn what_is_configured_as_lacking_breaks_no_rule_and_what_cannot_trigger_is_not_broken() {
    let none = HardLimits::default();
    assert!(fits(&none, &["set_fan_speed"], &["set_fan_speed"]).is_ok());
    // Nobody can switch the air conditioning on, so nobody owes a fan.
    let triggers = ["set_fan_speed", "set_air_conditioning", "set_window_defrost"];
    let broken = fits(&none, &[], &triggers).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(!broken.contains("ac-needs-fan"), "{broken}");
}

#[test]
fn a_part_that_the_policy_does_not_know_and_a_limit_that_it_cannot_keep_are_refused() {
    let none = HardLimits::default();
    let error = fits(&none, &["set_massage_level.zone"], &[]).err().unwrap();
    assert!(matches!(&error, UpdateError::UnknownPart(part) if part == "set_massage_level.zone"), "{error}");
    let strange = limits(
        "[[limit]]\nname = \"depth\"\ntool = \"open_close_window\"\nfield = \"Car.depth\"\nat_most = 6\nsay = \"No.\"",
    );
    assert!(matches!(fits(&strange, &[], &[]), Err(UpdateError::Limits(_))));
    let image = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/systemd/hard-limits.toml")).unwrap();
    assert!(fits(&limits(&image), &[], &[]).is_ok());
}

#[test]
fn an_inventory_is_the_same_in_any_order_and_another_with_any_other_tool() {
    let tools: Vec<_> = support::cabin().inventory.iter().cloned().collect();
    let digest = |tools: Vec<_>| InventoryDigest::of(&tools.into());
    let mut turned = tools.clone();
    turned.reverse();
    assert_eq!(digest(tools.clone()), digest(turned));
    assert_ne!(digest(tools.clone()), digest(tools[1..].to_vec()));
    let mut changed = tools.clone();
    changed[0].schema.push(' ');
    assert_ne!(digest(tools), digest(changed));
}
