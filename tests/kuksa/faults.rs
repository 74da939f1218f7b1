//! The broker dies, freezes, comes back as another; a provider goes away in the middle; the machine sleeps.

use std::time::Duration;

use obligato::state::{Clock, SystemClock};
use obligato::vehicle::kuksa::Kuksa;
use obligato::vehicle::{Answer, Cause, Vehicle};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::bench::{
    ACTUATORS, DOME, DRIVER_WINDOW, PASSENGER_WINDOW, REAR_WINDOWS, call, own, policy, settings, window,
};
use crate::provider::{self, Act, Provider};
use crate::tree::switch;

fn dome(on: bool) -> obligato::model::ToolCall {
    call("set_dome_light", json!({"on": on}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_down_is_said_to_be_down_and_nothing_waits_for_it() {
    let (mut broker, bench) = own().await;
    let before = bench.car.epoch();
    broker.kill();
    bench.until(|bench| bench.car.epoch() != before).await;
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

/// The broker's status is the same for both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_provides_is_told_from_a_broker_that_is_down() {
    let (mut broker, bench) = own().await;
    let beams = call("set_head_lights_high_beams", json!({"on": true}));
    let (cause, untouched, detail) = bench.trouble(&beams).await;
    assert_eq!((cause, untouched), (Cause::NoProvider, true), "{detail}");
    let dies = async { broker.kill() };
    // Whether the order meets a broker that just died or one that is known to be dead, it is not the provider.
    let (answer, ()) = tokio::join!(bench.order(&beams), dies);
    let (cause, _, detail) = bench.trouble(&beams).await;
    assert_eq!(cause, Cause::Unreachable, "{detail}");
    let Answer::Trouble(met) = answer else { panic!("{answer:?}") };
    assert!(matches!(met.cause, Cause::NoProvider | Cause::Unreachable), "{met:?}");
    // It is back, and nobody provides: that is told again.
    broker.boot();
    bench.car.ready(Duration::from_secs(5)).await.unwrap();
    let (cause, untouched, detail) = bench.trouble(&beams).await;
    assert_eq!((cause, untouched), (Cause::NoProvider, true), "{detail}");
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
        bench.car.slept();
    };
    let (answer, ()) = tokio::join!(bench.order_within(&order, Duration::from_secs(20)), sleeps);
    let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
    assert_eq!((trouble.cause, trouble.untouched), (Cause::Suspended, false));
    assert!(bench.car.epoch() > before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_known_before_a_sleep_is_not_believed_until_the_broker_was_asked_again() {
    let (broker, bench) = own().await;
    assert_eq!(bench.read("get_interior_lights_status").await["dome_light"], false);
    broker.freeze(true);
    bench.car.slept();
    let (cause, untouched, _) = bench.trouble(&call("get_interior_lights_status", json!({}))).await;
    assert!(untouched && matches!(cause, Cause::Suspended | Cause::Frozen), "{cause:?}");
    broker.freeze(false);
    bench.car.ready(Duration::from_secs(5)).await.unwrap();
    assert_eq!(bench.read("get_interior_lights_status").await["dome_light"], false);
}

/// A machine that sleeps when it is told to: timers stand still, and this clock runs on.
#[derive(Debug, Default)]
pub(crate) struct Sleepy(pub(crate) std::sync::Mutex<Duration>);

impl Clock for Sleepy {
    fn since_boot(&self) -> Duration {
        SystemClock.since_boot() + *self.0.lock().unwrap()
    }

    fn unix(&self) -> Duration {
        SystemClock.unix() + *self.0.lock().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_was_slept_over_has_run_out_and_what_arrives_then_is_no_success() {
    let hour = Duration::from_secs(3_600);
    for arrives in [false, true] {
        let (broker, bench) = own().await;
        bench.provider.act(DOME, Act::Reject);
        let clock = std::sync::Arc::new(Sleepy::default());
        let car = Kuksa::open_by(&settings(&broker.address()), policy(), &Handle::current(), clock.clone()).unwrap();
        car.ready(Duration::from_secs(5)).await.unwrap();
        let order = dome(true);
        let night = async {
            bench.until(|bench| bench.provider.count(DOME) == 1).await;
            *clock.0.lock().unwrap() += hour;
            if arrives {
                broker.set(DOME, switch(true));
            }
        };
        // By the timers of the runtime there is a whole hour left.
        let ordered = timeout(Duration::from_secs(60), car.call(&order, hour));
        let (answer, ()) = tokio::join!(ordered, night);
        let Ok(Answer::Trouble(trouble)) = answer else { panic!("{arrives}: {answer:?}") };
        let expected = if arrives { [Cause::Late, Cause::Late] } else { [Cause::Ignored, Cause::Late] };
        assert!(expected.contains(&trouble.cause) && !trouble.untouched, "{arrives}: {trouble:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_freezes_over_a_value_that_is_there_vouches_for_nothing() {
    let (broker, bench) = own().await;
    let order = window("DRIVER", 0);
    let freezes = async {
        bench.until(|bench| bench.provider.count(DRIVER_WINDOW) == 1).await;
        broker.freeze(true);
    };
    let (answer, ()) = tokio::join!(bench.order_within(&order, Duration::from_secs(4)), freezes);
    let Answer::Trouble(trouble) = answer else { panic!("{answer:?}") };
    assert_eq!((trouble.cause, trouble.untouched), (Cause::Frozen, false), "{}", trouble.detail);
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
