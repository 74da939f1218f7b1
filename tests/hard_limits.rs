//! The hard limits of the image: they hold whatever a policy says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

use std::time::Duration;

use obligato::model::{Resolution, ToolCall, Value};
use obligato::policy::{HardLimit, HardLimits, Policy};
use obligato::state::{AttrType, Attribute, CellIx, EffectModel, Entity, EntityIx, Origin, World};
use obligato::tools::ParamType;
use serde_json::{Value as Json, json};

fn limits() -> HardLimits {
    HardLimits::parse(include_str!("../systemd/hard-limits.toml")).unwrap()
}

/// A car that has nothing but a speedometer.
fn model() -> EffectModel {
    let speed = Attribute {
        entity: EntityIx::CAR,
        name: "speed".to_owned(),
        kind: AttrType::Int,
        resolution: Resolution::ONE,
        unit: "km/h".to_owned(),
        field: "speed".to_owned(),
        read: None,
        also: Vec::new(),
        base: CellIx(0),
    };
    let car = Entity { name: "Car".to_owned(), items: vec![String::new()], names: Default::default() };
    EffectModel { entities: vec![car], attributes: vec![speed], cells: 1, ..EffectModel::default() }
}

/// The name of the limit that a call breaks at a speed.
fn broken(speed: Value, tool: &str, arguments: Json) -> Option<String> {
    let mut world = World::new(&model());
    world.set(CellIx(0), speed, Origin::Never);
    let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
    limits().broken_by(&model(), &world, &call).map(|b| b.limit.name.clone())
}

#[test]
fn the_trunk_opens_at_walking_pace_and_not_above_it() {
    let open = json!({"action": "OPEN"});
    assert_eq!(broken(Value::Int(6), "open_close_trunk_door", open.clone()), None);
    let limit = Some("trunk above walking pace".to_owned());
    assert_eq!(broken(Value::Int(7), "open_close_trunk_door", open.clone()), limit);
    assert_eq!(broken(Value::Unknown, "open_close_trunk_door", open), limit, "an unknown speed is no low one");
    assert_eq!(broken(Value::Int(130), "open_close_trunk_door", json!({"action": "CLOSE"})), None);
}

#[test]
fn a_speed_that_was_read_too_long_ago_is_unknown() {
    let mut world = World::new(&model());
    world.set(CellIx(0), Value::Int(0), Origin::Never);
    let open = ToolCall::new("open_close_trunk_door", json!({"action": "OPEN"}).as_object().unwrap().clone());
    let limits = limits();
    let broken = |age: u64| limits.broken_at(&model(), &world, &open, &|_| Some(Duration::from_millis(age))).is_some();
    assert!(!broken(2_000) && broken(2_001));
}

#[test]
fn a_value_beyond_what_an_actuator_can_do_is_refused() {
    let window = |percentage: Json| json!({"window": "DRIVER", "percentage": percentage});
    assert_eq!(broken(Value::Int(0), "open_close_window", window(json!(100))), None);
    assert!(broken(Value::Int(0), "open_close_window", window(json!(101))).is_some());
    assert!(broken(Value::Int(0), "set_climate_temperature", json!({"temperature": 1e9})).is_some());
    assert_eq!(broken(Value::Int(0), "set_climate_temperature", json!({"temperature": 22.5})), None);
}

#[test]
fn a_policy_without_a_speed_cannot_be_used_on_the_image() {
    assert!(limits().fit(&model()).is_ok());
    let error = limits().fit(&EffectModel::default()).unwrap_err().to_string();
    assert!(error.contains("`Car.speed`"), "{error}");
}

#[test]
fn every_number_that_the_cabin_writes_has_a_range() {
    let blob = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/cabin/cabin.obl");
    let Ok(blob) = std::fs::read(blob) else {
        eprintln!("skipped: there is no policies/cabin/cabin.obl");
        return;
    };
    let policy = Policy::from_blob(&blob).unwrap();
    let limits = limits();
    limits.fit(&policy.model).unwrap();
    for limit in &limits.limit {
        assert!(policy.inventory.get(&limit.tool).is_some(), "{}: no tool {}", limit.name, limit.tool);
    }
    for tool in policy.inventory.iter().filter(|t| t.is_write()) {
        for param in tool.params.iter().filter(|p| p.kind == ParamType::Number) {
            let ranged = |l: &&HardLimit| {
                l.tool == tool.name.as_str()
                    && l.argument.as_deref() == Some(&param.name)
                    && l.minimum.is_some()
                    && l.maximum.is_some()
            };
            assert!(limits.limit.iter().any(|l| ranged(&l)), "{}.{} has no range", tool.name, param.name);
        }
    }
}
