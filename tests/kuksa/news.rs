//! News that were dropped, that come late, and that are none.

use std::time::{Duration, SystemTime};

use obligato::execute::Stale;
use obligato::vehicle::{Answer, Cause, Vehicle};
use serde_json::json;

use crate::bench::{AC, DRIVER_WINDOW, FANS, SPEED, TEMPERATURE, own, window};
use crate::tree::{float, int, switch, uint};

/// The broker drops news of a subscriber that is too slow, and tells nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_whose_news_was_dropped_is_found_and_makes_verdicts_stale() {
    let (broker, mut bench) = own().await;
    for (path, value, read, field, expected) in [
        (DRIVER_WINDOW, uint(80), "get_vehicle_window_positions", "window_driver_position", json!(80)),
        (AC, switch(true), "get_climate_settings", "air_conditioning", json!(true)),
        (TEMPERATURE, float(23.5), "get_climate_settings", "temperature_driver", json!(23.5)),
        (SPEED, float(30.0), "get_vehicle_motion", "speed_kph", json!(30)),
    ] {
        let cleared = bench.cleared(vec![crate::bench::call("set_dome_light", json!({"on": true}))]).await;
        broker.set_unheard(path, value);
        for _ in 0..1_000 {
            if bench.read(read).await[field] == expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(bench.read(read).await[field], expected, "{path}");
        if path != SPEED {
            assert!(matches!(bench.carry(cleared).await, Err(Stale::Epoch { .. })), "{path}");
        }
    }
    assert_eq!(bench.provider.orders(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_that_the_broker_kept_while_it_froze_overwrite_nothing() {
    let (broker, bench) = own().await;
    broker.freeze(true);
    let (then, before) = (SystemTime::now(), bench.car.epoch());
    bench.until(|bench| bench.car.epoch() != before).await;
    broker.set_unheard(DRIVER_WINDOW, uint(70));
    broker.freeze(false);
    bench.car.ready(Duration::from_secs(5)).await.unwrap();
    broker.tell_late(DRIVER_WINDOW, uint(30), then);
    broker.set(AC, switch(true));
    while bench.read("get_climate_settings").await["air_conditioning"] != true {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bench.read("get_vehicle_window_positions").await["window_driver_position"], 70);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wanted_value_that_was_published_before_the_order_confirms_nothing() {
    let (broker, bench) = own().await;
    bench.provider.act(DRIVER_WINDOW, crate::provider::Act::Reject);
    // Somebody opened the window and closed it again; that it was open is heard of after the order.
    let then = SystemTime::now();
    let order = window("DRIVER", 50);
    let late = async {
        bench.until(|bench| bench.provider.count(DRIVER_WINDOW) == 1).await;
        broker.tell_late(DRIVER_WINDOW, uint(50), then);
    };
    let (answer, ()) = tokio::join!(bench.order_within(&order, Duration::from_secs(1)), late);
    let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
    assert_eq!((trouble.cause, trouble.untouched), (Cause::Ignored, false), "{}", trouble.detail);
    // Published without a stamp, it is asked for, and is there.
    let order = window("DRIVER", 60);
    let unstamped = async {
        bench.until(|bench| bench.provider.count(DRIVER_WINDOW) == 2).await;
        broker.set_stamped(DRIVER_WINDOW, Some(uint(60)), None);
    };
    let (answer, ()) = tokio::join!(bench.order_within(&order, Duration::from_secs(5)), unstamped);
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
}

/// A fan that regulates itself, and a gearbox in D.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_means_the_same_in_every_field_makes_nothing_stale() {
    const GEAR: &str = "Vehicle.Powertrain.Transmission.SelectedGear";
    let (broker, mut bench) = own().await;
    bench.press(GEAR, int(1)).await;
    let cleared = bench.cleared(vec![crate::bench::call("set_dome_light", json!({"on": true}))]).await;
    let before = bench.car.epoch();
    for gear in 2..=10 {
        broker.set(GEAR, int(gear));
        broker.set(FANS[0], uint(if gear % 2 == 0 { 18 } else { 22 }));
    }
    // What was published after them is heard after them.
    broker.set(SPEED, float(12.0));
    while bench.read("get_vehicle_motion").await["speed_kph"] != 12 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bench.car.epoch(), before);
    assert!(bench.carry(cleared).await.is_ok());
    bench.press(GEAR, int(-1)).await;
    bench.press(FANS[0], uint(40)).await;
    assert!(bench.car.epoch() >= before + 2, "these are other values");
}
