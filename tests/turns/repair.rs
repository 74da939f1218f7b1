//! What the harness repairs without asking anybody.

use obligato::turn::Done;
use serde_json::json;

use super::scene::{Scene, calls, reply};

#[test]
fn ac_on_reads_what_it_needs_closes_two_windows_and_reads_back_with_one_model_call() {
    let mut scene = Scene::new(&[calls(&[("set_air_conditioning", json!({"on": true}))])]);
    let report = scene.says("turn on the AC");
    assert_eq!(report.done, Done::Replied, "{}: {:?}", report.text, scene.events);
    assert_eq!(scene.model_calls(), 1, "companions and reads cost no model call");
    let read = |field: &str| scene.car.get(field).unwrap();
    assert_eq!(read("get_climate_settings.air_conditioning"), json!(true));
    assert_eq!(read("get_vehicle_window_positions.window_driver_position"), json!(0));
    assert_eq!(read("get_vehicle_window_positions.window_passenger_position"), json!(0));
    assert_eq!(read("get_vehicle_window_positions.window_driver_rear_position"), json!(0));
    assert_eq!(read("get_vehicle_window_positions.window_passenger_rear_position"), json!(10), "untouched");
    assert!(scene.car.violations().is_empty());
    assert!(report.text.contains("window"), "the companions are told: {}", report.text);
}

#[test]
fn front_defrost_runs_the_whole_chain() {
    let mut scene = Scene::new(&[calls(&[("set_window_defrost", json!({"on": true, "defrost_window": "FRONT"}))])]);
    let report = scene.says("defrost the front window");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    let read = |field: &str| scene.car.get(&format!("get_climate_settings.{field}")).unwrap();
    assert_eq!(read("fan_speed"), json!(2));
    assert_eq!(read("fan_airflow_direction"), json!("WINDSHIELD_FEET"), "merged with what was set");
    assert_eq!(read("air_conditioning"), json!(true));
    assert_eq!(scene.car.get("get_vehicle_window_positions.window_driver_position").unwrap(), json!(0));
    assert_eq!(scene.model_calls(), 1);
}

#[test]
fn a_member_in_another_spelling_is_repaired_without_a_model_call() {
    let mut scene = Scene::new(&[calls(&[("open_close_window", json!({"window": "driver rear", "percentage": 20}))])]);
    let report = scene.says("open the window behind me to 20 percent");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    assert_eq!(scene.car.get("get_vehicle_window_positions.window_driver_rear_position").unwrap(), json!(20));
}

#[test]
fn a_bad_draft_is_revised_and_only_the_good_one_is_executed() {
    let bad = calls(&[("open_close_window", json!({"window": "FRONT", "percentage": 20}))]);
    let good = calls(&[("open_close_window", json!({"window": "DRIVER", "percentage": 20}))]);
    let mut scene = Scene::new(&[bad, good]);
    let report = scene.says("open my window to 20 percent");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    assert_eq!(scene.model_calls(), 2);
    assert_eq!(scene.writes().len(), 1);
}

#[test]
fn a_draft_that_cannot_be_mended_is_refused_after_rounds_and_escalation() {
    let bad = calls(&[("open_the_pod_bay_doors", json!({}))]);
    let mut scene = Scene::new(&vec![bad; 5]);
    let report = scene.says("open the pod bay doors");
    assert_eq!(report.done, Done::Refused);
    assert_eq!(scene.model_calls(), 4, "the first draft, two rounds, one escalation");
    assert!(scene.writes().is_empty());
    assert!(report.text.contains("open_the_pod_bay_doors"), "it says what is missing: {}", report.text);
}

#[test]
fn a_reply_of_the_student_is_sanitised_before_it_is_spoken() {
    let mut scene = Scene::new(&[reply("**Hello!** What can I do? 🚗")]);
    let report = scene.says("hello");
    assert_eq!((report.done, report.text.as_str()), (Done::Replied, "Hello! What can I do?"));
}

#[test]
fn a_level_that_the_student_keeps_guessing_is_asked_for() {
    let guess = calls(&[("set_seat_heating", json!({"seat": "DRIVER", "level": 2}))]);
    let mut scene = Scene::new(&[guess.clone(), guess.clone(), guess]);
    let report = scene.says("turn on my seat heating");
    assert_eq!(report.done, Done::Asked, "{}", report.text);
    assert_eq!(report.text, "What level do you want for the seat heating?");
    assert_eq!(scene.model_calls(), 2, "told once, then the driver is asked");
    assert!(scene.writes().is_empty());
    let report = scene.says("2 please");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    assert_eq!(scene.writes().len(), 1);
}
