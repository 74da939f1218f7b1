//! A car that says ten thousand things a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use obligato::execute::Stale;
use obligato::vehicle::Vehicle;
use serde_json::json;

use crate::bench::{DOME, DRIVER_WINDOW, RECIRCULATION, SPEED, call, is_done, own, window};
use crate::broker::Broker;
use crate::tree::{float, switch};

/// Publishes on a thread of its own, in bursts of a hundred every ten milliseconds.
pub(crate) fn ten_thousand_a_second(
    broker: Broker,
    stop: Arc<AtomicBool>,
    mut news: impl FnMut(u32, &Broker) + Send + 'static,
) -> std::thread::JoinHandle<(Broker, u32, Duration)> {
    std::thread::spawn(move || {
        let (start, mut sent) = (Instant::now(), 0);
        while !stop.load(Ordering::SeqCst) {
            for _ in 0..100 {
                news(sent, &broker);
                sent += 1;
            }
            let due = start + Duration::from_micros(u64::from(sent) * 100);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        (broker, sent, start.elapsed())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_measurements_a_second_delay_no_order_and_make_nothing_stale() {
    let (broker, mut bench) = own().await;
    let stop = Arc::new(AtomicBool::new(false));
    let load = ten_thousand_a_second(broker, stop.clone(), |n, broker| {
        broker.set(SPEED, float(f32::from(u16::try_from(n % 1_000).unwrap()) / 10.0));
    });
    let before = bench.car.epoch();
    for percentage in [10, 20, 30, 40, 50] {
        let executed = bench.run(window("DRIVER", percentage)).await;
        assert!(is_done(&executed), "{:?}", executed.outcome);
    }
    assert_eq!(bench.car.epoch(), before);
    assert_eq!(bench.provider.count(DRIVER_WINDOW), 5);
    assert!(bench.read("get_vehicle_motion").await["speed_kph"].is_number());
    stop.store(true, Ordering::SeqCst);
    let (_broker, sent, _) = load.join().unwrap();
    assert!(sent > 100, "{sent} updates");
    // The last of them arrives: nothing piled up.
    let last = f64::from((sent - 1) % 1_000) / 10.0;
    for _ in 0..400 {
        if bench.read("get_vehicle_motion").await["speed_kph"].as_f64() == Some(last) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the last measurement never arrived");
}

/// Somebody plays with a switch: some clearances meet a car that changed since, some do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_flickers_leaves_one_order_for_each_execution_and_none_for_a_stale_one() {
    let (broker, mut bench) = own().await;
    let stop = Arc::new(AtomicBool::new(false));
    let load = ten_thousand_a_second(broker, stop.clone(), |n, broker| {
        // Ten times a second.
        if n % 1_000 == 0 {
            broker.set(RECIRCULATION, switch(n % 2_000 == 0));
        }
    });
    let (mut executed, mut stale, mut on) = (0, 0, true);
    for _ in 0..400 {
        let cleared = bench.cleared(vec![call("set_dome_light", json!({"on": on}))]).await;
        // Long enough for the switch to be pressed in some of the rounds.
        tokio::time::sleep(Duration::from_millis(20)).await;
        match bench.carry(cleared).await {
            Ok(one) => {
                assert!(is_done(&one), "{:?}", one.outcome);
                (executed, on) = (executed + 1, !on);
            }
            Err(Stale::Epoch { .. }) => stale += 1,
            Err(other) => panic!("{other}"),
        }
        assert_eq!(bench.provider.count(DOME), executed, "after {executed} executions and {stale} stale clearances");
        if executed >= 10 && stale >= 10 {
            break;
        }
    }
    stop.store(true, Ordering::SeqCst);
    load.join().unwrap();
    assert!(executed >= 10 && stale >= 10, "{executed} executions, {stale} stale clearances");
}
