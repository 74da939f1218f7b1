//! The machine falls asleep in the middle of something.

use serde_json::{Value as Json, json};
use tokio::time::timeout;

use super::logind::Logind;
use super::provider::{Provider, execute, heard, phone, provided, tool};
use super::rig::{Client, Ear, PATIENCE, Rig, Setup, Signal, calls, says};

fn fan(level: u8) -> Json {
    calls(&[("set_fan_speed", json!({ "level": level }))])
}

fn roof() -> Json {
    calls(&[("open_close_sunroof", json!({"percentage": 50}))])
}

const PHONE: &str = "call_phone_by_number";

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_before_the_machine_sleeps_and_nothing_of_it_is_done_in_the_morning() {
    let rig = Rig::start(Setup::drafts(&[fan(2), says("Good morning.")]).stalling("set_fan_speed")).await;
    let (client, logind) = (rig.client().await, Logind::start(&rig).await);
    let session = client.open().await;
    let mut ear = Ear::of(&client);
    let turn = *session.start("Set the fan to 2.").await.unwrap().response();
    let mut heard = Vec::new();
    // The order to the car, which never answers it.
    let cleared =
        |s: &Signal| s.event() == "judged" && (s.texts[1].contains("\"clear\"") || s.texts[1].contains("\"amend\""));
    while !heard.iter().any(cleared) {
        heard.push(timeout(PATIENCE, ear.next()).await.unwrap());
        assert!(heard.last().is_some_and(|s| s.name != "Reply"), "{heard:?}");
    }
    logind.sleep().await;
    heard.extend(ear.turn(turn).await);
    let reply = heard.last().unwrap();
    assert!(reply.texts[1].contains("asleep"), "{reply:?}");
    let outcomes = heard.iter().filter(|s| s.name == "Outcome" && s.texts[0].contains("set_fan_speed"));
    assert!(outcomes.clone().all(|s| s.texts[2].contains("slept") || s.texts[2].contains("sleep")), "{heard:?}");
    logind.wake().await;
    let mut ear = Ear::of(&client);
    let morning = ear.turn(*session.start("Hello?").await.unwrap().response()).await;
    assert_eq!(morning.last().unwrap().texts, ["replied", "Good morning."]);
    assert!(morning.iter().all(|s| s.name != "Outcome"), "{morning:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_for_its_turn_does_not_begin_after_a_sleep() {
    let rig = Rig::start(Setup::drafts(&[fan(2), fan(3)]).stalling("set_fan_speed")).await;
    let (client, logind) = (rig.client().await, Logind::start(&rig).await);
    let (running, waiting) = (client.open().await, client.open().await);
    let mut ear = Ear::of(&client);
    running.start("Set the fan to 2.").await.unwrap().response();
    waiting.start("Set the fan to 3.").await.unwrap().response();
    logind.sleep().await;
    logind.wake().await;
    let mut replies = 0;
    while replies < 2 {
        let signal = timeout(PATIENCE, ear.next()).await.unwrap();
        replies += usize::from(signal.name == "Reply");
        let fan = signal.name == "Outcome" && signal.texts[0].contains("set_fan_speed");
        assert!(!fan || (signal.texts[0].contains('2') && signal.texts[1] != "done"), "{signal:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_and_a_yes_die_in_sleep() {
    let rig = Rig::start(Setup::drafts(&[roof(), says("Yes to what?")])).await;
    let (client, logind) = (rig.client().await, Logind::start(&rig).await);
    let session = client.open().await;
    assert_eq!(session.say("Open the sunroof to 50 percent.").await.unwrap().0, "asked");
    assert_ne!(session.pending().await.unwrap(), "");
    logind.sleep().await;
    assert_eq!(session.pending().await.unwrap(), "");
    logind.wake().await;
    let mut ear = Ear::of(&client);
    let turn = ear.turn(*session.start("Yes.").await.unwrap().response()).await;
    assert!(turn.iter().all(|s| s.name != "Outcome" || !s.texts[0].contains("sunroof")), "{turn:?}");

    // The same with an assistant that brings its own drafts: asked and agreed to in the evening.
    let session = client.open().await;
    for slept in [true, false] {
        heard(&session, "Open the sunroof to 50 percent.").await;
        let report = execute(&session, &roof()).await;
        assert_eq!(report["verdict"], "ask", "{report:#}");
        session.spoken(report["question"].as_str().unwrap()).await.unwrap();
        heard(&session, "Yes.").await;
        if slept {
            logind.sleep().await;
            logind.wake().await;
        }
        let report = execute(&session, &roof()).await;
        let opened = report["executed"].as_array().unwrap().iter().any(|e| e["call"]["tool"] == "open_close_sunroof");
        assert_eq!(opened, !slept, "{report:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_was_asked_for_ends_unknown_and_is_not_asked_again() {
    let rig = Rig::start(Setup::without_student().config(&provided(&[PHONE]))).await;
    let (client, logind) = (Client::new(rig.connect().await).await, Logind::start(&rig).await);
    let silent = Provider::new(&rig, |_| Box::pin(async {})).await;
    silent.register(&[tool(PHONE, "write")]).await.unwrap();
    let session = client.open().await;
    let sleeps = async {
        while silent.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        logind.sleep().await;
    };
    let (called, ()) = tokio::join!(phone(&session, "+493023125101"), sleeps);
    let (outcome, detail) = called.unwrap();
    assert_eq!((outcome.as_str(), detail.as_str()), ("unknown", "the machine slept before it answered"));
    // Nothing begins while it is about to sleep.
    let (outcome, detail) = phone(&session, "+493023125102").await.unwrap();
    assert_eq!((outcome.as_str(), detail.as_str()), ("failed", "the machine is about to sleep"));
    logind.wake().await;
    assert_eq!(silent.asked().len(), 1);
    let willing = Provider::willing(&rig).await;
    silent.leave().await;
    client.wait_for_absent(&[PHONE]).await;
    willing.register(&[tool(PHONE, "write")]).await.unwrap();
    assert_eq!(phone(&session, "+493023125103").await.unwrap().0, "done");
    assert_eq!(willing.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_before_a_sleep_is_read_again_after_it() {
    let rig = Rig::start(Setup::without_student()).await;
    let (client, logind) = (Client::new(rig.connect().await).await, Logind::start(&rig).await);
    let session = client.open().await;
    heard(&session, "Turn on the air conditioning.").await;
    execute(&session, &calls(&[("get_climate_settings", json!({})), ("get_vehicle_window_positions", json!({}))]))
        .await;
    let gathers = async || {
        let draft = calls(&[("set_air_conditioning", json!({"on": true}))]);
        let report: Json = serde_json::from_str(&session.verify(&draft.to_string()).await.unwrap()).unwrap();
        report["verdict"] == "gather"
    };
    assert!(!gathers().await);
    logind.sleep().await;
    logind.wake().await;
    assert!(gathers().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logind_that_is_not_there_or_goes_away_keeps_nobody_from_the_car() {
    let rig = Rig::start(Setup::without_student()).await;
    let client = Client::new(rig.connect().await).await;
    let session = client.open().await;
    let works = async |on: bool| {
        // What failed is not tried again before something was learned.
        execute(&session, &calls(&[("get_interior_lights_status", json!({}))])).await;
        heard(&session, if on { "Turn on the dome light." } else { "Turn off the dome light." }).await;
        let report = execute(&session, &calls(&[("set_dome_light", json!({ "on": on }))])).await;
        let executed = report["executed"].as_array().unwrap();
        executed.iter().any(|e| e["call"]["tool"] == "set_dome_light" && e["outcome"] == "done")
    };
    assert!(works(true).await);
    assert!(rig.log().contains("logind does not wait for the car"), "{}", rig.log());
    assert!(!rig.log().contains("ERROR"), "{}", rig.log());
    let logind = Logind::start(&rig).await;
    logind.sleep().await;
    assert!(!works(false).await);
    logind.leave().await;
    let awake = async {
        while !rig.log().contains("the machine woke") {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, awake).await.unwrap();
    assert!(works(false).await);
}
