//! Provenance, completion and the rest: rows 16, 24, 26 and 33 of `gates.md` F.

use serde_json::json;

use super::support::{Scene, car_bench};
use super::{ac, climate, scene, windows};

#[test]
fn an_identifier_that_no_result_returned_is_stopped_also_inside_a_list() {
    let Some(policy) = car_bench() else { return };
    let routes = json!({"routes": [{"route_id": "rll_lux_bon_123456", "start_id": "loc_lux_222378",
        "destination_id": "loc_bon_111111", "alias": ["fastest", "first", "shortest"], "includes_toll": false}]});
    let judged = Scene::new(policy)
        .driver("drive to Bonn")
        .done(
            "get_routes_from_start_to_destination",
            json!({"start_id": "loc_lux_222378", "destination_id": "loc_bon_111111"}),
            routes,
        )
        .drafts(&[("set_new_navigation", json!({"route_ids": ["rll_lux_bon_123456", "rll_bon_col_000000"]}))]);
    assert!(judged.gates().contains(&"identifier-provenance"), "{}", judged.because());
    assert_eq!(judged.verdict(), "revise");
}

#[test]
fn a_claim_without_its_call_is_no_completion() {
    let Some(scene) =
        scene("close all windows and set the fan to 2", windows(9.into(), 9.into(), 9.into(), 9.into()), climate())
    else {
        return;
    };
    let scene = scene.done("set_fan_speed", json!({"level": 2}), json!({"level": 2}));
    let judged = scene.says("I have closed all windows and set the fan to level 2.");
    assert!(judged.gates().contains(&"completion"), "{}", judged.because());
    let judged = scene.says("The fan is at level 2.");
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn a_removed_tool_is_refused_and_no_other_tool_is_put_in_its_place() {
    let Some(scene) = scene("turn on the AC", windows(100.into(), 100.into(), 0.into(), 0.into()), climate()) else {
        return;
    };
    let scene = scene.removed("set_air_conditioning");
    let judged = scene.drafts(&[ac(true)]);
    assert!(judged.report.verdict.objects(), "{}", judged.because());
    let judged = scene.drafts(&[("set_air_circulation", json!({"mode": "RECIRCULATION"}))]);
    assert_eq!(judged.remedies(car_bench().unwrap()), Vec::<String>::new());
}

#[test]
fn a_companion_that_this_car_cannot_make_refuses_its_trigger_by_name() {
    let Some(policy) = car_bench() else { return };
    let weather = json!({"current_slot": {"condition": "sunny"}, "next_slot": null});
    let at = json!({"location_or_poi_id": "loc_lux_222378", "month": 2, "day": 26, "time_hour_24hformat": 17});
    let judged = Scene::new(policy)
        .removed("open_close_sunshade")
        .driver("open the sunroof to 50 percent")
        .read("get_sunroof_and_sunshade_position", json!({"sunroof_position": 0, "sunshade_position": 0}))
        .done("get_weather", at, weather)
        .drafts(&[("open_close_sunroof", json!({"percentage": 50}))]);
    assert_eq!(judged.verdict(), "refuse", "{}", judged.because());
    assert!(judged.report.speak.unwrap().contains("open_close_sunshade"));
}

#[test]
fn the_same_failed_call_in_another_key_order_is_a_repetition() {
    let Some(policy) = car_bench() else { return };
    let judged = Scene::new(policy)
        .driver("open my window a bit, 10 percent")
        .failed("open_close_window", json!({"window": "DRIVER", "percentage": 10}))
        .drafts(&[("open_close_window", json!({"percentage": 10, "window": "DRIVER"}))]);
    assert!(judged.gates().contains(&"repetition"), "{}", judged.because());
}

#[test]
fn a_consequence_told_right_before_the_call_need_not_be_told_again() {
    let Some(policy) = car_bench() else { return };
    let zones =
        json!({"climate_temperature_driver": 26, "climate_temperature_passenger": 17, "temperature_unit": "Celsius"});
    let set = json!({"temperature": 24, "seat_zone": "DRIVER"});
    let asked = |text: &str| {
        Scene::new(policy)
            .driver("driver temperature to 24")
            .read("get_temperature_inside_car", zones.clone())
            .assistant(text)
            .driver("go ahead")
            .done("set_climate_temperature", set.clone(), set.clone())
    };
    let told = asked("That makes a 7 degree difference between the zones. All right?");
    assert_eq!(told.says("The driver zone is at 24 degrees.").verdict(), "clear");
    let silent = asked("Shall I?").says("The driver zone is at 24 degrees.");
    assert_eq!(silent.verdict(), "revise", "{}", silent.because());
    assert!(silent.report.speak.unwrap().contains("7 degrees apart"));
}
