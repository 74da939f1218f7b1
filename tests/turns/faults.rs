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
    // Whoever took the order may still carry it out.
    for part in ["I can't tell whether", "nothing has moved"] {
        assert!(report.text.contains(part), "{part}: {}", report.text);
    }
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

/// The prose keeps low beams on and high beams off for as long as a fog light is on.
#[test]
fn fog_lights_are_switched_off_again_when_their_beams_do_not_follow() {
    for (beams, on) in [("set_head_lights_low_beams", false), ("set_head_lights_high_beams", true)] {
        for mode in [FaultMode::Fail { why: "the relay is stuck".into() }, FaultMode::Ignore, FaultMode::Stall] {
            let mut scene = Scene::new(&[calls(&[("set_fog_lights", json!({"on": true, "position": "FRONT"}))])]);
            for (field, value) in [
                ("fog_light_front", false),
                ("head_lights_low_beams", beams.contains("high")),
                ("head_lights_high_beams", on),
            ] {
                scene.car.set(&format!("get_exterior_lights_status.{field}"), value).unwrap();
            }
            scene.car.inject(fault(beams, mode.clone()));
            let mut report = scene.says("turn on the front fog light");
            if report.done == Done::Asked {
                report = scene.says("yes");
            }
            let fog: Vec<String> = scene.writes().into_iter().filter(|w| w.starts_with("set_fog_lights")).collect();
            assert!(fog.len() == 2 && fog[1].contains("false"), "{beams} {mode:?}: {fog:?} {}", report.text);
            let front = scene.car.get("get_exterior_lights_status.fog_light_front");
            assert_eq!(front, Some(json!(false)), "{beams} {mode:?}");
            assert!(report.text.contains("beam"), "{beams} {mode:?}: {}", report.text);
        }
    }
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
    let all = Budget::default();
    for (budget, said, says) in [
        (Budget { model_calls: 0, ..all }, "turn on the AC", "think it over too often"),
        (Budget { model_calls: 0, ..all }, "mach bitte die Klimaanlage an", "zu oft darüber nachdenken"),
        (Budget { tokens: 0, ..all }, "turn on the AC", "too much to think over"),
        (Budget { wall_ms: 0, ..all }, "turn on the AC", "took longer than it may"),
        (Budget { tool_calls: 0, ..all }, "turn on the AC", "more steps than I may take"),
    ] {
        let mut scene = Scene::with(&[ac()], Config { budget, ..Config::default() });
        let report = scene.says(said);
        assert_eq!(report.done, Done::Refused, "{budget:?}");
        assert!(report.text.contains(says), "{budget:?}: {}", report.text);
        assert!(!report.text.contains("budget"), "words of the machine are for the log: {}", report.text);
        assert!(scene.writes().is_empty());
    }
}

