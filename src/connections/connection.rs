//! One connection, from its first byte to its end or its upgrade.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    sync::{OwnedSemaphorePermit, watch},
    time::{Instant, sleep, sleep_until, timeout_at},
};

use super::{
    answer::Service,
    exchange_stream::Stream,
    wait_state::{Exchange, Phase},
};
use crate::{
    limits::{admission::Slot, turns::Turns},
    net::client_socket::Socket,
    push::embedded::upgrade::{Io, Upgraded},
};

/// The answer to a connection that is turned away: there is no slot for it, or it is closed for a newcomer before its first request.
pub(super) const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// Most bytes of a request's head. The longest heads are those of listeners, whose addresses hold a token for each channel.
/// A client with more than some 40 channels sends its tokens in the first message of a WebSocket.
const HEAD_BYTES: usize = 16 << 10;

/// How long a connection is read on whose last request was answered early.
const LINGER: Duration = Duration::from_secs(2);
const DRAINED_AT_ONCE: usize = 16 << 10;

/// The deadlines of a connection.
#[derive(Clone, Copy)]
struct Deadlines {
    /// From the connect, or from the first byte after an answer, to the end of a request's head.
    head: Duration,
    /// From the end of an answer to the first byte of the next request.
    idle: Duration,
    /// The same for a stranger's connection while its address is more than half full. It may take twice as long, because no
    /// connection is looked at more often.
    crowded: Duration,
    /// From the last request with a session until the connection counts for its address again.
    held: Duration,
    /// For the peer to read any bytes of what is written.
    write: Duration,
}

const DEADLINES: Deadlines = Deadlines {
    head: Duration::from_secs(10),
    idle: Duration::from_secs(75),
    crowded: Duration::from_secs(5),
    held: Duration::from_secs(30),
    write: Duration::from_secs(30),
};

pub struct Connection {
    pub service: Service,
    pub slot: Arc<Slot>,
    /// Whether the connection is closed after one answer.
    pub is_reserve: bool,
    pub stopping: watch::Receiver<bool>,
    /// For the first requests of all connections.
    pub turns: Arc<Turns>,
}

impl Connection {
    /// Serves a connection until its end. It holds its permit to begin until its first bytes are read, if they are there already: a
    /// client that says nothing keeps no other from beginning.
    pub async fn serve(mut self, socket: Socket, start: Option<OwnedSemaphorePermit>) {
        let accepted = Instant::now();
        let start = start.filter(|_| socket.is_readable());
        // Many connect and say nothing: they hold no buffers.
        let readable = tokio::select! {
            readable = timeout_at(accepted + DEADLINES.head, socket.readable()) => readable,
            () = self.slot.asked_to_close() => {
                _ = socket.end_with(REFUSAL);
                return;
            }
            _ = self.stopping.wait_for(|stopping| *stopping) => return,
        };
        if matches!(readable, Ok(Ok(()))) {
            let turns = self.turns.clone();
            turns.begin(Box::pin(self.run(socket, accepted, DEADLINES)), start).await;
        }
    }

    /// Answers requests until the connection ends or is upgraded.
    async fn run(mut self, stream: impl Io + 'static, accepted: Instant, deadlines: Deadlines) {
        let exchange = Exchange::new(self.slot.clone(), accepted, deadlines.held);
        let service = service_fn(|req| Box::pin(self.service.answer(req, &exchange)));
        let mut connection = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .keep_alive(!self.is_reserve)
            .serve_connection(TokioIo::new(Stream::new(stream, deadlines.write, exchange.clone())), service);
        let (mut is_stopping, mut next_look) = (false, deadlines.next_look(&exchange, accepted));
        let done = loop {
            let Some(look) = next_look else { return };
            if is_stopping {
                Pin::new(&mut connection).graceful_shutdown(); // the request in flight is answered
            }
            // hyper may be done with an answer that is not sent yet.
            let done = poll_fn(|cx| match connection.poll_without_shutdown(cx) {
                Poll::Ready(Ok(())) if exchange.is_stalled() => Poll::Pending,
                done => done,
            });
            tokio::select! {
                biased;
                done = done => break done,
                () = self.slot.asked_to_close() => {
                    if matches!(exchange.phase(), Phase::Head(_)) {
                        let mut stream = connection.into_parts().io.into_inner().inner;
                        _ = stream.write(REFUSAL).now_or_never();
                    }
                    return;
                }
                _ = self.stopping.wait_for(|stopping| *stopping), if !is_stopping => {
                    if matches!(exchange.phase(), Phase::Head(_) | Phase::Idle(_)) {
                        return;
                    }
                    is_stopping = true;
                }
                () = sleep_until(look) => next_look = deadlines.next_look(&exchange, Instant::now()),
            }
        };
        let parts = connection.into_parts();
        let mut stream = parts.io.into_inner().inner;
        let upgrade = exchange.upgrade.lock().take();
        match upgrade {
            Some(upgrade) if done.is_ok() => {
                // A copy, because these bytes, if only none, would keep the buffer that the request was read into.
                let before = Bytes::copy_from_slice(&parts.read_buf);
                upgrade.hand_over(Upgraded { stream: Box::new(stream), before, slot: self.slot });
            }
            _ => {
                _ = stream.shutdown().await;
                if exchange.is_answered_early() {
                    tokio::select! {
                        () = drain(&mut stream) => {}
                        () = self.slot.asked_to_close() => {}
                        _ = self.stopping.wait_for(|stopping| *stopping) => {}
                        () = sleep(LINGER) => {}
                    }
                }
            }
        }
    }
}

/// Reads what the client still sends of a request that was answered early. Closed at once, the connection would be reset, and many
/// clients would lose the answer with it.
async fn drain(stream: &mut (impl AsyncRead + Unpin)) {
    let mut dropped = vec![0; DRAINED_AT_ONCE];
    while stream.read(&mut dropped).await.is_ok_and(|read| read > 0) {}
}

impl Deadlines {
    /// When the connection has to be looked at next; `None` if it has to end now. The looks are as frequent as the shortest
    /// deadline, so that requests need not set a timer when they begin and end.
    fn next_look(&self, exchange: &Exchange, now: Instant) -> Option<Instant> {
        let until = match exchange.phase() {
            Phase::Request | Phase::Answer => now + self.idle,
            Phase::Head(since) => since + self.head,
            Phase::Idle(since) => {
                exchange.slot.recount_as_stranger(now.into_std(), self.held);
                let may_end = now >= since + self.crowded && exchange.slot.is_crowding_stranger();
                if may_end { now } else { since + self.idle }
            }
        };
        let soon = now + self.crowded.min(self.head).min(self.idle);
        (until > now).then_some(until.min(soon))
    }
}

#[cfg(test)]
mod tests;
