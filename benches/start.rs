//! How long the service takes from its start to its name on the bus, and what memory it holds then, without a
//! model: `make start`.
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

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use obligato::service::BUS_NAME;
use support::wire::{Call, Line};

/// How often it is started.
const STARTS: usize = 40;

fn field(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (mut bus, address) = rig::bus(folder.path());
    let mut line = Line::connect(&address).unwrap();
    let mut owner = Call::new("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner").texts(&[BUS_NAME]);
    owner.destination = "org.freedesktop.DBus".to_owned();
    let (mut times, mut resident, mut anonymous) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let begun = Instant::now();
        let mut service = Command::new(env!("CARGO_BIN_EXE_obligatod"))
            .envs(load::environment())
            .args(["--bus", &address, "--student", "none"])
            .arg("--policy")
            .arg(rig::root().join("policies/cabin/cabin.obl"))
            .arg("--limits")
            .arg(rig::root().join("systemd/hard-limits.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while line.call(&owner).unwrap().body[0] == 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
        times.push(begun.elapsed());
        // What is made ready in the background belongs to what it holds.
        std::thread::sleep(Duration::from_millis(700));
        resident.push(field(service.id(), "Rss:"));
        anonymous.push(field(service.id(), "Anonymous:"));
        service.kill().unwrap();
        service.wait().unwrap();
        while line.call(&owner).unwrap().body[0] == 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    bus.kill().unwrap();
    bus.wait().unwrap();
    times.sort_unstable();
    resident.sort_unstable();
    anonymous.sort_unstable();
    let (middle, last) = (STARTS / 2, STARTS - 1);
    println!(
        "start to name owned  {:?} p50, {:?} p95, {:?} at most",
        times[middle],
        times[STARTS * 19 / 20],
        times[last]
    );
    println!("resident             {} KiB p50, {} KiB at most", resident[middle], resident[last]);
    println!("of which anonymous   {} KiB p50", anonymous[middle]);
}
