//! Ways to a broker, tokens, and mappings that do not fit.

use std::sync::atomic::Ordering;
use std::time::Duration;

use obligato::state::Side;
use obligato::vehicle::kuksa::{Fit, Kuksa, KuksaError, Settings};
use obligato::vehicle::{Answer, Cause, Vehicle};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tokio::runtime::Handle;

use crate::bench::{DOME, call, own, policy, settings, window};
use crate::broker::{Broker, Place};
use crate::proto::{DataType, EntryType, Metadata};
use crate::tree::{self, switch, text, uint};

/// An authority, and a certificate of it for `localhost`.
fn authority() -> (String, Place) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap();
    let server_key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let server = server.signed_by(&server_key, &Issuer::new(params, key)).unwrap();
    (ca.pem(), Place::Tls { certificate: server.pem(), key: server_key.serialize_pem() })
}

async fn dome_reads(settings: &Settings) -> Result<serde_json::Value, (Cause, String)> {
    let car = Kuksa::open(settings, policy(), &Handle::current()).unwrap();
    car.ready(Duration::from_secs(3)).await.map_err(|trouble| (trouble.cause, trouble.detail))?;
    match car.call(&call("get_interior_lights_status", json!({})), Duration::from_secs(1)).await {
        Answer::Done(payload) => Ok(payload["dome_light"].clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_for_the_authority_that_is_named_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, place) = authority();
    let (other, _) = authority();
    let broker = Broker::with(tree::vss(), place);
    broker.set(DOME, switch(true));
    let file = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        Some(path)
    };
    let with = |ca| Settings { ca, ..settings(&broker.address()) };
    assert_eq!(dome_reads(&with(file("right", &ca))).await, Ok(json!(true)));
    let (cause, detail) = dome_reads(&with(file("wrong", &other))).await.unwrap_err();
    assert_eq!(cause, Cause::Unreachable);
    assert!(detail.to_lowercase().contains("certificate"), "{detail}");
    let name = Settings { server_name: Some("another.car".into()), ..with(file("right", &ca)) };
    assert_eq!(dome_reads(&name).await.unwrap_err().0, Cause::Unreachable);
    let plain = settings(&broker.address().replace("https", "http"));
    assert_eq!(dome_reads(&plain).await.unwrap_err().0, Cause::Unreachable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unix_socket_is_a_way_too() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::with(tree::vss(), Place::Unix(folder.path().join("broker.sock")));
    broker.set(DOME, switch(true));
    assert_eq!(dome_reads(&settings(&broker.address())).await, Ok(json!(true)));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_with_what_to_do() {
    let open = |settings: Settings| Kuksa::open(&settings, policy(), &Handle::current()).map(drop).unwrap_err();
    assert!(matches!(open(settings("https://localhost:1")), KuksaError::NoAuthority(_)));
    assert!(matches!(open(settings("localhost:55555")), KuksaError::Address { .. }));
    let lost = Settings { ca: Some("/nowhere/ca.pem".into()), ..settings("https://localhost:1") };
    assert!(open(lost).to_string().starts_with("/nowhere/ca.pem: "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_token_is_named_and_a_renewed_one_is_used_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "first\n").unwrap();
    let broker = Broker::start();
    *broker.state.token.lock().unwrap() = Some("first".to_owned());
    let settings = Settings { token: Some(path.clone()), ..settings(&broker.address()) };
    let car = Kuksa::open(&settings, policy(), &Handle::current()).unwrap();
    car.ready(Duration::from_secs(3)).await.unwrap();
    *broker.state.token.lock().unwrap() = Some("second".to_owned());
    let dome = call("set_dome_light", json!({"on": true}));
    let Answer::Trouble(trouble) = car.call(&dome, Duration::from_millis(300)).await else { panic!("expired") };
    assert_eq!((trouble.cause, trouble.untouched), (Cause::Token, true));
    std::fs::write(&path, "second one\n").unwrap();
    std::fs::write(&path, "second\n").unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    car.ready(Duration::from_secs(5)).await.unwrap();
    let Answer::Trouble(trouble) = car.call(&dome, Duration::from_millis(300)).await else { panic!("no provider") };
    assert_eq!(trouble.cause, Cause::NoProvider, "{}", trouble.detail);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_without_the_scope_is_told_from_one_that_is_expired() {
    let (broker, bench) = own().await;
    broker.state.denies.store(true, Ordering::SeqCst);
    let (cause, untouched, _) = bench.trouble(&call("set_dome_light", json!({"on": true}))).await;
    assert_eq!((cause, untouched), (Cause::Denied, true));
}

fn changed(change: impl Fn(&mut Vec<Metadata>)) -> Broker {
    let mut tree = tree::vss();
    change(&mut tree);
    Broker::with(tree, Place::Tcp)
}

fn at<'t>(tree: &'t mut [Metadata], path: &str) -> &'t mut Metadata {
    tree.iter_mut().find(|m| m.path == path).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_in_the_table_and_is_not_served() {
    let window = "Vehicle.Cabin.Door.Row2.PassengerSide.Window.Position";
    let ac = "Vehicle.Cabin.HVAC.IsAirConditioningActive";
    let recirculation = "Vehicle.Cabin.HVAC.IsRecirculationActive";
    let shade = "Vehicle.Cabin.Sunroof.Shade.Position";
    let air = "Vehicle.Cabin.HVAC.Station.Row1.Driver.AirDistribution";
    let broker = changed(|tree| {
        tree.retain(|m| {
            m.path != window && m.path != "Vehicle.Speed" && m.path != "Vehicle.Powertrain.Transmission.SelectedGear"
        });
        at(tree, ac).entry_type = EntryType::Sensor.into();
        at(tree, recirculation).data_type = DataType::Uint8.into();
        at(tree, shade).max = Some(uint(80));
        at(tree, air).allowed_values =
            Some(tree::value(crate::proto::value::TypedValue::StringArray(crate::proto::StringArray {
                values: vec!["UP".into(), "DOWN".into()],
            })));
    });
    let car = Kuksa::open(&settings(&broker.address()), policy(), &Handle::current()).unwrap();
    car.ready(Duration::from_secs(5)).await.unwrap();
    let table = car.table();
    let fit = |path: &str| table.iter().find(|row| row.path == path).map(|row| row.fit.clone()).unwrap();
    assert_eq!(fit(window), Fit::Missing);
    assert_eq!(fit(ac), Fit::ReadOnly { found: "sensor".into() });
    assert_eq!(fit(recirculation), Fit::Type { found: "uint8".into(), wanted: "a switch".into() });
    assert_eq!(fit(shade), Fit::Range { found: "0 to 80".into(), wanted: "0 to 100".into() });
    assert_eq!(fit(air), Fit::Values { refused: vec!["MIDDLE".into()] });
    assert_eq!(fit("Vehicle.Cabin.Light.IsDomeOn"), Fit::Fits);
    let first_fit = table.iter().position(|row| row.fit == Fit::Fits).unwrap();
    assert!(table[first_fit..].iter().all(|row| row.fit == Fit::Fits), "what does not fit comes first");
    for (tool, served) in [
        ("set_air_conditioning", false),
        ("set_air_circulation", false),
        ("set_fan_airflow_direction", false),
        ("get_vehicle_motion", false),
        ("get_climate_settings", true),
        ("open_close_window", true),
        ("open_close_sunshade", true),
    ] {
        assert_eq!(car.serves(tool), served, "{tool}");
    }
    // The other windows are there; the missing one, alone or among all, is refused before anything moves.
    for call in [crate::bench::window("PASSENGER_REAR", 10), crate::bench::window("ALL", 10)] {
        let Answer::Trouble(trouble) = car.call(&call, Duration::from_millis(300)).await else { panic!("{call}") };
        assert_eq!((trouble.cause, trouble.untouched), (Cause::NoSignal, true), "{call}");
    }
    let shade = call("open_close_sunshade", json!({"percentage": 90}));
    let Answer::Trouble(trouble) = car.call(&shade, Duration::from_millis(300)).await else { panic!("beyond") };
    assert_eq!(trouble.cause, Cause::OutOfRange);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_in_another_unit_is_in_the_table_and_is_neither_read_nor_set() {
    let window = "Vehicle.Cabin.Door.Row1.DriverSide.Window.Position";
    let temperature = "Vehicle.Cabin.HVAC.Station.Row1.Driver.Temperature";
    let units = [
        ("Vehicle.Speed", "mi/h", "km/h"),
        ("Vehicle.Powertrain.TractionBattery.Range", "km", "m"),
        (temperature, "fahrenheit", "celsius"),
        (window, "degrees", "percent"),
        ("Vehicle.CurrentLocation.Latitude", "rad", "degrees"),
    ];
    let broker = changed(|tree| units.iter().for_each(|(path, unit, _)| at(tree, path).unit = (*unit).to_owned()));
    for (path, value) in [
        ("Vehicle.Speed", tree::float(30.0)),
        ("Vehicle.CurrentLocation.Latitude", tree::double(0.8)),
        ("Vehicle.CurrentLocation.Longitude", tree::double(0.2)),
    ] {
        broker.set(path, value);
    }
    let car = Kuksa::open(&settings(&broker.address()), policy(), &Handle::current()).unwrap();
    car.ready(Duration::from_secs(5)).await.unwrap();
    let table = car.table();
    for (path, found, wanted) in units {
        let row = table.iter().find(|row| row.path == path).unwrap();
        assert_eq!(row.fit, Fit::Unit { found: found.into(), wanted: wanted.into() }, "{path}");
    }
    let answer = car.call(&call("get_vehicle_motion", json!({})), Duration::from_secs(1)).await;
    let Answer::Done(motion) = answer else { panic!("{answer:?}") };
    assert_eq!(motion.get("speed_kph"), None, "{motion}");
    assert_eq!(car.place(), None);
    for call in [
        crate::bench::window("DRIVER", 10),
        call("set_climate_temperature", json!({"seat_zone": "DRIVER", "temperature": 20})),
    ] {
        let Answer::Trouble(trouble) = car.call(&call, Duration::from_millis(300)).await else { panic!("{call}") };
        assert_eq!((trouble.cause, trouble.untouched), (Cause::NoSignal, true), "{call}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cabin_fits_its_version_of_the_specification() {
    let (_broker, bench) = own().await;
    let misfits: Vec<_> = bench.car.table().into_iter().filter(|row| row.fit != Fit::Fits).collect();
    // The roof and the child lock are no actuators there; no tool of theirs is served.
    let paths: Vec<&str> = misfits.iter().map(|row| row.path.as_str()).collect();
    assert!(misfits.iter().all(|row| matches!(row.fit, Fit::ReadOnly { .. })), "{misfits:?}");
    assert!(paths.iter().all(|p| p.contains("Sunroof.Position") || p.contains("IsChildLockActive")), "{paths:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_car_says_on_which_side_the_driver_sits() {
    let broker = Broker::start();
    broker.set("Vehicle.Cabin.DriverPosition", text("RIGHT"));
    broker.set("Vehicle.Cabin.Door.Row2.PassengerSide.Window.Position", uint(0));
    let car = Kuksa::open(&settings(&broker.address()), policy(), &Handle::current()).unwrap();
    car.ready(Duration::from_secs(5)).await.unwrap();
    assert_eq!(car.side(), Some(Side::Right));
    // On the left sits the passenger: that window is at 0 already, and nobody moves it.
    let provider =
        crate::provider::Provider::start(&broker.address(), &["Vehicle.Cabin.Door.Row2.PassengerSide.Window.Position"])
            .await;
    let answer = car.call(&window("LEFT_REAR", 30), Duration::from_millis(500)).await;
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
    assert_eq!(provider.orders().len(), 1);
}
