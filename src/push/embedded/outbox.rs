//! The send queue of a client: frames in the bytes of its transport, in order and bounded. Enqueueing never waits: an
//! outbox that exceeds its bound ends its connection as slow.
//!
//! The thread that has queued frames also sends them, as far as the client's socket takes them at once, because waking a task
//! for each frame costs more than sending it. The rest, and all frames of a transport without a socket of its own, is the
//! task's.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, IoSlice},
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::sync::Notify;

use super::codes::Disconnect;
use crate::net::client_socket::Socket;

/// Most unsent bytes of a connection; one more frame may exceed them.
pub const MOST_BYTES: usize = 1 << 20;
/// The first byte of a pong (RFC 6455, section 5.2).
const PONG: u8 = 0x8a;
/// Frames that are sent together.
const TOGETHER: usize = 32;
/// An empty queue of more frames gives its memory back.
const KEPT: usize = 4;

pub struct Outbox {
    queue: Mutex<Queue>,
    socket: Option<Arc<Socket>>,
    /// Notified when the task has to send frames, or the connection has to end.
    pub wake: Notify,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Bytes>,
    /// Bytes of the frames, and of publications that subscriptions hold back.
    bytes: usize,
    /// Bytes that were sent.
    sent: u64,
    /// Whether a part of the first frame is sent.
    is_begun: bool,
    /// Whether the socket took no more, until the task has sent something.
    is_blocked: bool,
    /// Whether frames were queued since the last flush.
    is_touched: bool,
    disconnect: Option<Disconnect>,
}

impl Outbox {
    /// Without a socket, a task sends the frames.
    pub fn new(socket: Option<Arc<Socket>>) -> Arc<Outbox> {
        Arc::new(Outbox { queue: Mutex::default(), socket, wake: Notify::new() })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("nothing panics while it holds a queue")
    }

    /// Queues a frame, unless the connection has to end. Returns whether it is the first one since the last flush: then the
    /// caller has to flush.
    pub fn push(&self, frame: Bytes) -> bool {
        let mut queue = self.queue();
        if self.count(&mut queue, frame.len()) {
            queue.frames.push_back(frame);
        }
        !std::mem::replace(&mut queue.is_touched, true)
    }

    /// Queues several frames as one: many frames that the client requested at once don't mean that it reads slowly.
    pub fn push_all(&self, frames: Vec<Bytes>) {
        let mut queue = self.queue();
        if self.count(&mut queue, frames.iter().map(Bytes::len).sum()) {
            queue.frames.extend(frames);
        }
    }

    /// Queues bytes of the transport itself, even if the connection has to end. A pong takes the place of one that waits: the
    /// latest tells a client as much (RFC 6455, section 5.5.3), and a client that reads nothing gathers no more.
    pub fn push_control(&self, bytes: Bytes) {
        let mut queue = self.queue();
        let begun = usize::from(queue.is_begun);
        let waiting = queue.frames.iter_mut().skip(begun).find(|frame| bytes[0] == PONG && frame[0] == PONG);
        if let Some(waiting) = waiting {
            let former = std::mem::replace(waiting, bytes.clone());
            queue.bytes = queue.bytes + bytes.len() - former.len();
            return;
        }
        self.count(&mut queue, bytes.len());
        queue.frames.push_back(bytes);
    }

    /// Counts bytes that are held back for the client. Returns whether the connection goes on.
    pub fn count_held_bytes(&self, bytes: usize) -> bool {
        self.count(&mut self.queue(), bytes)
    }

    /// Takes back what [`Outbox::count_held_bytes`] has counted.
    pub fn uncount_held_bytes(&self, bytes: usize) {
        let mut queue = self.queue();
        queue.bytes = queue.bytes.saturating_sub(bytes);
    }

