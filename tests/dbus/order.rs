//! Calls of a session that are sent one after the other, without waiting for each answer.

use std::collections::HashMap;
use std::num::NonZeroU32;

use obligato::service::{BUS_NAME, SessionProxy};
use serde_json::{Value as Json, json};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use zbus::fdo::PropertiesProxy;
use zbus::message::Type;
use zbus::{Message, MessageStream, Variant};

use super::logind::Logind;
use super::rig::{Client, PATIENCE, Rig, Setup, calls};

const INTERFACE: &str = "org.obligato.Harness1.Session";

/// Something that an assistant tells or asks.
#[derive(Debug, Clone)]
enum Step {
    Heard(&'static str),
    Spoken(String),
    Verify(Json),
    Execute(Json),
}

impl Step {
    fn message(&self, session: &SessionProxy<'_>) -> Message {
        let path = session.inner().path().to_owned();
        let call = |member: &'static str| {
            Message::method_call(path.clone(), member).destination(BUS_NAME).interface(INTERFACE)
        };
        match self {
            Self::Heard(text) => {
                let options = HashMap::from([("zone", Variant::from("driver")), ("confidence", Variant::from(0.9))]);
                call("Heard").build(&(*text, options)).unwrap()
            }
            Self::Spoken(text) => call("Spoken").build(&text.as_str()).unwrap(),
            Self::Verify(draft) => call("Verify").build(&draft.to_string().as_str()).unwrap(),
            Self::Execute(draft) => call("Execute").build(&draft.to_string().as_str()).unwrap(),
        }
    }
}

/// An answer: what it says, without how long it took.
fn said(answer: &Message) -> Json {
    if answer.message_type() == Type::Error {
        let text: String = answer.body().deserialize().unwrap_or_default();
        return json!({"error": answer.header().error_name().unwrap().as_str(), "text": text});
    }
    let Ok(text) = answer.body().deserialize::<String>() else { return Json::Null };
    let mut report: Json = serde_json::from_str(&text).unwrap();
    fn timeless(json: &mut Json) {
        match json {
            Json::Object(map) => {
                map.remove("micros");
                map.remove("millis");
                map.iter_mut().for_each(|(_, item)| timeless(item));
            }
            Json::Array(items) => items.iter_mut().for_each(timeless),
            _ => {}
        }
    }
    timeless(&mut report);
    report
}

/// Sends all steps at once; the answers in the order of the steps, and the order in which they came.
async fn at_once(session: &SessionProxy<'_>, steps: &[Step]) -> (Vec<Json>, Vec<usize>) {
    let connection = session.inner().connection();
    let mut answers = MessageStream::from(connection);
    let messages: Vec<Message> = steps.iter().map(|step| step.message(session)).collect();
    let serials: Vec<NonZeroU32> = messages.iter().map(|m| m.primary_header().serial_num()).collect();
    for message in &messages {
        connection.send(message).await.unwrap();
    }
    let (mut found, mut order) = (vec![Json::Null; steps.len()], Vec::new());
    while order.len() < steps.len() {
        let answer = timeout(PATIENCE, answers.next()).await.unwrap().unwrap().unwrap();
        let to = answer.header().reply_serial();
        if let Some(at) = serials.iter().position(|serial| Some(*serial) == to) {
            found[at] = said(&answer);
            order.push(at);
        }
    }
    (found, order)
}

/// The same, each after the answer to the one before.
async fn one_by_one(session: &SessionProxy<'_>, steps: &[Step]) -> Vec<Json> {
    let mut found = Vec::new();
    for step in steps {
        found.extend(at_once(session, std::slice::from_ref(step)).await.0);
    }
    found
}

fn fan(level: u8) -> Json {
    calls(&[("set_fan_speed", json!({"level": level}))])
}

fn roof() -> Json {
    calls(&[("open_close_sunroof", json!({"percentage": 50}))])
}

