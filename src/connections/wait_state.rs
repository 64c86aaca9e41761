//! What a connection waits for, as its service and its stream report it.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{limits::admission::Slot, push::embedded::upgrade::Upgrade};

/// What a connection waits for.
#[derive(Clone, Copy)]
pub enum Phase {
    /// The end of a request's head, since the connect or the first bytes after an answer.
    Head(Instant),
    /// The rest of a request, or that its answer is read.
    Request,
    /// The server, which makes the answer.
    Answer,
    /// The next request, since the last answer has left.
    Idle(Instant),
}

/// The exchange of requests and answers on one connection.
pub struct Exchange {
    pub slot: Arc<Slot>,
    /// How long the connection counts for a user after a request with a session.
    held: Duration,
    state: Mutex<State>,
    pub upgrade: Mutex<Option<Upgrade>>,
}

struct State {
    phase: Phase,
    /// Whether something written waits for the peer to read.
    is_stalled: bool,
    /// Whether the last request was answered before all of it had come.
    is_answered_early: bool,
}

impl Exchange {
    pub fn new(slot: Arc<Slot>, accepted: Instant, held: Duration) -> Arc<Exchange> {
        let state = Mutex::new(State { phase: Phase::Head(accepted), is_stalled: false, is_answered_early: false });
        Arc::new(Exchange { slot, held, state, upgrade: Mutex::default() })
    }

    pub fn phase(&self) -> Phase {
        let state = self.state.lock();
        if state.is_stalled { Phase::Request } else { state.phase }
    }

    pub fn is_stalled(&self) -> bool {
        self.state.lock().is_stalled
    }

    /// Whether the last request was answered before all of it had come, as an upload is that is refused.
    pub fn is_answered_early(&self) -> bool {
        self.state.lock().is_answered_early
    }

    /// Notes that bytes have arrived.
    pub fn note_bytes_received(&self) {
        let mut state = self.state.lock();
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Head(Instant::now());
        }
    }

    /// Notes that a request has begun, and whether it is whole without a body.
    pub fn begin(&self, is_whole: bool) {
        self.change(|state| state.phase = if is_whole { Phase::Answer } else { Phase::Request });
    }

    fn end_body(&self) {
        self.change(|state| {
            if let Phase::Request = state.phase {
                state.phase = Phase::Answer;
            }
        });
    }

    fn end(&self) {
        let now = Instant::now();
        self.change(|state| {
            state.is_answered_early = matches!(state.phase, Phase::Request);
            state.phase = Phase::Idle(now);
        });
        self.slot.note_request_end(now.into_std(), self.held);
    }

    /// Notes whether something written waits for the peer. Idle time begins when all is read.
    pub fn set_stalled(&self, is_stalled: bool) {
        if self.is_stalled() != is_stalled {
            self.change(|state| {
                state.is_stalled = is_stalled;
                if let Phase::Idle(since) = &mut state.phase {
                    *since = Instant::now();
                }
            });
        }
    }

    /// Changes the state, and tells the slot whether the server is busy: it is not while it waits for the peer.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        self.slot.set_busy(matches!(state.phase, Phase::Answer) && !state.is_stalled);
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
            self.exchange.end_body();
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
