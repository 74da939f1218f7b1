//! What computed replies and questions say.

use obligato::turn::Done;
use serde_json::json;

use super::scene::{Scene, calls};

fn place() -> serde_json::Value {
    calls(&[("get_location_id_by_location_name", json!({"location": "Marlau"}))])
}

fn routes() -> serde_json::Value {
    let ends = json!({"start_id": "loc_hallbach_1001", "destination_id": "loc_marlau_1003"});
    calls(&[("get_routes_from_start_to_destination", ends)])
}

fn go() -> serde_json::Value {
    let tour =
        json!({"waypoint_ids": ["loc_hallbach_1001", "loc_marlau_1003"], "route_ids": ["rt_hallbach_marlau_3001"]});
    calls(&[("set_new_navigation", tour)])
}

#[test]
fn a_reply_names_places_and_roads_and_no_identifiers_and_tells_the_toll() {
    let mut scene = Scene::new(&[place(), routes(), go()]);
    scene.says("where is Marlau");
    scene.says("which routes are there to Marlau");
    let report = scene.says("take me to Marlau, the fastest way over the A7, tolls are fine");
    assert_eq!(report.done, Done::Replied, "{}", report.text);
    assert!(!scene.writes().is_empty(), "{}", report.text);
    for said in ["Hallbach", "Marlau", "A7", "toll"] {
        assert!(report.text.contains(said), "no `{said}` in: {}", report.text);
    }
    assert!(!report.text.contains('_'), "{}", report.text);
}

/// Items, values and arguments are words of schemas, which are English.
#[test]
fn questions_and_replies_to_a_german_driver_hold_no_words_of_the_schema() {
    // The student does not mend it in any of its rounds, so the driver is asked.
    let open = calls(&[("open_close_window", json!({"window": "DRIVER_REAR"}))]);
    let mut scene = Scene::new(&[open.clone(), open.clone(), open.clone(), open.clone(), open]);
    let report = scene.says("mach bitte das hintere Fenster auf der Fahrerseite auf");
    assert!(report.text.contains("Fenster") && report.text.contains("wie viel Prozent"), "{}", report.text);
    let mut scene = Scene::new(&[
        calls(&[("open_close_window", json!({"window": "DRIVER", "percentage": 0}))]),
        calls(&[("set_fan_airflow_direction", json!({"direction": "WINDSHIELD_FEET"}))]),
    ]);
    let report = scene.says("mach bitte das Fenster vom Fahrer zu");
    assert!(report.text.contains("Fenster Fahrer 0 Prozent"), "{}", report.text);
    let report = scene.says("stell die Luft bitte auf Windschutzscheibe und Füße");
    assert!(report.text.contains("Windschutzscheibe und Füße"), "{}", report.text);
}
