//! Fan-out in memory: which connection hears which channel, and each connection's bounded queue.
//!
//! A publication is encoded once and shared. Enqueueing never waits: a connection whose queue is over its
//! bound is closed as slow. Locks are taken in the order shard, then queue.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, RwLock},
};

use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use uuid::Uuid;

use super::protocol::{self, Disconnect};
use crate::id::{SessionId, UserId};

const SHARDS: usize = 64;
/// Unsent bytes of one connection, besides one more frame.
const QUEUE_BYTES: usize = 1 << 20;
const CONNECTIONS_PER_USER: usize = 100;
pub const SUBSCRIPTIONS: usize = 128;

/// One client, from its accepted `connect` on.
pub struct Connection {
    pub client: Uuid,
    pub user: UserId,
    pub session: SessionId,
    queue: Mutex<Queue>,
    /// Woken when there is something to send, or the connection is to end.
    pub wake: Notify,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Utf8Bytes>,
    bytes: usize,
    subscriptions: HashMap<String, Subscription>,
    disconnect: Option<Disconnect>,
}

enum Subscription {
    /// Between joining the hub and the reply: kept back, so that the reply comes first.
    Buffering(Vec<(i64, Utf8Bytes)>),
    /// Publications up to this seq were part of the state that the reply stands for.
    Live { after: i64 },
}

/// Why a subscription was not begun.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    Already,
    Limit,
}

impl Connection {
    pub fn new(user: UserId, session: SessionId) -> Connection {
        Connection { client: Uuid::new_v4(), user, session, queue: Mutex::default(), wake: Notify::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("nothing panics while it holds a queue")
    }

    /// Queues a frame of this connection's own: a reply.
    pub fn send(&self, frame: String) {
        self.queue().push(frame.into());
        self.wake.notify_one();
    }

    /// Ends the connection; what is queued is still sent, but for a slow one.
    pub fn disconnect(&self, why: Disconnect) {
        self.queue().disconnect.get_or_insert(why);
        self.wake.notify_one();
    }

    /// Takes all that is queued, and why the connection is to end after it.
    pub fn take(&self) -> (VecDeque<Utf8Bytes>, Option<Disconnect>) {
        let mut queue = self.queue();
        queue.bytes = 0;
        (std::mem::take(&mut queue.frames), queue.disconnect)
    }

    /// Whether it did not read as fast as it was sent to.
    pub fn is_slow(&self) -> bool {
        self.queue().disconnect == Some(Disconnect::SLOW)
    }

    pub fn channels(&self) -> Vec<String> {
        self.queue().subscriptions.keys().cloned().collect()
    }

    /// Sends the reply, then what was published meanwhile after `seq`, and is live for these channels.
    /// Returns those that were taken away meanwhile.
    pub fn go_live(&self, channels: &[String], seq: i64, reply: impl FnOnce(&[String]) -> String) -> Vec<String> {
        let mut queue = self.queue();
        let (mut live, mut gone) = (Vec::new(), Vec::new());
        let mut held = Vec::new();
        for channel in channels {
            match queue.subscriptions.get_mut(channel) {
                Some(subscription) => {
                    if let Subscription::Buffering(frames) = std::mem::replace(subscription, Subscription::Live { after: seq }) {
                        held.extend(frames);
                    }
                    live.push(channel.clone());
                }
                None => gone.push(channel.clone()),
            }
        }
        queue.push(reply(&live).into());
        held.sort_by_key(|(seq, _)| *seq);
        for (offset, frame) in held {
            queue.bytes = queue.bytes.saturating_sub(frame.len()); // counted when it was held back
            if offset > seq {
                queue.push(frame);
            }
        }
        drop(queue);
        self.wake.notify_one();
        gone
    }
}

impl Queue {
    fn push(&mut self, frame: Utf8Bytes) {
        self.count(&frame);
        if self.disconnect.is_none() {
            self.frames.push_back(frame);
        }
    }

