//! Tools that other services carry out.

use std::collections::HashMap;
use std::time::Duration;

use obligato::service::{BUS_NAME, ROOT_PATH, Refusal};
use obligato::state::{Clock, SystemClock};
use serde_json::{Value as Json, json};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use zbus::fdo::PropertiesProxy;

use super::provider::{Provider, dial, execute, heard, phone, provided, tool};
use super::rig::{Client, PATIENCE, Rig, Setup, calls};

const PHONE: &str = "call_phone_by_number";

async fn rig(provided_tools: &[&str]) -> Rig {
    Rig::start(Setup::without_student().config(&provided(provided_tools))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_to_its_provider_once_with_a_name_and_an_expiry() {
    let rig = rig(&[]).await;
    let client = Client::new(rig.connect().await).await;
    let provider = Provider::willing(&rig).await;
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    let owner = provider.connection.unique_name().unwrap().to_string();
    assert_eq!(client.providers.provided().await.unwrap(), [(PHONE.to_owned(), owner)]);
    let session = client.open().await;
    let before = SystemClock.since_boot();
    assert_eq!(phone(&session, "+493023125101").await.unwrap().0, "done");
    assert_eq!(phone(&session, "+493023125102").await.unwrap().0, "done");
    let after = SystemClock.since_boot();
    let asked = provider.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0].tool, PHONE);
    assert_eq!(asked[0].arguments, json!({"phone_number": "+493023125101"}));
    assert_ne!(asked[0].call, asked[1].call);
    let limit = Duration::from_secs(5);
    for asked in &asked {
        let expiry = Duration::from_micros(asked.expiry);
        assert!(before < expiry && expiry <= after + limit, "{before:?} {expiry:?} {after:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_taken_whole_or_not_at_all() {
    let rig = rig(&[]).await;
    let provider = Provider::willing(&rig).await;
    let (good, mail) =
        (tool(PHONE, "write"), |schema: Json| ("send_email".to_owned(), "write".to_owned(), schema.to_string()));
    let long = format!("{{\"description\": \"{}\"}}", "x".repeat(1 << 17));
    let text = |tool: (&str, &str, &str)| (tool.0.to_owned(), tool.1.to_owned(), tool.2.to_owned());
    type Check = fn(&Refusal) -> bool;
    let cases: Vec<(&str, (String, String, String), Check)> = vec![
        ("has no tool `fold_mirrors`", tool("fold_mirrors", "write"), |r| matches!(r, Refusal::UnknownTool(_))),
        ("is a write for the policy", tool("send_email", "read"), |r| matches!(r, Refusal::WrongKind(_))),
        ("is a read for the policy", tool("get_weather", "write"), |r| matches!(r, Refusal::WrongKind(_))),
        ("no JSON", text(("send_email", "write", "{oops")), |r| matches!(r, Refusal::WrongSchema(_))),
        (
            "does not take `content_message`",
            mail(
                json!({"type": "object", "properties": {"email_addresses": {"type": "array"}}, "additionalProperties": false}),
            ),
            |r| matches!(r, Refusal::WrongSchema(_)),
        ),
        (
            "content_message: `maxLength` is 100",
            mail(json!({"type": "object", "properties": {"content_message": {"type": "string", "maxLength": 100}}})),
            |r| matches!(r, Refusal::WrongSchema(_)),
        ),
        ("needs `subject`", mail(json!({"type": "object", "required": ["subject"]})), |r| {
            matches!(r, Refusal::WrongSchema(_))
        }),
        ("twice", good.clone(), |r| matches!(r, Refusal::BadArgument(_))),
        ("more than", text(("send_email", "write", &long)), |r| matches!(r, Refusal::BadArgument(_))),
    ];
    for (why, bad, expected) in cases {
        // The pace is for others.
        let refused = loop {
            match provider.register(&[good.clone(), bad.clone()]).await {
                Err(Refusal::TooMany(_)) => tokio::time::sleep(Duration::from_millis(200)).await,
                other => break other.unwrap_err(),
            }
        };
        assert!(expected(&refused) && refused.to_string().contains(why), "{why}: {refused:?}");
        assert_eq!(provider.harness.provided().await.unwrap(), []);
    }
    assert!(matches!(provider.harness.withdraw().await, Err(Refusal::NotAProvider(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_has_one_provider_and_the_next_one_may_come_when_it_left() {
    let rig = rig(&[]).await;
    let (first, second) = (Provider::willing(&rig).await, Provider::willing(&rig).await);
    first.register(&[tool(PHONE, "write")]).await.unwrap();
    let both = [tool("send_email", "write"), tool(PHONE, "write")];
    let refused = second.register(&both).await.unwrap_err();
    assert!(matches!(&refused, Refusal::AlreadyProvided(why) if why.contains(PHONE)), "{refused:?}");
    // Registering anew replaces what was registered before.
    first.register(&[tool("send_email", "write")]).await.unwrap();
    second.register(&[tool(PHONE, "write")]).await.unwrap();
    first.leave().await;
    // Whoever is gone is not in the way, however fast the next one comes.
    second.register(&both).await.unwrap();
    assert_eq!(second.harness.provided().await.unwrap().len(), 2);
    second.harness.withdraw().await.unwrap();
    assert_eq!(second.harness.provided().await.unwrap(), []);
    assert_eq!(second.harness.absent().await.unwrap(), [PHONE, "send_email"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_provides_anything_unless_the_configuration_says_so() {
    let rig = Rig::start(Setup::without_student()).await;
    let refused = Provider::willing(&rig).await.register(&[tool(PHONE, "write")]).await;
    assert!(matches!(refused, Err(Refusal::NotAProvider(_))), "{refused:?}");

    let rig = Rig::start(Setup::without_student().config("[[vehicle.provider]]\nuser = 4294967294\n")).await;
    let refused = Provider::willing(&rig).await.register(&[tool(PHONE, "write")]).await;
    assert!(matches!(refused, Err(Refusal::NotAProvider(_))), "{refused:?}");

    let named = "[[vehicle.provider]]\nname = \"org.example.Phone\"\ntools = [\"call_phone_by_number\"]\n";
    let rig = Rig::start(Setup::without_student().config(named)).await;
    let provider = Provider::willing(&rig).await;
    assert!(matches!(provider.register(&[tool(PHONE, "write")]).await, Err(Refusal::NotAProvider(_))));
    provider.connection.request_name("org.example.Phone").await.unwrap();
    let refused = provider.register(&[tool("send_email", "write")]).await;
    assert!(matches!(&refused, Err(Refusal::NotAProvider(why)) if why.contains("send_email")), "{refused:?}");
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    assert_eq!(provider.harness.provided().await.unwrap(), [(PHONE.to_owned(), "org.example.Phone".to_owned())]);
    // The right goes with the name.
    provider.connection.release_name("org.example.Phone").await.unwrap();
    Client::new(rig.connect().await).await.wait_for_absent(&[PHONE]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_there_while_its_provider_is_and_the_assistant_says_so_when_it_is_not() {
    let numbers = ["+493023125101", "+493023125102", "+493023125103"];
    let drafts: Vec<Json> = vec![dial(numbers[0]), dial(numbers[2])];
    let rig = Rig::start(Setup::drafts(&drafts).config(&provided(&[PHONE]))).await;
    let client = rig.client().await;
    assert_eq!(client.providers.absent().await.unwrap(), [PHONE]);
    let session = client.open().await;
    let say = async |number: &str| session.say(&format!("Call {number}.")).await.unwrap();
    let judged = async || session.verify(&dial(numbers[0]).to_string()).await.unwrap();

    assert!(judged().await.contains("is not available in this car"), "{}", judged().await);
    let provider = Provider::willing(&rig).await;
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    let (done, text) = say(numbers[0]).await;
    assert_eq!(done, "replied", "{text}");
    provider.leave().await;
    client.wait_for_absent(&[PHONE]).await;
    let (done, text) = say(numbers[1]).await;
    assert_eq!(done, "refused", "{text}");
    assert!(text.contains("is not available here"), "{text}");
    assert!(judged().await.contains("is not available in this car"), "{}", judged().await);

    let provider = Provider::willing(&rig).await;
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    let (done, text) = say(numbers[2]).await;
    assert_eq!(done, "replied", "{text}");
    assert_eq!(provider.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_once_provided_is_never_simulated() {
    let rig = rig(&[]).await;
    let client = Client::new(rig.connect().await).await;
    let session = client.open().await;
    assert_eq!(phone(&session, "+493023125101").await.unwrap().0, "done", "the simulated car phones");
    let provider = Provider::willing(&rig).await;
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    provider.leave().await;
    client.wait_for_absent(&[PHONE]).await;
    let report = phone(&session, "+493023125102").await.unwrap_err();
    assert!(report.to_string().contains("is not available in this car"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_leaves_over_a_call_leaves_an_unknown_outcome_and_nothing_is_repeated() {
    let rig =
        Rig::start(Setup::drafts(&[dial("+493023125101"), dial("+493023125102")]).config(&provided(&[PHONE]))).await;
    let client = rig.client().await;
    let leaves = Provider::new(&rig, |asked| Box::pin(async move { asked.connection.close().await.unwrap() })).await;
    leaves.register(&[tool(PHONE, "write")]).await.unwrap();
    let session = client.open().await;
    let (_, text) = session.say("Call +493023125101.").await.unwrap();
    assert!(text.contains("I can't tell whether"), "{text}");
    assert_eq!(leaves.asked().len(), 1);
    client.wait_for_absent(&[PHONE]).await;
    let next = Provider::willing(&rig).await;
    next.register(&[tool(PHONE, "write")]).await.unwrap();
    let (done, text) = session.say("Call +493023125102.").await.unwrap();
    assert_eq!(done, "replied", "{text}");
    let asked: Vec<Json> = next.asked().into_iter().map(|a| a.arguments).collect();
    assert_eq!(asked, [json!({"phone_number": "+493023125102"})]);
}

/// An answer that is no answer: nobody can tell what the provider did, and the driver hears why.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_makes_no_sense_is_spoken_as_such() {
    let rig = Rig::start(Setup::drafts(&[dial("+493023125101")]).config(&provided(&[PHONE]))).await;
    let client = rig.client().await;
    let babbling = Provider::new(&rig, |asked| Box::pin(async move { asked.answer("perhaps", "{}").await })).await;
    babbling.register(&[tool(PHONE, "write")]).await.unwrap();
    let (_, text) = client.open().await.say("Call +493023125101.").await.unwrap();
    assert!(text.contains("I can't tell whether") && text.contains("the answer made no sense"), "{text}");
    assert_eq!(babbling.asked().len(), 1, "it is not asked twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_a_provider_is_checked_and_a_change_by_other_hands_makes_it_old() {
    let rig = rig(&[]).await;
    let client = Client::new(rig.connect().await).await;
    let state = r#"{"front_defrost": false, "rear_defrost": false, "air_conditioning": false, "fan_speed": 0,
        "fan_airflow_direction": "FEET", "air_circulation": "FRESH_AIR", "temperature_driver": 21.5,
        "temperature_passenger": 20, "temperature_driver_rear": 20, "temperature_passenger_rear": 20}"#;
    let reads = Provider::new(&rig, move |asked| Box::pin(async move { asked.answer("done", state).await })).await;
    reads.register(&[tool("get_climate_settings", "read")]).await.unwrap();
    let session = client.open().await;
    heard(&session, "Turn on the air conditioning.").await;
    let gathers = async || {
        let draft = calls(&[("set_air_conditioning", json!({"on": true}))]);
        let report: Json = serde_json::from_str(&session.verify(&draft.to_string()).await.unwrap()).unwrap();
        report["findings"].to_string().contains(r#""tool":"get_climate_settings""#)
    };
    assert!(gathers().await);
    let report = execute(&session, &calls(&[("get_climate_settings", json!({}))])).await;
    assert_eq!(report["executed"][0]["outcome"], "done", "{report:#}");
    assert!(!gathers().await);
    reads.harness.changed().await.unwrap();
    assert!(gathers().await);
    let stranger = Provider::willing(&rig).await;
    assert!(matches!(stranger.harness.changed().await, Err(Refusal::NotAProvider(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_provided_is_announced_when_it_changes() {
    let rig = rig(&[PHONE]).await;
    let client = Client::new(rig.connect().await).await;
    let properties =
        PropertiesProxy::builder(&client.connection).destination(BUS_NAME).path(ROOT_PATH).build().await.unwrap();
    let mut changes = properties.receive_properties_changed().await.unwrap();
    let mut seen = async || {
        let mut seen: HashMap<String, String> = HashMap::new();
        while seen.len() < 2 {
            let change = timeout(PATIENCE, changes.next()).await.expect("a change is announced").unwrap();
            let change = change.args().unwrap();
            if change.interface_name.as_str() == "org.obligato.Harness1.Providers" {
                seen.extend(change.changed_properties.iter().map(|(n, v)| ((*n).to_owned(), v.to_string())));
            }
        }
        seen
    };
    let provider = Provider::willing(&rig).await;
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    let now = seen().await;
    assert!(now["Provided"].contains(PHONE) && !now["Absent"].contains(PHONE), "{now:?}");
    provider.leave().await;
    let now = seen().await;
    assert!(!now["Provided"].contains(PHONE) && now["Absent"].contains(PHONE), "{now:?}");
}

#[test]
fn a_configuration_that_names_no_tool_or_nobody_is_refused() {
    let cases = [
        ("[vehicle]\nprovided = [\"fold_mirrors\"]\n", "fold_mirrors"),
        ("[[vehicle.provider]]\nname = \"a.b\"\ntools = [\"fold_mirrors\"]\n", "fold_mirrors"),
        ("[[vehicle.provider]]\ntools = [\"send_email\"]\n", "either a bus `name` or a `user`"),
        ("[[vehicle.provider]]\nname = \"phone\"\n", "`phone`"),
    ];
    for (config, why) in cases {
        let mut rig = Rig::launch(Setup::without_student().config(config));
        let status = tokio::runtime::Runtime::new().unwrap().block_on(rig.ended());
        assert_eq!(status.code(), Some(2), "{}", rig.log());
        assert!(rig.log().contains(why), "{why}: {}", rig.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_where_the_policy_of_the_bus_guards_it_or_nowhere() {
    let rig = Rig::start(Setup::without_student().config(&provided(&["send_email"]))).await;
    let provider = Provider::willing(&rig).await;
    for elsewhere in ["/", "/org/example/Provider", "/org/obligato/Provider1/mail"] {
        let object = zbus::wire::ObjectPath::try_from(elsewhere).unwrap();
        let refused = provider.harness.register(object, vec![tool("send_email", "write")]).await;
        let Err(Refusal::BadArgument(why)) = refused else { panic!("{elsewhere}: {refused:?}") };
        assert!(why.contains(obligato::vehicle::PROVIDER_PATH), "{why}");
    }
    provider.register(&[tool("send_email", "write")]).await.unwrap();
}
