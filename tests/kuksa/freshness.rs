//! A rule can demand that what it rests on is new.

use std::time::Duration;

use obligato::execute::Stale;
use obligato::verify::Verdict;
use serde_json::json;

use crate::bench::{Bench, FLAP, SPEED, call, is_done, own};
use crate::broker::Broker;
use crate::tree::float;

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
