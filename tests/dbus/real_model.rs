//! A conversation over D-Bus with the real local model.
//!
//! It asserts on the calls that were executed and on what was read back from the car, never on what
//! the model wrote.

use serde_json::Value as Json;

use super::rig::{Ear, Rig, Setup, Signal, root};

/// Calls that the car carried out in these signals, as `tool` with its arguments and what was read back.
fn done(signals: &[Signal]) -> Vec<(String, Json, String)> {
    let outcomes = signals.iter().filter(|s| s.name == "Outcome" && s.texts[1] == "done");
    outcomes
        .map(|s| {
            let call: Json = serde_json::from_str(&s.texts[0]).unwrap();
            (call["tool"].as_str().unwrap().to_owned(), call["arguments"].clone(), s.texts[2].clone())
        })
        .collect()
}

fn writes(signals: &[Signal]) -> Vec<String> {
    done(signals).into_iter().map(|(tool, ..)| tool).filter(|t| !t.starts_with("get_")).collect()
}

fn end(signals: &[Signal]) -> &str {
    &signals.last().unwrap().texts[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_amended_asked_for_and_refused_and_the_car_shows_it() {
    let model = root().join("models/gemma-3-270m-q4_k_m.gguf");
    if !model.exists() {
        println!("skipped: {} was not fetched (cross/fetch-model gemma)", model.display());
        return;
    }
    let setup = Setup::default()
        .config("[vehicle]\nremoved = [\"set_steering_wheel_heating\"]\n")
        .argument("--student")
        .argument("llama")
        .argument("--model")
        .argument(model.to_str().unwrap())
        .argument("--examples")
        .argument(root().join("policies/cabin/examples.toml").to_str().unwrap());
    let rig = Rig::start(setup).await;
    let client = rig.client().await;
    let session = client.open().await;
    let mut ear = Ear::of(&client);
    let mut turn = 0;
    let mut hear = async |said: &str| {
        turn += 1;
        assert_eq!(*session.start(said).await.unwrap().response(), turn);
        ear.turn(turn).await
    };

    // Amended: the model drafts one call, the policy adds what goes with it.
    let signals = hear("Turn on the air conditioning.").await;
    let made = done(&signals);
    assert_eq!(end(&signals), "replied", "{signals:#?}");
    let closed: Vec<&str> = made
        .iter()
        .filter(|(tool, arguments, _)| tool == "open_close_window" && arguments["percentage"] == 0)
        .filter_map(|(_, arguments, _)| arguments["window"].as_str())
        .collect();
    assert_eq!(closed.len(), 2, "{made:?}");
    assert!(closed.contains(&"DRIVER") && closed.contains(&"PASSENGER"), "{closed:?}");
    assert!(
        made.iter().any(|(tool, _, read)| tool == "set_air_conditioning" && read.contains("air_conditioning = true"))
    );

    // Asked, and the no is honoured: the roof does not move.
    let signals = hear("Open the sunroof halfway.").await;
    assert_eq!(end(&signals), "asked", "{signals:#?}");
    assert_eq!(writes(&signals), Vec::<String>::new());
    let signals = hear("No.").await;
    assert_eq!(end(&signals), "refused", "{signals:#?}");
    assert_eq!(writes(&signals), Vec::<String>::new());

    // Refused: this car has no such tool, and none other is used in its place.
    let signals = hear("Set the steering wheel heating to 2.").await;
    assert_eq!(end(&signals), "refused", "{signals:#?}");
    assert_eq!(done(&signals), Vec::new());

    // And the service still answers.
    let signals = hear("Turn off the air conditioning.").await;
    let off = done(&signals).into_iter().find(|(tool, ..)| tool == "set_air_conditioning");
    assert!(off.is_some_and(|(_, _, read)| read.contains("air_conditioning = false")), "{signals:#?}");
}