#[test]
fn a_student_that_fails_executes_nothing_and_says_why() {
    let mut scene = Scene::new(&[]);
    let report = scene.says("turn on the AC");
    assert_eq!(report.done, Done::Refused);
    assert!(report.text.contains("my script has nothing more to say"), "{}", report.text);
    assert!(!report.text.contains("add one to the file"), "{}", report.text);
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

#[test]
fn a_turn_that_was_slept_over_does_no_more_and_says_so() {
    let mut scene = Scene::new(&[ac()]);
    let mut slept = false;
    scene.world = Box::new(move |event, car| {
        let cleared = matches!(event, Event::Judged { report } if report.verdict == Decision::Amend);
        if cleared && !std::mem::replace(&mut slept, true) {
            car.suspend();
            car.resume();
        }
    });
    let report = scene.says("turn on the AC");
    assert!(scene.writes().is_empty(), "{:?}", scene.writes());
    assert!(report.text.contains("asleep"), "{}", report.text);
}

/// The air conditioning is asked for; `stop` is called at the event of that number. Answers what was done and said.
fn broken_off(at: usize, stop: fn(&obligato::student::Cancel)) -> (Scene, String) {
    let mut scene = Scene::new(&[ac()]);
    let cancel = scene.cancel.clone();
    let mut seen = 0;
    scene.world = Box::new(move |_, _| {
        seen += 1;
        if seen == at {
            stop(&cancel);
        }
    });
    let text = scene.says("turn on the AC").text;
    (scene, text)
}

#[test]
fn a_turn_that_ends_with_its_client_leaves_out_no_companion_of_what_it_did() {
    let mut whole = 0;
    for at in 1..20 {
        let (scene, _) = broken_off(at, obligato::student::Cancel::end);
        let writes = scene.writes();
        let made = |tool: &str| writes.iter().filter(|w| w.starts_with(tool)).count();
        match made("set_air_conditioning") {
            0 => assert_eq!(writes, [] as [&str; 0], "after event {at}"),
            _ => {
                assert_eq!((made("set_fan_speed"), made("open_close_window")), (1, 2), "after event {at}: {writes:?}");
                whole += 1;
            }
        }
    }
    assert!((1..19).contains(&whole), "it was broken off before and after the first write");
}

#[test]
fn a_turn_that_the_driver_stops_moves_nothing_more_and_names_what_is_owed() {
    let mut named = 0;
    for at in 1..20 {
        let before = broken_off(usize::MAX, obligato::student::Cancel::cancel).0.writes();
        let (scene, text) = broken_off(at, obligato::student::Cancel::cancel);
        let writes = scene.writes();
        assert!(before.starts_with(&writes), "{writes:?}");
        if (1..before.len()).contains(&writes.len()) {
            assert!(text.contains("What belongs to it is not done either"), "{text}");
            named += 1;
        }
    }
    assert!(named > 0);
}

#[test]
fn what_nobody_knows_is_said_as_unknown_and_without_the_words_of_the_machine() {
    for (mode, read, language, expected) in [
        (FaultMode::Stall, false, "en", "nobody answered in time"),
        (FaultMode::Stall, false, "de", "Niemand hat rechtzeitig geantwortet"),
        (FaultMode::Stall, true, "en", "could not read afterwards"),
        // What it was before nobody knows.
        (FaultMode::Ignore, false, "de", "nicht wie gewünscht geklappt: Lenkrad ist"),
    ] {
        let mut scene = Scene::new(&[calls(&[("set_steering_wheel_heating", json!({"level": 2}))])]);
        let tool = if read { "get_steering_wheel_heating_level" } else { "set_steering_wheel_heating" };
        scene.car.inject(fault(tool, mode.clone()));
        let words = "steering wheel heating to 2";
        let heard = obligato::turn::Heard { language: Some(language.to_owned()), ..obligato::turn::Heard::text(words) };
        let report = scene.hears(&heard);
        assert!(report.text.contains(expected), "{mode:?} in {language}: {}", report.text);
        for raw in ["_", " ms", "reads"] {
            assert!(!report.text.contains(raw), "{mode:?} in {language}: {}", report.text);
        }
    }
}

#[test]
fn what_time_it_is_is_looked_at_for_every_turn() {
    let dome = |on: bool| calls(&[("set_dome_light", json!({ "on": on }))]);
    let mut scene = Scene::new(&[dome(true), dome(false), dome(true)]);
    scene.car.set("get_vehicle_motion.speed_kph", 50).unwrap();
    scene.car.set("get_interior_lights_status.dome_light", false).unwrap();
    let clock = Arc::new(Leaping::default());
    let given = r#"CURRENT_LOCATION = {"id": "loc_hallbach_1001"}
DATETIME = {"year": 2026, "month": 6, "day": 15, "hour": 17, "minute": 40}"#;
    scene.situate(given, clock.clone());
    let text = scene.says("turn on the dome light").text;
    assert!(!text.contains("harder to see"), "{text}");
    scene.says("turn off the dome light");
    *clock.0.lock().unwrap() += Duration::from_secs(5 * 3_600);
    let text = scene.says("turn on the dome light").text;
    assert!(text.contains("harder to see"), "{text}");
}

#[test]
fn whatever_a_turn_may_spend_a_call_is_made_with_all_of_its_companions_or_not_at_all() {
    let (mut made, mut refused) = (0, 0);
    for tool_calls in 1..=40 {
        let budget = Budget { tool_calls, ..Budget::default() };
        let mut scene = Scene::with(&[ac()], Config { budget, ..Config::default() });
        let report = scene.says("turn on the air conditioning");
        let get = |field: &str| scene.car.get(field).unwrap();
        let windows = ["driver", "passenger", "driver_rear", "passenger_rear"]
            .map(|window| get(&format!("get_vehicle_window_positions.window_{window}_position")).as_f64().unwrap());
        let closed = windows.iter().all(|position| *position <= 25.0);
        if get("get_climate_settings.air_conditioning") == json!(true) {
            made += 1;
            assert!(
                closed && get("get_climate_settings.fan_speed") != json!(0),
                "{tool_calls}: {windows:?}, {report:?}"
            );
        } else {
            refused += 1;
        }
    }
    assert!(made > 10 && refused > 0, "{made} made, {refused} refused");
}
