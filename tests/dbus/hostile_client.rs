//! A client that means no good: malformed, huge, slow, never reading.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::support::wire::{Call, Line, ROOT, SERVICE};
use super::sink::SINK;

/// What one deed may take; then it lets go.
const DEED: Duration = Duration::from_millis(400);

/// Whom it is after.
pub(super) const NOBODY: usize = 0;
pub(super) const GUARD: usize = 1;
/// The service that does next to nothing.
pub(super) const OTHER: usize = 2;

/// Something that a client had better not do.
type Deed = fn(&Foe<'_>) -> std::io::Result<()>;

/// Does one deed after the other while it is told to; how many.
pub(super) fn rage(address: &str, at: &AtomicUsize, over: &dyn Fn() -> bool) -> u64 {
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
        let service = match at.load(Ordering::Relaxed) {
            NOBODY => {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            GUARD => SERVICE,
            _ => SINK,
        };
        // A bus that throws it out, or a write that nobody takes, is what it is after.
        let _ = deeds[done as usize % deeds.len()].1(&Foe { address, service });
        done += 1;
    }
    done
}

/// A hostile client of a service.
struct Foe<'a> {
    address: &'a str,
    service: &'a str,
}

impl Foe<'_> {
    fn line(&self) -> std::io::Result<Line> {
        let line = Line::connect(self.address)?;
        line.patience(DEED);
        Ok(line)
    }

    fn call(&self, path: &str, interface: &str, member: &str) -> Call {
        Call { destination: self.service.to_owned(), ..Call::new(path, interface, member) }
    }

    fn policy(&self, member: &str) -> Call {
        self.call(ROOT, "org.obligato.Harness1.Policy", member)
    }

    fn session(&self, line: &mut Line) -> std::io::Result<String> {
        let answer = line.call(&self.call(ROOT, "org.obligato.Harness1.Manager", "OpenSession"))?;
        match answer.is_return() {
            true => Ok(answer.text()),
            false => Err(std::io::ErrorKind::PermissionDenied.into()),
        }
    }

    fn on(&self, session: &str, member: &str) -> Call {
        self.call(session, "org.obligato.Harness1.Session", member)
    }
}

/// Bytes that are no message, and messages whose lengths lie.
fn malformed(foe: &Foe<'_>) -> std::io::Result<()> {
    foe.line()?.raw(&[0xff; 512])?;
    let mut cut = foe.line()?;
    let bytes = foe.policy("List").bytes(9);
    cut.raw(&bytes[..bytes.len() - 7])?;
    let mut long = foe.policy("Explain").texts(&["x"]).bytes(9);
    long[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    foe.line()?.raw(&long)
}

/// Arguments of other types, unknown members, drafts that are none.
fn wrong(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let session = foe.session(&mut line)?;
    for _ in 0..20 {
        for member in ["Verify", "Execute", "Start", "Heard", "Cancel", "Nothing"] {
            line.call(&foe.on(&session, member).texts(&["{]", "x"]))?;
            line.call(&foe.on(&session, member))?;
        }
        line.call(&foe.on(&session, "Verify").texts(&["{\"role\": \"assistant\", \"tool_calls\": [1, {}]}"]))?;
    }
    Ok(())
}

/// Texts and drafts that the bus of an image just lets through, as fast as they are answered.
fn large(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let session = foe.session(&mut line)?;
    let (text, begun) = ("a".repeat(500 << 10), Instant::now());
    while begun.elapsed() < DEED {
        for member in ["Verify", "Execute", "Heard", "Spoken", "Offer"] {
            line.call(&foe.on(&session, member).texts(&[&text]))?;
        }
    }
    Ok(())
}

/// Texts and drafts at the bounds and far beyond them.
fn huge(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let session = foe.session(&mut line)?;
    let text = "a".repeat(4 << 20);
    let deep = format!("{{\"role\": \"assistant\", \"content\": {}", "[".repeat(1 << 20));
    let call = r#"{"id":"1","type":"function","function":{"name":"set_fan_speed","arguments":"{\"level\":9}"}}"#;
    let calls = vec![call; 2_000].join(",");
    let many = format!("{{\"role\": \"assistant\", \"tool_calls\": [{calls}]}}");
    for member in ["Verify", "Execute", "Heard", "Spoken", "Offer"] {
        for text in [&text, &deep, &many] {
            line.call(&foe.on(&session, member).texts(&[text]))?;
        }
    }
    line.call(&foe.policy("Explain").texts(&[&"x".repeat(20 << 20)]))?;
    Ok(())
}

/// A message that takes its time.
fn slow(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let bytes = foe.policy("List").bytes(9);
    for byte in bytes {
        line.raw(&[byte])?;
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Asks as fast as it can and reads no answer.
fn deaf(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let session = foe.session(&mut line)?;
    let draft = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"set_air_conditioning","arguments":"{\"on\":true}"}}]}"#;
    let (verify, begun) = (foe.on(&session, "Verify").texts(&[draft]), Instant::now());
    let introspect = foe.call(ROOT, "org.freedesktop.DBus.Introspectable", "Introspect");
    while begun.elapsed() < DEED {
        line.send(&verify)?;
        line.send(&introspect)?;
    }
    Ok(())
}

/// Tells as fast as it can and wants no answer.
fn mute(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let session = foe.session(&mut line)?;
    let (spoken, begun) = (Call { flags: 1, ..foe.on(&session, "Spoken").texts(&["Hm."]) }, Instant::now());
    while begun.elapsed() < DEED {
        line.send(&spoken)?;
    }
    Ok(())
}

/// Takes every session that it gets and leaves with them.
fn greedy(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    // The other service has no bound.
    for _ in 0..100 {
        foe.session(&mut line)?;
    }
    Ok(())
}

/// Talks and talks.
fn endless(foe: &Foe<'_>) -> std::io::Result<()> {
    let mut line = foe.line()?;
    let session = foe.session(&mut line)?;
    let (speech, begun) = ("and then she said ".repeat(200), Instant::now());
    while begun.elapsed() < DEED {
        line.call(&foe.on(&session, "Spoken").texts(&[&speech]))?;
    }
    Ok(())
}
