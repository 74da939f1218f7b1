//! Providers that lie, stall and misbehave.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use obligato::service::{ManagerProxy, Refusal, SessionProxy};
use obligato::state::{Clock, SystemClock};
use serde_json::json;
use tokio::time::sleep;

use super::provider::{Asked, Provider, phone, provided, tool};
use super::rig::{Client, Rig, Setup, calls};

const PHONE: &str = "call_phone_by_number";

async fn rig() -> Rig {
    Rig::start(Setup::without_student().config(&provided(&[PHONE]))).await
}

/// What a hostile provider does with a call.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Answer(&'static str, &'static str),
    Huge(usize),
    Deep,
    Numbers,
    Empty,
    Error(&'static str),
    Twice,
}

impl Deed {
    async fn to(self, asked: Asked) {
        match self {
            Self::Answer(status, result) => asked.answer(status, result).await,
            Self::Huge(bytes) => asked.answer("done", &json!({"more": "x".repeat(bytes)}).to_string()).await,
            Self::Deep => asked.answer("done", &format!("{{\"a\": {}{}}}", "[".repeat(100), "]".repeat(100))).await,
            Self::Numbers => asked.reply(&(1_u32, 2_u32)).await,
            Self::Empty => asked.reply(&()).await,
            Self::Error(name) => asked.error(name, "it\nis so").await,
            Self::Twice => {
                asked.answer("done", "{}").await;
                asked.answer("failed", "it changed its mind").await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_used_leaves_the_outcome_of_a_write_unknown() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let cases = [
        (Deed::Answer("done", "{}"), "done", ""),
        (Deed::Answer("failed", "the line is\u{7} busy"), "failed", "the line is  busy"),
        (Deed::Answer("unknown", "the modem hung"), "unknown", "the modem hung"),
        (Deed::Answer("DONE", "{}"), "unknown", "`DONE`, which is no status"),
        (Deed::Answer("done", "{oops"), "unknown", "no JSON"),
        (Deed::Answer("done", "[]"), "unknown", "no JSON object"),
        (Deed::Answer("done", ""), "unknown", "no JSON"),
        (Deed::Huge(1 << 20), "unknown", "bytes, more than"),
        (Deed::Huge(30 << 20), "unknown", "bytes, more than"),
        (Deed::Deep, "unknown", "nested deeper"),
        (Deed::Numbers, "unknown", "two strings"),
        (Deed::Empty, "unknown", "two strings"),
        (Deed::Error("org.example.Error.Odd"), "unknown", "it is so"),
        (Deed::Error("org.freedesktop.DBus.Error.NoReply"), "unknown", "no answer"),
        (Deed::Error("org.freedesktop.DBus.Error.UnknownMethod"), "unknown", "no answer"),
        (Deed::Error("org.freedesktop.DBus.Error.AccessDenied"), "unknown", "no answer"),
        (Deed::Twice, "done", ""),
        (Deed::Answer("done", "{}"), "done", ""),
    ];
    let next = Arc::new(Mutex::new(cases.iter().map(|c| c.0).collect::<Vec<_>>().into_iter()));
    let hostile = Provider::new(&rig, move |asked| {
        let deed = next.lock().unwrap().next().expect("asked once a case");
        Box::pin(deed.to(asked))
    })
    .await;
    hostile.register(&[tool(PHONE, "write")]).await.unwrap();
    for (at, (deed, outcome, why)) in cases.iter().enumerate() {
        let session = client.open().await;
        let (found, detail) = phone(&session, &format!("+4930231250{at:02}")).await.unwrap();
        assert_eq!(found, *outcome, "{deed:?}: {detail}");
        assert!(detail.contains(why) && detail.len() < 400, "{deed:?}: {detail}");
        session.close().await.unwrap();
    }
    assert_eq!(hostile.asked().len(), cases.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_breaks_the_schema_of_its_tool_is_no_reading() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let answers = [r#"{"contacts": [{"contact_id": 7, "name": "Anna"}]}"#, r#"{"people": []}"#];
    let next = Arc::new(Mutex::new(answers.into_iter()));
    let liar = Provider::new(&rig, move |asked| {
        let answer = next.lock().unwrap().next().unwrap();
        Box::pin(async move { asked.answer("done", answer).await })
    })
    .await;
    liar.register(&[tool("get_contact_id_by_contact_name", "read")]).await.unwrap();
    let session = client.open().await;
    for (name, why) in [("Anna", "contacts.0.contact_id"), ("Jonas", "contacts")] {
        super::provider::heard(&session, &format!("What is the number of {name}?")).await;
        let draft = calls(&[("get_contact_id_by_contact_name", json!({"first_name": name}))]);
        let report = super::provider::execute(&session, &draft).await;
        let read = &report["executed"][0];
        assert_eq!(read["outcome"], "failed", "{report:#}");
        assert!(read["detail"].as_str().unwrap().contains(why), "{report:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_never_answers_holds_up_nobody_else_and_is_not_listened_to_later() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let slow = Provider::new(&rig, |asked| {
        Box::pin(async move {
            let wait = Duration::from_micros(asked.expiry).saturating_sub(SystemClock.since_boot());
            sleep(wait + Duration::from_millis(300)).await;
            asked.answer("done", "{}").await;
        })
    })
    .await;
    slow.register(&[tool(PHONE, "write")]).await.unwrap();
    let session = client.open().await;
    let path = session.inner().path().to_owned();
    let waiting = {
        let session = client.session(path.into()).await;
        tokio::spawn(async move { phone(&session, "+493023125101").await })
    };
    while slow.asked().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    let other = Client::new(rig.connect().await).await;
    let beside = other.open().await;
    beside.verify(&calls(&[("set_fan_speed", json!({"level": 2}))]).to_string()).await.unwrap();
    let second = Provider::willing(&rig).await;
    second.register(&[tool("send_email", "write")]).await.unwrap();
    assert_eq!(other.providers.provided().await.unwrap().len(), 2);
    assert!(session.busy().await.unwrap(), "the call was still waiting");

    let (outcome, detail) = waiting.await.unwrap().unwrap();
    assert_eq!(outcome, "unknown");
    // Told from no answer at all while it is still listened for; late either way.
    assert!(detail.contains("5000 ms"), "{detail}");
    sleep(Duration::from_millis(600)).await;
    assert_eq!(slow.asked().len(), 1);
    // The late answer was nobody's, and the next call has its own.
    slow.leave().await;
    let client = Client::new(rig.connect().await).await;
    client.wait_for_absent(&[PHONE]).await;
    second.register(&[tool(PHONE, "write")]).await.unwrap();
    assert_eq!(phone(&client.open().await, "+493023125102").await.unwrap().0, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_calls_back_is_served_like_everybody_else() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let meddler = Provider::new(&rig, |asked| {
        Box::pin(async move {
            let manager = ManagerProxy::new(&asked.connection).await.unwrap();
            let path = manager.open_session().await.unwrap();
            let own = SessionProxy::builder(&asked.connection).path(path).build().await.unwrap();
            own.verify(&calls(&[("set_fan_speed", json!({"level": 2}))]).to_string()).await.unwrap();
            own.close().await.unwrap();
            let first = "/org/obligato/Harness1/session/1";
            let theirs = SessionProxy::builder(&asked.connection).path(first).build().await.unwrap();
            assert!(matches!(theirs.verify("{}").await, Err(Refusal::NotYours(_))));
            asked.answer("done", "{}").await;
        })
    })
    .await;
    meddler.register(&[tool(PHONE, "write")]).await.unwrap();
    let session = client.open().await;
    assert_eq!(phone(&session, "+493023125101").await.unwrap().0, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_gives_its_tools_back_over_a_call_has_not_answered_it() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let fickle = Provider::new(&rig, |asked| {
        Box::pin(async move {
            obligato::service::ProvidersProxy::new(&asked.connection).await.unwrap().withdraw().await.unwrap();
        })
    })
    .await;
    fickle.register(&[tool(PHONE, "write")]).await.unwrap();
    let (outcome, detail) = phone(&client.open().await, "+493023125101").await.unwrap();
    assert_eq!(outcome, "unknown", "{detail}");
    assert!(detail.contains("left before it answered"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_registers_without_end_is_slowed_down() {
    let rig = rig().await;
    let hostile = Provider::willing(&rig).await;
    let mut refused = 0;
    for _ in 0..40 {
        match hostile.register(&[tool(PHONE, "write")]).await {
            Ok(()) => {}
            Err(Refusal::TooMany(why)) => {
                assert!(why.contains("try again in"), "{why}");
                refused += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 0);
    let client = Client::new(rig.connect().await).await;
    assert_eq!(phone(&client.open().await, "+493023125101").await.unwrap().0, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_its_calls_unanswered_is_put_out_until_it_answered_and_takes_nobody_with_it() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let kept: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let keeping = kept.clone();
    let silent = Provider::new(&rig, move |asked| {
        keeping.lock().unwrap().push(asked);
        Box::pin(async {})
    })
    .await;
    let mail = Provider::willing(&rig).await;
    mail.register(&[tool("send_email", "write")]).await.unwrap();
    silent.register(&[tool(PHONE, "write")]).await.unwrap();
    for number in 1..=3 {
        assert!(!client.providers.absent().await.unwrap().contains(&PHONE.to_owned()), "before call {number}");
        let (outcome, detail) = phone(&client.open().await, &format!("+4930231251{number:02}")).await.unwrap();
        assert_eq!(outcome, "unknown", "{detail}");
    }
    client.wait_for_absent(&[PHONE]).await;
    let again = silent.register(&[tool(PHONE, "write")]).await;
    assert!(matches!(&again, Err(Refusal::TooMany(why)) if why.contains("3 calls to you are unanswered")), "{again:?}");
    assert_eq!(client.providers.provided().await.unwrap().len(), 1, "the other one is still there");
    // It answers what it kept, late as it is, and is welcome again.
    let calls: Vec<Asked> = std::mem::take(&mut *kept.lock().unwrap());
    for asked in &calls {
        asked.answer("done", "{}").await;
    }
    let mut again = silent.register(&[tool(PHONE, "write")]).await;
    while matches!(again, Err(Refusal::TooMany(_))) {
        sleep(Duration::from_millis(50)).await;
        again = silent.register(&[tool(PHONE, "write")]).await;
    }
    again.unwrap();
}

/// Each call is ended by a new registration, and each connection is followed by another one.
#[tokio::test(flavor = "multi_thread")]
async fn no_number_of_connections_takes_all_places_for_answers() {
    let rig = rig().await;
    let client = Client::new(rig.connect().await).await;
    let mut held: Vec<Provider> = Vec::new();
    let mut asked = 0;
    // The bus has 128 places.
    for _ in 0..60 {
        let fickle = Provider::new(&rig, |asked| {
            Box::pin(async move {
                let harness = obligato::service::ProvidersProxy::new(&asked.connection).await.unwrap();
                harness.withdraw().await.unwrap();
            })
        })
        .await;
        let refused = loop {
            match fickle.register(&[tool(PHONE, "write")]).await {
                Ok(()) => {
                    let number = format!("+49302312{:04}", asked);
                    let session = client.open().await;
                    assert_eq!(phone(&session, &number).await.unwrap().0, "unknown");
                    session.close().await.unwrap();
                    asked += 1;
                }
                Err(Refusal::TooMany(why)) if why.contains("unanswered") => break why,
                Err(Refusal::TooMany(_)) => sleep(Duration::from_millis(100)).await,
                Err(other) => panic!("{other:?}"),
            }
        };
        let over = refused.starts_with("24 ");
        held.push(fickle);
        if over {
            break;
        }
    }
    assert_eq!(asked, 24, "of one user, whatever the number of its connections");
    // The places come back with whoever goes.
    for fickle in held {
        fickle.leave().await;
    }
    let honest = Provider::willing(&rig).await;
    let mut there = honest.register(&[tool(PHONE, "write")]).await;
    while matches!(there, Err(Refusal::TooMany(_))) {
        sleep(Duration::from_millis(50)).await;
        there = honest.register(&[tool(PHONE, "write")]).await;
    }
    there.unwrap();
    assert_eq!(phone(&client.open().await, "+493023129999").await.unwrap().0, "done");
}
