//! Fan-out in memory: the connections that are subscribed to each channel.
//!
//! A publication is encoded once per encoding and shared by its receivers. The lock of a shard is taken before that of a
//! connection.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use prometheus_client::metrics::counter::Counter;
use uuid::Uuid;

use super::{
    codes::Unsubscribe,
    connection::{Begun, Connection, Refused, Terms},
    encoding::Shared,
    protocol::replies::{ClientInfo, JoinLeave, PushBody, Reply},
};
use crate::id::{Share, UserId};

const SHARDS: usize = 64;
/// Most connections of a person, and of all their bots together.
const CONNECTIONS_PER_USER: usize = 100;
/// Most connections in an answer of presence: a thousand take some hundred kilobytes.
const PRESENT_MAX: usize = 1000;

/// The subscribers of a channel.
#[derive(Default)]
struct Subscribers {
    subscribers: HashMap<Uuid, Arc<Connection>>,
    /// The number of subscribers that get joins and leaves.
    watchers: usize,
}

type Shard = HashMap<String, Subscribers>;

/// The connections of users.
#[derive(Default)]
struct Users {
    connections: HashMap<UserId, HashMap<Uuid, Arc<Connection>>>,
    counts: HashMap<Share, usize>,
}

/// Connections with newly queued frames.
pub type Touched = Vec<Arc<Connection>>;

pub struct Hub {
    shards: Vec<RwLock<Shard>>,
    hasher: RandomState,
    users: Mutex<Users>,
    /// Publications that had subscribers.
    pub publications: Counter,
    /// Publications times their subscribers.
    pub deliveries: Counter,
}

impl Default for Hub {
    fn default() -> Self {
        Hub {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::new(),
            users: Mutex::default(),
            publications: Counter::default(),
            deliveries: Counter::default(),
        }
    }
}

