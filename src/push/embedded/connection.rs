//! A connection of a client after its `connect`: its subscriptions, and its bounded queue of frames. Enqueueing never waits:
//! a connection whose queue exceeds its bound is closed as slow.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

use super::{
    codes::Disconnect,
    encoding::{Encoding, Shared},
    protocol::replies::{ClientInfo, Reply},
};
use crate::id::{SessionId, UserId};

/// Most unsent bytes of a connection; one more frame may exceed them.
pub const QUEUE_BYTES: usize = 1 << 20;
pub const SUBSCRIPTIONS: usize = 128;

pub struct Connection {
    pub client: Uuid,
    pub user: UserId,
    pub session: SessionId,
    /// The last segment of the path that the client connected to.
    pub transport: &'static str,
    pub encoding: Encoding,
    /// When the connection's token expires, in Unix seconds.
    expires_at: AtomicI64,
    queue: Mutex<Queue>,
    /// Notified when a frame is queued or the connection has to end.
    pub wake: Notify,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Message>,
    bytes: usize,
    subscriptions: HashMap<String, Subscription>,
    /// The generation of the subscription that was begun last.
    generation: u64,
    disconnect: Option<Disconnect>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The `connect` is not answered yet.
    #[default]
    Coming,
    Here,
    /// The hub has removed the connection. No subscription may begin, because nothing would end it.
    Gone,
}

struct Subscription {
    generation: u64,
    state: State,
    terms: Terms,
    /// Whether the join was announced to other subscribers.
    announced: bool,
}

enum State {
    /// After joining the hub and before the reply: publications are buffered, so that the reply is sent first.
    Buffering(Vec<(i64, Message)>),
    /// After the reply, which contains the publications up to this seq.
    Live { after: i64 },
}

/// The options of a subscription.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Whether the client gets joins and leaves.
    pub watches: bool,
    /// When the subscription's token expires, in Unix seconds; `None` if the server began the subscription without one.
    pub expires_at: Option<i64>,
    /// Whether the server began the subscription, and not a `subscribe` of the client.
    pub is_server_side: bool,
}

/// Identifies a subscription that still buffers publications. The generation tells it from a later subscription to the same
/// channel.
#[derive(Clone, Debug)]
pub struct Begun {
    pub channel: String,
    generation: u64,
}

/// The state of a subscription when it ended.
pub struct Over {
    pub watched: bool,
    pub announced: bool,
}

/// Why a subscription was refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    Already,
    Limit,
    /// The connection has ended.
    Gone,
}

