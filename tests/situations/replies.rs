//! Replies: rows 22, 25, 27, 29, 30 and 32 of `gates.md` F. Row 35, a gate that fails, is tested beside
//! the runner of the gates.

use serde_json::json;

use super::support::{Scene, car_bench};
use super::{climate, scene, windows};

#[test]
fn a_null_in_some_result_is_no_gap_in_a_report() {
    let Some(policy) = car_bench() else { return };
    let at = json!({"location_or_poi_id": "loc_lux_222378", "month": 2, "day": 26, "time_hour_24hformat": 17});
    let judged = Scene::new(policy)
        .driver("open the sunroof to 50 percent")
        .read("get_sunroof_and_sunshade_position", json!({"sunroof_position": 0, "sunshade_position": 100}))
        .done("get_weather", at, json!({"current_slot": {"condition": "sunny"}, "next_slot": null}))
        .done("open_close_sunroof", json!({"percentage": 50}), json!({"percentage": 50}))
        .says("Done! The sunroof is open.");
    assert_eq!((judged.verdict(), judged.gates()), ("clear", vec![]), "{}", judged.because());
}

#[test]
fn a_report_of_what_nobody_read_is_stopped_for_that_alone() {
    let Some(policy) = car_bench() else { return };
    let scene = Scene::new(policy).driver("how do things stand?").read("get_climate_settings", climate());
    let judged = scene.says("The windows are closed and the AC is off.");
    assert_eq!(judged.gates(), ["completion"], "{}", judged.because());
    assert!(judged.because().contains("window"), "{}", judged.because());
    assert_eq!(scene.says("The AC is off.").verdict(), "clear");
}

#[test]
fn a_promise_of_what_is_missing_is_stopped_for_that_alone() {
    let Some(scene) = scene("close the windows, AC on", windows(0.into(), 0.into(), 0.into(), 0.into()), climate())
    else {
        return;
    };
    let scene = scene.removed("open_close_window");
    let judged = scene.says("I'll close the windows and turn on the AC, ok?");
    assert_eq!(judged.gates().iter().filter(|g| **g == "promise-capability").count(), 1, "{}", judged.because());
    assert!(judged.because().contains("open_close_window"), "{}", judged.because());
    assert_eq!(scene.says("I'll turn on the AC, ok?").verdict(), "clear");
    assert_eq!(scene.says("Shall I turn on the front window defrost?").verdict(), "clear");
}

#[test]
fn now_in_the_text_of_a_mail_is_no_filter_by_now() {
    let Some(policy) = car_bench() else { return };
    let mail = json!({"content_message": "I am currently driving.", "email_addresses": ["grace@example.com"]});
    let contact = json!({"con_3790": {"id": "con_3790", "email": "grace@example.com"}});
    let judged = Scene::new(policy)
        .driver("the 13:30 meeting moved, mail grace that I am currently driving")
        .done("get_contact_information", json!({"contact_ids": ["con_3790"]}), contact)
        .assistant("I'd send \"I am currently driving.\" to grace@example.com. Shall I send it?")
        .driver("yes")
        .drafts(&[("send_email", mail)]);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn a_relative_clause_is_no_open_question() {
    let Some(scene) = scene("open my window", windows(0.into(), 0.into(), 0.into(), 0.into()), climate()) else {
        return;
    };
    let judged =
        scene.says("I would open the driver window to 20 percent, which, by the way, lets air in. Shall I proceed?");
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn a_relative_wish_on_a_field_without_a_reading_is_answered_by_saying_so() {
    let unread = json!({"fan_speed": "unknown", "fan_airflow_direction": "FEET", "air_conditioning": false});
    let closed = windows(0.into(), 0.into(), 0.into(), 0.into());
    let Some(scene) = scene("turn the fan two levels up", closed, unread) else { return };
    let judged = scene.says("What level do you want?");
    assert!(judged.gates().contains(&"unknown-acknowledgement"), "{}", judged.because());
    assert_eq!(judged.verdict(), "revise");
    let told = scene.says("I can't read the fan's level right now. Which level between 1 and 5 should I set?");
    assert_eq!(told.verdict(), "clear", "{}", told.because());
}

#[test]
fn an_offer_of_the_half_whose_other_half_is_missing_is_stopped_unless_told() {
    let Some(scene) = scene("air on the windshield please", windows(0.into(), 0.into(), 0.into(), 0.into()), climate())
    else {
        return;
    };
    let scene = scene.removed("set_fan_airflow_direction");
    let judged = scene.says("I can't change that. What I can do is turn on the front defrost. Want me to?");
    assert!(judged.gates().contains(&"promise-capability"), "{}", judged.because());
}

#[test]
fn what_the_driver_said_not_to_do_is_not_done() {
    let Some(policy) = car_bench() else { return };
    let routes = json!({"routes": [{"route_id": "rll_lux_bon_123456", "start_id": "loc_lux_222378",
        "destination_id": "loc_bon_111111", "alias": ["fastest", "first", "shortest"], "includes_toll": false}]});
    let scene = |said: &str| {
        let ids = json!({"start_id": "loc_lux_222378", "destination_id": "loc_bon_111111"});
        let read =
            Scene::new(policy).driver(said).read("get_current_navigation_state", json!({"navigation_active": false}));
        let read = read.done("get_routes_from_start_to_destination", ids, routes.clone());
        read.drafts(&[("set_new_navigation", json!({"route_ids": ["rll_lux_bon_123456"]}))])
    };
    let judged = scene("plan a trip to Bonn, but don't start navigating yet");
    assert!(judged.gates().contains(&"call-substitution"), "{}", judged.because());
    let judged = scene("navigate to Bonn, and don't forget to tell me how long it takes");
    assert!(!judged.gates().contains(&"call-substitution"), "{}", judged.because());
}
