//! Turns of the local model.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use obligato::service::Refusal;
use serde_json::json;

use super::rig::{Ear, Rig, Setup, Signal, calls, says};

fn fan(level: u8) -> serde_json::Value {
    calls(&[("set_fan_speed", json!({"level": level}))])
}

fn executed(signals: &[Signal]) -> Vec<(String, String)> {
    signals.iter().filter(|s| s.name == "Outcome").map(|s| (s.texts[0].clone(), s.texts[1].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_tells_every_step_in_order_and_ends_with_one_reply() {
    let rig = Rig::start(Setup::drafts(&[calls(&[("set_air_conditioning", json!({"on": true}))])])).await;
    let client = rig.client().await;
    let session = client.open().await;
    let mut ear = Ear::of(&client);

    let turn = *session.start("Turn on the air conditioning.").await.unwrap().response();
    assert_eq!(turn, 1);
    let signals = ear.turn(turn).await;

    let steps: Vec<&str> = signals.iter().map(Signal::event).filter(|e| !e.is_empty()).collect();
    assert_eq!(&steps[..3], ["asks", "drafted", "judged"], "{signals:#?}");
    assert_eq!(steps.last(), Some(&"finished"));
    let amended = signals.iter().find(|s| s.event() == "judged" && s.json()["report"]["verdict"] == "amend").unwrap();
    let because = amended.json()["report"]["findings"][0]["because"].as_str().unwrap().to_owned();
    assert!(because.contains("window_driver_position = 25 > 20"), "{because}");
    let done: Vec<String> = executed(&signals).into_iter().map(|(call, outcome)| format!("{call} {outcome}")).collect();
    let wanted = |call: &str| done.iter().any(|d| d == call);
    assert!(wanted(r#"{"tool":"set_air_conditioning","arguments":{"on":true}} done"#), "{done:?}");
    assert!(
        wanted(r#"{"tool":"open_close_window","arguments":{"window":"DRIVER","percentage":0}} done"#)
            || wanted(r#"{"tool":"open_close_window","arguments":{"percentage":0,"window":"DRIVER"}} done"#),
        "{done:?}"
    );
    let reply = signals.last().unwrap();
    assert_eq!(reply.texts[0], "replied");
    assert!(!session.busy().await.unwrap());
    assert_eq!(session.turn().await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_and_no_leaves_the_car_as_it_is() {
    let roof = calls(&[("open_close_sunroof", json!({"percentage": 50}))]);
    let rig = Rig::start(Setup::drafts(&[roof.clone(), roof])).await;
    let client = rig.client().await;
    let session = client.open().await;
    let mut ear = Ear::of(&client);

    let signals = ear.turn(*session.start("Open the sunroof to 50 percent.").await.unwrap().response()).await;
    let question = signals.iter().find(|s| s.name == "Question").unwrap();
    assert!(question.texts[0].contains("rainy"), "{question:?}");
    let bound: serde_json::Value = serde_json::from_str(&question.texts[1]).unwrap();
    assert!(bound.as_array().unwrap().iter().any(|c| c["tool"] == "open_close_sunroof"), "{bound}");
    assert_eq!(signals.last().unwrap().texts, ["asked", &question.texts[0]]);
    assert_eq!(session.pending().await.unwrap(), question.texts[0]);

    let signals = ear.turn(*session.start("No.").await.unwrap().response()).await;
    assert_eq!(executed(&signals), []);
    assert_eq!(signals.last().unwrap().texts[0], "refused");
    assert_eq!(session.pending().await.unwrap(), "");

    let (done, _) = session.say("Open the sunroof to 50 percent.").await.unwrap();
    assert_eq!(done, "asked");
    let signals = ear.turn(*session.start("Yes.").await.unwrap().response()).await;
    assert!(executed(&signals).iter().any(|(call, outcome)| call.contains("open_close_sunroof") && outcome == "done"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_does_not_exist_is_refused_and_nothing_is_executed() {
    let fold = calls(&[("fold_mirrors", json!({}))]);
    let rig = Rig::start(Setup::drafts(&[fold.clone(), fold.clone(), fold.clone(), fold])).await;
    let client = rig.client().await;
    let session = client.open().await;
    let mut ear = Ear::of(&client);
    let signals = ear.turn(*session.start("Fold in the mirrors.").await.unwrap().response()).await;
    assert_eq!(executed(&signals), []);
    assert_eq!(signals.last().unwrap().texts[0], "refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vehicle_that_never_answers_leaves_an_unknown_outcome_and_a_service_that_answers() {
    let rig = Rig::start(Setup::drafts(&[fan(2), says("Hello.")]).stalling("set_fan_speed")).await;
    let client = rig.client().await;
    let session = client.open().await;
    let mut ear = Ear::of(&client);
    let turn = *session.start("Set the fan to 2.").await.unwrap().response();

    // Meanwhile everything that needs no turn is answered at once, and a second turn is refused.
    let asked = Instant::now();
    assert!(session.busy().await.unwrap());
    assert!(matches!(session.start("Set the fan to 3.").await, Err(Refusal::Busy(_))));
    assert!(matches!(session.verify(&says("Hello.").to_string()).await, Err(Refusal::Busy(_))));
    assert_eq!(client.manager.state().await.unwrap(), "ready");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());

    let signals = ear.turn(turn).await;
    let outcome = signals.iter().find(|s| s.name == "Outcome" && s.texts[0].contains("set_fan_speed")).unwrap();
    assert_eq!(outcome.texts[1], "unknown");
    assert!(outcome.texts[2].contains("no answer within 3000 ms"), "{outcome:?}");
    assert_eq!(session.say("Hello?").await.unwrap().0, "replied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_ends_as_cancelled_and_a_waiting_one_at_once() {
    let rig = Rig::start(Setup::drafts(&[fan(2), says("Hello.")]).stalling("set_fan_speed")).await;
    let (first, second) = (rig.client().await, rig.client().await);
    let (running, waiting) = (first.open().await, second.open().await);
    let (mut ear, mut first_ear) = (Ear::of(&second), Ear::of(&first));
    let slow = *running.start("Set the fan to 2.").await.unwrap().response();
    // Only a turn that has its draft is certain to leave the next one to the other session.
    while first_ear.next().await.event() != "drafted" {}
    let queued = *waiting.start("Hello?").await.unwrap().response();
    assert!(matches!(waiting.cancel(queued + 1).await, Err(Refusal::NoTurn(_))));
    waiting.cancel(queued).await.unwrap();
    let signals = ear.turn(queued).await;
    assert_eq!(signals.last().unwrap().texts[0], "cancelled");
    assert!(running.busy().await.unwrap(), "the turn before it was still running");
    assert!(!waiting.busy().await.unwrap());

    running.cancel(slow).await.unwrap();
    let signals = first_ear.turn(slow).await;
    assert_ne!(signals.last().unwrap().texts[0], "broken");
    // The draft of the cancelled turn was not used up.
    assert_eq!(waiting.say("Hello?").await.unwrap(), ("replied".to_owned(), "Hello.".to_owned()));
    assert!(matches!(waiting.cancel(queued).await, Err(Refusal::NoTurn(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_session_writes_makes_the_picture_of_another_old() {
    let rig = Rig::start(Setup::drafts(&[fan(2), fan(3), fan(1)])).await;
    let client = rig.client().await;
    let (one, other) = (client.open().await, client.open().await);
    let mut ear = Ear::of(&client);
    ear.turn(*one.start("Set the fan to 2.").await.unwrap().response()).await;
    assert_eq!(other.say("Set the fan to 3.").await.unwrap().0, "replied");
    // The first session must not believe that the fan is still at 2.
    one.heard("And the air conditioning, please.", HashMap::new()).await.unwrap();
    let report = one.verify(&calls(&[("set_air_conditioning", json!({"on": true}))]).to_string()).await.unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["verdict"], "gather", "{report:#}");
    assert!(report.to_string().contains("fan_speed is not known"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_used_up_ends_the_turn_with_its_cause() {
    let rig = Rig::start(Setup::drafts(&[])).await;
    let client = rig.client().await;
    let (done, text) = client.open().await.say("Hello?").await.unwrap();
    assert_eq!(done, "refused");
    assert!(text.contains("script"), "{text}");
}

/// A model server that takes every request and never answers.
#[cfg(feature = "remote")]
fn silent_server() -> (std::net::TcpListener, String) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, address)
}

#[cfg(feature = "remote")]
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_stops_is_stopped_by_a_cancel() {
    let (_listener, server) = silent_server();
    let remote = ["--student", "remote", "--model", "mute", "--server", &server];
    let rig = Rig::start(remote.into_iter().fold(Setup::default(), Setup::argument)).await;
    let client = rig.client().await;
    let session = client.open().await;
    let mut ear = Ear::of(&client);
    let turn = *session.start("Turn on the air conditioning.").await.unwrap().response();
    while ear.next().await.event() != "asks" {}
    let stopped = Instant::now();
    session.cancel(turn).await.unwrap();
    let signals = ear.turn(turn).await;
    assert_eq!(signals.last().unwrap().texts[0], "cancelled");
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
    assert_eq!(executed(&signals), []);
    assert!(!session.busy().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_the_running_turn_end_and_refuses_new_ones() {
    let mut rig = Rig::start(Setup::drafts(&[fan(2), fan(3)]).stalling("set_fan_speed")).await;
    let client = rig.client().await;
    let (session, other) = (client.open().await, client.open().await);
    let mut ear = Ear::of(&client);
    let turn = *session.start("Set the fan to 2.").await.unwrap().response();
    rig.signal("TERM");
    client.wait_for_state("stopping").await;
    assert!(matches!(other.start("Set the fan to 3.").await, Err(Refusal::Stopping(_))));
    assert!(matches!(client.manager.open_session().await, Err(Refusal::Stopping(_))));
    let signals = ear.turn(turn).await;
    assert!(signals.iter().any(|s| s.name == "Outcome" && s.texts[1] == "unknown"), "{signals:?}");
    assert!(rig.ended().await.success(), "{}", rig.log());
}
