//! The one thread that hands committed events to the hub, in commit order, and acts on lost rights.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use rusqlite::Connection as Sqlite;

use super::{
    hub::{Connection, Hub},
    protocol::{self, Disconnect},
};
use crate::{
    db::Db,
    domain::{
        events,
        reading::{self, Counts, Notice, Template},
        sessions, streams,
    },
    error::{Error, Result},
    event::{Audience, Effect, Event, Stream},
    id::{ChannelId, OrganisationId, UserId},
    secret,
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
        let epoch = events::epoch(&conn)?;
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

/// A channel's members and the shared part of their notices, read once for a batch.
struct Channel {
    organisation: OrganisationId,
    notice: Template,
    members: Vec<(UserId, Counts)>,
}

impl Thread {
    fn publish(&self, batch: Vec<Effect>) {
        let mut channels = HashMap::new();
        for effect in batch {
            let result = match effect {
                Effect::Publish(event) => self.event(&event, &mut channels),
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
                Effect::MailQueued => Ok(()),
            };
            if let Err(err) = result {
                tracing::error!(err = err.detail(), "a publication failed");
            }
        }
    }

    fn event(&self, event: &Event, channels: &mut HashMap<ChannelId, Channel>) -> Result<()> {
        if event.audience != Audience::Members && self.hub.has_subscribers(&event.stream) {
            let body = self.with_id(event, &event.body);
            self.hub.publish(&event.stream, event.seq, protocol::publication(&event.stream, event.seq, &body).into());
        }
        if event.audience == Audience::Subscribers {
            return Ok(());
        }
        let id = event.channel.ok_or_else(|| Error::internal("an event for the members of no channel"))?;
        let channel = match channels.entry(id) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => place.insert(self.channel(id)?),
        };
        for (user, counts) in channel.members.iter().filter(|(user, _)| Some(*user) != event.actor) {
            let stream = Stream::Personal(channel.organisation, *user).to_string();
            if self.hub.has_subscribers(&stream) {
                // Of a message or its end, members are told their channel's new state; all else they are told as it is.
                let body = match event.kind.as_str() {
                    "" | "reply_count_change" | "deleted" => {
                        self.with_notification_id(event.seq, reading::UNREAD, &channel.notice.body(*counts))
                    }
                    _ => self.with_id(event, &event.body),
                };
                self.hub.publish(&stream, event.seq, protocol::publication(&stream, event.seq, &body).into());
            }
        }
        Ok(())
    }

    fn channel(&self, id: ChannelId) -> Result<Channel> {
        let notice = Notice::find(&self.conn, id)?;
        Ok(Channel { organisation: notice.organisation, notice: notice.template(), members: reading::members(&self.conn, id)? })
    }

    /// All but bare message objects carry a `notification_id`.
    fn with_id(&self, event: &Event, body: &str) -> String {
        if event.kind.is_empty() { body.to_owned() } else { self.with_notification_id(event.seq, &event.kind, body) }
    }

    /// Made from epoch, seq and kind, so that it is the same whenever the event is shown.
    fn with_notification_id(&self, seq: i64, kind: &str, body: &str) -> String {
        let hash = secret::sha256(&format!("{}:{seq}:{kind}", self.epoch));
        let id = uuid::Builder::from_random_bytes(*hash.first_chunk().expect("a hash has 32 bytes")).into_uuid();
        format!(r#"{},"notification_id":"{id}"}}"#, body.strip_suffix('}').unwrap_or(body))
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
                self.hub.revoke(connection, &channel);
            }
        }
        Ok(())
    }
}
