//! The situations of `gates.md` F and the paper's worked examples, on the CAR-bench inventory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod companions;
mod consent;
mod others;
mod replies;
mod results;
mod wishes;

use serde_json::{Value as Json, json};
use support::Scene;

/// Window positions: driver, passenger, driver's rear, passenger's rear.
pub fn windows(driver: Json, passenger: Json, driver_rear: Json, passenger_rear: Json) -> Json {
    json!({"window_driver_position": driver, "window_passenger_position": passenger,
           "window_driver_rear_position": driver_rear, "window_passenger_rear_position": passenger_rear})
}

/// Climate settings with fan 2 and AC off.
pub fn climate() -> Json {
    climate_with(2, "FEET", false)
}

/// Climate settings.
pub fn climate_with(fan: u8, airflow: &str, ac: bool) -> Json {
    json!({"fan_speed": fan, "fan_airflow_direction": airflow, "air_conditioning": ac, "air_circulation": "AUTO",
           "window_front_defrost": false, "window_rear_defrost": false})
}

/// A conversation in which preferences, windows and climate were read.
pub fn scene(said: &str, positions: Json, climate: Json) -> Option<Scene> {
    let preferences =
        json!({"preference_categories": {"vehicle_settings": {"climate_control": true, "vehicle_settings": true}}});
    let none = json!({"vehicle_settings": {"climate_control": [], "vehicle_settings": []}});
    Some(
        Scene::new(support::car_bench()?)
            .driver(said)
            .done("get_user_preferences", preferences, none)
            .read("get_climate_settings", climate)
            .read("get_vehicle_window_positions", positions),
    )
}

/// The call that switches the air conditioning.
pub fn ac(on: bool) -> (&'static str, Json) {
    ("set_air_conditioning", json!({"on": on}))
}

/// The call that moves a window.
pub fn window(which: &str, percentage: u8) -> (&'static str, Json) {
    ("open_close_window", json!({"window": which, "percentage": percentage}))
}
