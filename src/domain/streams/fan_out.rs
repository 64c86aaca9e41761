//! The publications of a row of the event log: one on the row's own stream, and one on the personal stream of each member
//! in its audience, the members of a channel or of a thread.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
};

use rusqlite::Connection;

use crate::{
    domain::{
        channels::unread_counts::{self, CountsTemplate, Member, UnreadNotice},
        log::events,
        messages::thread_unreads::{self, Unread},
    },
    error::{Error, Result},
    event::{Audience, Event, Kind, Recovery, Stream},
    id::{ChannelId, MessageId, OrganisationId, UserId},
};

/// The fan-out of a batch of rows. It reads the members of each channel and thread, and the shared part of their notices, once.
pub struct FanOut<'a> {
    conn: &'a Connection,
    epoch: &'a str,
    readers: Readers<'a>,
    channels: HashMap<ChannelId, ChannelAudience>,
    threads: HashMap<String, ThreadAudience>,
}

/// The users whose personal streams get publications.
pub enum Readers<'a> {
    All,
    /// Those who are connected now. Others have no subscriber.
    Connected {
        count: usize,
        all: &'a dyn Fn() -> Vec<UserId>,
        has: &'a dyn Fn(UserId) -> bool,
    },
}

/// Reading one member by itself takes as long as reading so many of all.
const ONE_OF_ALL: usize = 4;

struct ChannelAudience {
    organisation: OrganisationId,
    notice: CountsTemplate,
    members: Vec<Member>,
}

struct ThreadAudience {
    notice: thread_unreads::Notice,
    members: Vec<(UserId, Unread)>,
}

impl<'a> FanOut<'a> {
    pub fn new(conn: &'a Connection, epoch: &'a str, readers: Readers<'a>) -> Self {
        FanOut { conn, epoch, readers, channels: HashMap::new(), threads: HashMap::new() }
    }

    /// Calls `publish` with the name of each stream and a function that builds its body. Most streams have no subscriber,
    /// and need no body.
    pub fn publications(&mut self, event: &Event, mut publish: impl FnMut(&str, &dyn Fn() -> String)) -> Result<()> {
        let Some(event) = super::whole(self.conn, Cow::Borrowed(event))? else { return Ok(()) };
        let epoch = self.epoch;
        let as_it_is = || events::body(epoch, &event);
        if matches!(event.audience, Audience::Subscribers | Audience::Both) {
            publish(&event.stream, &as_it_is);
        }
        let is_for_nobody = matches!(&self.readers, Readers::Connected { count: 0, .. });
        if is_for_nobody || !matches!(event.audience, Audience::Members | Audience::Both) {
            return Ok(());
        }
        if event.recovery_method() == Some(Recovery::ThreadState) {
            return self.publish_to_thread(&event, publish);
        }
        let id = event.channel.ok_or_else(|| Error::internal("an event for the members of no channel"))?;
        let channel = match self.channels.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(ChannelAudience::read(self.conn, id, &self.readers)?),
        };
        // Rows are published a moment after their commit, or long after it: who has joined since then is not told, as recovery has it.
        let is_theirs = |member: &&Member| Some(member.user) != event.actor && member.joined_seq < event.seq;
        for Member { user, counts, .. } in channel.members.iter().filter(is_theirs) {
            let stream = Stream::Personal(channel.organisation, *user).to_string();
            match event.recovery_method() {
                // Each member receives their current unread counts, as after recovery.
                Some(Recovery::UnreadState) => publish(&stream, &|| {
                    events::add_notification_id(epoch, event.seq, Kind::Unread, &channel.notice.publication_body(*counts))
                }),
                Some(Recovery::ChannelState | Recovery::ThreadState | Recovery::Each) | None => publish(&stream, &as_it_is),
            }
        }
        Ok(())
    }

    /// Calls `publish` for each member of the event's thread, with their present unread state, as after recovery.
    fn publish_to_thread(&mut self, event: &Event, mut publish: impl FnMut(&str, &dyn Fn() -> String)) -> Result<()> {
        let thread = match self.threads.entry(event.stream.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(ThreadAudience::read(self.conn, &event.stream, &self.readers)?),
        };
        for (user, unread) in &thread.members {
            let body = thread.notice.body(*unread)?;
            publish(&Stream::Personal(thread.notice.organisation, *user).to_string(), &|| {
                events::add_notification_id(self.epoch, event.seq, Kind::ThreadUnread, &body)
            });
        }
        Ok(())
    }
}

impl ThreadAudience {
    fn read(conn: &Connection, stream: &str, readers: &Readers<'_>) -> Result<ThreadAudience> {
        let root = thread_unreads::root_number(conn, MessageId(stream.parse().map_err(Error::internal)?))?;
        let mut members = thread_unreads::members(conn, root)?;
        if let Readers::Connected { has, .. } = readers {
            members.retain(|(user, _)| has(*user));
        }
        Ok(ThreadAudience { notice: thread_unreads::Notice::of_thread(conn, root)?, members })
    }
}

impl ChannelAudience {
    fn read(conn: &Connection, id: ChannelId, readers: &Readers<'_>) -> Result<ChannelAudience> {
        let notice = UnreadNotice::of_channel(conn, id)?;
        let members = match readers {
            Readers::Connected { count, all, .. } if ((count * ONE_OF_ALL) as i64) < notice.members => {
                unread_counts::counts_of_users(conn, id, &all())?
            }
            _ => unread_counts::counts_of_members(conn, id)?,
        };
        Ok(ChannelAudience { organisation: notice.organisation, notice: notice.template()?, members })
    }
}
