//! Companions: rows 1–15 and 17 of `gates.md` F, and the paper's §2.3.

use obligato::model::canonical;
use serde_json::json;

use super::support::car_bench;
use super::{ac, climate, climate_with, scene, window, windows};

fn closes(which: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = which
        .iter()
        .map(|w| format!("open_close_window {}", canonical(&json!({"percentage": 0, "window": w}))))
        .collect();
    all.sort();
    all
}

#[test]
fn ac_on_closes_only_windows_above_the_limit_and_says_why() {
    let Some(scene) = scene("turn on the AC", windows(25.into(), 100.into(), 0.into(), 10.into()), climate()) else {
        return;
    };
    let judged = scene.drafts(&[ac(true)]);
    assert_eq!(judged.verdict(), "amend", "{}", judged.because());
    assert_eq!(judged.remedies(car_bench().unwrap()), closes(&["DRIVER", "PASSENGER"]));
    assert!(judged.because().contains("window_driver_position = 25 > 20"), "{}", judged.because());
    assert!(judged.because().contains("window_passenger_position = 100 > 20"), "{}", judged.because());
    assert_eq!(judged.amended()[0], "set_air_conditioning {\"on\":true}", "companions follow the call that needs them");
}

#[test]
fn ac_off_owes_nothing() {
    let Some(scene) =
        scene("AC off", windows(100.into(), 100.into(), 100.into(), 100.into()), climate_with(2, "FEET", true))
    else {
        return;
    };
    assert_eq!(scene.drafts(&[ac(false)]).verdict(), "clear");
}

