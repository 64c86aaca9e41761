//! One connection, from its first byte to its end or its upgrade.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    sync::watch,
    time::{Instant, timeout_at},
};

use super::{
    answer::Service,
    exchange::Exchange,
    head::{self, HEAD_BYTES},
    pause::Pause,
    stream::Stream,
};
use crate::{
    limits::admission::Slot,
    net::socket::Socket,
    push::embedded::upgrade::{Io, Upgraded},
};

/// The deadlines of a connection.
#[derive(Clone, Copy)]
struct Deadlines {
    /// From the connect, or from the first byte of a later request, to the end of its head. If that byte arrives while the
    /// connection still has its buffers, the time counts from the end of the previous answer.
    head: Duration,
    /// From the end of an answer to the first byte of the next request.
    idle: Duration,
    /// The same for a stranger's connection while its address is more than half full. No connection is looked at more often.
    crowded: Duration,
    /// From the last request with a session until the connection counts for its address again.
    held: Duration,
    /// For the peer to read any bytes of what is written.
    write: Duration,
    /// From the end of an answer until the connection frees its buffers, if it may keep them. Freeing them at once would
    /// cost each kept-alive request about 8,000 instructions more. This deadline is shorter than the others.
    rest: Duration,
}

const DEADLINES: Deadlines = Deadlines {
    head: Duration::from_secs(10),
    idle: Duration::from_secs(75),
    crowded: Duration::from_secs(5),
    held: Duration::from_secs(30),
    write: Duration::from_secs(30),
    rest: Duration::from_secs(1),
};

pub struct Connection {
    pub service: Service,
    pub slot: Arc<Slot>,
    /// Whether the connection is closed after one answer.
    pub is_reserve: bool,
    pub stopping: watch::Receiver<bool>,
}

impl Connection {
    pub async fn serve(self, socket: Socket) {
        self.run(socket, Instant::now(), DEADLINES).await;
    }

    /// Serves requests until the connection ends. An idle connection holds only its stream: buffers are allocated when the
    /// next head is complete.
    async fn run(mut self, mut stream: impl Io + 'static, accepted: Instant, deadlines: Deadlines) {
        let (mut head, mut whole_by) = (Vec::new(), accepted + deadlines.head);
        loop {
            let came = tokio::select! {
                biased;
                () = self.ended() => return,
                came = timeout_at(whole_by, head::read_whole(&mut stream, &mut head)) => came,
            };
            if !matches!(came, Ok(Ok(true))) {
                return;
            }
            // Boxed, so that an idle connection holds no memory for it.
            let rest = Box::pin(self.exchange(stream, head.into(), deadlines)).await;
            let Some((back, unread, ended)) = rest else { return };
            (stream, head, whole_by) = (back, unread, ended + deadlines.head);
            if head.is_empty() {
                if !self.is_asked_again(&mut stream, &mut head, ended, deadlines).await {
                    return;
                }
                whole_by = Instant::now() + deadlines.head;
            }
        }
    }

    /// Waits for the first bytes of the next request. `false` if the connection has to end without one.
    async fn is_asked_again(&mut self, stream: &mut impl Io, head: &mut Vec<u8>, ended: Instant, deadlines: Deadlines) -> bool {
        let mut next_look = ended + deadlines.crowded;
        loop {
            let until = next_look.min(ended + deadlines.idle);
            let came = tokio::select! {
                biased;
                () = self.ended() => return false,
                came = timeout_at(until, head::read(stream, head)) => came,
            };
            if let Ok(read) = came {
                return matches!(read, Ok(1..));
            }
            self.slot.give_back(until.into_std(), deadlines.held);
            if until == ended + deadlines.idle || self.slot.is_crowded() {
                return false;
            }
            next_look += deadlines.crowded;
        }
    }

    /// Ready when the server stops, or when the connection has to close for a newcomer.
    async fn ended(&mut self) {
        tokio::select! {
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
            () = self.slot.closed() => {}
        }
    }

    /// Answers requests until none has arrived for a while and all answers are sent. Returns the stream, what was read of
    /// the next head, and when the last answer ended; `None` if the connection has ended or was upgraded.
    async fn exchange<S: Io + 'static>(&mut self, stream: S, before: Bytes, within: Deadlines) -> Option<(S, Vec<u8>, Instant)> {
        let exchange = Exchange::new(self.slot.clone(), within.held);
        let service = service_fn(|req| Box::pin(self.service.answer(req, &exchange)));
        let stream = Stream::new(stream, before, within.write, exchange.clone());
        let mut connection = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .keep_alive(!self.is_reserve)
            .serve_connection(TokioIo::new(stream), service);
        // hyper may be done with an answer that is not sent yet.
        let has_left = |done: &Poll<_>| !matches!(done, Poll::Ready(Ok(()))) || !exchange.is_stalled();
        let (mut rests, mut pause) = (false, Pause::new(within.rest, &self.slot));
        let done = poll_fn(|cx| {
            let done = connection.poll_without_shutdown(cx);
            if !has_left(&done) {
                return Poll::Pending;
            }
            if done.is_ready() || !exchange.is_over() {
                pause.end();
                return done;
            }
            ready!(pause.poll(cx, exchange.has_new_answer()));
            // The pause began in an earlier poll. The request's body was dropped before that, so hyper has skipped the rest of
            // the body, or closes the connection. Unskipped bytes of a body must never be parsed as a request.
            Pin::new(&mut connection).graceful_shutdown(); // with no request in flight this ends at once
            let done = connection.poll_without_shutdown(cx);
            rests = done.is_ready();
            done
        });
        let done = tokio::select! {
            biased;
            done = done => Some(done),
            _ = self.stopping.wait_for(|stopping| *stopping) => None,
            () = self.slot.closed() => return None,
        };
        let done = match done {
            Some(done) => done,
            None => {
                Pin::new(&mut connection).graceful_shutdown(); // requests in flight are answered
                let mut done = |cx: &mut Context<'_>| Some(connection.poll_without_shutdown(cx)).filter(has_left);
                poll_fn(|cx| done(cx).unwrap_or(Poll::Pending)).await
            }
        };
        let parts = connection.into_parts();
        let (mut stream, mut unread) = (parts.io.into_inner(), parts.read_buf.to_vec());
        unread.extend_from_slice(&stream.before);
        let upgrade = exchange.upgrade.lock().expect("nothing panics while it holds this").take();
        match upgrade {
            _ if done.is_err() => _ = stream.shutdown().await,
            Some(upgrade) => {
                let stream = Box::new(stream.inner);
                upgrade.hand_over(Upgraded { stream, before: unread.into(), slot: self.slot.clone() });
            }
            None if rests => return Some((stream.inner, unread, pause.began)),
            None => _ = stream.shutdown().await,
        }
        None
    }
}

#[cfg(test)]
mod tests;
