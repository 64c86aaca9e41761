//! A connection of a client after its `connect`: its subscriptions, and what they bring into its [`Outbox`].

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use uuid::Uuid;

use super::{
    codes::Disconnect,
    encoding::{Encoding, Shared},
    outbox::Outbox,
    protocol::replies::{ClientInfo, Reply},
};
use crate::id::{SessionId, Share, UserId};

/// Subscriptions on one connection, without those to the user's own streams.
pub const SUBSCRIPTIONS: usize = 128;

pub struct Connection {
    pub client: Uuid,
    pub user: UserId,
    /// Whose bounds it counts towards.
    pub share: Share,
    pub session: SessionId,
    /// The last segment of the path that the client connected to.
    pub transport: &'static str,
    pub encoding: Encoding,
    /// Whether the server subscribes the connection to the user's own streams.
    pub hears_own: bool,
    /// When the connection's token expires, in Unix seconds.
    expires_at: AtomicI64,
    state: Mutex<State>,
    /// Locked after `state`, so that frames are queued in the order of their subscription's states.
    pub outbox: Arc<Outbox>,
}

#[derive(Default)]
struct State {
    subscriptions: HashMap<String, Subscription>,
    /// The generation of the subscription that was begun last.
    generation: u64,
    stage: Stage,
}

impl State {
    fn is_full(&self) -> bool {
        self.subscriptions.values().filter(|of| !of.terms.is_own).count() >= SUBSCRIPTIONS
    }
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
    phase: Phase,
    terms: Terms,
    /// Whether the join was announced to other subscribers.
    announced: bool,
}

enum Phase {
    /// After joining the hub and before the reply: publications are buffered, so that the reply is sent first.
    Buffering(Vec<Held>),
    /// After the reply, which contains the publications up to this seq.
    Live { after: i64 },
}

/// A publication that is held back: its seq, its frame, and the memory that this costs.
type Held = (i64, Bytes, usize);

/// The options of a subscription.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Whether the client gets joins and leaves.
    pub watches: bool,
    /// When the subscription's token expires, in Unix seconds; `None` if the server began the subscription without one.
    pub expires_at: Option<i64>,
    /// Whether the server began the subscription, and not a `subscribe` of the client.
    pub is_server_side: bool,
    /// Whether it is to one of the user's own streams, which the client's token asked for as a whole.
    pub is_own: bool,
}

impl Terms {
    pub const OWN: Terms = Terms { watches: false, expires_at: None, is_server_side: true, is_own: true };
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
    pub fn new(
        user: UserId,
        share: Share,
        session: SessionId,
        transport: &'static str,
        encoding: Encoding,
        expires_at: i64,
        outbox: Arc<Outbox>,
    ) -> Connection {
        Connection {
            client: Uuid::new_v4(),
            user,
            share,
            session,
            transport,
            encoding,
            hears_own: false,
            expires_at: expires_at.into(),
            state: Mutex::default(),
            outbox,
        }
    }

    /// The connection, with subscriptions to the user's own streams if its token asks for them.
    pub fn with_own_streams(self, hears_own: bool) -> Connection {
        Connection { hears_own, ..self }
    }

    pub fn info(&self) -> ClientInfo {
        ClientInfo { user: self.user.to_string(), client: self.client.to_string() }
    }

    pub fn expires_at(&self) -> i64 {
        self.expires_at.load(Relaxed)
    }

    pub fn extend_session(&self, expires_at: i64) {
        self.expires_at.store(expires_at, Relaxed);
    }

    /// Sends a message to this connection only.
    pub fn send(&self, reply: Reply) {
        self.outbox.push(self.encoding.frame(reply));
        self.outbox.flush();
    }

    /// Ends the connection. Queued frames are still sent first, unless the connection is slow.
    pub fn disconnect(&self, why: Disconnect) {
        self.outbox.disconnect(why);
    }

    pub fn channels(&self) -> Vec<String> {
        self.state.lock().subscriptions.keys().cloned().collect()
    }

    /// Whether the `connect` is answered and the connection has not ended.
    pub fn is_connected(&self) -> bool {
        self.state.lock().stage == Stage::Here
    }

    pub fn is_subscribed(&self, channel: &str) -> bool {
        self.state.lock().subscriptions.contains_key(channel)
    }

    /// Whether the connection has as many subscriptions as it may have.
    pub fn has_most_subscriptions(&self) -> bool {
        self.state.lock().is_full()
    }

    /// Changes when a subscription expires; false if there is no such subscription.
    pub fn extend_subscription(&self, channel: &str, expires_at: i64) -> bool {
        let mut state = self.state.lock();
        let subscription = state.subscriptions.get_mut(channel);
        subscription.map(|subscription| subscription.terms.expires_at = Some(expires_at)).is_some()
    }

