//! What does not come in at the door of the service, by the byte.

use std::time::Duration;

use serde_json::json;

use super::rig::{Client, PATIENCE, Rig, Setup, calls};
use super::support::wire::{Call, Incoming, Line, ROOT};

fn explain(rule: &str) -> Call {
    Call::new(ROOT, "org.obligato.Harness1.Policy", "Explain").texts(&[rule])
}

fn line(rig: &Rig) -> Line {
    let line = Line::connect(rig.address()).unwrap();
    line.patience(PATIENCE);
    line
}

async fn rig(config: &str) -> Rig {
    Rig::start(Setup::without_student().config(config)).await
}

/// The next answer; the bus itself sends signals.
fn answer(line: &mut Line) -> Incoming {
    loop {
        let incoming = line.next().unwrap();
        if incoming.answers != 0 {
            return incoming;
        }
    }
}

fn says(answer: &Incoming, words: &str) -> bool {
    !answer.is_return() && answer.text().contains(words)
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_calls_too_often_is_told_to_wait_and_others_are_served() {
    let rig = rig("[service]\ncalls_per_second = 20\n").await;
    let client = Client::new(rig.connect().await).await;
    let session = client.open().await;
    let mut flood = line(&rig);
    let list = Call::new(ROOT, "org.obligato.Harness1.Policy", "List");
    let sent: Vec<u32> = (0..100).map(|_| flood.send(&list).unwrap()).collect();
    let answers: Vec<Incoming> = sent.iter().map(|_| answer(&mut flood)).collect();
    let served = answers.iter().filter(|a| a.is_return()).count();
    let waits = answers.iter().filter(|a| says(a, "20 calls a second")).count();
    assert!(served >= 5 && waits >= 50, "{served} served, {waits} told to wait");
    assert_eq!(served + waits, sent.len(), "everybody is told: {answers:?}");
    // Another connection of the same user has a pace of its own.
    session.verify(&calls(&[("set_fan_speed", json!({"level": 2}))]).to_string()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(says(&flood.call(&explain("x")).unwrap(), "no rule `x`"), "after a pause it is served again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_too_large_is_refused_and_the_line_goes_on() {
    let rig = rig("").await;
    let mut line = line(&rig);
    for megabytes in [5, 20, 5] {
        let answer = line.call(&explain(&"x".repeat(megabytes << 20))).unwrap();
        assert!(says(&answer, "more than the"), "{}", answer.text());
        std::thread::sleep(Duration::from_secs(1));
    }
    assert!(says(&line.call(&explain("x")).unwrap(), "no rule `x`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_call_weighs_as_much_as_many_small_ones() {
    let rig = rig("[service]\ncalls_per_second = 10\n").await;
    let mut line = line(&rig);
    let large = explain(&"x".repeat(400 << 10));
    assert!(says(&line.call(&large).unwrap(), "no rule"));
    assert!(says(&line.call(&large).unwrap(), "10 calls a second"));
    assert!(says(&line.call(&explain("x")).unwrap(), "no rule `x`"), "a small one still fits");
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptions_are_given_out_one_after_the_other_and_nobody_else_waits_for_them() {
    let rig = rig("[service]\ncalls_per_second = 40\n").await;
    let mut line = line(&rig);
    let introspect = Call::new(ROOT, "org.freedesktop.DBus.Introspectable", "Introspect");
    let asked: Vec<u32> = (0..5).map(|_| line.send(&introspect).unwrap()).collect();
    let overtakes = line.send(&explain("x")).unwrap();
    let answers: Vec<Incoming> = (0..6).map(|_| answer(&mut line)).collect();
    assert!(answers.iter().filter(|a| a.answers != overtakes).all(Incoming::is_return), "{answers:?}");
    let order: Vec<u32> = answers.iter().map(|a| a.answers).collect();
    let at = |serial: u32| order.iter().position(|s| *s == serial).unwrap();
    assert!(asked.is_sorted_by_key(|serial| at(*serial)), "{asked:?} came as {order:?}");
    assert!(at(overtakes) < 4, "{overtakes} waited for {order:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_descriptions_without_end_is_refused_some() {
    let rig = rig("[service]\ncalls_per_second = 200\n").await;
    let mut line = line(&rig);
    let introspect = Call::new(ROOT, "org.freedesktop.DBus.Introspectable", "Introspect");
    let mut asked = Vec::new();
    for _ in 0..4 {
        asked.extend((0..50).map(|_| line.send(&introspect).unwrap()));
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let answers: Vec<Incoming> = asked.iter().map(|_| answer(&mut line)).collect();
    let refused = answers.iter().filter(|a| says(a, "descriptions are given out")).count();
    assert!(refused > 0 && answers.iter().any(Incoming::is_return), "{refused} of {} were refused", asked.len());
    assert!(says(&line.call(&explain("x")).unwrap(), "no rule `x`"), "a small one still fits");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_tree_is_seen_on_one_connection_with_all_sessions_open() {
    let rig = rig("[service]\nmax_sessions_per_client = 16\nmax_sessions_per_user = 16\n").await;
    let client = Client::new(rig.connect().await).await;
    let mut paths = vec!["/", "/org", "/org/obligato", ROOT, "/org/obligato/Harness1/session"];
    let mut sessions = Vec::new();
    for _ in 0..16 {
        sessions.push(client.open().await.inner().path().to_string());
    }
    paths.extend(sessions.iter().map(String::as_str));
    let mut line = line(&rig);
    for path in paths {
        let answer = line.call(&Call::new(path, "org.freedesktop.DBus.Introspectable", "Introspect")).unwrap();
        assert!(answer.is_return(), "{path}: {}", answer.text());
    }
    let seen = std::process::Command::new("busctl")
        .args([&format!("--address={}", rig.address()), "tree", obligato::service::BUS_NAME])
        .output();
    let Ok(seen) = seen else { return println!("skipped: busctl is not here") };
    let shown = String::from_utf8_lossy(&seen.stdout);
    assert!(seen.status.success() && sessions.iter().all(|s| shown.contains(s.as_str())), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_wants_no_answer_gets_none_whether_it_comes_in_or_not() {
    let rig = rig("[service]\ncalls_per_second = 5\n").await;
    let mut line = line(&rig);
    let silent = Call { flags: 1, ..explain("x") };
    for _ in 0..50 {
        line.send(&silent).unwrap();
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let serial = line.send(&explain("y")).unwrap();
    let first = answer(&mut line);
    assert_eq!(first.answers, serial, "nothing came before it: {first:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_bound_is_not_slowed_down() {
    let rig = rig("[service]\ncalls_per_second = 0\n").await;
    let mut line = line(&rig);
    for _ in 0..1_000 {
        assert!(says(&line.call(&explain("x")).unwrap(), "no rule `x`"));
    }
}
