//! The one thread that hands committed events to the hub, in commit order, and acts on lost rights.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use rusqlite::Connection as Sqlite;

use super::{
    codes::{Disconnect, Unsubscribe},
    connection::Connection,
    hub::Hub,
    protocol::Reply,
};
use crate::{
    db::{Db, log},
    domain::{fan_out::FanOut, sessions, streams},
    error::{Error, Result},
    event::{Effect, Event},
};

/// Committed batches that may wait; when they do, so does the writer.
const BATCHES: usize = 1024;

/// The way of committed effects to the publisher's thread.
pub struct Publisher {
    batches: SyncSender<Vec<Effect>>,
}

/// What the thread starts with once the database is open.
pub struct Waiting(Receiver<Vec<Effect>>);

impl Publisher {
    /// The two ends: the writer gets the first before the database, which the thread reads, is open.
    pub fn new() -> (Publisher, Waiting) {
        let (batches, receiver) = sync_channel(BATCHES);
        (Publisher { batches }, Waiting(receiver))
    }

    pub fn send(&self, effects: Vec<Effect>) {
        // The thread ends only after every sender is gone.
        _ = self.batches.send(effects);
    }
}

impl Waiting {
    /// Runs until the [`Publisher`] is dropped and all it sent is published.
    pub fn start(self, folder: &Path, hub: Arc<Hub>) -> Result<Mutex<Option<JoinHandle<()>>>> {
        let conn = Db::reader(folder)?;
        let epoch = log::epoch(&conn)?;
        hub.reached(log::last_seq(&conn)?); // what was published before nobody waits for
        let thread = Thread { conn, epoch, hub };
        let run = move || {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for batch in self.0 {
                    thread.publish(batch);
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
}

impl Thread {
    fn publish(&self, batch: Vec<Effect>) {
        let mut fan_out = FanOut::new(&self.conn, &self.epoch);
        for effect in batch {
            let result = match effect {
                Effect::Publish(event) => {
                    let published = self.event(&event, &mut fan_out);
                    self.hub.reached(event.seq);
                    published
                }
                Effect::SessionEnded { user, session } => {
                    let ended = self.hub.connections(user).into_iter().filter(|connection| connection.session == session);
                    ended.for_each(|connection| connection.disconnect(Disconnect::FORCED));
                    Ok(())
                }
                Effect::AccountChanged(user) => {
                    self.check(&self.hub.connections(user));
                    Ok(())
                }
                Effect::RightsChanged(users) => {
                    users.into_iter().for_each(|user| self.check(&self.hub.connections(user)));
                    Ok(())
                }
                Effect::Foreign => {
                    self.check(&self.hub.all_connections());
                    Ok(())
                }
                Effect::MailQueued | Effect::DeliveryQueued => Ok(()),
            };
            if let Err(err) = result {
                tracing::error!(err = err.detail(), "a publication failed");
            }
        }
    }

    fn event(&self, event: &Event, fan_out: &mut FanOut) -> Result<()> {
        let publish = |stream: &str, body: String| {
            self.hub.publish(stream, event.seq, Reply::publication(stream, event.seq, body));
        };
        fan_out.publications(event, |stream| self.hub.has_subscribers(stream), publish)
    }

    /// Ends what these connections may no longer have; one that can't be checked must come back and be.
    fn check(&self, connections: &[Arc<Connection>]) {
        for connection in connections {
            if let Err(err) = self.check_one(connection) {
                tracing::error!(err = err.detail(), "a connection's rights could not be checked");
                connection.disconnect(Disconnect::INTERNAL);
            }
        }
    }

    fn check_one(&self, connection: &Connection) -> Result<()> {
        if sessions::find(&self.conn, connection.session)?.is_none() {
            connection.disconnect(Disconnect::FORCED);
            return Ok(());
        }
        for channel in connection.channels() {
            if streams::audible(&self.conn, connection.user, &channel)?.is_none() {
                self.hub.revoke(connection, &channel, Unsubscribe::BY_SERVER);
            }
        }
        Ok(())
    }
}
