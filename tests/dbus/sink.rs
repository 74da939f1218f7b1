//! A service that does next to nothing: what a hostile client costs the others beside it, it costs them on any bus.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use super::super::support::wire::{Call, Line, field, number, pad, signature, string};

/// The name of the service.
pub(super) const SINK: &str = "org.obligato.Sink";
/// Bytes that are read at once, as many as the guard reads.
const PIECE: usize = 64 * 1024;
/// Header fields: the member that is called, and who calls.
const MEMBER: u8 = 3;
const SENDER: u8 = 7;

/// Serves at a bus until that goes: takes everything in, looks at its header, and answers `OpenSession` alone.
pub(super) fn serve(address: &str) {
    let mut line = Line::connect(address).unwrap();
    let mut name = Call::new("/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName").texts(&[SINK]);
    name.destination = "org.freedesktop.DBus".to_owned();
    name.signature.push('u');
    pad(&mut name.body, 4);
    name.body.extend(0_u32.to_le_bytes());
    assert!(line.call(&name).unwrap().is_return());
    let stream = line.into_stream();
    thread::spawn(move || {
        let mut out = stream.try_clone().unwrap();
        let mut read = BufReader::with_capacity(PIECE, stream);
        // The bus goes at the end.
        while one(&mut read, &mut out).is_ok() {}
    });
}

fn one(read: &mut BufReader<UnixStream>, out: &mut UnixStream) -> io::Result<()> {
    let mut head = [0; 16];
    read.read_exact(&mut head)?;
    let mut fields = vec![0; number(&head, 12).next_multiple_of(8)];
    read.read_exact(&mut fields)?;
    io::copy(&mut read.take(number(&head, 4) as u64), &mut io::sink())?;
    if field(&fields, MEMBER) == Some(b"OpenSession") {
        out.write_all(&opened(number(&head, 8) as u32, field(&fields, SENDER).unwrap()))?;
    }
    Ok(())
}

/// The answer to a call, with a path in it.
fn opened(call: u32, caller: &[u8]) -> Vec<u8> {
    let (mut fields, mut body) = (Vec::new(), Vec::new());
    string(&mut body, "/org/obligato/Sink/session/1");
    for (code, kind) in [(5, "u"), (6, "s"), (8, "g")] {
        pad(&mut fields, 8);
        fields.push(code);
        signature(&mut fields, kind);
        match kind {
            "u" => fields.extend(call.to_le_bytes()),
            "s" => string(&mut fields, std::str::from_utf8(caller).unwrap()),
            _ => signature(&mut fields, "o"),
        }
    }
    // Little-endian, a return that wants no answer, protocol 1; all of them may have the same number.
    let mut message = vec![b'l', 2, 1, 1];
    for number in [body.len() as u32, 1, fields.len() as u32] {
        message.extend(number.to_le_bytes());
    }
    message.extend(fields);
    pad(&mut message, 8);
    message.extend(body);
    message
}
