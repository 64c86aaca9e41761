//! The bytes of a WebSocket: read from the socket, and written into the outbox, so that frames of the WebSocket library and
//! frames that other threads send never mix.

use std::{
    any::Any,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::outbox::Outbox;
use crate::{socket::Socket, upgrade::Upgraded};

pub struct Wire {
    socket: Arc<Socket>,
    /// What was read before the upgrade.
    before: Bytes,
    outbox: Arc<Outbox>,
    _held: Box<dyn Any + Send>,
}

impl Wire {
    /// None for a stream that is no client's socket.
    pub fn new(upgraded: Upgraded) -> Option<(Wire, Arc<Outbox>)> {
        let socket: Arc<Socket> = Arc::new(*upgraded.stream.into_any().downcast().ok()?);
        let outbox = Outbox::new(Some(socket.clone()));
        Some((Wire { socket, before: upgraded.before, outbox: outbox.clone(), _held: upgraded.held }, outbox))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.before.is_empty() {
            let length = self.before.len().min(buf.remaining());
            buf.put_slice(&self.before[..length]);
            self.before.advance(length);
            return Poll::Ready(Ok(()));
        }
        self.socket.poll_read_shared(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.outbox.push_last(Bytes::copy_from_slice(bytes));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.outbox.end() {
            Some(end) => self.outbox.poll_sent(cx, end),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
