//! The stream of a connection while requests are exchanged on it.

use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A stream that first yields the bytes that were read earlier. A write fails if the peer reads nothing for too long.
pub struct Stream<S, T> {
    pub inner: S,
    pub before: Bytes,
    write_within: Duration,
    stall: Option<Pin<Box<Sleep>>>,
    is_stalled: Arc<AtomicBool>,
    #[expect(dead_code, reason = "held until the stream is closed")]
    held: T,
}

impl<S, T> Stream<S, T> {
    /// `is_stalled` tells whether something written waits for the peer.
    pub fn new(inner: S, before: Bytes, write_within: Duration, is_stalled: Arc<AtomicBool>, held: T) -> Stream<S, T> {
        Stream { inner, before, write_within, stall: None, is_stalled, held }
    }
}

impl<S: AsyncRead + Unpin, T: Unpin> AsyncRead for Stream<S, T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let length = self.before.len().min(buf.remaining());
        buf.put_slice(&self.before[..length]);
        self.before.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, T: Unpin> Stream<S, T> {
    fn watch<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        self.is_stalled.store(written.is_pending(), Ordering::Relaxed);
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let within = self.write_within;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(within)));
        stall.as_mut().poll(cx).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin, T: Unpin> AsyncWrite for Stream<S, T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
