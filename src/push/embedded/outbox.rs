//! The send queue of a client: frames in the bytes of its transport, in order and bounded. Enqueueing never waits: an
//! outbox that exceeds its bound ends its connection as slow.
//!
//! The thread that has queued frames also sends them, as far as the client's socket takes them at once, because waking a task
//! for each frame costs more than sending it. The rest, and all frames of a transport without a socket of its own, is the
//! task's.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, IoSlice},
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::{
    codes::Disconnect,
    encoding::is_continuation,
    unsent::{Account, Holder, STEP},
};
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
    /// The budget that it takes from, once the client has connected.
    account: OnceLock<Account>,
    /// Notified when the task has to send frames, or the connection has to end.
    pub wake: Notify,
}

/// A frame that waits, and the memory that it costs: a part of its length if other connections wait for it, too.
struct Waiting {
    frame: Bytes,
    cost: usize,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Waiting>,
    /// What all frames cost.
    cost: usize,
    /// The part of it that the account knows of.
    reported: usize,
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
    /// Whether frames were dropped in the middle of a message.
    is_cut_short: bool,
    disconnect: Option<Disconnect>,
}

impl Outbox {
    /// Without a socket, a task sends the frames.
    pub fn new(socket: Option<Arc<Socket>>) -> Arc<Outbox> {
        Arc::new(Outbox { queue: Mutex::default(), socket, account: OnceLock::new(), wake: Notify::new() })
    }

    /// Takes from this budget from now on.
    pub fn charge(&self, account: Account) {
        _ = self.account.set(account); // a client connects once
    }

    /// Whether its user has much unread, here or elsewhere.
    pub fn is_user_slow(&self) -> bool {
        self.account.get().is_some_and(Account::is_past_half)
    }

    /// Queues a frame, unless the connection has to end. Returns whether it is the first one since the last flush: then the
    /// caller has to flush.
    pub fn push(&self, frame: Bytes) -> bool {
        let cost = frame.len();
        self.push_shared(frame, cost)
    }

    /// [`Outbox::push`] of a frame that costs less memory than its length, because other connections have it, too.
    pub fn push_shared(&self, frame: Bytes, cost: usize) -> bool {
        let mut queue = self.queue.lock();
        if self.count(&mut queue, frame.len()) {
            queue.add(frame, cost);
        }
        !std::mem::replace(&mut queue.is_touched, true)
    }

    /// Queues several frames as one: many frames that the client requested at once don't mean that it reads slowly.
    pub fn push_all(&self, frames: Vec<Bytes>) {
        let mut queue = self.queue.lock();
        if self.count(&mut queue, frames.iter().map(Bytes::len).sum()) {
            for frame in frames {
                let cost = frame.len();
                queue.add(frame, cost);
            }
        }
    }

    /// Queues bytes of the transport itself, even if the connection has to end. A pong takes the place of one that waits: the
    /// latest tells a client as much (RFC 6455, section 5.5.3), and a client that reads nothing gathers no more.
    pub fn push_control(&self, bytes: Bytes) {
        let mut queue = self.queue.lock();
        let begun = usize::from(queue.is_begun);
        let waiting = queue.frames.iter_mut().skip(begun).find(|waiting| bytes[0] == PONG && waiting.frame[0] == PONG);
        if let Some(waiting) = waiting {
            let former = std::mem::replace(&mut waiting.frame, bytes.clone());
            queue.bytes = queue.bytes + bytes.len() - former.len();
            return;
        }
        self.count(&mut queue, bytes.len());
        let cost = bytes.len();
        queue.add(bytes, cost);
    }

    /// Counts bytes that are held back for the client. Returns whether the connection goes on.
    pub fn count_held_bytes(&self, bytes: usize) -> bool {
        self.count(&mut self.queue.lock(), bytes)
    }

    /// Takes back what [`Outbox::count_held_bytes`] has counted.
    pub fn uncount_held_bytes(&self, bytes: usize) {
        let mut queue = self.queue.lock();
        queue.bytes = queue.bytes.saturating_sub(bytes);
    }

    /// Counts bytes. If the bound was exceeded before them, the frames are dropped and the connection ends. A single large
    /// frame doesn't mean that the client reads slowly.
    fn count(&self, queue: &mut Queue, bytes: usize) -> bool {
        let waiting = queue.bytes;
        queue.bytes += bytes;
        if waiting > MOST_BYTES && queue.disconnect.is_none() {
            queue.drop_unsent();
            queue.disconnect = Some(Disconnect::SLOW);
            self.wake.notify_one();
        }
        queue.disconnect.is_none()
    }

    /// Whether frames were dropped in the middle of a message, which only a close of the connection may follow.
    pub fn is_cut_short(&self) -> bool {
        self.queue.lock().is_cut_short
    }

    /// Reports what waits since the socket took no more, and cuts who holds the most if that is too much.
    fn report(&self, mut queue: MutexGuard<'_, Queue>) {
        let change = queue.cost as i64 - queue.reported as i64;
        let is_due = change.unsigned_abs() >= STEP as u64 || (queue.cost == 0 && change < 0);
        let Some(account) = self.account.get().filter(|_| is_due) else { return };
        queue.reported = queue.cost;
        drop(queue);
        if let Some(largest) = account.report(change) {
            largest.cut();
        }
    }

