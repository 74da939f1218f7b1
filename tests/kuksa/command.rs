//! `obligato vehicle`, as a bench engineer calls it.

use std::process::{Command, Output};

use serde_json::Value as Json;

use crate::bench::{DOME, DRIVER_SIDE, SEAT};
use crate::broker::{Broker, Place};
use crate::tree::{self, int, switch};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/cabin/cabin.obl");

fn vehicle(arguments: &[&str], address: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_obligato"))
        .arg("vehicle")
        .arg(arguments[0])
        .args(["--policy", POLICY, "--address", address])
        .args(&arguments[1..])
        .output()
        .unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_check_shows_what_does_not_fit_and_says_no() {
    let mut tree = tree::vss();
    tree.retain(|m| m.path != DOME);
    let broker = Broker::with(tree, Place::Tcp);
    let (code, out, _) = vehicle(&["check"], &broker.address());
    assert_eq!(code, Some(1));
    let line = out.lines().find(|l| l.contains(DOME)).unwrap();
    assert!(line.starts_with("dome_light ") && line.ends_with("the broker has no such signal"), "{line}");
    assert!(out.contains("tools of the mapping that are not: ") && out.contains("set_dome_light"), "{out}");
    let (code, out, _) = vehicle(&["check", "--json"], &broker.address());
    let report: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(1));
    let row = report["signals"].as_array().unwrap().iter().find(|r| r["path"] == DOME).unwrap();
    assert_eq!((&row["field"], &row["fit"]), (&"dome_light".into(), &"missing".into()));
}

#[test]
fn fields_are_read_with_their_signals_and_an_unknown_name_is_refused() {
    let broker = Broker::start();
    broker.set(DOME, switch(true));
    broker.set(SEAT, int(-66));
    let (code, out, _) = vehicle(&["get", "dome_light", "seat_driver_ventilation"], &broker.address());
    assert_eq!(code, Some(0), "{out}");
    let rows: Vec<Vec<&str>> = out.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["FIELD", "VALUE", "AGE", "SIGNALS"]);
    assert!(rows.iter().any(|r| r[..2] == ["dome_light", "true"] && r[4..] == [DOME, "=", "true"]), "{out}");
    assert!(rows.iter().any(|r| r[..2] == ["seat_driver_ventilation", "2"]), "{out}");
    let (code, out, _) = vehicle(&["get", "--json", "low_beams_left"], &broker.address());
    assert_eq!((code, out.as_str()), (Some(2), ""));
    let (code, _, error) = vehicle(&["get", "--json", "low_beams_left"], &broker.address());
    assert!(code == Some(2) && error.contains("no signal here carries `low_beams_left`"), "{error}");
    let (code, out, _) = vehicle(&["get", "--json", "fog_light_front"], &broker.address());
    let report: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(1), "nobody ever said anything about it");
    assert!(report["fields"][0]["value"].is_null() && report["fields"][0]["age_ms"].is_null(), "{report}");
}

#[test]
fn a_watch_prints_what_there_is_and_ends_in_time() {
    let broker = Broker::start();
    broker.set(DOME, switch(true));
    let (code, out, _) = vehicle(&["watch", "dome_light", "--seconds", "1"], &broker.address());
    assert_eq!(code, Some(0));
    assert_eq!(out.split_whitespace().collect::<Vec<_>>(), ["dome_light", "true"]);
}

#[test]
fn a_broker_that_is_not_there_is_a_peer_that_is_missing() {
    let mut broker = Broker::start();
    broker.kill();
    let (code, out, error) = vehicle(&["check"], &broker.address());
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert!(error.starts_with("obligato: the databroker at http://127.0.0.1"), "{error}");
    for part in ["(as --address says)", "is it running there? --address"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn a_check_says_for_which_specification_and_which_side_it_was_made() {
    let mut tree = tree::vss();
    tree.iter_mut().find(|m| m.path == "Vehicle.Speed").unwrap().unit = "mi/h".into();
    let broker = Broker::with(tree, Place::Tcp);
    let (code, out, _) = vehicle(&["check"], &broker.address());
    assert_eq!(code, Some(1));
    let heading = out.lines().next().unwrap();
    assert!(heading.starts_with("mimic 1: ") && heading.contains(" signals mapped for VSS 6.0, "), "{heading}");
    let row = |path: &str| out.lines().find(|line| line.contains(path)).unwrap();
    assert!(row("Vehicle.Speed ").ends_with("it is in mi/h, and the mapping takes it for km/h"), "{out}");
    let side = row(DRIVER_SIDE);
    assert!(side.starts_with("driver_side ") && side.contains("it says nothing, not LEFT or RIGHT"), "{out}");
    broker.set(DRIVER_SIDE, tree::text("LEFT"));
    let (_, out, _) = vehicle(&["check", "--json"], &broker.address());
    let report: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(report["vss"], "6.0");
    let fit = |path: &str| report["signals"].as_array().unwrap().iter().find(|r| r["path"] == path).unwrap().clone();
    assert_eq!(fit(DRIVER_SIDE)["fit"], "fits");
    let speed = fit("Vehicle.Speed");
    assert_eq!((&speed["fit"], &speed["found"], &speed["wanted"]), (&"unit".into(), &"mi/h".into(), &"km/h".into()));
}

#[test]
fn a_command_ends_although_its_token_is_on_a_disk_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    assert!(Command::new("mkfifo").arg(&token).status().unwrap().success());
    let broker = Broker::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_obligato"))
        .args(["vehicle", "check", "--policy", POLICY, "--address", &broker.address(), "--token"])
        .arg(&token)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Nobody ever writes.
    for _ in 0..6_000 {
        if let Some(status) = command.try_wait().unwrap() {
            let error = std::io::read_to_string(command.stderr.take().unwrap()).unwrap();
            assert_eq!(status.code(), Some(3), "{error}");
            assert!(error.contains("the token file could not be read") && error.contains("--token"), "{error}");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    command.kill().unwrap();
    panic!("it never ended");
}