    /// When more than the bound was waiting already, the queue is dropped and the connection ends: one
    /// large frame to a client that reads is no sign of slowness.
    fn count(&mut self, frame: &Utf8Bytes) {
        let waiting = self.bytes;
        self.bytes += frame.len();
        if waiting > QUEUE_BYTES {
            self.frames.clear();
            self.subscriptions.values_mut().for_each(|held| *held = Subscription::Buffering(Vec::new()));
            self.disconnect.get_or_insert(Disconnect::SLOW);
        }
    }

    fn deliver(&mut self, channel: &str, seq: i64, frame: &Utf8Bytes) {
        if self.disconnect.is_some() {
            return;
        }
        match self.subscriptions.get_mut(channel) {
            Some(Subscription::Live { after }) if seq > *after => self.push(frame.clone()),
            Some(Subscription::Buffering(held)) => {
                held.push((seq, frame.clone()));
                self.count(frame);
            }
            _ => {}
        }
    }
}

type Subscribers = HashMap<Uuid, Arc<Connection>>;

pub struct Hub {
    shards: Vec<RwLock<HashMap<String, Subscribers>>>,
    hasher: RandomState,
    users: Mutex<HashMap<UserId, Subscribers>>,
}

impl Default for Hub {
    fn default() -> Self {
        Hub { shards: (0..SHARDS).map(|_| RwLock::default()).collect(), hasher: RandomState::new(), users: Mutex::default() }
    }
}

impl Hub {
    fn shard(&self, channel: &str) -> &RwLock<HashMap<String, Subscribers>> {
        &self.shards[self.hasher.hash_one(channel) as usize % SHARDS]
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, Subscribers>> {
        self.users.lock().expect("nothing panics while it holds the users")
    }

    /// Makes the connection known; before its session is checked, so that an end of the session between
    /// the two finds it. False when the user has too many.
    #[must_use]
    pub fn register(&self, connection: &Arc<Connection>) -> bool {
        let mut users = self.users();
        let own = users.entry(connection.user).or_default();
        let room = own.len() < CONNECTIONS_PER_USER;
        if room {
            own.insert(connection.client, connection.clone());
        }
        room
    }

    /// Forgets the connection and its subscriptions.
    pub fn unregister(&self, connection: &Connection) {
        if let Entry::Occupied(mut own) = self.users().entry(connection.user) {
            own.get_mut().remove(&connection.client);
            if own.get().is_empty() {
                own.remove();
            }
        }
        for channel in connection.channels() {
            self.unsubscribe(connection, &channel);
        }
    }

    pub fn connections(&self, user: UserId) -> Vec<Arc<Connection>> {
        self.users().get(&user).map(|own| own.values().cloned().collect()).unwrap_or_default()
    }

    pub fn all_connections(&self) -> Vec<Arc<Connection>> {
        self.users().values().flat_map(|own| own.values().cloned()).collect()
    }

    /// Begins to keep back the channel's publications for the connection; [`Connection::go_live`] lets them go.
    pub fn subscribe(&self, connection: &Arc<Connection>, channel: &str) -> Result<(), Refused> {
        let mut shard = self.shard(channel).write().expect("nothing panics while it holds a shard");
        let mut queue = connection.queue();
        if queue.subscriptions.contains_key(channel) {
            return Err(Refused::Already);
        }
        if queue.subscriptions.len() >= SUBSCRIPTIONS {
            return Err(Refused::Limit);
        }
        queue.subscriptions.insert(channel.to_owned(), Subscription::Buffering(Vec::new()));
        shard.entry(channel.to_owned()).or_default().insert(connection.client, connection.clone());
        Ok(())
    }

    /// Returns whether it was subscribed.
    pub fn unsubscribe(&self, connection: &Connection, channel: &str) -> bool {
        let mut shard = self.shard(channel).write().expect("nothing panics while it holds a shard");
        if let Some(subscribers) = shard.get_mut(channel) {
            subscribers.remove(&connection.client);
            if subscribers.is_empty() {
                shard.remove(channel);
            }
        }
        connection.queue().subscriptions.remove(channel).is_some()
    }

    /// Takes a subscription away and tells the client.
    pub fn revoke(&self, connection: &Connection, channel: &str) {
        if self.unsubscribe(connection, channel) {
            connection.send(protocol::unsubscribed(channel));
        }
    }

    pub fn has_subscribers(&self, channel: &str) -> bool {
        self.shard(channel).read().expect("nothing panics while it holds a shard").contains_key(channel)
    }

    /// Hands an encoded publication to all subscribers. Never waits for one of them.
    pub fn publish(&self, channel: &str, seq: i64, frame: Utf8Bytes) {
        let shard = self.shard(channel).read().expect("nothing panics while it holds a shard");
        for connection in shard.get(channel).into_iter().flat_map(HashMap::values) {
            connection.queue().deliver(channel, seq, &frame);
            connection.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(hub: &Hub) -> Arc<Connection> {
        let connection = Arc::new(Connection::new(UserId::new(), SessionId::new()));
        assert!(hub.register(&connection));
        connection
    }

    fn frames(connection: &Connection) -> Vec<String> {
        connection.take().0.iter().map(|frame| frame.to_string()).collect()
    }

    #[test]
    fn the_reply_comes_before_what_was_published_meanwhile_and_nothing_twice() {
        let hub = Hub::default();
        let connection = connection(&hub);
        hub.subscribe(&connection, "c").unwrap();
        hub.publish("c", 4, "old".into());
        hub.publish("c", 6, "new".into());
        connection.go_live(&["c".into()], 5, |_| "reply".into());
        hub.publish("c", 7, "live".into());
        hub.publish("c", 5, "late".into());
        assert_eq!(frames(&connection), ["reply", "new", "live"]);
    }

    #[test]
    fn a_subscription_taken_away_meanwhile_stays_away() {
        let hub = Hub::default();
        let connection = connection(&hub);
        hub.subscribe(&connection, "c").unwrap();
        assert_eq!(hub.subscribe(&connection, "c"), Err(Refused::Already));
        hub.revoke(&connection, "c");
        assert_eq!(connection.go_live(&["c".into()], 0, |_| "reply".into()), ["c"]);
        hub.publish("c", 1, "secret".into());
        assert!(!hub.has_subscribers("c"));
        assert!(!frames(&connection).contains(&"secret".into()));
    }

    #[test]
    fn a_slow_connection_ends_and_others_do_not_notice() {
        let hub = Hub::default();
        let (slow, quick) = (connection(&hub), connection(&hub));
        for connection in [&slow, &quick] {
            hub.subscribe(connection, "c").unwrap();
            connection.go_live(&["c".into()], 0, |_| "reply".into());
        }
        let frame = Utf8Bytes::from("x".repeat(1000));
        for seq in 1..=1100 {
            hub.publish("c", seq, frame.clone());
            quick.take();
        }
        let (left, why) = slow.take();
        assert_eq!((left.len(), why), (0, Some(Disconnect::SLOW)));
        assert_eq!(quick.take().1, None);
    }

    #[test]
    fn limits_hold_and_one_past_them_does_not() {
        let hub = Hub::default();
        let user = UserId::new();
        let make = || Arc::new(Connection::new(user, SessionId::new()));
        let all: Vec<_> = (0..CONNECTIONS_PER_USER).map(|_| make()).collect();
        assert!(all.iter().all(|connection| hub.register(connection)));
        assert!(!hub.register(&make()));
        hub.unregister(&all[0]);
        assert!(hub.register(&make()));
        for n in 0..SUBSCRIPTIONS {
            hub.subscribe(&all[1], &n.to_string()).unwrap();
        }
        assert_eq!(hub.subscribe(&all[1], "more"), Err(Refused::Limit));
    }
}
