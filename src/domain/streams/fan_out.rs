//! What a row of the event log becomes: a publication on its own stream, and one on the personal stream of each
//! member that it is for.

use std::collections::{HashMap, hash_map::Entry};

use rusqlite::Connection;

use crate::{
    domain::{
        channels::reading::{self, Counts, Notice, Template},
        log::events,
    },
    error::{Error, Result},
    event::{Audience, Event, Kind, Recovery, Stream},
    id::{ChannelId, OrganisationId, UserId},
};

/// For a batch of rows: a channel's members and the shared part of their notices are read once.
pub struct FanOut<'a> {
    conn: &'a Connection,
    epoch: &'a str,
    channels: HashMap<ChannelId, Channel>,
}

struct Channel {
    organisation: OrganisationId,
    notice: Template,
    members: Vec<(UserId, Counts)>,
}

impl<'a> FanOut<'a> {
    pub fn new(conn: &'a Connection, epoch: &'a str) -> Self {
        FanOut { conn, epoch, channels: HashMap::new() }
    }

    /// Calls `publish` with each stream's name and what makes the body for it: most streams are heard by nobody.
    pub fn publications(&mut self, event: &Event, mut publish: impl FnMut(&str, &dyn Fn() -> String)) -> Result<()> {
        let epoch = self.epoch;
        let as_it_is = || events::body(epoch, event);
        if matches!(event.audience, Audience::Subscribers | Audience::Both) {
            publish(&event.stream, &as_it_is);
        }
        if !matches!(event.audience, Audience::Members | Audience::Both) {
            return Ok(());
        }
        let id = event.channel.ok_or_else(|| Error::internal("an event for the members of no channel"))?;
        let channel = match self.channels.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Channel::read(self.conn, id)?),
        };
        for (user, counts) in channel.members.iter().filter(|(user, _)| Some(*user) != event.actor) {
            let stream = Stream::Personal(channel.organisation, *user).to_string();
            match event.kind.recovery() {
                // They are told what is unread for them by now, as after recovery.
                Some(Recovery::UnreadState) => publish(&stream, &|| {
                    events::with_notification_id(epoch, event.seq, Kind::Unread, &channel.notice.body(*counts))
                }),
                Some(Recovery::ChannelState | Recovery::Each) | None => publish(&stream, &as_it_is),
            }
        }
        Ok(())
    }
}

impl Channel {
    fn read(conn: &Connection, id: ChannelId) -> Result<Channel> {
        let notice = Notice::find(conn, id)?;
        Ok(Channel { organisation: notice.organisation, notice: notice.template(), members: reading::members(conn, id)? })
    }
}
