//! What carrying its tests costs a policy. Figures, not verdicts: run with `--ignored --nocapture`.

use std::fs;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use obligato::policy::{PackedTests, Policy};
use obligato::trials::{Health, unpack};

use super::rig::bus;

fn blobs() -> (Vec<u8>, Vec<u8>) {
    let parts = super::car::cabin();
    let bare = obligato::policy::PolicyParts { tests: PackedTests::default(), ..parts.clone() };
    (bare.to_blob().unwrap(), parts.to_blob().unwrap())
}

/// The median of many runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let since = Instant::now();
            run();
            since.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[50]
}

#[test]
#[ignore = "a measurement"]
fn tests_in_the_blob_cost_bytes_and_next_to_no_time() {
    let (bare, full) = blobs();
    let load = |blob: &[u8]| median(|| drop(black_box(Policy::from_blob(blob).unwrap())));
    let policy = Policy::from_blob(&full).unwrap();
    println!("blob: {} bytes, {} with its tests", bare.len(), full.len());
    println!("load: {:?}, {:?} with its tests", load(&bare), load(&full));
    println!(
        "unpack: {:?} for {} tests",
        median(|| drop(black_box(unpack(&policy.tests).unwrap()))),
        unpack(&policy.tests).unwrap().len()
    );
    policy.warm();
    println!("health check: {:?}", median(|| assert!(black_box(Health::check(&policy)).is_ok())));
}

#[test]
#[ignore = "a measurement"]
fn resident_memory_of_the_service_with_and_without_tests_in_the_blob() {
    let (bare, full) = blobs();
    for (name, blob) in [("without", &bare), ("with", &full), ("without", &bare), ("with", &full)] {
        let folder = tempfile::tempdir().unwrap();
        let (mut daemon, address) = bus(folder.path());
        let path = folder.path().join("cabin.obl");
        fs::write(&path, blob).unwrap();
        let mut service = Command::new(env!("CARGO_BIN_EXE_obligatod"))
            .args(["--bus", &address, "--student", "none"])
            .arg("--policy")
            .arg(&path)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(3));
        let status = fs::read_to_string(format!("/proc/{}/status", service.id())).unwrap();
        let line = |name: &str| status.lines().find(|l| l.starts_with(name)).unwrap_or_default().to_owned();
        println!("{name} tests: {} {} {}", line("VmRSS"), line("RssAnon"), line("VmHWM"));
        for child in [&mut service, &mut daemon] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