impl Hub {
    fn shard(&self, channel: &str) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(channel) as usize % SHARDS]
    }

    fn reading(&self, channel: &str) -> RwLockReadGuard<'_, Shard> {
        self.shard(channel).read()
    }

    fn changing(&self, channel: &str) -> RwLockWriteGuard<'_, Shard> {
        self.shard(channel).write()
    }

    /// Adds a connection; false if the user has too many. It is added before its session is checked, so that a session that
    /// ends between the two finds the connection and closes it.
    #[must_use]
    pub fn register(&self, connection: &Arc<Connection>) -> bool {
        let mut users = self.users.lock();
        let count = users.counts.entry(connection.share).or_default();
        let is_within_bound = *count < CONNECTIONS_PER_USER;
        if is_within_bound {
            *count += 1;
            users.connections.entry(connection.user).or_default().insert(connection.client, connection.clone());
        }
        is_within_bound
    }

    /// Removes a connection and its subscriptions.
    pub fn unregister(&self, connection: &Connection) {
        self.users.lock().remove(connection);
        for channel in connection.leave() {
            self.unsubscribe(connection, &channel);
        }
    }

    pub fn connections_of_user(&self, user: UserId) -> Vec<Arc<Connection>> {
        self.users.lock().connections.get(&user).map(|own| own.values().cloned().collect()).unwrap_or_default()
    }

    pub fn all_connections(&self) -> Vec<Arc<Connection>> {
        self.users.lock().connections.values().flat_map(|own| own.values().cloned()).collect()
    }

    /// Begins to buffer the channel's publications for the connection, until [`Connection::go_live`] sends them.
    pub fn subscribe(&self, connection: &Arc<Connection>, channel: &str, terms: Terms) -> Result<Begun, Refused> {
        let mut shard = self.changing(channel);
        let begun = connection.begin(channel, terms)?;
        let channel = shard.entry(channel.to_owned()).or_default();
        channel.subscribers.insert(connection.client, connection.clone());
        channel.watchers += usize::from(terms.watches);
        Ok(begun)
    }

    /// Sends a join to the channel's watchers once a connection is live on it. The connection itself gets it, too, after its
    /// reply.
    pub fn announce_join(&self, connection: &Connection, channel: &str) {
        let mut touched = Vec::new();
        {
            let shard = self.reading(channel);
            // Under the shard's lock, so that the subscription ends either before the join, or after it with a leave.
            if let Some(audience) = shard.get(channel).filter(|_| connection.mark_announced(channel)) {
                touched = audience.notify_watchers(channel, PushBody::Join(JoinLeave { info: connection.info() }));
            }
        }
        flush(touched);
    }

    /// Ends a subscription. Returns whether there was one.
    pub fn unsubscribe(&self, connection: &Connection, channel: &str) -> bool {
        let mut touched = Vec::new();
        {
            let mut shard = self.changing(channel);
            let Some(ended) = connection.end_subscription(channel) else { return false };
            if let Some(audience) = shard.get_mut(channel) {
                audience.subscribers.remove(&connection.client);
                audience.watchers -= usize::from(ended.watched);
                if ended.announced {
                    touched = audience.notify_watchers(channel, PushBody::Leave(JoinLeave { info: connection.info() }));
                }
                if audience.subscribers.is_empty() {
                    shard.remove(channel);
                }
            }
        }
        flush(touched);
        true
    }

    /// Ends a subscription and tells the client why.
    pub fn end_subscription(&self, connection: &Connection, channel: &str, why: Unsubscribe) {
        if self.unsubscribe(connection, channel) {
            connection.send(Reply::push(channel, PushBody::Unsubscribe(why.into())));
        }
    }

    /// Queues a publication for all subscribers, and never waits for one of them. Without subscribers it isn't even built.
    /// Adds the connections that have to be flushed to `touched`.
    pub fn publish(&self, channel: &str, seq: i64, touched: &mut Touched, publication: impl FnOnce() -> Reply) {
        let shard = self.reading(channel);
        let Some(audience) = shard.get(channel) else { return };
        let shared = Shared::new(publication(), audience.subscribers.len());
        touched.extend(audience.subscribers.values().filter(|connection| connection.deliver(channel, seq, &shared)).cloned());
        self.publications.inc();
        self.deliveries.inc_by(audience.subscribers.len() as u64);
    }

    /// The channels with subscribers, and the number of connections on each.
    pub fn channels(&self) -> Vec<(String, usize)> {
        let shards = self.shards.iter().map(|shard| shard.read());
        let channels =
            shards.map(|shard| shard.iter().map(|(name, of)| (name.clone(), of.subscribers.len())).collect::<Vec<_>>());
        channels.flatten().collect()
    }

    /// The number of connected users.
    pub fn user_count(&self) -> usize {
        self.users.lock().connections.len()
    }

    /// The users with connections.
    pub fn connected_users(&self) -> Vec<UserId> {
        self.users.lock().connections.keys().copied().collect()
    }

    pub fn has_user(&self, user: UserId) -> bool {
        self.users.lock().connections.contains_key(&user)
    }

    /// The connections on a channel. If there are more than 1,000, any 1,000 of them; `presence_stats` has the number.
    pub fn presence(&self, channel: &str) -> HashMap<String, ClientInfo> {
        let shard = self.reading(channel);
        let subscribers = shard.get(channel).into_iter().flat_map(|audience| audience.subscribers.values());
        subscribers.take(PRESENT_MAX).map(|connection| (connection.client.to_string(), connection.info())).collect()
    }

    /// The number of connections on a channel, and of their users.
    pub fn presence_stats(&self, channel: &str) -> (usize, usize) {
        let shard = self.reading(channel);
        let Some(audience) = shard.get(channel) else { return (0, 0) };
        let users: HashSet<UserId> = audience.subscribers.values().map(|connection| connection.user).collect();
        (audience.subscribers.len(), users.len())
    }
}