#[test]
fn rear_defrost_is_no_front_defrost() {
    let Some(scene) =
        scene("rear defrost on", windows(0.into(), 0.into(), 0.into(), 0.into()), climate_with(0, "FEET", false))
    else {
        return;
    };
    let judged = scene.drafts(&[("set_window_defrost", json!({"on": true, "defrost_window": "REAR"}))]);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn front_defrost_owes_the_whole_chain_in_one_pass_with_the_stronger_fan() {
    for (driver, extra) in [(0, vec![]), (50, vec!["DRIVER"])] {
        let positions = windows(driver.into(), 0.into(), 0.into(), 0.into());
        let Some(scene) = scene("defrost the front", positions, climate_with(0, "FEET", false)) else { return };
        let judged = scene.drafts(&[("set_window_defrost", json!({"on": true, "defrost_window": "FRONT"}))]);
        assert_eq!(judged.verdict(), "amend", "{}", judged.because());
        let mut wanted = closes(&extra);
        wanted.extend([
            "set_air_conditioning {\"on\":true}".to_owned(),
            "set_fan_airflow_direction {\"direction\":\"WINDSHIELD\"}".to_owned(),
            "set_fan_speed {\"level\":2}".to_owned(),
        ]);
        assert_eq!(judged.remedies(car_bench().unwrap()), wanted);
    }
}

#[test]
fn airflow_that_already_includes_the_windshield_owes_no_change() {
    let positions = windows(0.into(), 0.into(), 0.into(), 0.into());
    let Some(scene) = scene("defrost the front", positions, climate_with(3, "WINDSHIELD_FEET", true)) else { return };
    let judged = scene.drafts(&[("set_window_defrost", json!({"on": true, "defrost_window": "FRONT"}))]);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn a_collective_call_is_made_for_the_only_item_that_the_driver_named() {
    for said in ["open the driver window halfway", "open the window halfway, driver only"] {
        let Some(scene) = scene(said, windows(0.into(), 0.into(), 0.into(), 0.into()), climate()) else { return };
        let judged = scene.drafts(&[("open_close_window", json!({"window": "ALL", "percentage": 50}))]);
        assert_eq!(judged.verdict(), "amend", "{}", judged.because());
        assert_eq!(judged.checked.owed.amended.calls[0].arguments["window"], "DRIVER", "{said}");
    }
}

#[test]
fn exactly_twenty_percent_is_not_more_than_twenty() {
    let Some(scene) = scene("AC on", windows(20.into(), 20.into(), 20.into(), 20.into()), climate()) else { return };
    assert_eq!(scene.drafts(&[ac(true)]).verdict(), "clear");
}

#[test]
fn one_unread_window_prevents_the_collapse_and_must_be_mentioned() {
    let Some(scene) = scene("AC on", windows(50.into(), 50.into(), 50.into(), "unknown".into()), climate()) else {
        return;
    };
    let judged = scene.drafts(&[ac(true)]);
    assert_eq!(judged.remedies(car_bench().unwrap()), closes(&["DRIVER", "DRIVER_REAR", "PASSENGER"]));
    let unread: Vec<&str> = judged.checked.owed.unread.iter().map(|u| u.field.as_ref()).collect();
    assert_eq!(unread, ["window_passenger_rear_position"]);
}

#[test]
fn all_windows_alike_are_closed_by_one_call() {
    let Some(scene) = scene("AC on", windows(60.into(), 60.into(), 60.into(), 60.into()), climate()) else { return };
    let judged = scene.drafts(&[ac(true)]);
    assert_eq!(judged.verdict(), "amend", "{}", judged.because());
    assert_eq!(judged.remedies(car_bench().unwrap()), closes(&["ALL"]));
}

#[test]
fn a_failed_close_closed_nothing() {
    let Some(scene) = scene("AC on", windows(60.into(), 60.into(), 60.into(), 60.into()), climate()) else { return };
    let judged = scene.failed("open_close_window", json!({"window": "ALL", "percentage": 0})).drafts(&[ac(true)]);
    assert_eq!(judged.verdict(), "gather", "{}", judged.because());
    assert_eq!(judged.amended(), ["get_vehicle_window_positions {}"]);
}

#[test]
fn a_window_that_the_driver_reopened_is_owed_again() {
    let Some(scene) = scene("AC on", windows(25.into(), 100.into(), 0.into(), 10.into()), climate()) else { return };
    let done = |s: super::support::Scene, (tool, arguments): (&str, serde_json::Value)| {
        s.done(tool, arguments.clone(), arguments)
    };
    let scene = [window("DRIVER", 0), window("PASSENGER", 0), ac(true)].into_iter().fold(scene, done);
    let scene = done(scene.assistant("Done.").driver("open my window all the way"), window("DRIVER", 100));
    let scene = done(scene.assistant("Open.").driver("AC off and on again"), ac(false));
    let judged = scene.drafts(&[ac(true)]);
    assert_eq!(judged.remedies(car_bench().unwrap()), closes(&["DRIVER"]), "{}", judged.because());
}

#[test]
fn an_alias_names_the_same_window() {
    let Some(scene) = scene("AC on", windows(0.into(), 0.into(), 80.into(), 0.into()), climate()) else { return };
    let judged = scene.drafts(&[ac(true), window("RIGHT_REAR", 0)]);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn ac_that_we_turned_on_binds_a_later_window_call() {
    let Some(scene) = scene("AC on", windows(0.into(), 0.into(), 0.into(), 0.into()), climate()) else { return };
    let scene = scene.done("set_air_conditioning", json!({"on": true}), json!({"on": true}));
    let scene = scene.assistant("The AC is on.").driver("open all windows halfway");
    let draft = [window("ALL", 50)];
    let judged = scene.drafts(&draft);
    assert_eq!(judged.verdict(), "ask", "by default the driver is asked: {}", judged.because());
    let judged = scene.apply_none().drafts(&draft);
    assert_eq!(judged.remedies(car_bench().unwrap()), closes(&["ALL"]), "{}", judged.because());
    assert_eq!(judged.verdict(), "revise", "{}", judged.because());
}

#[test]
fn a_later_reading_that_agrees_leaves_our_effect_standing() {
    let Some(scene) = scene("AC on", windows(0.into(), 0.into(), 0.into(), 0.into()), climate()) else { return };
    let scene = scene
        .done("set_air_conditioning", json!({"on": true}), json!({"on": true}))
        .read("get_climate_settings", climate_with(2, "FEET", true))
        .assistant("The AC is on.")
        .driver("open all windows halfway")
        .apply_none();
    assert_eq!(scene.drafts(&[window("ALL", 50)]).remedies(car_bench().unwrap()), closes(&["ALL"]));
}

#[test]
fn ac_that_was_only_observed_asks_for_consent_and_owes_nothing() {
    let positions = windows(0.into(), 0.into(), 0.into(), 0.into());
    let Some(scene) = scene("open all windows halfway", positions, climate_with(2, "FEET", true)) else { return };
    let draft = [window("ALL", 50)];
    let judged = scene.drafts(&draft);
    assert_eq!(judged.verdict(), "ask", "{}", judged.because());
    assert_eq!(judged.remedies(car_bench().unwrap()), Vec::<String>::new());
    let question = judged.report.question.clone().unwrap();
    assert!(question.contains("50 percent") && question.contains("energy"), "{question}");
    let judged = scene.assistant(&question).driver("yes").drafts(&draft);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn a_wish_to_close_all_windows_is_no_excess() {
    let positions = windows(25.into(), 0.into(), 0.into(), 0.into());
    let Some(scene) = scene("AC on and close all windows", positions, climate()) else { return };
    let judged = scene.drafts(&[ac(true), window("ALL", 0)]);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn closing_what_the_rule_exempts_is_excess_when_nobody_asked() {
    let Some(scene) = scene("AC on", windows(25.into(), 0.into(), 0.into(), 10.into()), climate()) else { return };
    let judged = scene.drafts(&[ac(true), window("ALL", 0)]);
    assert_eq!(judged.verdict(), "amend", "{}", judged.because());
    let wanted = format!("open_close_window {}", canonical(&json!({"percentage": 0, "window": "DRIVER"})));
    assert_eq!(judged.amended(), ["set_air_conditioning {\"on\":true}".to_owned(), wanted]);
}

#[test]
fn a_field_that_reads_null_owes_nothing() {
    let positions = windows(serde_json::Value::Null, 0.into(), 0.into(), 0.into());
    let Some(scene) = scene("AC on", positions, climate()) else { return };
    let judged = scene.drafts(&[ac(true)]);
    assert_eq!(judged.verdict(), "clear", "{}", judged.because());
}

#[test]
fn companions_that_need_a_yes_are_held_with_their_trigger() {
    let lights = json!({"fog_lights": false, "head_lights_low_beams": false, "head_lights_high_beams": true});
    let weather = json!({"current_slot": {"condition": "cloudy_and_hail"}, "next_slot": null});
    let at = json!({"location_or_poi_id": "loc_lux_222378", "month": 2, "day": 26, "time_hour_24hformat": 17});
    let Some(policy) = car_bench() else { return };
    let scene = super::support::Scene::new(policy)
        .driver("fog lights on")
        .read("get_exterior_lights_status", lights)
        .done("get_weather", at, weather);
    let judged = scene.drafts(&[("set_fog_lights", json!({"on": true}))]);
    assert_eq!(judged.verdict(), "ask", "{}", judged.because());
    let held = judged.amended();
    assert!(held.contains(&"set_head_lights_low_beams {\"on\":true}".to_owned()), "{held:?}");
    assert!(held.contains(&"set_head_lights_high_beams {\"on\":false}".to_owned()), "a yes runs all: {held:?}");
}

#[test]
fn all_at_sixty_with_a_draft_that_opens_them_still_owes_the_close() {
    let positions = windows(60.into(), 60.into(), 60.into(), 60.into());
    let Some(scene) = scene("AC on and all windows to 50", positions, climate()) else { return };
    let judged = scene.apply_none().drafts(&[ac(true), window("ALL", 50)]);
    assert_eq!(judged.remedies(car_bench().unwrap()), closes(&["ALL"]), "{}", judged.because());
}

#[test]
fn a_read_in_the_same_draft_is_no_earlier_observation() {
    let Some(policy) = car_bench() else { return };
    let scene = super::support::Scene::new(policy)
        .driver("AC on")
        .read("get_vehicle_window_positions", windows(0.into(), 0.into(), 0.into(), 0.into()));
    let judged = scene.drafts(&[("get_climate_settings", json!({})), ac(true)]);
    assert_eq!(judged.verdict(), "gather", "{}", judged.because());
    assert_eq!(judged.amended(), ["get_climate_settings {}"], "the read is kept, the write is held");
}