    /// Counts bytes. If the bound was exceeded before them, the frames are dropped and the connection ends. A single large
    /// frame doesn't mean that the client reads slowly.
    fn count(&self, queue: &mut Queue, bytes: usize) -> bool {
        let waiting = queue.bytes;
        queue.bytes += bytes;
        if waiting > MOST_BYTES && queue.disconnect.is_none() {
            queue.frames.truncate(usize::from(queue.is_begun));
            queue.disconnect = Some(Disconnect::SLOW);
            self.wake.notify_one();
        }
        queue.disconnect.is_none()
    }

    /// Sends what the socket takes at once. The task gets the rest.
    pub fn flush(&self) {
        let mut queue = self.queue();
        queue.is_touched = false;
        let Some(socket) = &self.socket else { return self.wake.notify_one() };
        if queue.is_blocked || queue.send(socket).is_err() {
            queue.is_blocked = true;
            self.wake.notify_one();
        }
    }

    /// For the task: ready once the first `until` bytes of all are sent.
    pub fn poll_sent(&self, cx: &mut Context<'_>, until: u64) -> Poll<io::Result<()>> {
        let Some(socket) = &self.socket else { return Poll::Ready(Ok(())) };
        loop {
            {
                let mut queue = self.queue();
                queue.is_touched = false;
                let sent = queue.send(socket);
                queue.is_blocked = sent.is_err();
                match sent {
                    Err(err) if err.kind() != ErrorKind::WouldBlock => return Poll::Ready(Err(err)),
                    // Without frames, what TLS has encrypted has to be sent.
                    Err(_) if queue.sent < until || queue.frames.is_empty() => {}
                    // More has to be sent, for which the task is woken again.
                    Err(_) => {
                        self.wake.notify_one();
                        return Poll::Ready(Ok(()));
                    }
                    Ok(()) => return Poll::Ready(Ok(())),
                }
            }
            ready!(socket.poll_write_ready(cx))?;
        }
    }

    /// Bytes that were and will be sent; none left to be sent if `None`.
    pub fn final_byte_count(&self) -> Option<u64> {
        let queue = self.queue();
        let left: usize = queue.frames.iter().map(Bytes::len).sum();
        (left > 0 || queue.is_blocked).then_some(queue.sent + left as u64)
    }

    /// Takes all queued frames, and the reason to end the connection after them, if there is one.
    pub fn take(&self) -> (VecDeque<Bytes>, Option<Disconnect>) {
        let mut queue = self.queue();
        (queue.bytes, queue.is_touched) = (0, false);
        (std::mem::take(&mut queue.frames), queue.disconnect.clone())
    }

    pub fn bytes(&self) -> usize {
        self.queue().bytes
    }

    /// Ends the connection. Queued frames are still sent first, unless the connection is slow.
    pub fn disconnect(&self, why: Disconnect) {
        self.queue().disconnect.get_or_insert(why);
        self.wake.notify_one();
    }

    /// Why the connection has to end, if it has.
    pub fn why(&self) -> Option<Disconnect> {
        self.queue().disconnect.clone()
    }

    /// Waits until the bound is exceeded.
    pub async fn wait_for_overflow(&self) {
        while self.why() != Some(Disconnect::SLOW) {
            self.wake.notified().await;
        }
    }
}

impl Queue {
    fn send(&mut self, socket: &Socket) -> io::Result<()> {
        while !self.frames.is_empty() {
            let mut slices = [IoSlice::new(&[]); TOGETHER];
            let together = self.frames.len().min(TOGETHER);
            slices.iter_mut().zip(&self.frames).for_each(|(slice, frame)| *slice = IoSlice::new(frame));
            let sent = socket.try_write_vectored(&slices[..together])?;
            self.advance(sent);
        }
        if self.frames.capacity() > KEPT {
            self.frames = VecDeque::new();
        }
        socket.try_flush()
    }

