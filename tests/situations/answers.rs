//! What is a yes, and to what.

use serde_json::{Value as Json, json};

use super::support::{Scene, cabin};

fn trunk() -> [(&'static str, Json); 1] {
    [("open_close_trunk_door", json!({"action": "OPEN"}))]
}

fn standing() -> Scene {
    Scene::new(cabin()).read("get_vehicle_motion", json!({"speed_kph": 0, "gear": "P"}))
}

/// The verdict on opening the trunk after a question and its answer.
fn opened(question: &str, answer: &str) -> String {
    standing().driver("Open the trunk.").assistant(question).driver(answer).drafts(&trunk()).verdict().to_owned()
}

#[test]
fn a_yes_opens_the_answer_or_orders_the_very_action() {
    for answer in [
        "Yes.",
        "Yes, please.",
        "Yep.",
        "Sure, thanks!",
        "Well, okay.",
        "Go ahead.",
        "Yes, open it.",
        "Open it please.",
        "Please open the trunk.",
        "Go ahead and open it.",
        "Yes, do it now.",
        "Yes, that's what I said.",
        "I want it open. Yes.",
        "Absolutely, thank you very much!",
    ] {
        assert_eq!(opened("Shall I open the trunk?", answer), "clear", "{answer}");
    }
    for answer in
        ["Ja.", "Ja, bitte.", "Na klar, danke.", "Ja, mach auf.", "Ja, öffne ihn bitte.", "Jawohl.", "Mach das."]
    {
        assert_eq!(opened("Soll ich den Kofferraum öffnen?", answer), "clear", "{answer}");
    }
}

#[test]
fn words_that_nobody_asked_about_make_it_no_yes() {
    for answer in [
        "It would be great to hear some music.",
        "I don't mind waiting.",
        "Okay, I changed my mind.",
        "Absolutely forbidden.",
        "Alright, drop it.",
        "Okay what was the question",
        "Yes, the charge port.",
        "Great, leave it closed.",
        "Fine, keep the trunk closed.",
        "Right, the trunk stays shut.",
        "Sure, ask my wife.",
        "Okay, then I'll do it myself.",
        "I said yes to the mail.",
        "Yeah right.",
        "Yes, close it.",
        "Okay, the window first.",
        "Yes, half.",
        "Perfect weather today.",
        "Sure took you long enough.",
        "Okay, tell me about the weather.",
        "I opened it.",
        "Thanks, I'm fine.",
        "Right at the next corner.",
        "Yes, the trunk is open already.",
        "Yes and close it right after",
        "Confirm the route.",
    ] {
        assert_ne!(opened("Shall I open the trunk?", answer), "clear", "{answer}");
    }
    for answer in [
        "Okay, lass mal.",
        "Gut, dann eben nicht.",
        "Passt schon, lass zu.",
        "Klar, das Fenster.",
        "Ja, das Handschuhfach.",
    ] {
        assert_ne!(opened("Soll ich den Kofferraum öffnen?", answer), "clear", "{answer}");
    }
}

#[test]
fn a_condition_a_time_or_a_question_voids_it() {
    for answer in [
        "Yes, when we are parked.",
        "Yes, tomorrow.",
        "Yes, at 6 pm.",
        "Yes, once we arrive.",
        "Yes, before we leave.",
        "Yes, in a while.",
        "Yes, if it is dry.",
        "Well, yes, when the engine is off.",
        "Yes? Really?",
        "Did I say yes?",
        "Okay?",
        "Yes, as soon as the rain stops.",
    ] {
        assert_ne!(opened("Shall I open the trunk?", answer), "clear", "{answer}");
    }
    for answer in
        ["Ja, sobald wir da sind.", "Ja, morgen.", "Ja, um 18 Uhr.", "Ja, bevor wir losfahren.", "Ja, nach dem Tanken."]
    {
        assert_ne!(opened("Soll ich den Kofferraum öffnen?", answer), "clear", "{answer}");
    }
}

#[test]
fn a_question_must_propose_the_very_action() {
    for question in [
        "Do you want me to open the trunk?",
        "Just to confirm, you'd like me to open the trunk, right? I need a quick yes from you first.",
        "I'll be opening the trunk. Good to go?",
        "I can open the trunk for you. Shall I?",
        "The trunk is closed. Would you like me to go ahead and open it?",
        "Open the trunk anyway?",
        "This needs your explicit yes: trunk open. Shall I go ahead?",
        "This needs your confirmation. I would do this: open close trunk door with action OPEN. Shall I proceed?",
    ] {
        assert_eq!(opened(question, "Yes."), "clear", "{question}");
    }
    for question in [
        "Shall I not open the trunk?",
        "Do you want me to cancel opening the trunk?",
        "Shall I remind you to open the trunk later?",
        "Shall I explain how to open the trunk?",
        "You asked me to open the trunk earlier. Should I check the weather?",
        "The trunk is open, right?",
        "The trunk is now fully open, okay?",
        "Shall I open the trunk or the window?",
        "Shall I open the trunk? Also, do you like jazz?",
        "Shall I open the trunk when we arrive?",
        "Shall I leave the trunk closed?",
        "Shall I close the trunk?",
        "Should I ask the passenger to open the trunk?",
        "I won't open the trunk, okay?",
        "Is it true that the trunk is open?",
        "I opened the trunk. Is that okay?",
        "Should I avoid opening the trunk?",
        "Do you want me to ask before I open the trunk?",
        "Shall I tell Ann to open the trunk?",
        "Would you like me to open the trunk or keep it closed?",
        "I could not open the trunk. Should I try the window?",
        "Soll ich den Kofferraum später öffnen?",
        "Soll ich statt des Kofferraums das Fenster öffnen?",
        "Soll ich den Kofferraum nicht öffnen?",
        "Soll ich dich daran erinnern, den Kofferraum zu öffnen?",
        "Soll ich den Kofferraum geschlossen lassen?",
    ] {
        assert_ne!(opened(question, "Yes."), "clear", "{question}");
    }
    let answer = "Yes, open the trunk.";
    assert_eq!(opened("Shall I open the trunk? Also, do you like jazz?", answer), "clear", "the answer says to what");
}

fn cold() -> Json {
    json!({"air_conditioning": true, "fan_speed": 2, "fan_airflow_direction": "FEET", "air_circulation": "FRESH_AIR",
        "front_defrost": false, "rear_defrost": false, "temperature_driver": 21, "temperature_passenger": 21,
        "temperature_driver_rear": 21, "temperature_passenger_rear": 21})
}

/// The verdict on moving a window while the AC is on, after a question was agreed to.
fn window(question: &str, window: &str, percentage: u8) -> String {
    let shut = json!({"window_driver_position": 0, "window_passenger_position": 0,
        "window_driver_rear_position": 0, "window_passenger_rear_position": 0});
    let draft = [("open_close_window", json!({"window": window, "percentage": percentage}))];
    let scene = Scene::new(cabin()).driver("Let some air in.").read("get_vehicle_window_positions", shut);
    let scene = scene.read("get_climate_settings", cold()).assistant(question).driver("Yes.");
    scene.drafts(&draft).verdict().to_owned()
}

#[test]
fn one_window_is_neither_all_of_them_nor_another_one() {
    let one = |which: &str| format!("The AC is on. Open {which} to 50 percent anyway?");
    assert_eq!(window(&one("the passenger window"), "PASSENGER", 50), "clear");
    assert_eq!(window(&one("the rear passenger window"), "PASSENGER_REAR", 50), "clear");
    assert_eq!(window(&one("your window"), "DRIVER", 50), "clear");
    assert_eq!(window(&one("all windows"), "ALL", 50), "clear");
    assert_eq!(window(&one("the windows"), "ALL", 50), "clear");
    for (which, other) in [
        ("the window", "ALL"),
        ("your window", "ALL"),
        ("the passenger window", "ALL"),
        ("the passenger window", "DRIVER"),
        ("the passenger window", "PASSENGER_REAR"),
        ("the rear passenger window", "PASSENGER"),
        ("all windows", "DRIVER"),
    ] {
        assert_ne!(window(&one(which), other, 50), "clear", "{which} {other}");
    }
}

#[test]
fn a_number_is_bound_by_its_unit_and_by_what_it_stands_near() {
    let question = "The AC is on at 28 degrees. At 90 km/h, shall I open the driver window to 30 percent anyway?";
    assert_eq!(window(question, "DRIVER", 30), "clear");
    for other in [28, 90] {
        assert_ne!(window(question, "DRIVER", other), "clear", "{other}");
    }
    let span = "The AC is on. Shall I open the driver window from 30 to 50 percent anyway?";
    assert_eq!(window(span, "DRIVER", 50), "clear");
    assert_ne!(window(span, "DRIVER", 30), "clear");
    assert_ne!(
        window("The AC is on. Shall I open the driver window to 30 or 50 percent anyway?", "DRIVER", 30),
        "clear"
    );
}

const LEES: [(&str, &str, &str, &str); 2] =
    [("con_1", "Ann", "ann@x.org", "+49 111111"), ("con_2", "Bob", "bob@x.org", "+49 222222")];

fn lees(request: &str) -> Scene {
    let mut scene = Scene::new(cabin()).driver(request);
    for (id, first, mail, phone) in LEES {
        let contact = json!({"contact_id": id, "first_name": first, "last_name": "Lee", "phone_number": phone,
            "email_address": mail});
        scene = scene.done("get_contact_information", json!({"contact_id": id}), contact);
    }
    scene
}

/// The verdict on a mail after a question was agreed to.
fn mail(question: &str, to: &[&str], text: &str) -> String {
    let draft = [("send_email", json!({"email_addresses": to, "content_message": text}))];
    lees("Write to the Lees.").assistant(question).driver("Yes").drafts(&draft).verdict().to_owned()
}

#[test]
fn a_mail_goes_to_whom_it_was_said_to_go_and_to_nobody_else() {
    let (ann, bob) = ("ann@x.org", "bob@x.org");
    let late = "I am late";
    assert_eq!(mail("Shall I send the mail \"I am late\" to Ann Lee?", &[ann], late), "clear");
    assert_eq!(mail("Shall I send the mail \"I am late\" to Ann Lee and Bob Lee?", &[bob, ann], late), "clear");
    assert_eq!(mail("Shall I send the mail \"I am late\" to ann@x.org?", &[ann], late), "clear");
    for (question, to) in [
        ("Shall I send the mail \"I am late\" to Ann Lee?", &[bob][..]),
        ("Shall I send the mail \"I am late\" to Ann Lee at ann@x.org?", &[bob]),
        ("Shall I send the mail \"I am late\" to Ann Lee at ann@x.org?", &[ann, bob]),
        ("Shall I send the mail \"I am late\" to Lee?", &[ann]),
        ("Shall I send the mail \"I am late\" to ann@x.org and bob@x.org?", &[ann]),
        ("Shall I send the mail \"I am late\" to Ann Lee and Bob Lee?", &[ann]),
    ] {
        assert_ne!(mail(question, to, late), "clear", "{question} {to:?}");
    }
}

#[test]
fn a_mail_says_what_was_read_out_and_not_a_part_of_it() {
    let question = "Shall I send this mail to ann@x.org: \"Please do not sell the house\"?";
    assert_eq!(mail(question, &["ann@x.org"], "Please do not sell the house"), "clear");
    for text in ["sell the house", "send this mail", "Please do not sell", "Please do not sell the house now"] {
        assert_ne!(mail(question, &["ann@x.org"], text), "clear", "{text}");
    }
    assert_eq!(mail("Shall I send ann@x.org the message I am late?", &["ann@x.org"], "I am late"), "clear");
    let lines = "To: ann@x.org\nMessage: \"Dear Ann,\nI am late.\nSorry!\"\nShall I send it?";
    assert_eq!(mail(lines, &["ann@x.org"], "Dear Ann,\n\nI am late.\nSorry!"), "clear");
    assert_ne!(mail(lines, &["ann@x.org"], "I am late."), "clear");
}

#[test]
fn a_yes_is_spent_by_tool_and_target() {
    let asked = || lees("Write to Ann.").assistant("Shall I send \"I am late.\" to ann@x.org?").driver("Yes");
    let sent = |text: &str| json!({"email_addresses": ["ann@x.org"], "content_message": text});
    let again = asked().done("send_email", sent("I am late."), json!({}));
    assert_ne!(again.drafts(&[("send_email", sent("I am late"))]).verdict(), "clear");
    let twice = standing().driver("Open the trunk.").assistant("Shall I open the trunk?").driver("Yes");
    let [call] = trunk();
    assert_eq!(twice.drafts(&[call.clone(), call]).verdict(), "ask", "one yes is for one call");
}

#[test]
fn a_switch_may_be_spelled_out_as_the_schema_has_it() {
    let lights = json!({"head_lights_low_beams": true, "head_lights_high_beams": true, "fog_light_front": false,
        "fog_light_rear": false});
    let beams = |question: &str, on: bool| {
        let scene =
            Scene::new(cabin()).driver("The lights, please.").read("get_exterior_lights_status", lights.clone());
        let scene = scene.assistant(question).driver("Yes.");
        scene.drafts(&[("set_head_lights_high_beams", json!({"on": on}))]).verdict().to_owned()
    };
    let spelled = "I would do this: set head lights high beams with on false. Shall I proceed?";
    assert_eq!(beams(spelled, false), "clear");
    assert_ne!(beams(spelled, true), "clear");
}

#[test]
fn a_car_that_creeps_or_rolls_back_does_not_stand_still() {
    let trunk_at = |speed: Json| {
        let scene =
            Scene::new(cabin()).driver("Open the trunk.").read("get_vehicle_motion", json!({"speed_kph": speed}));
        scene.assistant("Shall I open the trunk?").driver("Yes.").drafts(&trunk()).verdict().to_owned()
    };
    assert_eq!(trunk_at(json!(0)), "clear");
    for speed in [json!(0.4), json!(-20), json!(-0.4), json!(6), json!("0"), json!(null)] {
        assert_ne!(trunk_at(speed.clone()), "clear", "{speed}");
    }
}
