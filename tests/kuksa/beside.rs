//! Providers on the bus beside a real car.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use obligato::service::Refusal;
use serde_json::{Value as Json, json};

use crate::bench::{ACTUATORS, DOME};
use crate::broker::Broker;
use crate::provider;
use crate::registrant::{Provider, execute, heard, tool};
use crate::rig::{Client, Rig, Setup, calls};

const LIGHT: &str = "set_dome_light";
const PHONE: &str = "call_phone_by_number";

/// The service on a broker with a parked car, with more of a configuration.
async fn rig(broker: &Broker, vehicle: &str, entry: &str) -> (Rig, Client, provider::Provider) {
    let mut outside = provider::client(&broker.address()).await;
    for (path, value) in crate::bench::parked() {
        provider::publish(&mut outside, path, value).await;
    }
    let unit = provider::Provider::start(&broker.address(), &ACTUATORS).await;
    let (address, user) = (broker.address(), std::fs::metadata("/proc/self").unwrap().uid());
    let config = format!(
        "[vehicle]\nkind = \"kuksa\"\n{vehicle}\n[[vehicle.provider]]\nuser = {user}\n{entry}\n[vehicle.kuksa]\naddress = \"{address}\"\n"
    );
    let rig = Rig::start(Setup::without_student().config(&config)).await;
    let client = Client::new(rig.connect().await).await;
    (rig, client, unit)
}

/// Switches the light; what became of it.
async fn light(client: &Client, on: bool) -> Json {
    let session = client.open().await;
    heard(&session, if on { "Turn on the dome light." } else { "Turn off the dome light." }).await;
    execute(&session, &calls(&[("get_interior_lights_status", json!({}))])).await;
    let report = execute(&session, &calls(&[(LIGHT, json!({"on": on}))])).await;
    session.close().await.unwrap();
    report
}

fn is_done(report: &Json) -> bool {
    report["executed"].as_array().unwrap().iter().any(|e| e["call"]["tool"] == LIGHT && e["outcome"] == "done")
}

/// Switches the light on and off until the car itself does it.
async fn until_the_car_does_it(client: &Client, unit: &provider::Provider) {
    for n in 0..400 {
        if is_done(&light(client, n % 2 == 0).await) && unit.count(DOME) > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the car never did it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_car_itself_does_is_not_taken_by_whoever_may_provide_everything() {
    let broker = Broker::start();
    let (rig, client, unit) = rig(&broker, "", "").await;
    let eager = Provider::willing(&rig).await;
    let refused = eager.register(&[tool(PHONE, "write"), tool(LIGHT, "write")]).await.unwrap_err();
    assert!(
        matches!(&refused, Refusal::AlreadyProvided(why) if why.contains("`set_dome_light`") && why.contains("itself")),
        "{refused:?}"
    );
    eager.register(&[tool(PHONE, "write")]).await.unwrap();
    eager.leave().await;
    client.wait_for_absent(&[PHONE]).await;
    until_the_car_does_it(&client, &unit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_the_configuration_names_for_a_tool_takes_it_over_while_it_is_there() {
    let broker = Broker::start();
    let (rig, client, unit) = rig(&broker, "", &format!("tools = [\"{LIGHT}\"]")).await;
    let named = Provider::willing(&rig).await;
    named.register(&[tool(LIGHT, "write")]).await.unwrap();
    light(&client, true).await;
    assert_eq!((named.asked().len(), unit.count(DOME)), (1, 0));
    named.leave().await;
    until_the_car_does_it(&client, &unit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_configuration_leaves_to_providers_the_car_never_does() {
    let broker = Broker::start();
    let (rig, client, unit) = rig(&broker, &format!("provided = [\"{LIGHT}\"]"), "").await;
    let meant = Provider::willing(&rig).await;
    meant.register(&[tool(LIGHT, "write")]).await.unwrap();
    light(&client, true).await;
    assert_eq!(meant.asked().len(), 1);
    meant.leave().await;
    client.wait_for_absent(&[LIGHT]).await;
    let report = light(&client, true).await;
    assert!(report.to_string().contains("is not available in this car"), "{report:#}");
    assert_eq!(unit.count(DOME), 0);
}
