//! Calls of the service on a bus: known and unknown objects, members and arguments, and bytes that are none.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use obligato::service::{Config, run as serve};

use super::scene::root;
use super::wire::{Call, Line, ROOT, SERVICE, pad, signature, string};

/// Interface, member and arguments of what may be called.
const MEMBERS: [(&str, &str, &str); 28] = [
    ("Manager", "OpenSession", ""),
    ("Manager", "OpenDetachedSession", ""),
    ("Manager", "CloseSession", "o"),
    ("Providers", "Register", "oa(sss)"),
    ("Providers", "Withdraw", ""),
    ("Providers", "Changed", ""),
    ("Policy", "List", ""),
    ("Policy", "Explain", "s"),
    ("Policy", "Verify", "t"),
    ("Policy", "Activate", "t"),
    ("Policy", "Commit", "t"),
    ("Policy", "Rollback", "t"),
    ("Session", "Start", "s"),
    ("Session", "Say", "s"),
    ("Session", "Cancel", "u"),
    ("Session", "Heard", "sa{sv}"),
    ("Session", "Spoken", "s"),
    ("Session", "Verify", "s"),
    ("Session", "Execute", "s"),
    ("Session", "Offer", "s"),
    ("Session", "Close", ""),
    ("org.freedesktop.DBus.Properties", "Get", "ss"),
    ("org.freedesktop.DBus.Properties", "Set", "ssv"),
    ("org.freedesktop.DBus.Properties", "GetAll", "s"),
    ("org.freedesktop.DBus.Introspectable", "Introspect", ""),
    ("org.freedesktop.DBus.Peer", "Ping", ""),
    ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects", ""),
    ("Policy", "Unstage", "t"),
];

/// Most calls of one input.
const CALLS: usize = 6;
/// Long enough for a loaded machine; nothing waits for it when all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes an input apart; an input that ends goes on with zeros.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A text up to a zero byte, without the zeros that no message may carry.
    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = &self.0[(end + 1).min(self.0.len())..];
        text
    }
}

/// Writes a value of the first type of a signature; the rest of the signature.
fn value<'s>(types: &'s str, from: &mut Cursor<'_>, out: &mut Vec<u8>, depth: usize) -> &'s str {
    let Some(kind) = types.bytes().next() else { return "" };
    let rest = &types[1..];
    match kind {
        b'y' => out.push(from.byte()),
        b'b' => fixed(out, 4, u64::from(from.byte() & 1)),
        b'n' | b'q' => fixed(out, 2, from.number()),
        b'i' | b'u' => fixed(out, 4, from.number()),
        b'x' | b't' | b'd' => fixed(out, 8, from.number()),
        b's' => string(out, &from.text()),
        b'o' => {
            let made = from.text();
            string(out, if made.starts_with('/') { &made } else { ROOT });
        }
        b'g' => signature(out, ""),
        b'v' => {
            let inner = ["s", "d", "u", "b", "as", "v", "a{sv}", "(sd)"];
            let inner = if depth > 8 { "y" } else { inner[usize::from(from.byte()) % inner.len()] };
            signature(out, inner);
            value(inner, from, out, depth + 1);
        }
        b'(' | b'{' => {
            pad(out, 8);
            let mut inside = rest;
            while !inside.starts_with([')', '}']) && !inside.is_empty() {
                inside = value(inside, from, out, depth + 1);
            }
            return inside.get(1..).unwrap_or_default();
        }
        b'a' => {
            pad(out, 4);
            let place = out.len();
            out.extend([0; 4]);
            if rest.starts_with(['(', '{', 'x', 't', 'd']) {
                pad(out, 8);
            }
            let begin = out.len();
            let mut after = skip(rest);
            for _ in 0..from.byte() % 5 {
                after = value(rest, from, out, depth + 1);
            }
            let length = u32::try_from(out.len() - begin).unwrap();
            out[place..place + 4].copy_from_slice(&length.to_le_bytes());
            return after;
        }
        _ => {}
    }
    rest
}

fn fixed(out: &mut Vec<u8>, size: usize, number: u64) {
    pad(out, size);
    out.extend_from_slice(&number.to_le_bytes()[..size]);
}

/// What follows the first type of a signature.
fn skip(types: &str) -> &str {
    let mut depth = 0_usize;
    for (at, kind) in types.bytes().enumerate() {
        match kind {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b'a' => continue,
            _ => {}
        }
        if depth == 0 {
            return &types[at + 1..];
        }
    }
    ""
}

