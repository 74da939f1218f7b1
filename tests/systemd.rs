//! What the units leave open, as `systemd-analyze security` counts it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "helpers of tests are tests"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Most that a unit may leave open: 0 nothing, 10 everything.
const EXPOSURE: f64 = 1.5;

fn unit(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(name)
}

/// Exposure of a unit under its drop-in; none where it cannot be told here. In CI, where `OBLIGATO_REQUIRE` is set,
/// it has to be.
fn exposure(name: &str, drop_in: Option<&str>) -> Option<f64> {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(unit(name), folder.path().join(name)).unwrap();
    if let Some(file) = drop_in {
        let beside = folder.path().join(format!("{name}.d"));
        fs::create_dir(&beside).unwrap();
        fs::copy(unit(file), beside.join("drop-in.conf")).unwrap();
    }
    let analyze = || {
        let output = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager"])
            .arg(folder.path().join(name))
            .env("SYSTEMD_COLORS", "0")
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let last =
            said.lines().find_map(|line| line.split_once(": ").filter(|(head, _)| head.contains("exposure level")));
        let level = last.and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<f64>().ok());
        level.ok_or_else(|| format!("{said}{}", String::from_utf8_lossy(&output.stderr)))
    };
    match analyze() {
        Ok(level) => Some(level),
        Err(why) if std::env::var_os("OBLIGATO_REQUIRE").is_none() => {
            println!("skipped: systemd-analyze (package systemd, 250 or later) does not tell: {why}");
            None
        }
        Err(why) => panic!("systemd-analyze is needed here: {why}"),
    }
}

fn closed(name: &str, drop_in: Option<&str>) {
    let Some(level) = exposure(name, drop_in) else { return };
    assert!(level <= EXPOSURE, "{name} leaves {level} open, more than {EXPOSURE}");
}

#[test]
fn the_service_leaves_little_open() {
    closed("obligatod.service", None);
}

#[test]
fn the_service_with_the_network_of_a_broker_leaves_little_open() {
    closed("obligatod.service", Some("obligatod-kuksa.conf"));
    // It opens something, so it was looked at.
    let (without, with) =
        (exposure("obligatod.service", None), exposure("obligatod.service", Some("obligatod-kuksa.conf")));
    assert!(with.zip(without).is_none_or(|(with, without)| with > without), "{without:?} {with:?}");
}

#[test]
fn the_update_unit_leaves_little_open() {
    closed("obligato-update.service", None);
}

#[test]
fn the_model_and_the_broker_find_what_they_need() {
    let service = fs::read_to_string(unit("obligatod.service")).unwrap();
    // Without these llama.cpp cannot pin its threads, read the machine's memory, or map its model.
    for kept in ["ProcSubset=all", "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged\n"] {
        assert!(service.contains(kept), "{kept}");
    }
    assert!(!service.contains("~@resources") && !service.contains("@privileged @resources"));
    let broker = fs::read_to_string(unit("obligatod-kuksa.conf")).unwrap();
    for line in ["PrivateNetwork=no", "RestrictAddressFamilies=AF_INET AF_INET6", "IPAddressAllow=localhost"] {
        assert!(broker.lines().any(|l| l == line), "{line}");
    }
}
