//! A rule can demand that what it rests on is new.

use std::time::Duration;

use obligato::execute::Stale;
use obligato::vehicle::Vehicle;
use obligato::vehicle::kuksa::Kuksa;
use obligato::verify::Verdict;
use serde_json::json;
use tokio::runtime::Handle;

use crate::bench::{Bench, FLAP, SPEED, call, is_done, own, policy, settings};
use crate::broker::Broker;
use crate::faults::Sleepy;
use crate::tree::{double, float};

fn flap() -> Vec<obligato::model::ToolCall> {
    vec![call("open_close_charge_port", json!({"action": "OPEN"}))]
}

/// Longer than the cabin's rules let a speed be old.
const LONG: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_became_too_old_between_verdict_and_call_is_read_again() {
    let (_broker, mut bench) = own().await;
    let cleared = bench.cleared(flap()).await;
    let Err(Stale::Outdated(outdated)) = bench.carry_after(cleared, LONG).await else { panic!("too old") };
    assert_eq!((outdated.field.as_str(), outdated.limit), ("speed_kph", Duration::from_secs(2)));
    assert_eq!(bench.provider.count(FLAP), 0);
    let Verdict::Gather { reads } = bench.judge_after(flap(), LONG) else { panic!("a reading is due") };
    assert_eq!(reads.draft().calls[0].tool.as_str(), "get_vehicle_motion");
    let cleared = bench.cleared(flap()).await;
    assert!(is_done(&bench.carry(cleared).await.unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sensor_that_went_silent_is_not_believed_however_often_it_is_read() {
    let broker = Broker::start();
    let mut bench = Bench::at(&broker.address()).await;
    tokio::time::sleep(Duration::from_millis(2_300)).await;
    // The reading itself is new; what it holds was measured before.
    let first = bench.judge(flap());
    let Verdict::Gather { reads } = first else { panic!("{first:?}") };
    bench.carry(reads).await.unwrap();
    let mut verdict = bench.judge(flap());
    if let Verdict::Gather { reads } = verdict {
        bench.carry(reads).await.unwrap();
        verdict = bench.judge(flap());
    }
    assert!(matches!(verdict, Verdict::Refuse { .. } | Verdict::Revise), "{verdict:?}");
    // It speaks again.
    bench.press(SPEED, float(0.0)).await;
    let Verdict::Gather { reads } = bench.judge_after(flap(), LONG) else { panic!("a reading is due") };
    bench.carry(reads).await.unwrap();
    let cleared = bench.cleared(flap()).await;
    assert!(is_done(&bench.carry(cleared).await.unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_of_too_long_ago_or_of_nobody_knows_when_is_none() {
    const PLACE: [&str; 2] = ["Vehicle.CurrentLocation.Latitude", "Vehicle.CurrentLocation.Longitude"];
    let broker = Broker::start();
    let clock = std::sync::Arc::new(Sleepy::default());
    let car = Kuksa::open_by(&settings(&broker.address()), policy(), &Handle::current(), clock.clone()).unwrap();
    car.ready(Duration::from_secs(5)).await.unwrap();
    let until = async |there: bool| {
        for _ in 0..1_000 {
            if car.place().is_some() == there {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the place never was {}", if there { "there" } else { "gone" });
    };
    let at = |ahead: Duration| Some(std::time::SystemTime::now() + ahead);
    PLACE.iter().for_each(|path| broker.set(path, double(48.0)));
    until(true).await;
    *clock.0.lock().unwrap() += Duration::from_secs(20);
    assert!(car.place().is_some());
    *clock.0.lock().unwrap() += Duration::from_secs(11);
    assert_eq!(car.place(), None, "the car may be anywhere by now");
    // Asked again, the broker has the same old fix.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(car.place(), None);
    PLACE.iter().for_each(|path| broker.set_stamped(path, Some(double(48.1)), at(Duration::from_secs(31))));
    until(true).await;
    broker.set_stamped(PLACE[0], Some(double(48.2)), None);
    until(false).await;
    broker.set_stamped(PLACE[0], Some(double(48.2)), at(Duration::from_secs(31)));
    until(true).await;
    broker.set_stamped(PLACE[1], Some(double(48.2)), at(Duration::ZERO));
    until(false).await;
}
