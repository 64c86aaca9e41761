//! A thread that hands committed events to the hub in commit order, and ends the subscriptions of users who lost a right.

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use rusqlite::Connection as Sqlite;

use super::{
    codes::{Disconnect, Unsubscribe},
    connection::{Connection, Terms},
    flushing::Flushers,
    hub::{Hub, Touched},
    protocol::replies::{PushBody, Reply, Subscribed},
};
use crate::{
    clock::Clock,
    db::{Committed, Db, log_reader},
    domain::{
        accounts::sessions,
        streams::{
            self,
            fan_out::{FanOut, Readers},
        },
    },
    error::{Error, Result},
    event::{Effect, Event},
    id::UserId,
};

/// Most committed batches in the thread's queue. When it is full, the writer waits.
const BATCHES: usize = 1024;

/// Sends committed effects to the publisher's thread.
pub struct Publisher {
    batches: SyncSender<Committed>,
    /// The number of effects that are not sent yet.
    lag: Gauge,
}

/// The thread's part, which starts once the database is open.
pub struct Waiting {
    batches: Receiver<Committed>,
    lag: Gauge,
}

impl Publisher {
    /// Makes both parts. The writer needs the first before the database is open, which the thread reads.
    pub fn new(lag: Gauge) -> (Publisher, Waiting) {
        let (batches, receiver) = sync_channel(BATCHES);
        (Publisher { batches, lag: lag.clone() }, Waiting { batches: receiver, lag })
    }

    pub fn send(&self, committed: Committed) {
        let count = committed.effects.len() as i64;
        self.lag.inc_by(count);
        if self.batches.send(committed).is_err() {
            self.lag.dec_by(count); // a Centrifugo publishes instead; this thread ends only after every sender is dropped
        }
    }
}

impl Waiting {
    /// Starts the thread. It runs until the [`Publisher`] is dropped and all that it sent is published.
    pub fn start_thread(self, folder: &Path, hub: Arc<Hub>, clock: Clock) -> Result<Mutex<Option<JoinHandle<()>>>> {
        let conn = Db::open_reader(folder)?;
        let epoch = log_reader::epoch(&conn)?;
        let thread = Thread { conn, epoch, hub, clock };
        let flushers = Flushers::start()?;
        let run = move || {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                while let Ok(first) = self.batches.recv() {
                    // All that waits is queued before any of it is sent: each socket gets it in one write.
                    let (mut touched, mut permits, mut count) = (Vec::new(), Vec::new(), 0);
                    for mut batch in std::iter::once(first).chain(self.batches.try_iter().take(BATCHES)) {
                        count += batch.effects.len() as i64;
                        permits.append(&mut batch.permits);
                        thread.publish(batch.effects, &mut touched);
                    }
                    flushers.flush(touched);
                    drop(permits);
                    self.lag.dec_by(count);
                }
            }));
            if panicked.is_err() {
                tracing::error!("the publisher panicked");
                std::process::abort();
            }
        };
        let handle = std::thread::Builder::new().name("publisher".into()).spawn(run).map_err(Error::internal)?;
        Ok(Mutex::new(Some(handle)))
    }
}

struct Thread {
    conn: Sqlite,
    epoch: String,
    hub: Arc<Hub>,
    clock: Clock,
}

impl Thread {
    fn publish(&self, batch: Vec<Effect>, touched: &mut Touched) {
        let (all, has) = (|| self.hub.connected_users(), |user| self.hub.has_user(user));
        let readers = Readers::Connected { count: self.hub.user_count(), all: &all, has: &has };
        let mut fan_out = FanOut::new(&self.conn, &self.epoch, readers);
        for effect in batch {
            let result = match effect {
                // A client can't see that this event is missing. All connections end, and recover it from the log.
                Effect::Publish(event) => self.event(&event, &mut fan_out, touched).inspect_err(|_| {
                    let all = self.hub.all_connections();
                    all.iter().for_each(|connection| connection.disconnect(Disconnect::INSUFFICIENT_STATE));
                }),
                Effect::SessionEnded { user, session } => {
                    let ended = self.hub.connections_of_user(user).into_iter().filter(|connection| connection.session == session);
                    ended.for_each(|connection| connection.disconnect(Disconnect::FORCED));
                    Ok(())
                }
                Effect::AccountChanged(user) => {
                    self.check(&self.hub.connections_of_user(user));
                    Ok(())
                }
                Effect::RightsChanged(users) => {
                    users.into_iter().for_each(|user| self.check(&self.hub.connections_of_user(user)));
                    Ok(())
                }
                Effect::Foreign => {
                    self.check(&self.hub.all_connections());
                    Ok(())
                }
                Effect::ProfileChanged | Effect::Queued(_) | Effect::DeliveriesChanged(_) => Ok(()),
            };
            if let Err(err) = result {
                tracing::error!(err = err.log_text(), "a publication failed");
            }
        }
    }

