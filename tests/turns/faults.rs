//! What a turn does when the car does not do what it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use obligato::model::Decision;
use obligato::state::{Clock, SystemClock};
use obligato::turn::{Budget, Config, Done, Event};
use obligato::vehicle::{Fault, FaultMode};
use serde_json::json;

use super::scene::{Scene, calls};

fn ac() -> serde_json::Value {
    calls(&[("set_air_conditioning", json!({"on": true}))])
}

fn fault(tool: &str, mode: FaultMode) -> Fault {
    Fault::of(tool, mode)
}

#[test]
fn a_write_that_changes_nothing_is_not_called_done() {
    let mut scene = Scene::new(&[ac()]);
    scene.car.inject(fault("set_air_conditioning", FaultMode::Ignore));
    let report = scene.says("turn on the AC");
    assert!(report.text.contains("did not work"), "{}", report.text);
    assert!(!report.text.contains("Done"), "{}", report.text);
    assert_eq!(scene.writes().len(), 1, "its companions are not wanted any more: {:?}", scene.writes());
}

#[test]
fn a_companion_that_fails_stops_the_rest_and_is_told() {
    let mut scene = Scene::new(&[ac()]);
    scene.car.inject(fault("open_close_window", FaultMode::Fail { why: "the window is blocked".into() }));
    let report = scene.says("turn on the AC");
    assert!(report.text.contains("did not work"), "{}", report.text);
    let closes = scene.writes().iter().filter(|w| w.starts_with("open_close_window")).count();
    assert_eq!(closes, 1, "the second window is not tried: {:?}", scene.writes());
}

#[test]
fn a_car_that_never_answers_leaves_an_unknown_not_a_done() {
    let mut scene = Scene::new(&[calls(&[("set_steering_wheel_heating", json!({"level": 2}))])]);
    scene.car.inject(fault("set_steering_wheel_heating", FaultMode::Stall));
    let report = scene.says("steering wheel heating to 2");
    assert!(report.text.contains("can't tell"), "{}", report.text);
}

#[test]
fn a_used_up_budget_refuses_and_names_itself() {
    let budget = Budget { model_calls: 0, ..Budget::default() };
    let mut scene = Scene::with(&[ac()], Config { budget, ..Config::default() });
    let report = scene.says("turn on the AC");
    assert_eq!(report.done, Done::Refused);
    assert!(report.text.contains("model calls"), "{}", report.text);
    assert!(scene.writes().is_empty());
}

#[test]
fn a_student_that_fails_executes_nothing_and_says_why() {
    let mut scene = Scene::new(&[]);
    let report = scene.says("turn on the AC");
    assert_eq!(report.done, Done::Refused);
    assert!(report.text.contains("script"), "{}", report.text);
    assert!(scene.writes().is_empty());
}

/// Another hand on the car at the moment that a read was answered, once.
fn meddle(scene: &mut Scene, after: &'static str, field: &'static str, value: u8) {
    let mut done = false;
    scene.world = Box::new(move |event, car| {
        let read = matches!(event, Event::Executed { call, .. } if call.tool == after);
        if read && !std::mem::replace(&mut done, true) {
            car.set(field, value).unwrap();
        }
    });
}

#[test]
fn what_changed_after_it_was_read_is_read_again_before_anything_is_done() {
    let window = "get_vehicle_window_positions.window_driver_rear_position";
    for after in ["get_vehicle_window_positions", "get_climate_settings"] {
        let mut scene = Scene::new(&[ac()]);
        meddle(&mut scene, after, window, 80);
        scene.says("turn on the AC");
        assert!(scene.writes().iter().any(|w| w.contains("DRIVER_REAR")), "after {after}: {:?}", scene.writes());
        assert_eq!(scene.car.get(window), Some(json!(0)), "after {after}");
    }
}

/// A clock that leaps when it is told to, as if the machine had been held up.
#[derive(Debug, Default)]
struct Leaping(Mutex<Duration>);

impl Clock for Leaping {
    fn since_boot(&self) -> Duration {
        SystemClock.since_boot() + *self.0.lock().unwrap()
    }

    fn unix(&self) -> Duration {
        SystemClock.unix()
    }
}

#[test]
fn a_clearance_that_waited_too_long_is_sought_anew() {
    let verdicts = |leap: Duration| {
        let mut scene = Scene::new(&[ac()]);
        let clock = Arc::new(Leaping::default());
        scene.clock(clock.clone());
        let mut leapt = false;
        scene.world = Box::new(move |event, _| {
            let cleared = matches!(event, Event::Judged { report } if report.verdict == Decision::Amend);
            if cleared && !std::mem::replace(&mut leapt, true) {
                *clock.0.lock().unwrap() += leap;
            }
        });
        scene.says("turn on the AC");
        assert!(scene.writes().iter().any(|w| w.contains("set_air_conditioning")), "{:?}", scene.writes());
        let is_write = |e: &&Event| matches!(e, Event::Executed { call, .. } if !call.tool.starts_with("get_"));
        let first = scene.events.iter().position(|e| is_write(&e)).unwrap();
        scene.events[..first].iter().filter(|e| matches!(e, Event::Judged { .. })).count()
    };
    assert!(verdicts(Duration::from_secs(60)) > verdicts(Duration::ZERO));
}
