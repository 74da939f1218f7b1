//! Results that claim nothing.

use serde_json::json;

use super::support::{Scene, cabin};

#[test]
fn a_write_that_no_result_calls_a_success_leaves_what_it_writes_unknown() {
    let shut = json!({"window_driver_position": 0, "window_passenger_position": 0,
        "window_driver_rear_position": 0, "window_passenger_rear_position": 0});
    let climate = json!({"air_conditioning": true, "fan_speed": 2, "fan_airflow_direction": "FEET",
        "air_circulation": "FRESH_AIR", "front_defrost": false, "rear_defrost": false, "temperature_driver": 20,
        "temperature_passenger": 20, "temperature_driver_rear": 20, "temperature_passenger_rear": 20});
    let window = [("open_close_window", json!({"window": "DRIVER", "percentage": 50}))];
    let after = |result: Option<&str>| {
        Scene::new(cabin())
            .driver("turn the AC off and open my window to 50 percent")
            .read("get_vehicle_window_positions", shut.clone())
            .read("get_climate_settings", climate.clone())
            .answered("set_air_conditioning", json!({"on": false}), result)
            .drafts(&window)
    };
    let nothing = ["", "null", "[]", "false", "\"SUCCESS\"", "Timeout: no answer", "FAILED", "{}"];
    for result in nothing.map(Some).into_iter().chain([None]) {
        let judged = after(result);
        assert_eq!(judged.verdict(), "gather", "{result:?}: {}", judged.because());
    }
    let done = after(Some(r#"{"status": "SUCCESS", "result": {"air_conditioning": false}}"#));
    assert_eq!(done.verdict(), "clear", "{}", done.because());
}
