//! Writes and what the driver asked for.

use serde_json::{Value as Json, json};

use super::support::{Scene, cabin};

fn shut() -> Json {
    json!({"window_driver_position": 0, "window_passenger_position": 0,
        "window_driver_rear_position": 0, "window_passenger_rear_position": 0})
}

fn mild() -> Json {
    json!({"air_conditioning": false, "fan_speed": 2, "fan_airflow_direction": "FEET", "air_circulation": "FRESH_AIR",
        "front_defrost": false, "rear_defrost": false, "temperature_driver": 21, "temperature_passenger": 21,
        "temperature_driver_rear": 21, "temperature_passenger_rear": 21})
}

/// The verdict on a window, said in one sentence.
fn window(driver: &str, window: &str, percentage: u8) -> String {
    let wishes = json!({"categories": ["windows_and_roof"]});
    let scene = Scene::new(cabin()).driver(driver).done("get_user_preferences", wishes, json!({}));
    let scene = scene.read("get_vehicle_window_positions", shut());
    let draft = [("open_close_window", json!({"window": window, "percentage": percentage}))];
    scene.read("get_climate_settings", mild()).drafts(&draft).verdict().to_owned()
}

#[test]
fn a_call_acts_on_the_item_that_was_named() {
    for (driver, item) in [
        ("Open the passenger window to 20 percent", "PASSENGER"),
        ("Open my window to 20 percent", "DRIVER"),
        ("Open all windows to 20 percent", "ALL"),
        ("Open the left rear window to 20 percent", "DRIVER_REAR"),
        ("Öffne das Beifahrerfenster auf 20 Prozent", "PASSENGER"),
        ("Open the driver and the passenger window to 20 percent", "PASSENGER"),
        ("Open the driver, passenger, rear driver and rear passenger window to 20 percent", "ALL"),
        ("Open a window to 20 percent", "DRIVER"),
    ] {
        assert_eq!(window(driver, item, 20), "clear", "{driver} {item}");
    }
    for (driver, item, verdict) in [
        ("Open the passenger window to 20 percent", "DRIVER", "revise"),
        ("Open the passenger window to 20 percent", "PASSENGER_REAR", "revise"),
        ("Open my window to 20 percent", "ALL", "amend"),
    ] {
        assert_eq!(window(driver, item, 20), verdict, "{driver} {item}");
    }
}

#[test]
fn an_earlier_wish_a_question_or_a_rule_explains_another_item() {
    let draft = [("open_close_window", json!({"window": "DRIVER", "percentage": 20}))];
    let both = Scene::new(cabin()).driver("Open all windows to 20 percent").assistant("One after the other?");
    assert_eq!(both.driver("The passenger window first").drafts(&draft).verdict(), "clear");
    let companion = [
        ("set_air_conditioning", json!({"on": true})),
        ("open_close_window", json!({"window": "DRIVER", "percentage": 0})),
    ];
    let open = json!({"window_driver_position": 50, "window_passenger_position": 0,
        "window_driver_rear_position": 0, "window_passenger_rear_position": 0});
    let judged = Scene::new(cabin())
        .driver("Turn on the AC. The passenger window is closed already")
        .read("get_vehicle_window_positions", open)
        .read("get_climate_settings", mild())
        .drafts(&companion);
    assert_ne!(judged.verdict(), "revise", "{}", judged.because());
}

#[test]
fn a_switch_is_not_turned_the_other_way() {
    let light = |driver: &str, on: bool| {
        let draft = [("set_reading_light", json!({"position": "DRIVER", "on": on}))];
        Scene::new(cabin()).driver(driver).drafts(&draft).verdict().to_owned()
    };
    assert_eq!(light("Turn off my reading light", false), "clear");
    assert_eq!(light("Turn off my reading light", true), "revise");
    assert_eq!(light("Schalte mein Leselicht aus", true), "revise");
    assert_eq!(light("Turn on my reading light", false), "revise");
    assert_eq!(light("It is too bright on my side, the reading light", false), "clear", "a place is no switch");
}

