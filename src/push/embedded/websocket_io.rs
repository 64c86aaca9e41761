//! The bytes of a WebSocket: read from the socket, and written into the outbox, so that frames of the WebSocket library and
//! frames that other threads send never mix.

use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::outbox::Outbox;
use crate::{limits::admission::Slot, net::client_socket::Socket, push::embedded::upgrade::Upgraded};

pub struct Wire {
    socket: Arc<Socket>,
    /// The bytes that were read before the upgrade.
    before: Bytes,
    outbox: Arc<Outbox>,
    /// Bytes that may still be read.
    allowed: usize,
    _slot: Arc<Slot>,
}

impl Wire {
    /// None for a stream that is no client's socket.
    pub fn new(upgraded: Upgraded) -> Option<(Wire, Arc<Outbox>)> {
        let socket: Arc<Socket> = Arc::new(*upgraded.stream.into_any().downcast().ok()?);
        let outbox = Outbox::new(Some(socket.clone()));
        Some((Wire { socket, before: upgraded.before, outbox: outbox.clone(), allowed: 0, _slot: upgraded.slot }, outbox))
    }

    /// Sets how many bytes may be read until the next call. Reading more fails with [`ErrorKind::QuotaExceeded`].
    pub fn set_read_quota(&mut self, bytes: usize) {
        self.allowed = bytes;
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.allowed == 0 {
            return Poll::Ready(Err(ErrorKind::QuotaExceeded.into()));
        }
        let filled = buf.filled().len();
        if self.before.is_empty() {
            ready!(self.socket.poll_read_shared(cx, buf))?;
        } else {
            let length = self.before.len().min(buf.remaining());
            buf.put_slice(&self.before[..length]);
            self.before.advance(length);
        }
        self.allowed = self.allowed.saturating_sub(buf.filled().len() - filled);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.outbox.push_control(Bytes::copy_from_slice(bytes));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.outbox.final_byte_count() {
            Some(end) => self.outbox.poll_sent(cx, end),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
