//! What execution costs on a broker: an order until it is confirmed, against a bare client of the same
//! server in the same run; and a verdict while ten thousand measurements a second come in.
//!
//! `cargo bench --bench actuate`, with `KUKSA_ADDR` on a real broker.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    dead_code,
    missing_docs,
    reason = "a measurement, built of the helpers of tests"
)]

#[path = "../tests/kuksa/bench.rs"]
mod bench;
#[path = "../tests/kuksa/broker.rs"]
mod broker;
#[path = "../tests/kuksa/provider.rs"]
mod provider;
#[path = "../tests/kuksa/tree.rs"]
mod tree;

pub mod proto {
    #![allow(clippy::all, reason = "generated code")]
    include!(concat!(env!("OUT_DIR"), "/both/kuksa.val.v2.rs"));
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use obligato::vehicle::Vehicle;
use serde_json::json;

use bench::{Bench, DOME, SPEED, call, is_done, window};
use broker::Broker;
use proto::{ActuateRequest, SubscribeRequest};
use provider::by_path;
use tree::{float, switch};

/// Orders of each kind; they alternate, so that a busy machine meets both alike.
const ORDERS: usize = 400;

/// Verdicts of each kind.
const VERDICTS: usize = 2_000;

fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4 / 1024
}

async fn orders(bench: &mut Bench, address: &str) {
    let mut client = provider::client(address).await;
    let subscribe = SubscribeRequest { signal_paths: vec![DOME.to_owned()], buffer_size: 100 };
    let mut news = client.subscribe(subscribe).await.unwrap().into_inner();
    news.message().await.unwrap();
    let (mut bare, mut executed) = (Vec::new(), Vec::new());
    for at in 0..ORDERS * 2 {
        let on = at % 2 == 0;
        if at / 2 % 2 == 0 {
            let start = Instant::now();
            let order = ActuateRequest { signal_id: Some(by_path(DOME)), value: Some(switch(on)) };
            client.actuate(order).await.unwrap();
            while news.message().await.unwrap().unwrap().entries[DOME].value != Some(switch(on)) {}
            bare.push(start.elapsed());
            let before = bench.car.epoch();
            let seen = async {
                while bench.car.epoch() == before {
                    tokio::time::sleep(Duration::from_micros(200)).await;
                }
            };
            // The bare client is other hands; the car notices them before it is asked next.
            let _ = tokio::time::timeout(Duration::from_millis(200), seen).await;
        } else {
            let cleared = bench.cleared(vec![call("set_dome_light", json!({"on": on}))]).await;
            let start = Instant::now();
            let done = bench.carry(cleared).await.unwrap();
            executed.push(start.elapsed());
            assert!(is_done(&done), "{:?}", done.outcome);
            news.message().await.unwrap();
        }
    }
    let (bare, executed) = (percentile(&mut bare, 0.5), percentile(&mut executed, 0.5));
    let ratio = executed.as_secs_f64() / bare.as_secs_f64();
    println!("order until confirmed, p50: bare client {bare:?}, execute {executed:?}, ratio {ratio:.3}");
}

async fn verdicts(bench: &mut Bench) -> Vec<Duration> {
    let mut times = Vec::with_capacity(VERDICTS);
    bench.cleared(vec![window("DRIVER", 20)]).await;
    for _ in 0..VERDICTS {
        let start = Instant::now();
        std::hint::black_box(bench.judge(vec![window("DRIVER", 20)]));
        times.push(start.elapsed());
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    times
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let own = std::env::var("KUKSA_ADDR").is_err().then(Broker::start);
    let address = own.as_ref().map_or_else(|| std::env::var("KUKSA_ADDR").unwrap(), Broker::address);
    runtime.block_on(async {
        let mut bench = Bench::at(&address).await;
        orders(&mut bench, &address).await;
        let Some(broker) = own else { return };
        let mut idle = verdicts(&mut bench).await;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, first) = (stop.clone(), resident());
        let load = std::thread::spawn(move || {
            let (start, mut sent) = (Instant::now(), 0_u32);
            while !stopped.load(Ordering::SeqCst) {
                for _ in 0..100 {
                    broker.set(SPEED, float((sent % 1_000) as f32 / 10.0));
                    sent += 1;
                }
                let due = start + Duration::from_micros(u64::from(sent) * 100);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            (f64::from(sent) / start.elapsed().as_secs_f64(), broker)
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        let warm = resident();
        let mut busy = verdicts(&mut bench).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let last = resident();
        stop.store(true, Ordering::SeqCst);
        let (rate, _broker) = load.join().unwrap();
        let (idle, busy) = (percentile(&mut idle, 0.99), percentile(&mut busy, 0.99));
        println!(
            "verdict, p99: idle {idle:?}, at {rate:.0} updates/s {busy:?}, ratio {:.2}",
            busy.as_secs_f64() / idle.as_secs_f64()
        );
        println!("resident: {first} MB before, {warm} MB after 2 s, {last} MB at the end");
    });
}
