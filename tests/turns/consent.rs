//! Questions and what a yes or a no does.

use obligato::turn::{Config, Done, Heard};
use serde_json::json;

use super::scene::{Scene, calls, reply};

fn fog() -> serde_json::Value {
    calls(&[("set_fog_lights", json!({"on": true, "position": "FRONT"}))])
}

/// The car of the state file stands in rain, moves, and has its high beams on.
fn trunk(scene: &Scene) -> serde_json::Value {
    scene.car.get("get_trunk_door_position.trunk_door_position").unwrap()
}

fn open_trunk() -> serde_json::Value {
    calls(&[("open_close_trunk_door", json!({"action": "OPEN"}))])
}

fn standing(drafts: &[serde_json::Value], config: Config) -> Scene {
    let scene = Scene::with(drafts, config);
    scene.car.set("get_vehicle_motion.speed_kph", 0).unwrap();
    scene
}

#[test]
fn a_yes_runs_exactly_what_was_asked_without_another_model_call() {
    let mut scene = standing(&[open_trunk()], Config::default());
    let asked = scene.says("open the trunk");
    assert_eq!(asked.done, Done::Asked, "{}", asked.text);
    assert!(scene.writes().is_empty(), "nothing happens before the yes");
    let report = scene.says("yes please");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    assert_eq!(trunk(&scene), json!("open"));
    assert_eq!(scene.model_calls(), 1);
}

#[test]
fn a_no_and_a_qualified_yes_run_nothing() {
    for answer in ["no", "no, leave it", "yes but not now", "nein, lieber nicht"] {
        let mut scene = standing(&[open_trunk()], Config::default());
        assert_eq!(scene.says("open the trunk").done, Done::Asked);
        let report = scene.says(answer);
        assert_eq!(report.done, Done::Refused, "{answer}: {}", report.text);
        assert!(scene.writes().is_empty(), "{answer}");
        assert_eq!(trunk(&scene), json!("closed"), "{answer}");
    }
}

#[test]
fn a_question_dies_with_the_next_thing_the_driver_says() {
    let harmless = calls(&[("get_vehicle_window_positions", json!({}))]);
    let mut scene = standing(&[open_trunk(), harmless, open_trunk()], Config::default());
    assert_eq!(scene.says("open the trunk").done, Done::Asked);
    assert_eq!(scene.says("how far open are the windows").done, Done::Replied);
    let report = scene.says("yes");
    assert_ne!(trunk(&scene), json!("open"), "a late yes covers nothing: {}", report.text);
}

#[test]
fn a_yes_from_the_back_seat_or_hardly_heard_is_no_yes() {
    let passenger = Heard { zone: Some("passenger".into()), ..Heard::text("yes") };
    let mumbled = Heard { confidence: Some(0.2), ..Heard::text("yes") };
    for heard in [passenger, mumbled] {
        let mut scene = standing(&[open_trunk()], Config::default());
        assert_eq!(scene.says("open the trunk").done, Done::Asked);
        assert_eq!(scene.hears(&heard).done, Done::Refused);
        assert_eq!(trunk(&scene), json!("closed"));
    }
}

#[test]
fn a_car_that_changed_since_the_question_is_asked_about_anew() {
    let mut scene = standing(&[open_trunk()], Config::default());
    assert_eq!(scene.says("open the trunk").done, Done::Asked);
    scene.car.set("get_vehicle_motion.speed_kph", 50).unwrap();
    let report = scene.says("yes");
    assert_eq!(report.done, Done::Refused, "{}", report.text);
    assert_eq!(trunk(&scene), json!("closed"));
}

#[test]
fn the_trunk_stays_closed_while_driving_whatever_the_driver_says() {
    let mut scene = Scene::new(&[open_trunk(), open_trunk()]);
    let report = scene.says("open the trunk");
    assert_eq!(report.done, Done::Refused, "{}", report.text);
    assert_eq!(trunk(&scene), json!("closed"));
}