    /// The subscriptions whose tokens expired before a time, in Unix seconds: channel, and whether it is server-side.
    pub fn expired_subscriptions(&self, before: i64) -> Vec<(String, bool)> {
        let state = self.state.lock();
        let expired = state.subscriptions.iter().filter(|(_, of)| of.terms.expires_at.is_some_and(|end| end < before));
        expired.map(|(channel, of)| (channel.clone(), of.terms.is_server_side)).collect()
    }

    /// Makes those of the subscriptions live that haven't ended. Queues the replies for them first, then the publications
    /// that were buffered after `seq`. Returns their channels.
    pub fn go_live<R>(&self, begun: &[Begun], seq: i64, replies: impl FnOnce(&[&str]) -> R) -> Vec<String>
    where
        R: IntoIterator<Item = Reply>,
    {
        let mut state = self.state.lock();
        if state.stage == Stage::Coming {
            state.stage = Stage::Here; // this is the answer to `connect`
        }
        let (mut live, mut held) = (Vec::new(), Vec::new());
        for Begun { channel, generation } in begun {
            let subscription = state.subscriptions.get_mut(channel).filter(|found| found.generation == *generation);
            let Some(subscription) = subscription else { continue };
            if let Phase::Buffering(frames) = std::mem::replace(&mut subscription.phase, Phase::Live { after: seq }) {
                held.extend(frames);
            }
            live.push(channel.as_str());
        }
        self.outbox.push_all(replies(&live).into_iter().flat_map(|reply| self.encoding.frames(reply)).collect());
        held.sort_by_key(|(seq, ..)| *seq);
        for (offset, frame, cost) in held {
            self.outbox.uncount_held_bytes(frame.len());
            if offset > seq {
                self.outbox.push_shared(frame, cost);
            }
        }
        drop(state);
        self.outbox.flush();
        live.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn begin(&self, channel: &str, terms: Terms) -> Result<Begun, Refused> {
        let mut state = self.state.lock();
        if state.stage == Stage::Gone {
            return Err(Refused::Gone);
        }
        if state.subscriptions.contains_key(channel) {
            return Err(Refused::Already);
        }
        if !terms.is_own && state.is_full() {
            return Err(Refused::Limit);
        }
        state.generation += 1;
        let generation = state.generation;
        let subscription = Subscription { generation, phase: Phase::Buffering(Vec::new()), terms, announced: false };
        state.subscriptions.insert(channel.to_owned(), subscription);
        Ok(Begun { channel: channel.to_owned(), generation })
    }

    /// Refuses further subscriptions. Returns the channels of those that the hub still has to end.
    pub(super) fn leave(&self) -> Vec<String> {
        let mut state = self.state.lock();
        state.stage = Stage::Gone;
        state.subscriptions.keys().cloned().collect()
    }

    pub(super) fn end_subscription(&self, channel: &str) -> Option<Over> {
        let ended = self.state.lock().subscriptions.remove(channel)?;
        Some(Over { watched: ended.terms.watches, announced: ended.announced })
    }

    /// Marks a subscription's join as announced; false if the subscription has ended.
    pub(super) fn mark_announced(&self, channel: &str) -> bool {
        self.state.lock().subscriptions.get_mut(channel).map(|subscription| subscription.announced = true).is_some()
    }

    /// Queues a publication, or buffers it for a subscription that is not live yet. Returns whether the outbox has to be
    /// flushed.
    pub(super) fn deliver(&self, channel: &str, seq: i64, publication: &Shared) -> bool {
        let mut state = self.state.lock();
        let frame = publication.frame(self.encoding);
        let cost = publication.cost(frame);
        match state.subscriptions.get_mut(channel).map(|of| &mut of.phase) {
            Some(Phase::Live { after }) if seq > *after => self.outbox.push_shared(frame.clone(), cost),
            Some(Phase::Buffering(held)) => {
                match self.outbox.count_held_bytes(frame.len()) {
                    true => held.push((seq, frame.clone(), cost)),
                    false => held.clear(),
                }
                false
            }
            _ => false,
        }
    }

    /// Queues a join or leave on the channel, if the client gets these. Returns whether the outbox has to be flushed.
    pub(super) fn notify(&self, channel: &str, news: &Shared) -> bool {
        let state = self.state.lock();
        let wanted = |of: &Subscription| of.terms.watches && matches!(of.phase, Phase::Live { .. });
        let frame = news.frame(self.encoding);
        state.subscriptions.get(channel).is_some_and(wanted) && self.outbox.push_shared(frame.clone(), news.cost(frame))
    }
}
