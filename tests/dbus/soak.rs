//! The short form of the load that `make soak` drives for longer, without its times.

use std::time::Duration;

use super::load::{Plan, drive};

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_hostile_client_every_execution_happens_once_and_everybody_is_told() {
    let plan = Plan { warm_up: Duration::from_secs(1), window: Duration::from_secs(4), rounds: 1 };
    let figures = drive(plan).await;
    assert!(figures.hostilities >= 9, "each deed was done: {figures:?}");
    for kind in ["Verify", "Execute", "Start"] {
        for of in [&figures.calm, &figures.beset, &figures.elsewhere] {
            assert!(of.contains_key(kind), "{kind}: {figures:?}");
        }
    }
    assert!(figures.acknowledged > 0);
    assert_eq!(figures.actuated, figures.acknowledged, "an execution was lost or happened twice");
}
