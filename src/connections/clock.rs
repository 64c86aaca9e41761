//! How long a connection may keep us waiting. The stream and the service note what happens; [`Clock::overdue`] ends it.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, sleep_until},
};

/// How long each may take.
#[derive(Clone, Copy)]
pub struct Deadlines {
    /// From the first byte of a request, or from the connect, to the end of its head.
    pub head: Duration,
    /// From the end of an answer to the first byte of the next request.
    pub idle: Duration,
    /// For the peer to take anything of what is written.
    pub write: Duration,
}

pub const DEADLINES: Deadlines =
    Deadlines { head: Duration::from_secs(10), idle: Duration::from_secs(75), write: Duration::from_secs(30) };

/// The state of one connection. Only its own task looks at it.
pub struct Clock {
    deadlines: Deadlines,
    state: Mutex<State>,
}

struct State {
    awaited: Awaited,
    /// When what is awaited must be there; nothing is awaited while we work.
    until: Instant,
    /// When the peer must have taken something, while it takes nothing.
    stalled_until: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The rest of a request's head.
    Head,
    /// Another request.
    Request,
    /// Nothing: a request is being answered, or the connection was upgraded.
    Nothing,
}

impl Clock {
    pub fn new(accepted: Instant, deadlines: Deadlines) -> Arc<Clock> {
        let until = accepted + deadlines.head;
        let state = State { awaited: Awaited::Head, until, stalled_until: None };
        Arc::new(Clock { deadlines, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this")
    }

    /// A request's head has arrived.
    pub fn requested(&self) {
        self.state().awaited = Awaited::Nothing;
    }

    /// The answer is written, or on its way to the socket.
    pub fn answered(&self) {
        let mut state = self.state();
        (state.awaited, state.until) = (Awaited::Request, Instant::now() + self.deadlines.idle);
    }

    fn read(&self) {
        let mut state = self.state();
        if state.awaited == Awaited::Request {
            (state.awaited, state.until) = (Awaited::Head, Instant::now() + self.deadlines.head);
        }
    }

    fn wrote(&self) {
        let mut state = self.state();
        state.stalled_until = None;
        if state.awaited == Awaited::Request {
            state.until = Instant::now() + self.deadlines.idle; // a long answer is still leaving
        }
    }

    fn stalled(&self) {
        let mut state = self.state();
        state.stalled_until.get_or_insert_with(|| Instant::now() + self.deadlines.write);
    }

    fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let awaited = (state.awaited != Awaited::Nothing).then_some(state.until);
        awaited.into_iter().chain(state.stalled_until).min()
    }

    /// Ready once a deadline has passed. Must be polled in the connection's own task, after the connection: whatever
    /// moves a deadline has woken that task.
    pub async fn overdue(&self) {
        let mut sleep = Box::pin(sleep_until(Instant::now() + self.deadlines.head));
        std::future::poll_fn(|cx| {
            loop {
                let Some(deadline) = self.deadline() else { return Poll::Pending };
                // A deadline that moved away is looked at again when the old one comes: most never come.
                if deadline < sleep.deadline() {
                    sleep.as_mut().reset(deadline);
                }
                ready!(sleep.as_mut().poll(cx));
                if deadline <= Instant::now() {
                    return Poll::Ready(());
                }
                sleep.as_mut().reset(deadline);
            }
        })
        .await;
    }
}

/// A stream that tells the clock what its peer does, and keeps `held` until it is closed, after an upgrade, too.
pub struct Timed<S, T> {
    pub stream: S,
    pub clock: Arc<Clock>,
    #[expect(dead_code, reason = "it is held, not looked at")]
    pub held: T,
}

impl<S: AsyncRead + Unpin, T: Unpin> AsyncRead for Timed<S, T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.clock.read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin, T: Unpin> Timed<S, T> {
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.clock.stalled(),
            Poll::Ready(_) => self.clock.wrote(),
        }
        written
    }
}

impl<S: AsyncWrite + Unpin, T: Unpin> AsyncWrite for Timed<S, T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note(written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