#[test]
fn a_companion_that_needs_a_yes_holds_its_trigger_and_a_yes_runs_all() {
    let mut scene = Scene::new(&[fog()]);
    let asked = scene.says("turn on the front fog lights");
    assert_eq!(asked.done, Done::Asked, "{}", asked.text);
    assert!(scene.writes().is_empty());
    let report = scene.says("yes, go ahead");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    let lights = |field: &str| scene.car.get(&format!("get_exterior_lights_status.{field}")).unwrap();
    assert_eq!(lights("head_lights_low_beams"), json!(true));
    assert_eq!(lights("head_lights_high_beams"), json!(false));
}

#[test]
fn a_yes_to_a_car_that_changed_is_asked_for_again_and_not_taken_from_its_words() {
    let mut scene = standing(&[open_trunk()], Config::default());
    assert_eq!(scene.says("open the trunk").done, Done::Asked);
    scene.car.set("get_vehicle_window_positions.window_driver_position", 10).unwrap();
    let again = scene.says("yes");
    assert_eq!(again.done, Done::Asked, "{}", again.text);
    assert_eq!(trunk(&scene), json!("closed"));
    assert_eq!(scene.says("yes").done, Done::Replied);
    assert_eq!(trunk(&scene), json!("open"));
}

#[test]
fn a_question_of_the_student_that_names_the_action_is_not_put_twice_unless_the_car_changed() {
    let asks = json!({"role": "assistant", "content": "Shall I open the trunk?"});
    for (changed, done, stands) in [(false, Done::Replied, "open"), (true, Done::Asked, "closed")] {
        let mut scene = standing(&[asks.clone(), open_trunk()], Config::default());
        assert_eq!(scene.says("open the trunk").done, Done::Replied);
        if changed {
            scene.car.set("get_vehicle_window_positions.window_driver_position", 10).unwrap();
        }
        let report = scene.says("yes");
        assert_eq!(report.done, done, "{}", report.text);
        assert_eq!(trunk(&scene), json!(stands));
    }
}

#[test]
fn a_yes_of_somebody_else_to_the_students_question_is_none() {
    let asks = json!({"role": "assistant", "content": "Shall I open the trunk?"});
    let passenger = Heard { zone: Some("passenger".into()), ..Heard::text("yes") };
    let relayed = Heard { relayed: true, ..Heard::text("yes") };
    for heard in [passenger, relayed] {
        let mut scene = standing(&[asks.clone(), open_trunk()], Config::default());
        assert_eq!(scene.says("open the trunk").done, Done::Replied);
        assert_eq!(scene.hears(&heard).done, Done::Asked);
        assert_eq!(trunk(&scene), json!("closed"));
    }
}

#[test]
fn an_answer_that_says_more_than_the_question_is_no_yes() {
    for answer in ["Yes, when we are parked.", "Okay, I changed my mind.", "Absolutely forbidden.", "Ja, morgen."] {
        let mut scene = standing(&[open_trunk(), calls(&[])], Config::default());
        assert_eq!(scene.says("open the trunk").done, Done::Asked);
        scene.says(answer);
        assert_eq!(trunk(&scene), json!("closed"), "{answer}");
    }
}

#[test]
fn a_write_that_nothing_said_has_to_do_with_is_asked_for_and_runs_only_on_a_yes() {
    let beams = calls(&[("set_head_lights_low_beams", json!({"on": true}))]);
    let lit = |scene: &Scene| scene.car.get("get_exterior_lights_status.head_lights_low_beams").unwrap();
    for (answer, runs) in [("yes", true), ("no", false)] {
        let mut scene = Scene::new(&[beams.clone(), beams.clone()]);
        scene.car.set("get_exterior_lights_status.head_lights_low_beams", false).unwrap();
        let report = scene.says("turn on the massage chair");
        assert_eq!((report.done, report.text.as_str()), (Done::Asked, "Shall I do this: low beam on?"));
        assert_eq!(lit(&scene), json!(false));
        scene.says(answer);
        assert_eq!(lit(&scene), json!(runs), "{answer}");
    }
}

#[test]
fn a_question_dies_when_the_machine_sleeps() {
    let mut scene = standing(&[open_trunk(), reply("Yes to what?")], Config::default());
    assert_eq!(scene.says("open the trunk").done, Done::Asked);
    scene.car.suspend();
    scene.car.resume();
    scene.says("yes");
    assert_eq!(trunk(&scene), json!("closed"));
}
