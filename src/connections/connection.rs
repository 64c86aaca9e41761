//! One connection, from its first byte to its end or its upgrade.

use std::{
    future::poll_fn,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use super::{
    answer::{Door, Exchange, answer},
    head::{self, HEAD_BYTES},
    places::Place,
    stream::Stream,
};
use crate::upgrade::Io;

/// How long a connection may keep us waiting.
#[derive(Clone, Copy)]
struct Deadlines {
    /// From the connect, or from the first byte of a later request, to the end of its head.
    head: Duration,
    /// From the end of an answer to the first byte of the next request.
    idle: Duration,
    /// For the peer to take anything of what is written.
    write: Duration,
}

const DEADLINES: Deadlines =
    Deadlines { head: Duration::from_secs(10), idle: Duration::from_secs(75), write: Duration::from_secs(30) };

pub struct Connection {
    pub peer: SocketAddr,
    pub place: Arc<Place>,
    pub door: Door,
    /// Whether it has one answer and no more.
    pub is_reserve: bool,
    pub stopping: watch::Receiver<bool>,
}

impl Connection {
    pub async fn serve(self, stream: TcpStream) {
        self.run(stream, Instant::now(), DEADLINES).await;
    }

    /// Between two requests there is nothing but the stream: a connection has buffers only while a whole request is there.
    async fn run(mut self, mut stream: impl Io + 'static, accepted: Instant, deadlines: Deadlines) {
        let (mut head, mut whole_by) = (Vec::new(), accepted + deadlines.head);
        loop {
            let came = tokio::select! {
                biased;
                _ = self.stopping.wait_for(|stopping| *stopping) => return,
                came = timeout_at(whole_by, head::read_whole(&mut stream, &mut head)) => came,
            };
            if !matches!(came, Ok(Ok(true))) {
                return;
            }
            // Boxed, so that an idle connection has no room for it.
            let Some(rest) = Box::pin(self.exchange(stream, head.into(), deadlines.write)).await else { return };
            (stream, head) = rest;
            if head.is_empty() {
                let came = tokio::select! {
                    biased;
                    _ = self.stopping.wait_for(|stopping| *stopping) => return,
                    came = timeout(deadlines.idle, head::read(&mut stream, &mut head)) => came,
                };
                if !matches!(came, Ok(Ok(1..))) {
                    return;
                }
            }
            whole_by = Instant::now() + deadlines.head;
        }
    }

    /// Answers requests until none is left and all answers have left, too. Gives the stream back, with what else was read;
    /// `None` when the connection has ended or was handed over.
    async fn exchange<S: Io + 'static>(&mut self, stream: S, before: Bytes, write_within: Duration) -> Option<(S, Vec<u8>)> {
        let exchange = Arc::new(Exchange::default());
        let service = service_fn(|req| {
            exchange.is_answered.store(false, Ordering::Relaxed);
            Box::pin(answer(req, self.peer, &self.door, &self.place, &exchange))
        });
        let stream = Stream::new(stream, before, write_within, exchange.is_stalled.clone(), self.place.clone());
        let mut connection = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .keep_alive(!self.is_reserve)
            .serve_connection(TokioIo::new(stream), service);
        // hyper may be done with an answer that has not left yet.
        let has_left = |done: &Poll<_>| !matches!(done, Poll::Ready(Ok(()))) || !exchange.is_stalled();
        let mut rests = false;
        let done = poll_fn(|cx| {
            // With the answer the request's body is dropped, too: at the second look hyper skips what is left of it, or
            // closes. What it has not skipped must never be taken for a request.
            for _ in 0..2 {
                let done = connection.poll_without_shutdown(cx);
                if !has_left(&done) {
                    return Poll::Pending;
                }
                if done.is_ready() || !exchange.is_over() {
                    return done;
                }
            }
            Pin::new(&mut connection).graceful_shutdown(); // it ends at once where nothing is under way
            let done = connection.poll_without_shutdown(cx);
            rests = done.is_ready();
            done
        });
        let done = tokio::select! {
            biased;
            done = done => Some(done),
            _ = self.stopping.wait_for(|stopping| *stopping) => None,
        };
        let done = match done {
            Some(done) => done,
            None => {
                Pin::new(&mut connection).graceful_shutdown(); // what is asked already is answered
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
                stream.before = unread.into();
                upgrade.hand_over(Box::new(stream));
            }
            None if rests => return Some((stream.inner, unread)),
            None => _ = stream.shutdown().await,
        }
        None
    }
}

#[cfg(test)]
mod tests;
