//! The broker dies, freezes, comes back as another; a provider goes away in the middle; the machine sleeps.

use std::time::Duration;

use obligato::vehicle::{Answer, Cause, Vehicle};
use serde_json::json;

use crate::bench::{ACTUATORS, DOME, DRIVER_WINDOW, PASSENGER_WINDOW, REAR_WINDOWS, call, own, window};
use crate::provider::{self, Act, Provider};
use crate::tree::switch;

fn dome(on: bool) -> obligato::model::ToolCall {
    call("set_dome_light", json!({"on": on}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_down_is_said_to_be_down_and_nothing_waits_for_it() {
    let (mut broker, bench) = own().await;
    broker.kill();
    bench.until(|bench| bench.car.epoch() > 0).await;
    for call in [dome(true), call("get_interior_lights_status", json!({}))] {
        let (cause, untouched, detail) = bench.trouble(&call).await;
        assert_eq!((cause, untouched), (Cause::Unreachable, true), "{detail}");
    }
    assert!(bench.car.serves("set_dome_light"), "a broker that is down for a moment removes no tool");
    // It comes back: nothing that was ordered meanwhile is carried out.
    broker.boot();
    let provider = Provider::start(&broker.address(), &ACTUATORS).await;
    bench.car.ready(Duration::from_secs(5)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(provider.orders(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_dies_under_an_order_leaves_its_effect_open() {
    let (mut broker, bench) = own().await;
    bench.provider.act(DOME, Act::Reject);
    let order = dome(true);
    let dies = async {
        bench.until(|bench| bench.provider.count(DOME) == 1).await;
        broker.kill();
    };
    let (answer, ()) = tokio::join!(bench.order_within(&order, Duration::from_secs(20)), dies);
    let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
    assert_eq!((trouble.cause, trouble.untouched), (Cause::Unreachable, false), "{}", trouble.detail);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_broker_is_told_from_a_dead_one_and_gets_no_more_orders() {
    let (broker, bench) = own().await;
    broker.freeze(true);
    let (cause, untouched, _) = bench.trouble(&dome(true)).await;
    assert_eq!((cause, untouched), (Cause::Frozen, false), "it may have the order in a queue");
    let before = bench.car.epoch();
    bench.until(|bench| bench.car.epoch() != before).await;
    let (cause, untouched, _) = bench.trouble(&dome(true)).await;
    assert_eq!((cause, untouched), (Cause::Frozen, true), "known to be frozen, it gets nothing");
    let (cause, ..) = bench.trouble(&call("get_interior_lights_status", json!({}))).await;
    assert_eq!(cause, Cause::Frozen, "what it said before it froze is not believed");
    broker.freeze(false);
    bench.car.ready(Duration::from_secs(5)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bench.provider.count(DOME), 0, "an order that ran out of time is not delivered late");
    assert!(matches!(bench.order(&dome(true)).await, Answer::Done(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_with_other_identifiers_is_found_and_served_as_before() {
    let (mut broker, bench) = own().await;
    assert!(matches!(bench.order(&dome(true)).await, Answer::Done(_)));
    let before = bench.car.epoch();
    broker.boot();
    bench.until(|bench| bench.car.epoch() != before).await;
    let provider = Provider::start(&broker.address(), &ACTUATORS).await;
    let mut outside = provider::client(&broker.address()).await;
    provider::publish(&mut outside, DOME, switch(false)).await;
    bench.car.ready(Duration::from_secs(5)).await.unwrap();
    let answer = bench.order(&dome(true)).await;
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
    assert_eq!(provider.orders(), [(DOME.to_owned(), switch(true))]);
    assert_eq!(bench.read("get_interior_lights_status").await["dome_light"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_goes_away_in_the_middle_leaves_a_part() {
    let (broker, mut bench) = own().await;
    // Another control unit has the passenger's windows, and leaves once it has its order.
    bench.provider = Provider::start(&broker.address(), &["Vehicle.Body.Lights.Beam.Low.IsOn"]).await;
    let provider = Provider::start(&broker.address(), &[DRIVER_WINDOW, REAR_WINDOWS[0], REAR_WINDOWS[1]]).await;
    let leaving = Provider::start(&broker.address(), &[PASSENGER_WINDOW]).await;
    leaving.act(PASSENGER_WINDOW, Act::Reject);
    let order = window("ALL", 20);
    let leaves = async {
        bench.until(|_| leaving.count(PASSENGER_WINDOW) == 1).await;
        drop(leaving);
    };
    let (answer, ()) = tokio::join!(bench.order(&order), leaves);
    let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
    assert_eq!(trouble.cause, Cause::Partial, "{}", trouble.detail);
    assert!(trouble.detail.contains("window_driver_position is 20"), "{}", trouble.detail);
    assert_eq!(provider.count(DRIVER_WINDOW), 1);
    // It stays away: the next order says who is missing.
    let (cause, untouched, detail) = bench.trouble(&window("PASSENGER", 40)).await;
    assert_eq!((cause, untouched), (Cause::NoProvider, true), "{detail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sleep_ends_what_is_pending_and_makes_verdicts_stale() {
    let (_broker, bench) = own().await;
    bench.provider.act(DOME, Act::Reject);
    let before = bench.car.epoch();
    let order = dome(true);
    let sleeps = async {
        bench.until(|bench| bench.provider.count(DOME) == 1).await;
        bench.car.suspended();
    };
    let (answer, ()) = tokio::join!(bench.order_within(&order, Duration::from_secs(20)), sleeps);
    let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
    assert_eq!((trouble.cause, trouble.untouched), (Cause::Suspended, false));
    assert!(bench.car.epoch() > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_calls_at_once_are_each_ordered_once() {
    let (_broker, bench) = own().await;
    let (left, right) = (window("DRIVER", 30), window("PASSENGER", 60));
    let (left, right) = tokio::join!(bench.order(&left), bench.order(&right));
    assert!(matches!((&left, &right), (Answer::Done(_), Answer::Done(_))), "{left:?} {right:?}");
    assert_eq!((bench.provider.count(DRIVER_WINDOW), bench.provider.count(PASSENGER_WINDOW)), (1, 1));
    let read = bench.read("get_vehicle_window_positions").await;
    assert_eq!((&read["window_driver_position"], &read["window_passenger_position"]), (&json!(30), &json!(60)));
}