impl Connection {
    pub fn new(user: UserId, session: SessionId, transport: &'static str, encoding: Encoding, expires_at: i64) -> Connection {
        Connection {
            client: Uuid::new_v4(),
            user,
            session,
            transport,
            encoding,
            expires_at: expires_at.into(),
            queue: Mutex::default(),
            wake: Notify::new(),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("nothing panics while it holds a queue")
    }

    pub fn info(&self) -> ClientInfo {
        ClientInfo { user: self.user.to_string(), client: self.client.to_string() }
    }

    pub fn expires_at(&self) -> i64 {
        self.expires_at.load(Relaxed)
    }

    pub fn extend(&self, expires_at: i64) {
        self.expires_at.store(expires_at, Relaxed);
    }

    /// Queues a message for this connection only.
    pub fn send(&self, reply: Reply) {
        self.queue().push(self.encoding.frame(reply));
        self.wake.notify_one();
    }

    /// Ends the connection. Queued frames are still sent first, unless the connection is slow.
    pub fn disconnect(&self, why: Disconnect) {
        self.queue().disconnect.get_or_insert(why);
        self.wake.notify_one();
    }

    /// Takes all queued frames, and the reason to end the connection after them, if there is one.
    pub fn take(&self) -> (VecDeque<Message>, Option<Disconnect>) {
        let mut queue = self.queue();
        queue.bytes = 0;
        (std::mem::take(&mut queue.frames), queue.disconnect.clone())
    }

    /// The bytes of the queued frames.
    pub fn queued_bytes(&self) -> usize {
        self.queue().bytes
    }

    /// Whether the queue has exceeded its bound.
    pub fn is_slow(&self) -> bool {
        self.queue().disconnect == Some(Disconnect::SLOW)
    }

    /// Waits until the queue has exceeded its bound.
    pub async fn overflowed(&self) {
        while !self.is_slow() {
            self.wake.notified().await;
        }
    }

    pub fn channels(&self) -> Vec<String> {
        self.queue().subscriptions.keys().cloned().collect()
    }

    /// Whether the `connect` is answered and the connection has not ended.
    pub fn is_here(&self) -> bool {
        self.queue().stage == Stage::Here
    }

    pub fn is_subscribed(&self, channel: &str) -> bool {
        self.queue().subscriptions.contains_key(channel)
    }

    /// Whether the connection has as many subscriptions as it may have.
    pub fn is_full(&self) -> bool {
        self.queue().subscriptions.len() >= SUBSCRIPTIONS
    }

    /// Changes when a subscription expires; false if there is no such subscription.
    pub fn extend_subscription(&self, channel: &str, expires_at: i64) -> bool {
        let mut queue = self.queue();
        let subscription = queue.subscriptions.get_mut(channel);
        subscription.map(|subscription| subscription.terms.expires_at = Some(expires_at)).is_some()
    }

    /// The subscriptions whose tokens expired before a time, in Unix seconds: channel, and whether it is server-side.
    pub fn expired(&self, before: i64) -> Vec<(String, bool)> {
        let queue = self.queue();
        let expired = queue.subscriptions.iter().filter(|(_, of)| of.terms.expires_at.is_some_and(|end| end < before));
        expired.map(|(channel, of)| (channel.clone(), of.terms.is_server_side)).collect()
    }

    /// Makes those of the subscriptions live that haven't ended. Queues the replies for them first, then the publications
    /// that were buffered after `seq`. Returns their channels.
    pub fn go_live<R>(&self, begun: &[Begun], seq: i64, replies: impl FnOnce(&[&str]) -> R) -> Vec<String>
    where
        R: IntoIterator<Item = Reply>,
    {
        let mut queue = self.queue();
        if queue.stage == Stage::Coming {
            queue.stage = Stage::Here; // this is the answer to `connect`
        }
        let (mut live, mut held) = (Vec::new(), Vec::new());
        for Begun { channel, generation } in begun {
            let subscription = queue.subscriptions.get_mut(channel).filter(|found| found.generation == *generation);
            let Some(subscription) = subscription else { continue };
            if let State::Buffering(frames) = std::mem::replace(&mut subscription.state, State::Live { after: seq }) {
                held.extend(frames);
            }
            live.push(channel.as_str());
        }
        queue.push_all(replies(&live).into_iter().map(|reply| self.encoding.frame(reply)).collect());
        held.sort_by_key(|(seq, _)| *seq);
        for (offset, frame) in held {
            queue.bytes = queue.bytes.saturating_sub(frame.len()); // counted when it was buffered
            if offset > seq {
                queue.push(frame);
            }
        }
        drop(queue);
        self.wake.notify_one();
        live.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn begin(&self, channel: &str, terms: Terms) -> Result<Begun, Refused> {
        let mut queue = self.queue();
        if queue.stage == Stage::Gone {
            return Err(Refused::Gone);
        }
        if queue.subscriptions.contains_key(channel) {
            return Err(Refused::Already);
        }
        if queue.subscriptions.len() >= SUBSCRIPTIONS {
            return Err(Refused::Limit);
        }
        queue.generation += 1;
        let generation = queue.generation;
        let subscription = Subscription { generation, state: State::Buffering(Vec::new()), terms, announced: false };
        queue.subscriptions.insert(channel.to_owned(), subscription);
        Ok(Begun { channel: channel.to_owned(), generation })
    }

    /// Refuses further subscriptions. Returns the channels of those that the hub still has to end.
    pub(super) fn leave(&self) -> Vec<String> {
        let mut queue = self.queue();
        queue.stage = Stage::Gone;
        queue.subscriptions.keys().cloned().collect()
    }

    pub(super) fn end(&self, channel: &str) -> Option<Over> {
        let ended = self.queue().subscriptions.remove(channel)?;
        Some(Over { watched: ended.terms.watches, announced: ended.announced })
    }

    /// Marks a subscription's join as announced; false if the subscription has ended.
    pub(super) fn mark_announced(&self, channel: &str) -> bool {
        self.queue().subscriptions.get_mut(channel).map(|subscription| subscription.announced = true).is_some()
    }

    /// Queues a publication, or buffers it for a subscription that is not live yet.
    pub(super) fn deliver(&self, channel: &str, seq: i64, publication: &Shared) {
        self.queue().deliver(channel, seq, publication.frame(self.encoding));
        self.wake.notify_one();
    }

    /// Queues a join or leave on the channel, if the client gets these.
    pub(super) fn notify(&self, channel: &str, news: &Shared) {
        let mut queue = self.queue();
        let wanted = |of: &Subscription| of.terms.watches && matches!(of.state, State::Live { .. });
        if queue.subscriptions.get(channel).is_some_and(wanted) {
            queue.push(news.frame(self.encoding).clone());
            self.wake.notify_one();
        }
    }
}

impl Queue {
    fn push(&mut self, frame: Message) {
        self.count(frame.len());
        if self.disconnect.is_none() {
            self.frames.push_back(frame);
        }
    }

    /// Queues several frames as one: many frames that the client requested at once don't mean that it reads slowly.
    fn push_all(&mut self, frames: Vec<Message>) {
        self.count(frames.iter().map(Message::len).sum());
        if self.disconnect.is_none() {
            self.frames.extend(frames);
        }
    }

    /// Counts queued bytes. If the queue exceeded the bound before them, it is dropped and the connection ends. A single
    /// large frame doesn't mean that the client reads slowly.
    fn count(&mut self, bytes: usize) {
        let waiting = self.bytes;
        self.bytes += bytes;
        if waiting > QUEUE_BYTES {
            self.frames.clear();
            self.subscriptions.values_mut().for_each(|of| of.state = State::Buffering(Vec::new()));
            self.disconnect.get_or_insert(Disconnect::SLOW);
        }
    }

    fn deliver(&mut self, channel: &str, seq: i64, frame: &Message) {
        if self.disconnect.is_some() {
            return;
        }
        match self.subscriptions.get_mut(channel).map(|of| &mut of.state) {
            Some(State::Live { after }) if seq > *after => self.push(frame.clone()),
            Some(State::Buffering(held)) => {
                held.push((seq, frame.clone()));
                self.count(frame.len());
            }
            _ => {}
        }
    }
}
