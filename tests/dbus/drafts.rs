//! Assistants that bring their own drafts.

use std::collections::HashMap;

use obligato::service::{Refusal, SessionProxy};
use serde_json::{Value as Json, json};
use zbus::Variant;

use super::rig::{Rig, Setup, calls, says};

async fn verify(session: &SessionProxy<'_>, draft: &Json) -> Json {
    serde_json::from_str(&session.verify(&draft.to_string()).await.unwrap()).unwrap()
}

async fn execute(session: &SessionProxy<'_>, draft: &Json) -> Json {
    serde_json::from_str(&session.execute(&draft.to_string()).await.unwrap()).unwrap()
}

async fn heard(session: &SessionProxy<'_>, text: &str, zone: &str) {
    let options = HashMap::from([("zone", Variant::from(zone)), ("confidence", Variant::from(0.9))]);
    session.heard(text, options).await.unwrap();
}

fn tools(report: &Json) -> Vec<&str> {
    report["executed"].as_array().unwrap().iter().map(|e| e["call"]["tool"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_judged_without_a_model_and_carried_out_with_its_companions() {
    let rig = Rig::start(Setup::without_student()).await;
    let client = super::rig::Client::new(rig.connect().await).await;
    client.wait_for_state("no-model").await;
    let session = client.open().await;
    heard(&session, "Turn on the air conditioning.", "driver").await;
    let draft = calls(&[("set_air_conditioning", json!({"on": true}))]);
    assert_eq!(verify(&session, &draft).await["verdict"], "gather");
    let report = execute(&session, &draft).await;
    assert_eq!(report["verdict"], "amend", "{report:#}");
    let done = tools(&report);
    assert!(done.contains(&"set_air_conditioning") && done.contains(&"open_close_window"), "{done:?}");
    assert!(report["executed"].as_array().unwrap().iter().all(|e| e["outcome"] == "done"), "{report:#}");
    assert!(matches!(session.start("Hello?").await, Err(Refusal::NoModel(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_counts_for_exactly_what_was_asked_and_only_from_the_driver() {
    let rig = Rig::start(Setup::without_student()).await;
    let session = super::rig::Client::new(rig.connect().await).await.open().await;
    let roof = calls(&[("open_close_sunroof", json!({"percentage": 50}))]);
    for (zone, carried_out) in [("passenger", false), ("driver", true)] {
        heard(&session, "Open the sunroof to 50 percent.", "driver").await;
        let report = execute(&session, &roof).await;
        assert_eq!(report["verdict"], "ask", "{report:#}");
        assert!(!tools(&report).contains(&"open_close_sunroof"));
        session.spoken(report["question"].as_str().unwrap()).await.unwrap();
        heard(&session, "Yes.", zone).await;
        let report = execute(&session, &roof).await;
        assert_eq!(tools(&report).contains(&"open_close_sunroof"), carried_out, "{zone}: {report:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_cannot_be_read_is_refused_with_its_cause_and_the_service_goes_on() {
    // Large calls count for several; how often one may call is not what this is about.
    let rig = Rig::start(Setup::without_student().config("[service]\ncalls_per_second = 0\n")).await;
    let client = super::rig::Client::new(rig.connect().await).await;
    let session = client.open().await;
    let huge = calls(&[("send_email", json!({"content_message": "x".repeat(1 << 20)}))]).to_string();
    let deep = format!(r#"{{"role":"assistant","content":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let cases = [
        ("", "EOF"),
        ("{oops", "not an OpenAI assistant message"),
        (r#"{"role":"user","content":"hi"}"#, "role `user`"),
        (r#"{"role":"assistant","tool_calls":7}"#, "not an OpenAI assistant message"),
        (huge.as_str(), "the arguments of `send_email` take 1048"),
        (deep.as_str(), "not an OpenAI assistant message"),
    ];
    for (draft, cause) in cases {
        for refused in [session.verify(draft).await, session.execute(draft).await] {
            let Err(Refusal::BadDraft(why)) = refused else { panic!("{cause}: {refused:?}") };
            assert!(why.contains(cause), "{cause}: {why}");
        }
    }
    let long = says(&"x".repeat(5 << 20)).to_string();
    assert!(matches!(session.verify(&long).await, Err(Refusal::BadArgument(_))));
    assert!(matches!(session.spoken(&"x".repeat(1 << 20)).await, Err(Refusal::BadArgument(_))));
    assert!(matches!(session.start(&"x".repeat(1 << 20)).await, Err(Refusal::BadArgument(_))));
    assert!(matches!(session.start(" ").await, Err(Refusal::BadArgument(_))));
    let options = HashMap::from([("confidence", Variant::from(7.0))]);
    assert!(matches!(session.heard("Yes.", options).await, Err(Refusal::BadArgument(_))));

    let unknown = verify(&session, &calls(&[("fold_mirrors", json!({}))])).await;
    assert_eq!(unknown["findings"][0]["gate"], "schema-validity");
    let mistyped = verify(&session, &calls(&[("set_fan_speed", json!({"level": "fast"}))])).await;
    assert!(matches!(mistyped["verdict"].as_str(), Some("revise" | "refuse")), "{mistyped:#}");
    assert_eq!(tools(&execute(&session, &calls(&[("set_fan_speed", json!({"level": "fast"}))])).await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_heard_comes_from_the_configured_speech_service_alone() {
    let rig = Rig::start(Setup::without_student().config("[service]\nspeech = \"org.example.Speech\"\n")).await;
    let client = super::rig::Client::new(rig.connect().await).await;
    let session = client.open().await;
    let refused = session.heard("Yes.", HashMap::new()).await;
    assert!(matches!(refused, Err(Refusal::NotYours(_))), "{refused:?}");
    let speech = super::rig::Client::new(rig.connect().await).await;
    speech.connection.request_name("org.example.Speech").await.unwrap();
    let through = speech.session(session.inner().path().to_owned().into()).await;
    through.heard("Open the sunroof.", HashMap::new()).await.unwrap();
    assert!(matches!(through.spoken("Hm.").await, Err(Refusal::NotYours(_))), "it only hears");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_that_passes_words_on_cannot_say_yes_for_the_driver() {
    let beams = calls(&[("set_head_lights_high_beams", json!({"on": true}))]);
    let rig = Rig::start(Setup::drafts(&[beams]).config("[service]\nspeech = \"org.example.Speech\"\n")).await;
    let assistant = super::rig::Client::new(rig.connect().await).await;
    let session = assistant.open().await;
    let (done, _) = session.say("turn on the high beams").await.unwrap();
    assert_eq!(done, "asked");
    let (done, text) = session.say("yes").await.unwrap();
    assert_eq!(done, "refused", "{text}");
    assert!(text.contains("driver"), "it says whose yes it needs: {text}");
}

/// Place and time of the configuration overrule those of the car, by the names of the policy.
#[tokio::test(flavor = "multi_thread")]
async fn the_configured_time_is_the_one_that_rules_read() {
    let given = "[vehicle.now]\nDATETIME = { year = 2031, month = 1, day = 2, hour = 8, minute = 0 }\n";
    let of_the_car = "[vehicle.now]\nCURRENT_LOCATION = { id = \"loc_hallbach_1001\" }\n";
    for (config, today, other) in [(given, [1, 2], [6, 15]), (of_the_car, [6, 15], [1, 2])] {
        let rig = Rig::start(Setup::without_student().config(config)).await;
        let session = super::rig::Client::new(rig.connect().await).await.open().await;
        heard(&session, "What is in my calendar?", "driver").await;
        let entries =
            |[month, day]: [i32; 2]| calls(&[("get_entries_from_calendar", json!({"month": month, "day": day}))]);
        assert_eq!(verify(&session, &entries(today)).await["verdict"], "clear", "{config}");
        let report = verify(&session, &entries(other)).await;
        assert_eq!(report["findings"][0]["rule"], "calendar-of-today", "{config}: {report:#}");
    }
}
