//! The body of a form, which its reader gets in sips.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use poem::Body;
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of a form besides its files: its boundaries, and the headers of its parts.
pub const AROUND: usize = 16 << 10;
/// Bytes that the reader gets before it must look at them.
const SIP: usize = 16 << 10;

/// Bytes that the reader of a form has got, and that it has not given as bytes of a file.
#[derive(Clone, Default)]
pub struct Unread(Arc<AtomicUsize>);

impl Unread {
    /// So many bytes of a file were given.
    pub fn given(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
    }

    /// Whether more than [`AROUND`] belong to no file. What the reader has of one, and has not given yet, is two sips at the most.
    pub fn is_too_much(&self) -> bool {
        self.0.load(Relaxed) > AROUND + 2 * SIP
    }
}

/// A body whose reader holds few bytes: it looks through all that it holds each time that more comes, and takes all that there is.
pub struct Sips {
    body: Pin<Box<dyn AsyncRead + Send>>,
    /// Bytes since it last looked.
    sip: usize,
    unread: Unread,
}

impl Sips {
    pub fn of(body: Body, unread: Unread) -> Sips {
        Sips { body: Box::pin(body.into_async_read()), sip: 0, unread }
    }
}

impl AsyncRead for Sips {
    /// Fails once there is too much besides files.
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.sip >= SIP {
            self.sip = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.unread.is_too_much() {
            return Poll::Ready(Err(io::Error::other("too much besides files")));
        }
        let before = buffer.filled().len();
        ready!(self.body.as_mut().poll_read(cx, buffer))?;
        let read = buffer.filled().len() - before;
        self.sip += read;
        self.unread.0.fetch_add(read, Relaxed);
        Poll::Ready(Ok(()))
    }
}