    /// Sends what the socket takes at once. The task gets the rest.
    pub fn flush(&self) {
        let mut queue = self.queue.lock();
        queue.is_touched = false;
        if let Some(socket) = &self.socket
            && !queue.is_blocked
        {
            queue.is_blocked = queue.send(socket).is_err();
        }
        if self.socket.is_none() || queue.is_blocked {
            self.wake.notify_one();
        }
        self.report(queue);
    }

    /// For the task: ready once the first `until` bytes of all are sent.
    pub fn poll_sent(&self, cx: &mut Context<'_>, until: u64) -> Poll<io::Result<()>> {
        let Some(socket) = &self.socket else { return Poll::Ready(Ok(())) };
        loop {
            let mut queue = self.queue.lock();
            queue.is_touched = false;
            let sent = queue.send(socket);
            queue.is_blocked = sent.is_err();
            let done = match sent {
                Err(err) if err.kind() != ErrorKind::WouldBlock => Poll::Ready(Err(err)),
                // Without frames, what TLS has encrypted has to be sent.
                Err(_) if queue.sent < until || queue.frames.is_empty() => Poll::Pending,
                // More has to be sent, for which the task is woken again.
                Err(_) => {
                    self.wake.notify_one();
                    Poll::Ready(Ok(()))
                }
                Ok(()) => Poll::Ready(Ok(())),
            };
            self.report(queue);
            if done.is_ready() {
                return done;
            }
            ready!(socket.poll_write_ready(cx))?;
        }
    }

    /// Bytes that were and will be sent; none left to be sent if `None`.
    pub fn final_byte_count(&self) -> Option<u64> {
        let queue = self.queue.lock();
        let left: usize = queue.frames.iter().map(|waiting| waiting.frame.len()).sum();
        (left > 0 || queue.is_blocked).then_some(queue.sent + left as u64)
    }

    /// For a transport without a socket: the first frame, which waits until [`Outbox::remove_first`].
    pub fn first(&self) -> Option<Bytes> {
        self.queue.lock().frames.front().map(|waiting| waiting.frame.clone())
    }

    pub fn remove_first(&self) {
        let mut queue = self.queue.lock();
        if let Some(Waiting { frame, cost }) = queue.frames.pop_front() {
            queue.bytes = queue.bytes.saturating_sub(frame.len());
            queue.cost -= cost;
        }
        self.report(queue);
    }

    /// Takes all queued frames, and the reason to end the connection after them, if there is one.
    #[cfg(test)]
    pub fn take(&self) -> (Vec<Bytes>, Option<Disconnect>) {
        let mut queue = self.queue.lock();
        (queue.bytes, queue.cost, queue.is_touched) = (0, 0, false);
        let disconnect = queue.disconnect.clone();
        (std::mem::take(&mut queue.frames).into_iter().map(|waiting| waiting.frame).collect(), disconnect)
    }

    pub fn bytes(&self) -> usize {
        self.queue.lock().bytes
    }

    /// Ends the connection. Queued frames are still sent first, unless the connection is slow.
    pub fn disconnect(&self, why: Disconnect) {
        self.queue.lock().disconnect.get_or_insert(why);
        self.wake.notify_one();
    }

    /// Why the connection has to end, if it has.
    pub fn why(&self) -> Option<Disconnect> {
        self.queue.lock().disconnect.clone()
    }

    /// Waits until the bound is exceeded.
    pub async fn wait_for_overflow(&self) {
        while self.why() != Some(Disconnect::SLOW) {
            self.wake.notified().await;
        }
    }
}

impl Holder for Outbox {
    /// But for a frame that is sent in part: its rest, and a close, may follow.
    fn cut(&self) {
        let mut queue = self.queue.lock();
        queue.drop_unsent();
        queue.disconnect.get_or_insert(Disconnect::SLOW);
        self.wake.notify_one();
        self.report(queue);
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        let reported = self.queue.get_mut().reported;
        if let Some(account) = self.account.get().filter(|_| reported > 0) {
            account.report(-(reported as i64));
        }
    }
}

impl Queue {
    fn add(&mut self, frame: Bytes, cost: usize) {
        self.cost += cost;
        self.frames.push_back(Waiting { frame, cost });
    }

    /// Drops the frames of which nothing is sent.
    fn drop_unsent(&mut self) {
        for (n, Waiting { frame, cost }) in self.frames.drain(usize::from(self.is_begun)..).enumerate() {
            self.is_cut_short |= n == 0 && is_continuation(&frame);
            self.bytes = self.bytes.saturating_sub(frame.len());
            self.cost -= cost;
        }
    }

    fn send(&mut self, socket: &Socket) -> io::Result<()> {
        while !self.frames.is_empty() {
            let mut slices = [IoSlice::new(&[]); TOGETHER];
            let together = self.frames.len().min(TOGETHER);
            slices.iter_mut().zip(&self.frames).for_each(|(slice, waiting)| *slice = IoSlice::new(&waiting.frame));
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
            if sent < first.frame.len() {
                self.is_begun |= sent > 0;
                return first.frame.advance(sent);
            }
            sent -= first.frame.len();
            self.cost -= first.cost;
            self.is_begun = false;
            self.frames.pop_front();
        }
    }
}

#[cfg(test)]
pub mod tests;