impl Users {
    fn remove(&mut self, connection: &Connection) {
        let Entry::Occupied(mut own) = self.connections.entry(connection.user) else { return };
        if own.get_mut().remove(&connection.client).is_none() {
            return;
        }
        if own.get().is_empty() {
            own.remove();
        }
        if let Entry::Occupied(mut count) = self.counts.entry(connection.share) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl Subscribers {
    /// Queues a join or leave for the channel's watchers.
    fn notify_watchers(&self, channel: &str, news: PushBody) -> Touched {
        if self.watchers == 0 {
            return Vec::new();
        }
        let shared = Shared::new(Reply::push(channel, news), self.watchers);
        self.subscribers.values().filter(|connection| connection.notify(channel, &shared)).cloned().collect()
    }
}

/// Sends what was queued. Not under a shard's lock, which others wait for.
pub fn flush(touched: Touched) {
    touched.iter().for_each(|connection| connection.outbox.flush());
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;
    use crate::{
        id::SessionId,
        push::embedded::{codes::Disconnect, connection::SUBSCRIPTIONS, encoding::Encoding, outbox::Outbox, unsent::Unsent},
    };

    const PLAIN: Terms = Terms { watches: false, expires_at: None, is_server_side: false, is_own: false };
    const WATCHING: Terms = Terms { watches: true, ..PLAIN };

    fn made(user: UserId) -> Arc<Connection> {
        made_for(user, Share::Person(user))
    }

    fn made_for(user: UserId, share: Share) -> Arc<Connection> {
        Arc::new(Connection::new(user, share, SessionId::new(), "uni_sse", Encoding::Events, 0, Outbox::new(None)))
    }

    fn connection(hub: &Hub) -> Arc<Connection> {
        let connection = made(UserId::new());
        assert!(hub.register(&connection));
        connection
    }

    /// A reply that tests tell apart by its word.
    fn said(word: &str) -> Reply {
        Reply::publication("c", 0, format!("\"{word}\""))
    }

    /// The queued frames: the words of publications, or the kinds of other pushes.
    fn frames(connection: &Connection) -> Vec<String> {
        let frames = connection.outbox.take().0;
        let pushes = frames.iter().map(|frame| serde_json::from_slice::<serde_json::Value>(&frame["data: ".len()..]).unwrap());
        let word = |push: serde_json::Value| match push["pub"]["data"].as_str() {
            Some(word) => word.to_owned(),
            None => push.as_object().unwrap().keys().find(|key| *key != "channel").unwrap().clone(),
        };
        pushes.map(word).collect()
    }

    #[test]
    fn the_reply_precedes_buffered_publications_and_none_is_sent_twice() {
        let hub = Hub::default();
        let connection = connection(&hub);
        let begun = hub.subscribe(&connection, "c", PLAIN).unwrap();
        hub.publish("c", 4, &mut Vec::new(), || said("old"));
        hub.publish("c", 6, &mut Vec::new(), || said("new"));
        connection.go_live(&[begun], 5, |_| [said("reply")]);
        hub.publish("c", 7, &mut Vec::new(), || said("live"));
        hub.publish("c", 5, &mut Vec::new(), || said("late"));
        assert_eq!(frames(&connection), ["reply", "new", "live"]);
    }

    #[test]
    fn a_subscription_revoked_before_its_reply_does_not_go_live() {
        let hub = Hub::default();
        let connection = connection(&hub);
        let first = hub.subscribe(&connection, "c", PLAIN).unwrap();
        assert_eq!(hub.subscribe(&connection, "c", PLAIN).err(), Some(Refused::Already));
        hub.end_subscription(&connection, "c", Unsubscribe::BY_SERVER);
        // Another subscription to the channel has begun: the first one's reply is not for it.
        hub.subscribe(&connection, "c", PLAIN).unwrap();
        assert!(connection.go_live(&[first], 0, |live| [said(if live.is_empty() { "none" } else { "live" })]).is_empty());
        hub.publish("c", 1, &mut Vec::new(), || said("secret"));
        assert_eq!(frames(&connection), ["unsubscribe", "none"]);
        hub.unsubscribe(&connection, "c");
        assert!(hub.channels().is_empty());
    }

    #[test]
    fn a_connection_that_has_ended_gets_no_subscription() {
        let hub = Hub::default();
        let connection = connection(&hub);
        hub.unregister(&connection);
        assert_eq!(hub.subscribe(&connection, "c", PLAIN).err(), Some(Refused::Gone));
        assert!(hub.channels().is_empty());
    }

    #[test]
    fn an_answer_of_many_frames_does_not_make_a_connection_slow() {
        let hub = Hub::default();
        let connection = connection(&hub);
        let begun = hub.subscribe(&connection, "c", PLAIN).unwrap();
        connection.go_live(&[begun], 0, |_| (0..30).map(|_| said(&"x".repeat(100_000))));
        let (frames, why) = connection.outbox.take();
        assert_eq!((frames.len(), why), (30, None));
    }

    #[test]
    fn watchers_get_joins_and_leaves() {
        let hub = Hub::default();
        let (watching, other) = (connection(&hub), connection(&hub));
        for (connection, terms) in [(&watching, WATCHING), (&other, PLAIN)] {
            let begun = hub.subscribe(connection, "c", terms).unwrap();
            connection.go_live(&[begun], 0, |_| [said("reply")]);
            hub.announce_join(connection, "c");
        }
        assert_eq!(hub.presence_stats("c"), (2, 2));
        hub.unsubscribe(&other, "c");
        assert_eq!(frames(&watching), ["reply", "join", "join", "leave"]);
        assert_eq!(frames(&other), ["reply"]);
        assert_eq!(hub.presence("c").into_keys().collect::<Vec<_>>(), [watching.client.to_string()]);
        hub.announce_join(&other, "c");
        hub.unregister(&watching);
        assert!(frames(&watching).is_empty() && hub.channels().is_empty());
    }

    #[test]
    fn a_slow_connection_ends_without_an_effect_on_others() {
        let hub = Hub::default();
        let (slow, quick) = (connection(&hub), connection(&hub));
        for connection in [&slow, &quick] {
            let begun = hub.subscribe(connection, "c", PLAIN).unwrap();
            connection.go_live(&[begun], 0, |_| [said("reply")]);
        }
        for seq in 1..=1100 {
            hub.publish("c", seq, &mut Vec::new(), || said(&"x".repeat(1000)));
            quick.outbox.take();
        }
        let (left, why) = slow.outbox.take();
        assert_eq!((left.len(), why), (0, Some(Disconnect::SLOW)));
        assert_eq!(quick.outbox.take().1, None);
    }

    #[test]
    fn a_thousand_slow_readers_of_the_same_publications_are_cut_by_no_budget_and_answers_count_in_full() {
        let (hub, unsent) = (Hub::default(), Unsent::new(8 << 20));
        let mut office = Vec::new();
        for _ in 0..1000 {
            let connection = connection(&hub);
            connection.outbox.charge(unsent.account(connection.share, Arc::downgrade(&connection.outbox) as Weak<Outbox>));
            let begun = hub.subscribe(&connection, "c", PLAIN).unwrap();
            connection.go_live(&[begun], 0, |_| [said("reply")]);
            office.push(connection);
        }
        for seq in 1..=50 {
            let mut touched = Vec::new();
            hub.publish("c", seq, &mut touched, || said(&"x".repeat(20_000)));
            flush(touched);
        }
        assert!(office.iter().all(|connection| connection.outbox.why().is_none() && connection.outbox.bytes() > 1_000_000));
        assert!(unsent.bytes() < 2_000_000, "{}: these are one megabyte in memory", unsent.bytes());
        for connection in &office {
            connection.send(said(&"x".repeat(200_000)));
        }
        let cut = office.iter().filter(|connection| connection.outbox.why() == Some(Disconnect::SLOW)).count();
        assert!(
            (950..1000).contains(&cut) && unsent.closed() == [0, cut as u64],
            "{cut}: answers to 41 fit into eight mebibytes"
        );
    }

    #[test]
    fn limits_hold_and_one_past_them_does_not() {
        let hub = Hub::default();
        let user = UserId::new();
        let make = || made(user);
        let all: Vec<_> = (0..CONNECTIONS_PER_USER).map(|_| make()).collect();
        assert!(all.iter().all(|connection| hub.register(connection)));
        assert!(!hub.register(&make()));
        let of_bot = || made_for(UserId::new(), Share::BotsOf(user));
        let of_bots: Vec<_> = (0..CONNECTIONS_PER_USER).map(|_| of_bot()).collect();
        assert!(of_bots.iter().all(|connection| hub.register(connection)));
        assert!(!hub.register(&of_bot()));
        hub.unregister(&of_bots[0]);
        hub.unregister(&of_bots[0]);
        assert!(hub.register(&of_bot()) && !hub.register(&of_bot()));
        hub.unregister(&all[0]);
        assert!(hub.register(&make()));
        for n in 0..SUBSCRIPTIONS {
            hub.subscribe(&all[1], &n.to_string(), PLAIN).unwrap();
        }
        assert_eq!(hub.subscribe(&all[1], "more", PLAIN).err(), Some(Refused::Limit));
        hub.subscribe(&all[1], "own", Terms::OWN).unwrap();
        hub.unsubscribe(&all[1], "0");
        hub.subscribe(&all[1], "more", PLAIN).unwrap();
    }
}
