//! The whole service on a broker: the real `obligatod`, its clients on a private bus, a car that talks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use obligato::service::SessionProxy;
use serde_json::{Value as Json, json};
use zbus::Variant;

use crate::bench::{ACTUATORS, DOME, SPEED};
use crate::broker::Broker;
use crate::load::ten_thousand_a_second;
use crate::logind::Logind;
use crate::provider::{self, Act, Provider};
use crate::rig::{Client, Rig, Setup, calls};
use crate::tree::{float, switch};

fn dome() -> Json {
    calls(&[("set_dome_light", json!({"on": true}))])
}

async fn heard(session: &SessionProxy<'_>, text: &str) {
    let options = HashMap::from([("zone", Variant::from("driver")), ("confidence", Variant::from(0.9))]);
    session.heard(text, options).await.unwrap();
}

async fn execute(session: &SessionProxy<'_>, draft: &Json) -> Json {
    serde_json::from_str(&session.execute(&draft.to_string()).await.unwrap()).unwrap()
}

/// A parked car with a provider, and the service on its broker.
async fn served(broker: &Broker) -> (Rig, Client, Provider) {
    let mut outside = provider::client(&broker.address()).await;
    for (path, value) in crate::bench::parked() {
        provider::publish(&mut outside, path, value).await;
    }
    let provider = Provider::start(&broker.address(), &ACTUATORS).await;
    let address = broker.address();
    // What is measured here is the guard, not its door.
    let service = "[service]\ncalls_per_second = 0\n";
    let config = format!("{service}[vehicle]\nkind = \"kuksa\"\n[vehicle.kuksa]\naddress = \"{address}\"\n");
    let rig = Rig::start(Setup::without_student().config(&config)).await;
    let client = Client::new(rig.connect().await).await;
    // Until the broker was reached, calls say so.
    let session = client.open().await;
    for _ in 0..400 {
        let report = execute(&session, &calls(&[("get_interior_lights_status", json!({}))])).await;
        if report["executed"][0]["outcome"] == "done" {
            return (rig, client, provider);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the service never reached the broker: {}", rig.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_ends_before_the_machine_sleeps_and_is_not_repeated_after_it() {
    let broker = Broker::start();
    let (rig, client, provider) = served(&broker).await;
    let logind = Logind::start(&rig).await;
    let session = client.open().await;
    provider.act(DOME, Act::Reject);
    heard(&session, "Turn on the dome light.").await;
    let sleeps = async {
        while provider.count(DOME) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        logind.sleep().await;
    };
    let draft = dome();
    let (report, ()) = tokio::join!(execute(&session, &draft), sleeps);
    let done = report["executed"].as_array().unwrap();
    let ordered = done.iter().find(|e| e["call"]["tool"] == "set_dome_light").unwrap();
    assert_eq!(ordered["outcome"], "unknown", "{report:#}");
    logind.wake().await;
    provider.act(DOME, Act::Obey);
    heard(&session, "Turn on the dome light.").await;
    // What failed is not tried again before something was learned.
    execute(&session, &calls(&[("get_interior_lights_status", json!({}))])).await;
    let report = execute(&session, &dome()).await;
    let done = report["executed"].as_array().unwrap();
    assert!(done.iter().any(|e| e["call"]["tool"] == "set_dome_light" && e["outcome"] == "done"), "{report:#}");
    assert_eq!(provider.count(DOME), 2, "once in the evening, once in the morning");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_on_a_disk_that_hangs_costs_a_few_threads_and_no_clean_end() {
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    assert!(std::process::Command::new("mkfifo").arg(&token).status().unwrap().success());
    let (address, token) = (broker.address(), token.display());
    let config = format!(
        "[vehicle]\nkind = \"kuksa\"\n[vehicle.kuksa]\naddress = \"{address}\"\ntoken = \"{token}\"\ntimeout_ms = 100\n"
    );
    let mut rig = Rig::start(Setup::without_student().config(&config)).await;
    let client = Client::new(rig.connect().await).await;
    let session = client.open().await;
    let threads = || std::fs::read_dir(format!("/proc/{}/task", rig.process())).unwrap().count();
    let begun = threads();
    // Every question, and every try to reach the broker, looks for the token. Nobody ever writes it.
    for _ in 0..30 {
        execute(&session, &calls(&[("get_interior_lights_status", json!({}))])).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let after = threads();
    assert!(after <= begun + 3, "{begun} threads, and {after} later");
    rig.signal("TERM");
    assert!(rig.ended().await.success(), "{}", rig.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_car_is_comes_from_its_signals_and_moves_with_it() {
    let broker = Broker::start();
    let (_rig, client, _provider) = served(&broker).await;
    let mut outside = provider::client(&broker.address()).await;
    let session = client.open().await;
    // Every place but the car's own is refused by the rule that a tour starts there.
    let starts_here = async |place: &str| {
        heard(&session, "What is the weather here?").await;
        let draft = calls(&[("get_weather", json!({"location_or_poi_id": place, "month": 1, "day": 1, "hour": 1}))]);
        let report: Json = serde_json::from_str(&session.verify(&draft.to_string()).await.unwrap()).unwrap();
        let invented = |f: &Json| f["gate"] == "identifier-provenance";
        !report["findings"].as_array().unwrap().iter().any(invented)
    };
    assert!(!starts_here("geo:48.14,11.58").await);
    for (latitude, longitude, place) in [(48.137_2, 11.575_5, "geo:48.14,11.58"), (-0.001, 0.001, "geo:0.00,0.00")] {
        for (path, degrees) in [("Latitude", latitude), ("Longitude", longitude)] {
            provider::publish(&mut outside, &format!("Vehicle.CurrentLocation.{path}"), crate::tree::double(degrees))
                .await;
        }
        for _ in 0..400 {
            if starts_here(place).await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(starts_here(place).await, "{place}");
    }
}

/// Verdicts over the bus, each on a session that read what it needs.
async fn verdicts(session: &SessionProxy<'_>, draft: &str, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        let report: Json = serde_json::from_str(&session.verify(draft).await.unwrap()).unwrap();
        times.push(start.elapsed());
        assert_ne!(report["verdict"], "gather", "what was read is known: {report:#}");
    }
    times.sort_unstable();
    times
}

async fn prepared(client: &Client) -> SessionProxy<'static> {
    let session = client.open().await;
    heard(&session, "Turn on the air conditioning.").await;
    let reads = ["get_climate_settings", "get_vehicle_window_positions"].map(|read| (read, json!({})));
    execute(&session, &calls(&reads)).await;
    session
}

fn ac() -> String {
    calls(&[("set_air_conditioning", json!({"on": true}))]).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_measurements_a_second_leave_a_service_that_judges_and_acts() {
    let broker = Broker::start();
    let (rig, client, provider) = served(&broker).await;
    let session = prepared(&client).await;
    let stop = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(AtomicU32::new(0));
    let counter = sent.clone();
    let load = ten_thousand_a_second(broker, stop.clone(), move |n, broker| {
        broker.set(SPEED, float(f32::from(u16::try_from(n % 1_000).unwrap()) / 10.0));
        counter.store(n, Ordering::SeqCst);
    });
    assert_eq!(verdicts(&session, &ac(), 50).await.len(), 50);
    // Once everything is in use, a leak of the smallest thing for each update would show.
    let resident = async |after: u32| {
        while sent.load(Ordering::SeqCst) < after {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        rig.resident()
    };
    let (first, last) = (resident(20_000).await, resident(80_000).await);
    let grown = last.saturating_sub(first);
    assert!(grown < 60_000 * 32, "{grown} bytes more after 60,000 updates");
    heard(&session, "Turn on the dome light.").await;
    let report = execute(&session, &dome()).await;
    assert!(report["executed"].as_array().unwrap().iter().all(|e| e["outcome"] == "done"), "{report:#}");
    assert_eq!(provider.count(DOME), 1);
    stop.store(true, Ordering::SeqCst);
    let (broker, sent, _) = load.join().unwrap();
    assert!(sent > 100, "{sent} updates");
    broker.set(DOME, switch(false));
}

/// The requirement: p99 under load ≤ 2 × idle. A measurement, so it is run by hand on a quiet machine:
/// `cargo test --release --all-features --test kuksa verify_over_the_bus -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement; run it by hand on a quiet machine"]
async fn verify_over_the_bus_under_ten_thousand_measurements_a_second_against_idle() {
    const VERDICTS: usize = 2_000;
    let mut broker = Broker::start();
    let (_rig, client, _provider) = served(&broker).await;
    let session = prepared(&client).await;
    let draft = ac();
    verdicts(&session, &draft, 200).await;
    for round in 1..=3 {
        let idle = verdicts(&session, &draft, VERDICTS).await;
        let stop = Arc::new(AtomicBool::new(false));
        let load = ten_thousand_a_second(broker, stop.clone(), |n, broker| {
            broker.set(SPEED, float(f32::from(u16::try_from(n % 1_000).unwrap()) / 10.0));
        });
        let loaded = verdicts(&session, &draft, VERDICTS).await;
        stop.store(true, Ordering::SeqCst);
        let (back, sent, took) = load.join().unwrap();
        broker = back;
        let p = |times: &[Duration], share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let rate = f64::from(sent) / took.as_secs_f64();
        println!(
            "round {round}: idle p50 {:?} p99 {:?}; at {rate:.0} updates/s p50 {:?} p99 {:?}; p99 ratio {:.2}",
            p(&idle, 0.5),
            p(&idle, 0.99),
            p(&loaded, 0.5),
            p(&loaded, 0.99),
            p(&loaded, 0.99).as_secs_f64() / p(&idle, 0.99).as_secs_f64(),
        );
    }
}
