//! D-Bus by the byte: a client that may send what no library would.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The service and its main object.
pub const SERVICE: &str = "org.obligato.Harness1";
pub const ROOT: &str = "/org/obligato/Harness1";

/// A call as it goes over the wire.
#[derive(Debug, Clone, Default)]
pub struct Call {
    pub destination: String,
    pub path: String,
    pub interface: String,
    pub member: String,
    pub signature: String,
    pub body: Vec<u8>,
    /// `NO_REPLY_EXPECTED` is 1.
    pub flags: u8,
}

impl Call {
    /// A call of the service without arguments.
    pub fn new(path: &str, interface: &str, member: &str) -> Self {
        let own = |text: &str| text.to_owned();
        Self {
            destination: own(SERVICE),
            path: own(path),
            interface: own(interface),
            member: own(member),
            ..Self::default()
        }
    }

    /// The same with texts for arguments.
    pub fn texts(mut self, texts: &[&str]) -> Self {
        for text in texts {
            self.signature.push('s');
            string(&mut self.body, text);
        }
        self
    }

    /// The whole message.
    pub fn bytes(&self, serial: u32) -> Vec<u8> {
        let mut fields = Vec::new();
        let mut field = |code: u8, kind: &str, text: &str| {
            if text.is_empty() {
                return;
            }
            pad(&mut fields, 8);
            fields.push(code);
            signature(&mut fields, kind);
            match kind {
                "g" => signature(&mut fields, text),
                _ => string(&mut fields, text),
            }
        };
        field(1, "o", &self.path);
        field(2, "s", &self.interface);
        field(3, "s", &self.member);
        field(6, "s", &self.destination);
        field(8, "g", &self.signature);
        // Little-endian, a method call, protocol 1.
        let mut message = vec![b'l', 1, self.flags, 1];
        message.extend(length(&self.body));
        message.extend(serial.to_le_bytes());
        message.extend(length(&fields));
        message.extend(fields);
        pad(&mut message, 8);
        message.extend_from_slice(&self.body);
        message
    }
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap().to_le_bytes()
}

/// Fills up to a boundary.
pub fn pad(out: &mut Vec<u8>, to: usize) {
    out.resize(out.len().next_multiple_of(to), 0);
}

/// Writes a text, or an object's path.
pub fn string(out: &mut Vec<u8>, text: &str) {
    pad(out, 4);
    out.extend(length(text.as_bytes()));
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Writes a signature.
pub fn signature(out: &mut Vec<u8>, text: &str) {
    out.push(u8::try_from(text.len()).unwrap());
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// A message that came in.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// 2: a return, 3: an error, 4: a signal.
    pub kind: u8,
    /// The call that it answers; 0: none.
    pub answers: u32,
    pub body: Vec<u8>,
}

impl Incoming {
    pub fn is_return(&self) -> bool {
        self.kind == 2
    }

    /// The text that the body begins with.
    pub fn text(&self) -> String {
        let length = u32::from_le_bytes(self.body[..4].try_into().unwrap()) as usize;
        String::from_utf8(self.body[4..4 + length].to_vec()).unwrap()
    }
}

/// A connection to a bus.
pub struct Line {
    stream: UnixStream,
    serial: u32,
}

impl Line {
    /// Connects to a bus at `unix:path=…` and says hello.
    pub fn connect(address: &str) -> io::Result<Self> {
        let path = address.split_once("path=").map_or(address, |(_, rest)| rest);
        let path = path.split(',').next().unwrap_or(path);
        let mut stream = UnixStream::connect(Path::new(path))?;
        let user = std::fs::metadata("/proc/self")?.uid().to_string();
        let mut hex = String::new();
        user.bytes().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
        stream.write_all(format!("\0AUTH EXTERNAL {hex}\r\n").as_bytes())?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            answer.extend(byte);
        }
        assert!(answer.starts_with(b"OK "), "{}", String::from_utf8_lossy(&answer));
        stream.write_all(b"BEGIN\r\n")?;
        let mut line = Self { stream, serial: 0 };
        let mut hello = Call::new("/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello");
        hello.destination = "org.freedesktop.DBus".to_owned();
        assert!(line.call(&hello)?.is_return());
        Ok(line)
    }

    /// What is left of it to read and write by hand.
    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// How long a read or a write may take.
    pub fn patience(&self, limit: Duration) {
        self.stream.set_read_timeout(Some(limit)).unwrap();
        self.stream.set_write_timeout(Some(limit)).unwrap();
    }

    /// Sends a call and does not wait; its number.
    pub fn send(&mut self, call: &Call) -> io::Result<u32> {
        self.serial += 1;
        self.stream.write_all(&call.bytes(self.serial))?;
        Ok(self.serial)
    }

    /// Sends bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next message.
    pub fn next(&mut self) -> io::Result<Incoming> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        assert_eq!(head[0], b'l', "a little-endian bus");
        let (body, fields) = (number(&head, 4), number(&head, 12));
        let mut rest = vec![0; fields.next_multiple_of(8) + body];
        self.stream.read_exact(&mut rest)?;
        Ok(Incoming {
            kind: head[1],
            answers: answers(&rest[..fields]).unwrap_or(0),
            body: rest.split_off(fields.next_multiple_of(8)),
        })
    }

    /// The answer to a call; what else comes in is dropped.
    pub fn answer(&mut self, serial: u32) -> io::Result<Incoming> {
        loop {
            let incoming = self.next()?;
            if incoming.answers == serial {
                return Ok(incoming);
            }
        }
    }

    /// Sends a call and waits for its answer.
    pub fn call(&mut self, call: &Call) -> io::Result<Incoming> {
        let serial = self.send(call)?;
        self.answer(serial)
    }
}

/// The number of the call that a message answers, from its header fields.
fn answers(fields: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(field(fields, 5)?.try_into().ok()?))
}

/// A number that stands somewhere in a message's head.
pub fn number(head: &[u8], at: usize) -> usize {
    u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize
}

/// The value of a header field, by its code: the bytes of a number, or of a text.
pub fn field(fields: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut at = 0_usize;
    while at < fields.len() {
        at = at.next_multiple_of(8);
        let (code, kind) = (*fields.get(at)?, *fields.get(at + 2)?);
        at += 4;
        let length = match kind {
            b'u' => 4,
            b'g' => usize::from(*fields.get(at)?) + 2,
            _ => {
                at = at.next_multiple_of(4) + 4;
                number(fields.get(at - 4..at)?, 0) + 1
            }
        };
        if code == wanted {
            let end = if kind == b'u' { at + length } else { at + length - 1 };
            return fields.get(at..end);
        }
        at += length;
    }
    None
}