/// One call of an input.
fn call(from: &mut Cursor<'_>, session: &str) -> Call {
    let (which, how) = (usize::from(from.byte()), from.byte());
    let (interface, member, arguments) = MEMBERS[which % MEMBERS.len()];
    let path = match (how & 3, interface) {
        (0 | 1, "Session") => session.to_owned(),
        (2, _) => session.to_owned(),
        (3, _) => format!("{ROOT}/session/{}", from.byte()),
        _ => ROOT.to_owned(),
    };
    let interface = match interface.contains('.') {
        true => interface.to_owned(),
        false => format!("{SERVICE}.{interface}"),
    };
    let mut call = Call::new(&path, &interface, member);
    if how & 4 != 0 {
        call.interface.clear();
    }
    call.flags = how >> 3 & 1;
    let types = match how >> 4 {
        0 => ["", "s", "v", "a{sv}", "(ss)", "u", "ss", "ay"][usize::from(from.byte() & 7)],
        _ => arguments,
    };
    call.signature = types.to_owned();
    let mut left = types;
    while !left.is_empty() {
        left = value(left, from, &mut call.body, 0);
    }
    call
}

/// The service on a bus of its own, in this process, so that a fuzzer sees where its inputs lead.
struct Stand {
    /// Its input is held open for as long as this process lives.
    _bus: Child,
    address: String,
    line: Option<(Line, String)>,
}

impl Stand {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("obligato-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // The bus goes when this process does: `cat` ends with its input.
        let bus = format!(
            "dbus-daemon --config-file={}/tests/dbus/bus.conf --address=unix:path={}/bus --nofork --nopidfile \
             --print-address=1 & bus=$!; cat; kill $bus; rm -rf {}",
            root().display(),
            folder.display(),
            folder.display()
        );
        let mut bus = Command::new("sh")
            .args(["-c", &bus])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(address.starts_with("unix:"), "dbus-daemon is installed (package dbus)");
        fs::write(folder.join("script.jsonl"), "").unwrap();
        let config = format!(
            "policy = \"{0}/policies/cabin/cabin.obl\"\nlimits = \"{0}/systemd/hard-limits.toml\"\n\
             [student]\nkind = \"scripted\"\nscript = \"script.jsonl\"\n\
             [service]\nbus = \"{address}\"\ncalls_per_second = 0\n[[vehicle.provider]]\nuser = {1}\n",
            root().display(),
            std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()),
        );
        fs::write(folder.join("obligato.toml"), config).unwrap();
        let config = Config::read(&folder.join("obligato.toml")).unwrap();
        // What the service logs of a thousand hostile calls a second is of no use here.
        let _ = tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::default());
        thread::spawn(move || panic!("the service ended: {:?}", serve(config)));
        Self { _bus: bus, address, line: None }
    }

    /// A connection with a session; a new one where the bus has closed the one before, or an input the session.
    fn line(&mut self) -> (Line, String) {
        if let Some((mut line, session)) = self.line.take() {
            let turn = Call::new(&session, "org.freedesktop.DBus.Properties", "Get");
            let turn = turn.texts(&["org.obligato.Harness1.Session", "Turn"]);
            if line.call(&turn).is_ok_and(|answer| answer.is_return()) {
                return (line, session);
            }
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let mut line = Line::connect(&self.address).unwrap();
            line.patience(PATIENCE);
            let open = Call::new(ROOT, "org.obligato.Harness1.Manager", "OpenSession");
            match line.call(&open) {
                Ok(answer) if answer.is_return() => return (line, answer.text()),
                // Not on the bus yet, or the sessions of the connection before are still being closed.
                answer => assert!(Instant::now() < until, "no session is given out: {answer:?}"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

pub(super) fn run(data: &[u8]) {
    static STAND: OnceLock<Mutex<Stand>> = OnceLock::new();
    let stand = STAND.get_or_init(|| Mutex::new(Stand::start()));
    let mut stand = stand.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut line, session) = stand.line();
    let mut cursor = Cursor(data);
    let mut due = Vec::new();
    for _ in 0..CALLS {
        if cursor.0.is_empty() {
            break;
        }
        let call = call(&mut cursor, &session);
        match line.send(&call) {
            Ok(serial) if call.flags & 1 == 0 => due.push(serial),
            Ok(_) => {}
            Err(_) => return,
        }
    }
    while !due.is_empty() {
        match line.next() {
            Ok(incoming) => due.retain(|serial| *serial != incoming.answers),
            // The bus throws out whoever breaks its protocol, after which nobody else may suffer.
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => break,
            Err(error) => panic!("{} calls were never answered: {error}", due.len()),
        }
    }
    if due.is_empty() {
        stand.line = Some((line, session));
    } else {
        stand.line = Some(stand.line());
    }
}
