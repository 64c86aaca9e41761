//! The state of the requests in flight on a connection, which its service and its stream report.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};

use crate::{limits::admission::Slot, push::embedded::upgrade::Upgrade};

/// The state of the requests in flight on a connection. Only the connection's task changes it.
pub struct Exchange {
    pub slot: Arc<Slot>,
    /// How long the connection counts for a user after a request with a session.
    held: Duration,
    /// Whether the request's body has arrived.
    is_whole: AtomicBool,
    is_answered: AtomicBool,
    has_new_answer: AtomicBool,
    is_stalled: AtomicBool,
    pub upgrade: Mutex<Option<Upgrade>>,
}

impl Exchange {
    pub fn new(slot: Arc<Slot>, held: Duration) -> Arc<Exchange> {
        Arc::new(Exchange {
            slot,
            held,
            is_whole: AtomicBool::default(),
            is_answered: AtomicBool::default(),
            has_new_answer: AtomicBool::default(),
            is_stalled: AtomicBool::default(),
            upgrade: Mutex::default(),
        })
    }

    /// Notes that a request has begun, and whether it is whole without a body.
    pub fn begin(&self, is_whole: bool) {
        self.is_answered.store(false, Relaxed);
        self.is_whole.store(is_whole, Relaxed);
        self.report();
    }

    fn end(&self) {
        self.is_answered.store(true, Relaxed);
        self.has_new_answer.store(true, Relaxed);
        self.report();
        self.slot.end_request(Instant::now(), self.held);
    }

    /// Notes whether something written waits for the peer.
    pub fn set_stalled(&self, is_stalled: bool) {
        if self.is_stalled.swap(is_stalled, Relaxed) != is_stalled {
            self.report();
        }
    }

    /// The server is busy if it doesn't wait for the peer: to send the rest of a body, to read an answer, or to make another
    /// request.
    fn report(&self) {
        let is_answered = self.is_answered.load(Relaxed);
        self.slot.set_busy(self.is_whole.load(Relaxed) && !is_answered && !self.is_stalled());
    }

    /// Whether an answer has ended since the last call. A request may begin and end between two calls of
    /// [`Exchange::is_over`].
    pub fn has_new_answer(&self) -> bool {
        self.has_new_answer.swap(false, Relaxed)
    }

    /// Whether all requests are answered and no bytes of the answers wait for the peer.
    pub fn is_over(&self) -> bool {
        self.is_answered.load(Relaxed) && !self.is_stalled()
    }

    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Relaxed)
    }
}

/// The body of a request, which tells its exchange when it has arrived.
pub struct Arriving {
    pub body: BoxBody<Bytes, io::Error>,
    pub exchange: Arc<Exchange>,
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.exchange.is_whole.store(true, Relaxed);
            self.exchange.report();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer. Dropping it marks its request as answered.
pub struct Answer {
    pub body: BoxBody<Bytes, io::Error>,
    pub exchange: Arc<Exchange>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.exchange.end();
    }
}
