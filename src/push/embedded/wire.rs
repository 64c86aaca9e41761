//! The bytes of a WebSocket: read from the socket, and written into the outbox, so that frames of the WebSocket library and
//! frames that other threads send never mix.

use std::{
    any::Any,
    io::{self, ErrorKind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::outbox::Outbox;
use crate::upgrade::Upgraded;

pub struct Wire {
    socket: Arc<TcpStream>,
    /// What was read before the upgrade.
    before: Bytes,
    outbox: Arc<Outbox>,
    _held: Box<dyn Any + Send>,
}

impl Wire {
    /// None for a stream that is no TCP socket.
    pub fn new(upgraded: Upgraded) -> Option<(Wire, Arc<Outbox>)> {
        let socket: Arc<TcpStream> = Arc::new(*upgraded.stream.into_any().downcast().ok()?);
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
        loop {
            ready!(self.socket.poll_read_ready(cx))?;
            match self.socket.try_read_buf(buf) {
                Err(err) if err.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
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