async fn rig() -> Rig {
    Rig::start(Setup::without_student().config("[service]\ncalls_per_second = 0\n")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_that_was_sent_before_a_draft_is_heard_before_it() {
    let rig = rig().await;
    for round in 0..40 {
        let client = Client::new(rig.connect().await).await;
        let session = client.open().await;
        let asked =
            one_by_one(&session, &[Step::Heard("Open the sunroof to 50 percent."), Step::Execute(roof())]).await;
        let question = asked[1]["question"].as_str().unwrap_or_else(|| panic!("{asked:?}")).to_owned();
        one_by_one(&session, &[Step::Spoken(question), Step::Heard("Yes.")]).await;
        let (answers, order) = at_once(&session, &[Step::Heard("No, leave it closed."), Step::Execute(roof())]).await;
        assert_eq!((&answers[0], &order), (&Json::Null, &vec![0, 1]), "round {round}");
        let executed = answers[1]["executed"].as_array().unwrap();
        assert!(executed.iter().all(|e| e["call"]["tool"] != "open_close_sunroof"), "round {round}: {:#}", answers[1]);
    }
}

fn roof_was_moved(answer: &Json) -> bool {
    let executed = answer["executed"].as_array();
    executed.is_some_and(|calls| calls.iter().any(|e| e["call"]["tool"] == "open_close_sunroof"))
}

fn reads() -> Json {
    let reads = ["get_vehicle_window_positions", "get_climate_settings", "get_exterior_lights_status"];
    calls(&reads.map(|tool| (tool, json!({}))))
}

/// The driver was asked for the sunroof and said yes.
async fn agreed(session: &SessionProxy<'_>) {
    let asked = one_by_one(session, &[Step::Heard("Open the sunroof to 50 percent."), Step::Execute(roof())]).await;
    let question = asked[1]["question"].as_str().unwrap_or_else(|| panic!("{asked:?}")).to_owned();
    let answers = one_by_one(session, &[Step::Spoken(question), Step::Heard("Yes.")]).await;
    assert_eq!(answers, [Json::Null, Json::Null]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_that_comes_while_a_draft_runs_is_taken_in_and_nothing_is_done_by_the_yes_before_it() {
    let rig = rig().await;
    for round in 0..20 {
        let session = Client::new(rig.connect().await).await.open().await;
        agreed(&session).await;
        let steps = [
            Step::Execute(reads()),
            Step::Spoken("One moment.".to_owned()),
            Step::Heard("No, leave it closed."),
            Step::Execute(roof()),
        ];
        let (answers, _) = at_once(&session, &steps).await;
        assert_eq!((&answers[1], &answers[2]), (&Json::Null, &Json::Null), "round {round}: {answers:?}");
        assert!(!roof_was_moved(&answers[3]), "round {round}: {:#}", answers[3]);
        session.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_that_cannot_be_read_lets_no_yes_hold_either() {
    let rig = rig().await;
    let session = Client::new(rig.connect().await).await.open().await;
    agreed(&session).await;
    let refused = session.heard("No.", HashMap::from([("loudness", Variant::from(1.0))])).await.unwrap_err();
    assert!(refused.to_string().contains("no yes and no question of before holds"), "{refused}");
    let answer = one_by_one(&session, &[Step::Execute(roof())]).await;
    assert!(!roof_was_moved(&answer[0]), "{:#}", answer[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_that_the_door_turns_away_lets_no_yes_hold_and_a_strangers_counts_for_nothing() {
    let rig = Rig::start(Setup::without_student().config("[service]\ncalls_per_second = 40\n")).await;
    for (strange, moved) in [(false, false), (true, true)] {
        let client = Client::new(rig.connect().await).await;
        let stranger = Client::new(rig.connect().await).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let session = client.open().await;
        agreed(&session).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let foreign = stranger.session(session.inner().path().to_owned().into()).await;
        let sender = if strange { &foreign } else { &session };
        let steps = vec![Step::Heard("No, leave it closed."); 1];
        let flood = vec![Step::Spoken("Hm.".to_owned()); 60];
        let (_, order) = at_once(sender, &flood).await;
        assert_eq!(order.len(), 60);
        let (answers, _) = at_once(sender, &[flood, steps].concat()).await;
        let no = answers.last().unwrap();
        let says = "no yes and no question of before holds";
        assert_eq!(no["error"], "org.obligato.Error.TooMany", "{no}");
        assert_eq!(no["text"].as_str().is_some_and(|text| text.contains(says)), !strange, "{no}");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let answer = one_by_one(&session, &[Step::Execute(roof())]).await;
        assert_eq!(roof_was_moved(&answer[0]), moved, "{:#}", answer[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_can_be_cancelled_while_words_wait_for_its_end() {
    let rig = Rig::start(Setup::without_student().stalling("get_climate_settings")).await;
    let session = Client::new(rig.connect().await).await.open().await;
    let connection = session.inner().connection();
    for step in [Step::Execute(reads()), Step::Heard("Stop that.")] {
        connection.send(&step.message(&session)).await.unwrap();
    }
    while !session.busy().await.unwrap() {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let started = std::time::Instant::now();
    let cancelled = timeout(std::time::Duration::from_secs(2), session.cancel(1)).await;
    assert!(cancelled.is_ok_and(|answer| answer.is_ok()), "after {:?}", started.elapsed());
    session.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_that_are_sent_at_once_come_to_the_same_as_one_by_one_and_in_their_order() {
    let mut steps = Vec::new();
    for _ in 0..4 {
        steps.extend([
            Step::Heard("Set the fan to 2."),
            Step::Verify(fan(2)),
            Step::Verify(fan(3)),
            Step::Spoken("I will.".to_owned()),
            Step::Heard("No, set it to 3."),
            Step::Verify(fan(2)),
            Step::Verify(fan(3)),
            Step::Spoken("Done.".to_owned()),
        ]);
    }
    steps.push(Step::Execute(fan(3)));
    let (patient, hasty) = (rig().await, rig().await);
    let due = one_by_one(&Client::new(patient.connect().await).await.open().await, &steps).await;
    let session = Client::new(hasty.connect().await).await.open().await;
    let (found, order) = at_once(&session, &steps).await;
    for (at, (due, found)) in due.iter().zip(&found).enumerate() {
        assert_eq!(due, found, "step {at}, {:?}", steps[at]);
    }
    assert_eq!(order, (0..steps.len()).collect::<Vec<_>>(), "answers come in the order of the calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_read_or_is_a_strangers_holds_nobody_up() {
    let rig = rig().await;
    let (client, stranger) = (Client::new(rig.connect().await).await, Client::new(rig.connect().await).await);
    let session = client.open().await;
    let foreign = stranger.session(session.inner().path().to_owned().into()).await;
    let path = session.inner().path().to_owned();
    for member in ["Heard", "Verify", "NoSuchMember", "Cancel"] {
        let call = Message::method_call(path.clone(), member).destination(BUS_NAME).interface(INTERFACE);
        let bent = call.build(&(7_u8, "x")).unwrap();
        client.connection.send(&bent).await.unwrap();
        assert!(foreign.spoken("Hm.").await.is_err());
    }
    let (found, _) = at_once(&session, &[Step::Heard("Set the fan to 2."), Step::Execute(fan(2))]).await;
    assert_eq!(found[1]["executed"].as_array().map(|e| e.iter().any(|e| e["outcome"] == "done")), Some(true));
}

/// What the signals of a session add up to.
#[derive(Default)]
struct Told(HashMap<String, String>);

impl Told {
    fn take(&mut self, message: &Message) {
        let header = message.header();
        if header.member().is_none_or(|m| m.as_str() != "PropertiesChanged") {
            return;
        }
        let body = message.body();
        let (interface, changed, _): (String, HashMap<String, Variant<'_>>, Vec<String>) = body.deserialize().unwrap();
        if interface == INTERFACE {
            self.0.extend(changed.iter().map(|(name, value)| (name.clone(), value.to_string())));
        }
    }
}

/// Waits until the signals add up to what the properties are.
async fn add_up(session: &SessionProxy<'_>, signals: &mut MessageStream, told: &mut Told, what: &str) {
    let properties = PropertiesProxy::builder(session.inner().connection())
        .destination(BUS_NAME)
        .path(session.inner().path().to_owned())
        .build()
        .await
        .unwrap();
    let all = properties.get_all(INTERFACE.try_into().unwrap()).await.unwrap();
    let is: HashMap<String, String> = all.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    let come = async {
        while is.iter().any(|(name, value)| told.0.get(name) != Some(value)) {
            told.take(&signals.next().await.unwrap().unwrap());
        }
    };
    let came = timeout(std::time::Duration::from_secs(10), come).await;
    assert!(came.is_ok(), "{what}: the properties are {is:?}, the signals say {:?}", told.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_ends_a_question_its_signals_add_up_to_what_the_properties_are() {
    let rig = rig().await;
    let (client, logind) = (Client::new(rig.connect().await).await, Logind::start(&rig).await);
    let session = client.open().await;
    let mut signals = MessageStream::from(&client.connection);
    let mut told = Told::default();
    for end in ["other words", "sleep", "a turn"] {
        let asked =
            one_by_one(&session, &[Step::Heard("Open the sunroof to 50 percent."), Step::Execute(roof())]).await;
        assert_eq!(asked[1]["verdict"], "ask", "{asked:?}");
        add_up(&session, &mut signals, &mut told, "a question").await;
        assert_ne!(session.pending().await.unwrap(), "");
        match end {
            "other words" => drop(one_by_one(&session, &[Step::Heard("Never mind, set the fan to 2.")]).await),
            "sleep" => {
                logind.sleep().await;
                logind.wake().await;
            }
            _ => drop(one_by_one(&session, &[Step::Execute(fan(2))]).await),
        }
        assert_eq!(session.pending().await.unwrap(), "", "{end}");
        add_up(&session, &mut signals, &mut told, end).await;
    }
}