    fn event(&self, event: &Event, fan_out: &mut FanOut, touched: &mut Touched) -> Result<()> {
        fan_out.publications(event, |stream, body| {
            self.hub.publish(stream, event.seq, touched, || Reply::publication(stream, event.seq, body()));
        })
    }

    /// Ends the subscriptions that the users of these connections have no right to any more, and begins those to their own
    /// streams that connections with such a token lack. A connection whose rights can't be read is closed, so that its client
    /// reconnects and is checked.
    fn check(&self, connections: &[Arc<Connection>]) {
        let mut audible = HashSet::new();
        for connection in connections {
            if let Err(err) = self.check_one(connection, &mut audible).and_then(|()| self.follow(connection)) {
                tracing::error!(err = err.log_text(), "a connection's rights could not be checked");
                connection.disconnect(Disconnect::INTERNAL);
            }
        }
    }

    /// Subscribes a connection to those of its user's own streams that are new.
    fn follow(&self, connection: &Arc<Connection>) -> Result<()> {
        if !connection.hears_own || !connection.is_connected() {
            return Ok(());
        }
        for stream in streams::streams_of_user(&self.conn, connection.user)? {
            let name = stream.to_string();
            let Ok(begun) = self.hub.subscribe(connection, &name, Terms::OWN) else { continue }; // it is not new
            // Rights and position are read after the hub buffers what follows; a right that is lost since causes a check.
            if streams::find_audible(&self.conn, connection.user, &name)?.is_none() {
                self.hub.unsubscribe(connection, &name);
                continue;
            }
            let offset = log_reader::last_seq(&self.conn)?;
            let subscribed = Subscribed { recoverable: true, epoch: self.epoch.clone(), offset: offset as u64, positioned: true };
            let live = connection.go_live(&[begun], offset, |live| {
                let push = Reply::push(&name, PushBody::Subscribe(subscribed));
                (!live.is_empty()).then_some(push)
            });
            live.iter().for_each(|channel| self.hub.announce_join(connection, channel));
        }
        Ok(())
    }

    /// Checks one connection. Rights found a moment ago are in `audible` and not read again: a user may have a hundred
    /// connections, and publishing waits meanwhile. A right that is lost since causes a later check.
    fn check_one(&self, connection: &Connection, audible: &mut HashSet<(UserId, String)>) -> Result<()> {
        if sessions::find(&self.conn, connection.session, self.clock.now())?.is_none() {
            connection.disconnect(Disconnect::FORCED);
            return Ok(());
        }
        for channel in connection.channels() {
            let heard = (connection.user, channel);
            if audible.contains(&heard) {
                continue;
            }
            if streams::find_audible(&self.conn, connection.user, &heard.1)?.is_some() {
                audible.insert(heard);
            } else {
                self.hub.end_subscription(connection, &heard.1, Unsubscribe::BY_SERVER);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Audience, Kind, Stream},
        id::{ChannelId, SessionId, Share, UserId},
        push::embedded::{encoding::Encoding, outbox::Outbox},
    };

    #[test]
    fn after_an_event_that_could_not_be_pushed_clients_recover() {
        let hub = Arc::new(Hub::default());
        let listener = Arc::new(Connection::new(
            UserId::new(),
            Share::Person(UserId::new()),
            SessionId::new(),
            "uni_sse",
            Encoding::Events,
            0,
            Outbox::new(None),
        ));
        assert!(hub.register(&listener));
        // An empty database: the channel's members can't be read.
        let thread = Thread { conn: Sqlite::open_in_memory().unwrap(), epoch: "e".into(), hub, clock: Clock::default() };
        let channel = ChannelId::new();
        let event = |seq, audience| Event {
            seq,
            stream: Stream::Channel(channel).to_string(),
            audience,
            kind: Kind::Message,
            channel: Some(channel),
            message: None,
            actor: None,
            body: "{}".into(),
        };
        let publish = |event| thread.publish(vec![Effect::Publish(event)], &mut Vec::new());
        publish(event(1, Audience::Subscribers));
        assert_eq!(listener.outbox.take().1, None);
        publish(event(2, Audience::Members));
        assert_eq!(listener.outbox.take().1, Some(Disconnect::INSUFFICIENT_STATE));
    }
}