    /// Removes bytes that were sent.
    fn advance(&mut self, mut sent: usize) {
        self.sent += sent as u64;
        self.bytes = self.bytes.saturating_sub(sent);
        while let Some(first) = self.frames.front_mut() {
            if sent < first.len() {
                self.is_begun |= sent > 0;
                return first.advance(sent);
            }
            sent -= first.len();
            self.is_begun = false;
            self.frames.pop_front();
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::future::poll_fn;

    use tokio::{
        io::{AsyncRead, AsyncReadExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;
    use crate::net::client_socket::{self, Plain};

    /// An outbox, and the client's side of its socket.
    pub async fn pair() -> (Arc<Outbox>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let socket = Socket::new(Plain::Tcp(listener.accept().await.unwrap().0), None).unwrap();
        (Outbox::new(Some(Arc::new(socket))), client)
    }

    #[tokio::test]
    async fn frames_are_sent_by_who_queues_them_and_the_rest_by_the_task() {
        let (outbox, client) = pair().await;
        sends(outbox, client).await;
        let (socket, client) = client_socket::tests::connected().await;
        sends(Outbox::new(Some(Arc::new(socket))), client).await;
    }

    async fn sends(outbox: Arc<Outbox>, mut client: impl AsyncRead + Unpin + Send + 'static) {
        assert!(outbox.push(Bytes::from_static(b"a")) && !outbox.push(Bytes::from_static(b"b")));
        outbox.flush();
        assert_eq!(outbox.final_byte_count(), None);
        let mut read = [0; 2];
        client.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"ab");

        // More than the buffers of both sides take: a frame is sent in part, and frames that follow it come after it.
        let large = Bytes::from(vec![b'x'; 64 << 20]);
        outbox.push(large.clone());
        outbox.flush();
        outbox.wake.notified().await;
        outbox.push_control(Bytes::from_static(b"end"));
        outbox.flush();
        let end = outbox.final_byte_count().unwrap();
        let reading = tokio::spawn(async move {
            let mut all = vec![0; large.len() + 3];
            client.read_exact(&mut all).await.unwrap();
            all
        });
        poll_fn(|cx| outbox.poll_sent(cx, end)).await.unwrap();
        let all = reading.await.unwrap();
        assert!(all.ends_with(b"xend") && all.iter().filter(|byte| **byte == b'x').count() == 64 << 20);
        assert_eq!((outbox.final_byte_count(), outbox.bytes()), (None, 0));
    }

    #[tokio::test]
    async fn an_outbox_past_its_bound_keeps_only_a_frame_that_is_sent_in_part() {
        let (outbox, _client) = pair().await;
        outbox.push(Bytes::from(vec![b'x'; 64 << 20]));
        outbox.flush();
        assert_eq!(outbox.why(), None, "one large frame is no sign of a slow client");
        assert!(outbox.bytes() > MOST_BYTES);
        outbox.push(Bytes::from_static(b"more"));
        outbox.wait_for_overflow().await;
        outbox.push(Bytes::from_static(b"dropped"));
        outbox.push_control(Bytes::from_static(b"bye"));
        let (frames, why) = outbox.take();
        assert_eq!((frames.len(), why), (2, Some(Disconnect::SLOW)));
        assert!(frames[0].len() > MOST_BYTES && frames[1] == "bye");
    }

    #[tokio::test]
    async fn one_pong_waits_for_a_client_that_reads_nothing() {
        let (outbox, _client) = pair().await;
        outbox.push(Bytes::from(vec![b'x'; 64 << 20]));
        outbox.flush();
        let sent = outbox.bytes();
        for n in 0..100 {
            outbox.push_control(Bytes::from(vec![PONG, 1, n]));
        }
        assert_eq!(outbox.bytes() - sent, 3);
        outbox.push_control(Bytes::from_static(b"bye"));
        let (frames, _) = outbox.take();
        assert_eq!(frames.iter().skip(1).collect::<Vec<_>>(), [[PONG, 1, 99].as_slice(), b"bye"]);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_an_error() {
        let (outbox, client) = pair().await;
        drop(client);
        let gone = loop {
            outbox.push_control(Bytes::from_static(b"x"));
            let end = outbox.final_byte_count().unwrap();
            if let Err(err) = poll_fn(|cx| outbox.poll_sent(cx, end)).await {
                break err;
            }
        };
        assert!(matches!(gone.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{gone}");
        outbox.flush();
    }
}
