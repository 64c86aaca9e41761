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

/// Bytes that the reader may still get until it finds the next part.
#[derive(Clone)]
pub struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    pub fn new() -> Allowance {
        Allowance(Arc::new(AtomicUsize::new(usize::MAX)))
    }

    /// It looks for the next part, and gets [`AROUND`] with what it takes of the part's own bytes on the way.
    pub fn limit(&self) {
        self.0.store(AROUND + 2 * SIP, Relaxed);
    }

    /// It has found one, whose bytes it gives as they come.
    pub fn lift(&self) {
        self.0.store(usize::MAX, Relaxed);
    }

    pub fn is_used_up(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

/// A body whose reader holds few bytes: it looks through all that it holds each time that more comes, and takes all that there is.
pub struct Sips {
    body: Pin<Box<dyn AsyncRead + Send>>,
    /// Bytes since it last looked.
    sip: usize,
    allowance: Allowance,
}

impl Sips {
    pub fn of(body: Body, allowance: Allowance) -> Sips {
        Sips { body: Box::pin(body.into_async_read()), sip: 0, allowance }
    }
}

impl AsyncRead for Sips {
    /// Fails once the allowance is used up.
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.sip >= SIP {
            self.sip = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.allowance.is_used_up() {
            return Poll::Ready(Err(io::Error::other("too much besides files")));
        }
        let before = buffer.filled().len();
        ready!(self.body.as_mut().poll_read(cx, buffer))?;
        let read = buffer.filled().len() - before;
        self.sip += read;
        let left = self.allowance.0.load(Relaxed);
        self.allowance.0.store(left.saturating_sub(read), Relaxed); // nobody else counts while it is polled
        Poll::Ready(Ok(()))
    }
}
