//! Eight clients for a while, one of them hostile: `make soak MINUTES=20`. Ends with an error when the others
//! wait for longer than twice as long as without it, when memory grows, or when an execution is lost or doubled.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    missing_docs,
    dead_code,
    reason = "a benchmark is a test"
)]

#[path = "../tests/dbus/load.rs"]
mod load;
#[path = "../tests/dbus/rig.rs"]
mod rig;
#[path = "../tests/support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::time::Duration;

use load::{Figures, Plan, drive};

/// How much longer the others may wait beside a hostile client, at the 99th percentile.
const RATIO: f64 = 2.0;
/// How much resident memory may grow after the warm-up, in KiB.
const GROWTH: u64 = 1024;

fn main() -> ExitCode {
    let minutes = std::env::var("SOAK_MINUTES").ok().and_then(|m| m.parse::<f64>().ok()).unwrap_or(20.0);
    let window = Duration::from_secs_f64((minutes * 60.0 / 3.0).min(10.0));
    let rounds = ((minutes * 60.0 / 3.0 / window.as_secs_f64()).round() as usize).max(1);
    let plan = Plan { warm_up: Duration::from_secs_f64((minutes * 6.0).clamp(3.0, 60.0)), window, rounds };
    let figures = tokio::runtime::Runtime::new().unwrap().block_on(drive(plan));
    println!("kind        steps   p50 µs   p99 µs | hostile   p50 µs   p99 µs   ratio | elsewhere   p99 µs   ratio");
    let mut kinds: Vec<_> = figures.calm.keys().map(|kind| Some(*kind)).collect();
    kinds.sort_unstable();
    kinds.push(None);
    let mut ratio = f64::MAX;
    for kind in kinds {
        let count = |of: &std::collections::HashMap<&str, Vec<u64>>| -> usize {
            of.iter().filter(|(name, _)| kind.is_none_or(|kind| kind == **name)).map(|(_, times)| times.len()).sum()
        };
        let quantile = |of, share| Figures::quantile(of, kind, share);
        let (calm, beset) = (quantile(&figures.calm, 0.99), quantile(&figures.beset, 0.99));
        // Busy at a service that does next to nothing, the hostile client costs them what the bus and the machine do.
        let elsewhere = quantile(&figures.elsewhere, 0.99);
        ratio = beset as f64 / calm as f64;
        println!(
            "{:<9} {:>7} {:>8} {calm:>8} | {:>7} {:>8} {beset:>8} {ratio:>7.2} | {:>9} {elsewhere:>8} {:>7.2}",
            kind.unwrap_or("all"),
            count(&figures.calm),
            quantile(&figures.calm, 0.5),
            count(&figures.beset),
            quantile(&figures.beset, 0.5),
            count(&figures.elsewhere),
            elsewhere as f64 / calm as f64,
        );
    }
    let ((before, own), (after, own_after)) = (figures.resident[0], figures.resident[figures.resident.len() - 1]);
    let most = figures.resident.iter().map(|(all, _)| all).max().unwrap();
    println!("resident    {before} KiB after the warm-up, {after} KiB at the end, {most} KiB at most, always at rest");
    println!("no file's   {own} KiB after the warm-up, {own_after} KiB at the end");
    let course: Vec<String> = figures.resident.iter().map(|(_, own)| own.to_string()).collect();
    println!("in course   {}", course.join(" "));
    println!("executions  {} acknowledged, {} in the car", figures.acknowledged, figures.actuated);
    println!("hostilities {}", figures.hostilities);
    let whole = figures.actuated == figures.acknowledged && figures.acknowledged > 0;
    let good = whole && ratio <= RATIO && after.saturating_sub(before) < GROWTH;
    if !good {
        eprintln!("soak: above the bounds (ratio {RATIO}, growth {GROWTH} KiB, no execution lost or doubled)");
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
