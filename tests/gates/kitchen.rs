//! All gates on a kitchen with its own tools and rules: nothing in them knows what a window is.

use super::support::{Judged, Scene, kitchen};
use obligato::gates::GATES;
use serde_json::{Value as Json, json};

fn oven(door: &str) -> Json {
    json!({"temperature": 20, "door": door, "mode": "FAN", "cleaning": false, "child_lock": false})
}

/// The cook asks for something with the oven and the hood in view.
fn cook(said: &str) -> Scene {
    Scene::new(kitchen()).driver(said).read("get_oven", oven("closed")).read("get_hood", json!({"level": 0}))
}

#[track_caller]
fn finds(gate: &str, judged: &Judged) {
    assert!(GATES.iter().any(|g| g.name == gate), "no gate is called {gate}");
    let found = judged.checked.findings.iter().any(|f| f.gate == gate);
    assert!(found, "expected {gate}, found {}", judged.because());
}

#[track_caller]
fn clears(judged: &Judged) {
    assert_eq!(judged.verdict(), "clear", "{:?}: {}", judged.gates(), judged.because());
}

#[test]
fn calls_are_held_to_the_tools_of_the_kitchen() {
    let scene = cook("set the oven to 180 degrees");
    finds("schema-validity", &scene.drafts(&[("set_oven", json!({"temperature": 900}))]));
    finds("required-parameters", &scene.drafts(&[("set_oven", json!({"mode": "FAN"}))]));
    finds(
        "confirmation",
        &cook("clean the oven").read("get_burners", json!({})).drafts(&[("start_cleaning", json!({}))]),
    );
    let failed = scene.failed("set_oven", json!({"temperature": 180}));
    finds("repetition", &failed.drafts(&[("set_oven", json!({"temperature": 180}))]));
}

#[test]
fn rules_bring_their_companions_reads_and_refusals() {
    let open = Scene::new(kitchen()).driver("set the oven to 180").read("get_oven", oven("open"));
    let judged = open.drafts(&[("set_oven", json!({"temperature": 180}))]);
    finds("obligations", &judged);
    assert_eq!(judged.verdict(), "amend", "{}", judged.because());
    let blind = Scene::new(kitchen()).driver("set the oven to 180");
    finds("gather-before-act", &blind.drafts(&[("set_oven", json!({"temperature": 180}))]));
    let broken = open.removed("move_oven_door").drafts(&[("set_oven", json!({"temperature": 180}))]);
    finds("capability", &broken);
    assert_eq!(broken.verdict(), "refuse", "{}", broken.because());
    let tariff = json!({"day": 26, "hour": 17});
    let high = || json!({"price": {"level": "high"}});
    let early = cook("start the dishwasher").assistant("Shall I start the dishwasher on eco?").driver("yes");
    let early = early.done("get_tariff", tariff.clone(), high());
    finds("conditional-consent", &early.drafts(&[("start_dishwasher", json!({"program": "ECO"}))]));
    let dear = cook("start the dishwasher").done("get_tariff", tariff, high());
    let asked = dear.assistant("Electricity is high right now. Shall I start the dishwasher on eco?").driver("yes");
    finds("consent-scope", &asked.drafts(&[("start_dishwasher", json!({"program": "INTENSIVE"}))]));
}

#[test]
fn replies_are_held_to_what_was_done_and_read() {
    let scene = cook("set the hood to 2, then open the oven door");
    finds("completion", &scene.says("I've set the hood to 2."));
    finds("announce-stall", &Scene::new(kitchen()).driver("how hot is the oven?").says("Let me check the oven."));
    finds("numeric-claim", &scene.says("That takes 2.4 kilowatts."));
    finds("leakage", &scene.says("I would call set_hood for that, shall I?"));
    finds("output-integrity", &scene.says("Sure thing, the"));
    finds("refusal-read", &Scene::new(kitchen()).driver("is it hot?").says("Sorry, I can't check the oven."));
    finds("promise-audit", &scene.says("I'll open the oven door."));
    finds("refusal", &scene.says("I can't open the oven door."));
    let done = cook("set the hood to 2, then open the oven door").done(
        "set_hood",
        json!({"level": 2}),
        json!({"new_level": 2}),
    );
    finds("inability-contradiction", &done.says("I'm afraid I can't set the hood."));
    finds("ask-ledger", &done.says("I've set the hood."));
    let asked = cook("some air please").assistant("Shall I open the oven door?").driver("yes please");
    finds("repeated-question", &asked.says("Shall I open the oven door?"));
    clears(&done.says("I've set the hood to 2. Shall I open the oven door now?"));
    clears(&cook("how is the hood?").says("The hood is at level 0."));
}

#[test]
fn what_this_kitchen_lacks_is_neither_promised_nor_passed_over() {
    let scene = cook("set the hood to 2").removed("set_hood");
    finds("promise-capability", &scene.says("I'll set the hood to 2."));
    clears(&scene.says("Sorry, I can't set the hood here."));
    let unread =
        Scene::new(kitchen()).driver("set the hood one level higher").read("get_hood", json!({"level": "unknown"}));
    finds("unknown-acknowledgement", &unread.says("What level would you like for the hood?"));
}

#[test]
fn the_cook_is_taken_at_their_word() {
    let scene = cook("fill the pot, but don't turn on the burner yet")
        .read("get_burners", json!({"burner_front_left_level": 0}));
    finds("call-substitution", &scene.drafts(&[("set_burner", json!({"burner": "FRONT_LEFT", "level": 3}))]));
}
