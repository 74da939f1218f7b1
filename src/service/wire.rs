//! The socket to the bus: bytes, and the file descriptors that are passed along with them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    Shutdown,
};
use tokio::io::Interest;
use tokio::net::UnixStream;
use zbus::Message;
use zbus::connection::socket::{ReadHalf, WriteHalf};
use zbus::export::async_trait::async_trait;

use super::fit;

/// Most file descriptors of one message: what the kernel passes at once.
const DESCRIPTORS: usize = 253;

/// What comes in.
#[derive(Debug)]
pub(super) struct Read(pub(super) Arc<UnixStream>);

/// What goes out.
#[derive(Debug)]
pub(super) struct Write(pub(super) Arc<UnixStream>);

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
    /// Sends a message whole, or not at all where the bus would throw us out for it: who waits for an answer is told
    /// that there is none.
    async fn send_message(&mut self, message: &Message) -> zbus::Result<()> {
        let data = message.data();
        if data.len() > fit::MESSAGE {
            let (bytes, most) = (data.len(), fit::MESSAGE);
            tracing::error!(bytes, most, "a message is too large for the bus and is not sent");
            return Err(zbus::Error::Failure(format!("the answer takes {bytes} bytes, and {most} are sent at most")));
        }
        let mut from = 0;
        while let Some(rest) = data.bytes().get(from..).filter(|rest| !rest.is_empty()) {
            let passed: Vec<BorrowedFd<'_>> = match from {
                0 => data.fds().iter().map(AsFd::as_fd).collect(),
                _ => Vec::new(),
            };
            from += self.sendmsg(rest, &passed).await?;
        }
        Ok(())
    }

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
