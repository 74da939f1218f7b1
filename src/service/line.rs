//! The service's connection to its bus, with the door in it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream as StdStream};
use std::sync::Arc;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    Shutdown,
};
use tokio::io::Interest;
use tokio::net::UnixStream;
use zbus::Message;
use zbus::address::transport::{Transport, UnixSocket};
use zbus::connection::Builder;
use zbus::connection::socket::{ReadHalf, Split, WriteHalf};
use zbus::export::async_trait::async_trait;

use super::Bus;
use super::door::Door;

/// Most file descriptors of one message: what the kernel passes at once.
const DESCRIPTORS: usize = 253;
/// Length of what every message begins with.
const HEAD: usize = 16;
/// Up to here a message is read at once; of a larger call the header is looked at first.
const SMALL: usize = 64 * 1024;
/// The type of a method call.
const CALL: u8 = 1;

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
        let read = Box::new(Entrance { read: Read(stream.clone()), door }) as Box<dyn ReadHalf>;
        let write = Box::new(Write(stream)) as Box<dyn WriteHalf>;
        Ok(Builder::socket(Split::new(read, write)))
    }
}

/// What comes in, through the door.
#[derive(Debug)]
struct Entrance {
    read: Read,
    door: Door,
}

/// What comes in.
#[derive(Debug)]
struct Read(Arc<UnixStream>);

/// What goes out.
#[derive(Debug)]
struct Write(Arc<UnixStream>);

/// What the head of a message says about its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lengths {
    call: bool,
    /// Of head and fields, padded.
    header: usize,
    body: usize,
}

impl Lengths {
    /// None where there is no head yet. What is no head at all is told by whoever parses it.
    fn of(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let field: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            let number = if bytes.first() == Some(&b'B') { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) };
            usize::try_from(number).ok()
        };
        let header = number(12)?.checked_add(HEAD)?.checked_next_multiple_of(8)?;
        Some(Self { call: bytes.get(1) == Some(&CALL), header, body: number(4)? })
    }
}

impl Entrance {
    /// Reads until there are so many bytes.
    async fn fill(&mut self, bytes: &mut Vec<u8>, fds: &mut Vec<OwnedFd>, wanted: usize) -> io::Result<()> {
        let mut have = bytes.len();
        bytes.resize(have.max(wanted), 0);
        while have < wanted {
            let Some(room) = bytes.get_mut(have..wanted) else { break };
            let (count, passed) = self.read.recvmsg(room).await?;
            have += count;
            fds.extend(passed);
        }
        Ok(())
    }

    /// Throws so many bytes away, and what is passed along with them.
    async fn skip(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        let here = wanted.min(bytes.len());
        bytes.drain(..here);
        let mut left = wanted - here;
        let mut scratch = vec![0; left.min(SMALL)];
        while left > 0 {
            let Some(room) = scratch.get_mut(..left.min(SMALL)) else { break };
            left -= self.read.recvmsg(room).await?.0;
        }
        Ok(())
    }

    /// Looks at the header of a large call; whether the call was turned away, unread.
    async fn turned_away(
        &mut self,
        seq: u64,
        bytes: &mut Vec<u8>,
        fds: &mut Vec<OwnedFd>,
        lengths: Lengths,
    ) -> zbus::Result<bool> {
        if lengths.header > SMALL {
            // No name is that long, and whose it is may stand behind it.
            self.skip(bytes, lengths.header.saturating_add(lengths.body)).await?;
            fds.clear();
            tracing::warn!(bytes = lengths.header, "a call was dropped for the length of its header");
            return Ok(true);
        }
        self.fill(bytes, fds, lengths.header).await?;
        let mut alone = bytes.get(..lengths.header).unwrap_or_default().to_vec();
        if let Some(body) = alone.get_mut(4..8) {
            body.fill(0);
        }
        let header = self.read.receive_message(seq, &mut alone, &mut Vec::new()).await?;
        let Some(why) = self.door.refuses(&header, lengths.header.saturating_add(lengths.body)) else {
            return Ok(false);
        };
        self.skip(bytes, lengths.header.saturating_add(lengths.body)).await?;
        fds.clear();
        self.door.turn_away(header, why).await;
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
        loop {
            self.fill(bytes, fds, HEAD).await?;
            let lengths = Lengths::of(bytes).ok_or(zbus::Error::ExcessData)?;
            let large = lengths.call && lengths.header.saturating_add(lengths.body) > SMALL;
            if large && self.turned_away(seq, bytes, fds, lengths).await? {
                continue;
            }
            let message = self.read.receive_message(seq, bytes, fds).await?;
            let refusal = if large { None } else { self.door.refuses(&message, message.data().len()) };
            match refusal {
                Some(why) => self.door.turn_away(message, why).await,
                None => return Ok(message),
            }
        }
    }

    async fn recvmsg(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        self.read.recvmsg(buffer).await
    }

    fn can_pass_unix_fd(&self) -> bool {
        true
    }
}

#[async_trait]
impl ReadHalf for Read {
    async fn recvmsg(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        let stream = &self.0;
        stream.async_io(Interest::READABLE, || receive(stream.as_fd(), &mut *buffer)).await
    }

    fn can_pass_unix_fd(&self) -> bool {
        true
    }
}

#[async_trait]
impl WriteHalf for Write {
    async fn sendmsg(&mut self, buffer: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
        let stream = &self.0;
        stream.async_io(Interest::WRITABLE, || send(stream.as_fd(), buffer, fds)).await
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(rustix::net::shutdown(self.0.as_fd(), Shutdown::Both)?)
    }

    fn can_pass_unix_fd(&self) -> bool {
        true
    }
}

fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut passed = RecvAncillaryBuffer::new(&mut space);
    let read = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut passed, RecvFlags::CMSG_CLOEXEC)?;
    if read.bytes == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the bus closed the connection"));
    }
    let rights = passed.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok((read.bytes, rights.flatten().collect()))
}

fn send(socket: BorrowedFd<'_>, buffer: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !passed.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "these are more file descriptors than can be passed"));
    }
    // A bus that has gone is an error here and no signal.
    Ok(rustix::net::sendmsg(socket, &[IoSlice::new(buffer)], &mut passed, SendFlags::NOSIGNAL)?)
}
