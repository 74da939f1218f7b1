//! A client that means no good: malformed, huge, slow, never reading.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::support::wire::{Call, Line, ROOT};

/// What one deed may take; then it lets go.
const DEED: Duration = Duration::from_millis(400);

/// Something that a client had better not do, to the bus at an address.
type Deed = fn(&str) -> std::io::Result<()>;

/// Does one deed after the other while it is told to; how many.
pub(super) fn rage(address: &str, now: &AtomicBool, over: &dyn Fn() -> bool) -> u64 {
    let all: [(&str, Deed); 9] = [
        ("malformed", malformed),
        ("wrong", wrong),
        ("large", large),
        ("huge", huge),
        ("slow", slow),
        ("deaf", deaf),
        ("mute", mute),
        ("greedy", greedy),
        ("endless", endless),
    ];
    // One alone, to see what it does.
    let wanted = std::env::var("SOAK_DEED").ok();
    let deeds: Vec<_> = all.into_iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| w == name)).collect();
    assert!(!deeds.is_empty(), "SOAK_DEED={wanted:?} is none of {all:?}");
    let mut done = 0;
    while !over() {
        if !now.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
            continue;
        }
        // A bus that throws it out, or a write that nobody takes, is what it is after.
        let _ = deeds[done as usize % deeds.len()].1(address);
        done += 1;
    }
    done
}

fn line(address: &str) -> std::io::Result<Line> {
    let line = Line::connect(address)?;
    line.patience(DEED);
    Ok(line)
}

fn session(line: &mut Line) -> std::io::Result<String> {
    let answer = line.call(&Call::new(ROOT, "org.obligato.Harness1.Manager", "OpenSession"))?;
    match answer.is_return() {
        true => Ok(answer.text()),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    }
}

fn on(session: &str, member: &str) -> Call {
    Call::new(session, "org.obligato.Harness1.Session", member)
}

/// Bytes that are no message, and messages whose lengths lie.
fn malformed(address: &str) -> std::io::Result<()> {
    line(address)?.raw(&[0xff; 512])?;
    let mut cut = line(address)?;
    let bytes = Call::new(ROOT, "org.obligato.Harness1.Policy", "List").bytes(9);
    cut.raw(&bytes[..bytes.len() - 7])?;
    let mut long = Call::new(ROOT, "org.obligato.Harness1.Policy", "Explain").texts(&["x"]).bytes(9);
    long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    line(address)?.raw(&long)
}

/// Arguments of other types, unknown members, drafts that are none.
fn wrong(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let session = session(&mut line)?;
    for _ in 0..20 {
        for member in ["Verify", "Execute", "Start", "Heard", "Cancel", "Nothing"] {
            line.call(&on(&session, member).texts(&["{]", "x"]))?;
            line.call(&on(&session, member))?;
        }
        line.call(&on(&session, "Verify").texts(&["{\"role\": \"assistant\", \"tool_calls\": [1, {}]}"]))?;
    }
    Ok(())
}

/// Texts and drafts that the bus of an image just lets through, as fast as they are answered.
fn large(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let session = session(&mut line)?;
    let (text, begun) = ("a".repeat(500 << 10), Instant::now());
    while begun.elapsed() < DEED {
        for member in ["Verify", "Execute", "Heard", "Spoken", "Offer"] {
            line.call(&on(&session, member).texts(&[&text]))?;
        }
    }
    Ok(())
}

/// Texts and drafts at the bounds and far beyond them.
fn huge(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let session = session(&mut line)?;
    let text = "a".repeat(4 << 20);
    let deep = format!("{{\"role\": \"assistant\", \"content\": {}", "[".repeat(1 << 20));
    let call = r#"{"id":"1","type":"function","function":{"name":"set_fan_speed","arguments":"{\"level\":9}"}}"#;
    let calls = vec![call; 2_000].join(",");
    let many = format!("{{\"role\": \"assistant\", \"tool_calls\": [{calls}]}}");
    for member in ["Verify", "Execute", "Heard", "Spoken", "Offer"] {
        for text in [&text, &deep, &many] {
            line.call(&on(&session, member).texts(&[text]))?;
        }
    }
    line.call(&Call::new(ROOT, "org.obligato.Harness1.Policy", "Explain").texts(&[&"x".repeat(20 << 20)]))?;
    Ok(())
}

/// A message that takes its time.
fn slow(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let bytes = Call::new(ROOT, "org.obligato.Harness1.Policy", "List").bytes(9);
    for byte in bytes {
        line.raw(&[byte])?;
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Asks as fast as it can and reads no answer.
fn deaf(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let session = session(&mut line)?;
    let draft = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"set_air_conditioning","arguments":"{\"on\":true}"}}]}"#;
    let (verify, begun) = (on(&session, "Verify").texts(&[draft]), Instant::now());
    let introspect = Call::new(ROOT, "org.freedesktop.DBus.Introspectable", "Introspect");
    while begun.elapsed() < DEED {
        line.send(&verify)?;
        line.send(&introspect)?;
    }
    Ok(())
}

/// Tells as fast as it can and wants no answer.
fn mute(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let session = session(&mut line)?;
    let (spoken, begun) = (Call { flags: 1, ..on(&session, "Spoken").texts(&["Hm."]) }, Instant::now());
    while begun.elapsed() < DEED {
        line.send(&spoken)?;
    }
    Ok(())
}

/// Takes every session that it gets and leaves with them.
fn greedy(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    while session(&mut line).is_ok() {}
    Ok(())
}

/// Talks and talks.
fn endless(address: &str) -> std::io::Result<()> {
    let mut line = line(address)?;
    let session = session(&mut line)?;
    let (speech, begun) = ("and then she said ".repeat(200), Instant::now());
    while begun.elapsed() < DEED {
        line.call(&on(&session, "Spoken").texts(&[&speech]))?;
    }
    Ok(())
}
