//! Providers on the bus when an update changes what a tool is.

use obligato::policy::PackedTests;
use obligato::service::Refusal;
use serde_json::Value as Json;

use super::car::{Garage, stage};
use super::provider::{Provider, phone, provided, tool};
use super::rig::{Client, Rig, Setup};

const PHONE: &str = "call_phone_by_number";

async fn names(client: &Client) -> Vec<String> {
    client.providers.provided().await.unwrap().into_iter().map(|(tool, _)| tool).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_provides_a_tool_that_an_update_changes_registers_anew_and_everybody_else_goes_on() {
    let garage = Garage::new();
    let config = format!("{}{}", garage.config(), provided(&[PHONE]));
    let rig = Rig::start(Setup::without_student().config(&config)).await;
    let client = Client::new(rig.connect().await).await;
    let session = client.open().await;
    let (caller, mailer) = (Provider::willing(&rig).await, Provider::willing(&rig).await);
    caller.register(&[tool(PHONE, "write"), tool("get_weather", "read")]).await.unwrap();
    mailer.register(&[tool("send_email", "write")]).await.unwrap();
    assert_eq!(phone(&session, "+493023125101").await.unwrap().0, "done");
    let wider = |schema: &str| {
        let mut schema: Json = serde_json::from_str(schema).unwrap();
        schema["properties"]["phone_number"]["maxLength"] = 40.into();
        schema.to_string()
    };

    // An update that leaves the tools as they are leaves their providers.
    stage(&client.policy, &garage.update(2, |_| {})).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    client.policy.commit(0, "").await.unwrap();
    assert_eq!(names(&client).await, [PHONE, "get_weather", "send_email"]);

    let update = garage.update(3, |parts| {
        let tool = parts.inventory.iter_mut().find(|tool| tool.name.as_str() == PHONE).unwrap();
        tool.schema = wider(&tool.schema);
        parts.tests = PackedTests::default();
    });
    stage(&client.policy, &update).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    assert_eq!(names(&client).await, ["send_email"], "it registered as a whole and is withdrawn as a whole");
    let asked = caller.asked().len();
    phone(&session, "+493023125102").await.expect_err("nobody carries it out");
    assert_eq!(caller.asked().len(), asked, "the call went to one who was accepted for another tool");

    // What it takes is looked at anew.
    let (name, kind, schema) = tool(PHONE, "write");
    let mut narrow: Json = serde_json::from_str(&schema).unwrap();
    narrow["properties"]["phone_number"]["maxLength"] = 20.into();
    let short = (name.clone(), kind.clone(), narrow.to_string());
    assert!(matches!(caller.register(&[short]).await, Err(Refusal::WrongSchema(_))));
    caller.register(&[(name, kind, wider(&schema))]).await.unwrap();
    assert_eq!(phone(&session, "+493023125103").await.unwrap().0, "done");
    assert_eq!(caller.asked().len(), asked + 1);
    mailer.harness.withdraw().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_an_update_takes_out_is_provided_by_nobody_and_comes_back_with_a_registration() {
    let garage = Garage::new();
    let config = format!("{}{}", garage.config(), provided(&[]));
    let rig = Rig::start(Setup::without_student().config(&config)).await;
    let client = Client::new(rig.connect().await).await;
    let provider = Provider::willing(&rig).await;
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    let update = garage.update(2, |parts| {
        // Rules name tools by their positions, which stay.
        let tool = parts.inventory.iter_mut().find(|tool| tool.name.as_str() == PHONE).unwrap();
        tool.name = "dial".into();
        parts.tests = PackedTests::default();
    });
    stage(&client.policy, &update).await.unwrap();
    client.policy.activate(0, "").await.unwrap();
    assert_eq!(names(&client).await, Vec::<String>::new());
    assert!(matches!(provider.register(&[tool(PHONE, "write")]).await, Err(Refusal::UnknownTool(_))));
    client.policy.rollback(0, "").await.unwrap();
    assert_eq!(names(&client).await, Vec::<String>::new(), "a registration is not brought back by itself");
    provider.register(&[tool(PHONE, "write")]).await.unwrap();
    assert_eq!(names(&client).await, [PHONE]);
}