#[test]
fn nothing_is_written_where_nobody_asked_for_anything() {
    let locked = [("set_child_lock", json!({"on": true}))];
    for greeting in ["Hello there", "Good morning!", "Hallo, guten Tag"] {
        assert_eq!(Scene::new(cabin()).driver(greeting).drafts(&locked).verdict(), "revise", "{greeting}");
    }
    assert_eq!(Scene::new(cabin()).drafts(&[("set_fan_speed", json!({"level": 5}))]).verdict(), "revise");
    let offered = Scene::new(cabin()).driver("Hello").assistant("Shall I turn on the child lock?").driver("Thanks");
    assert_ne!(offered.drafts(&locked).verdict(), "revise", "an offer was made");
    let remark = Scene::new(cabin()).driver("There are kids in the back").drafts(&locked);
    assert_eq!(remark.verdict(), "revise", "a remark is answered with an offer");
}

#[test]
fn a_bit_is_no_more_than_half() {
    assert_eq!(window("Open the passenger window a bit", "PASSENGER", 87), "revise");
    assert_eq!(window("Open the passenger window a bit", "PASSENGER", 20), "clear");
    assert_eq!(window("Öffne das Beifahrerfenster ein bisschen", "PASSENGER", 90), "revise");
}

fn ann() -> Json {
    json!({"contact_id": "con_1", "first_name": "Ann", "last_name": "Lee", "phone_number": "+49 111 111",
        "email_address": "ann@x.org"})
}

fn bob() -> Json {
    json!({"contact_id": "con_2", "first_name": "Bob", "last_name": "Lee", "phone_number": "+49 222 222",
        "email_address": "bob@x.org"})
}

/// The gates that object to a phone call after the contacts were read.
fn dialled(driver: &str, number: &str) -> Vec<String> {
    let judged = Scene::new(cabin())
        .driver(driver)
        .done("get_contact_information", json!({"contact_id": "con_1"}), ann())
        .done("get_contact_information", json!({"contact_id": "con_2"}), bob())
        .drafts(&[("call_phone_by_number", json!({"phone_number": number}))]);
    judged
        .report
        .findings
        .iter()
        .filter(|f| f.tier != obligato::model::Tier::Advisory)
        .map(|f| f.gate.to_string())
        .collect()
}

#[test]
fn a_number_is_dialled_only_if_somebody_gave_it() {
    assert_eq!(dialled("Call Ann Lee", "+49 111 111"), [""; 0]);
    assert_eq!(dialled("Call Ann Lee", "+49111111"), [""; 0], "spaces do not matter");
    assert_eq!(dialled("Call 0800 123456", "0800123456"), [""; 0]);
    assert_eq!(dialled("Call 0800 123456", "0800 654321"), ["identifier-provenance"]);
    assert_eq!(dialled("Call Ann Lee", "+49 333 333"), ["identifier-provenance"]);
}

#[test]
fn the_number_of_somebody_else_is_not_dialled() {
    assert_eq!(dialled("Call Ann Lee", "+49 222 222"), ["entity-binding"]);
    assert_eq!(dialled("Call Bob Lee", "+49 222 222"), [""; 0]);
    assert_eq!(dialled("Call my sister", "+49 222 222"), [""; 0], "who that is nobody can tell here");
}

#[test]
fn an_address_is_written_to_only_if_somebody_gave_it() {
    let mailed = |to: &str| {
        let judged = Scene::new(cabin())
            .driver("Mail Ann Lee that I am late")
            .done("get_contact_information", json!({"contact_id": "con_1"}), ann())
            .drafts(&[("send_email", json!({"email_addresses": [to], "content_message": "I am late"}))]);
        judged.verdict().to_owned()
    };
    assert_eq!(mailed("ann@x.org"), "ask");
    assert_eq!(mailed("ann@y.org"), "revise");
}
