//! The service's connection to its bus, with the door in it.
//!
//! What comes in is read in large pieces, and of a call that does not come in no more than its header is looked at: a
//! flood has to be read faster than a bus can pass it on, because everybody's calls stand in the same queue.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream as StdStream};
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::time::sleep_until;
use zbus::Message;
use zbus::address::transport::{Transport, UnixSocket};
use zbus::connection::Builder;
use zbus::connection::socket::{ReadHalf, Split, WriteHalf};
use zbus::export::async_trait::async_trait;

use super::Bus;
use super::door::{Door, Ruling};
use super::head::{HEAD, Head, Lengths};
use super::later::Later;
use super::wire::{Read, Write};

/// Bytes that are read at once; no header is longer.
const PIECE: usize = 64 * 1024;

impl Bus {
    /// Starts the connection of a service: what comes in comes through its door.
    ///
    /// # Errors
    /// What the system says when the bus cannot be reached.
    pub(super) fn guarded(&self, door: Door) -> zbus::Result<Builder<'static>> {
        let address = match self {
            Self::System => zbus::Address::system()?,
            Self::Session => zbus::Address::session()?,
            Self::Address(address) => address.parse()?,
        };
        let socket = match address.transport() {
            Transport::Unix(unix) => match unix.path() {
                UnixSocket::File(path) => SocketAddr::from_pathname(path)?,
                UnixSocket::Abstract(name) => SocketAddr::from_abstract_name(name.as_bytes())?,
                _ => return Err(zbus::Error::Unsupported),
            },
            _ => return Err(zbus::Error::Unsupported),
        };
        let stream = StdStream::connect_addr(&socket)?;
        stream.set_nonblocking(true)?;
        let stream = Arc::new(UnixStream::from_std(stream)?);
        let read = Box::new(Entrance::new(Read(stream.clone()), door)) as Box<dyn ReadHalf>;
        let write = Box::new(Write(stream)) as Box<dyn WriteHalf>;
        Ok(Builder::socket(Split::new(read, write)))
    }
}

/// What comes in, through the door.
#[derive(Debug)]
struct Entrance {
    read: Read,
    door: Door,
    /// What was read and not yet looked at stands between `from` and `to`.
    piece: Vec<u8>,
    from: usize,
    to: usize,
    /// What was passed along with it, in the order of the messages.
    passed: VecDeque<OwnedFd>,
    /// What comes in later.
    later: Later,
}

impl Entrance {
    fn new(read: Read, door: Door) -> Self {
        Self { read, door, piece: vec![0; PIECE], from: 0, to: 0, passed: VecDeque::new(), later: Later::default() }
    }

    fn here(&self) -> &[u8] {
        self.piece.get(self.from..self.to).unwrap_or_default()
    }

    /// Reads until there are so many bytes, which must fit into a piece.
    async fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.from + wanted > self.piece.len() {
            self.piece.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        while self.to - self.from < wanted {
            let room = self.piece.get_mut(self.to..).unwrap_or_default();
            let (count, passed) = self.read.recvmsg(room).await?;
            self.to += count;
            self.passed.extend(passed);
        }
        Ok(())
    }

    /// Takes so many bytes of what is here, or all of it.
    fn take(&mut self, most: usize) -> Vec<u8> {
        let taken = self.here().get(..most).unwrap_or(self.here()).to_vec();
        self.from += taken.len();
        taken
    }

    /// Throws so many bytes away, here and to come.
    async fn skip(&mut self, mut left: usize) -> io::Result<()> {
        loop {
            let here = left.min(self.to - self.from);
            (self.from, left) = (self.from + here, left - here);
            if left == 0 {
                return Ok(());
            }
            self.fill(1).await?;
        }
    }

    /// Takes over what the handshake read too much of.
    fn resume(&mut self, bytes: &mut Vec<u8>, fds: &mut Vec<OwnedFd>) {
        let end = self.to + bytes.len();
        if end > self.piece.len() {
            self.piece.resize(end, 0);
        }
        if let Some(room) = self.piece.get_mut(self.to..end) {
            room.copy_from_slice(bytes);
            self.to = end;
        }
        bytes.clear();
        self.passed.extend(fds.drain(..));
    }

    /// Waits for the head of the next message; false where one that was held is due before.
    async fn head(&mut self) -> io::Result<bool> {
        let Some(at) = self.later.next() else { return self.fill(HEAD).await.map(|()| true) };
        // Reading may be broken off wherever it waits: what was read stands in the piece.
        tokio::select! {
            filled = self.fill(HEAD) => filled.map(|()| true),
            () = sleep_until(at.into()) => Ok(false),
        }
    }

    /// Looks at the header of the call that is next; whether it does not come in, or not yet.
    async fn kept_out(&mut self, seq: u64, lengths: Lengths) -> zbus::Result<bool> {
        if lengths.header > PIECE {
            // No name is that long, and whose it is may stand behind it.
            tracing::warn!(bytes = lengths.header, "a call was dropped for the length of its header");
            self.passed.clear();
            self.skip(lengths.whole()).await?;
            return Ok(true);
        }
        self.fill(lengths.header).await?;
        let head = Head::read(self.here().get(..lengths.header).unwrap_or_default());
        let turned = match self.door.rules(&head, lengths.whole()) {
            Ruling::In => return Ok(false),
            Ruling::Later(turned) if head.passed == 0 && self.later.takes(lengths.whole()) => {
                self.fill(lengths.whole()).await?;
                let message = self.take(lengths.whole());
                self.later.hold(message, turned.early);
                return Ok(true);
            }
            Ruling::Later(turned) | Ruling::Away(turned) => turned,
        };
        let (answered, counted, passed) = (head.answered, head.counted, head.passed.min(self.passed.len()));
        self.passed.drain(..passed);
        if !answered {
            self.skip(lengths.whole()).await?;
            return Ok(true);
        }
        // An answer needs the header alone.
        let mut header = self.take(lengths.header);
        if let Some(body) = header.get_mut(4..8) {
            body.fill(0);
        }
        // What was passed along is closed already; a header that speaks of it would end the connection.
        if let Some(count) = counted.and_then(|at| header.get_mut(at..at + 4)) {
            count.fill(0);
        }
        let message = self.read.receive_message(seq, &mut header, &mut Vec::new()).await?;
        self.skip(lengths.body).await?;
        self.door.turn_away(message, turned).await;
        Ok(true)
    }
}

#[async_trait]
impl ReadHalf for Entrance {
    async fn receive_message(
        &mut self,
        seq: u64,
        bytes: &mut Vec<u8>,
        fds: &mut Vec<OwnedFd>,
    ) -> zbus::Result<Message> {
        self.resume(bytes, fds);
        loop {
            if let Some(mut message) = self.later.due() {
                return self.read.receive_message(seq, &mut message, &mut Vec::new()).await;
            }
            if !self.head().await? {
                continue;
            }
            let lengths = Lengths::of(self.here()).ok_or(zbus::Error::ExcessData)?;
            if lengths.call && self.kept_out(seq, lengths).await? {
                continue;
            }
            self.fill(lengths.header.min(PIECE)).await?;
            let passed = Head::read(self.here().get(..lengths.header).unwrap_or_default()).passed;
            let passed = if passed > self.passed.len() { 0 } else { passed };
            let mut passed: Vec<OwnedFd> = self.passed.drain(..passed).collect();
            let mut here = self.take(lengths.whole());
            return self.read.receive_message(seq, &mut here, &mut passed).await;
        }
    }

    async fn recvmsg(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        self.read.recvmsg(buffer).await
    }

    fn can_pass_unix_fd(&self) -> bool {
        true
    }
}
