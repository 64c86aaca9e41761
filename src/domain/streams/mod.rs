//! Streams: the push channels `<channel>`, `<thread>`, `<organisation>` and `<organisation>/<user>`, as their readers see
//! the event log. Here: who may hear which, asked at each subscription and again whenever rights change, since a token
//! never replaces it. [`fan_out`] says what a row becomes live, [`recovery`] what a client that was away is given,
//! [`forwarding`] what an external Centrifugo is sent, [`publishing`] takes what other programs publish.
//!
//! Above all areas of the domain but webhooks and public content, which it does not know.

pub mod fan_out;
pub mod forwarding;
pub mod publishing;
pub mod recovery;

use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{
    domain::organisations::members,
    error::Result,
    event::Stream,
    id::{ChannelId, MessageId, OrganisationId, UserId},
};

/// `<channel_id>`, `<thread_id>`, `<org_id>` or `<org_id>/<user_id>`.
pub enum Name {
    Record(Uuid),
    Personal(OrganisationId, UserId),
}

/// None for what names no push channel at all.
pub fn parse(name: &str) -> Option<Name> {
    // Only the form that we print: two spellings of one stream would be two streams to the hub.
    let uuid = |text: &str| text.parse::<Uuid>().ok().filter(|uuid| uuid.to_string() == text);
    match name.split_once('/') {
        None => uuid(name).map(Name::Record),
        Some((organisation, user)) => Some(Name::Personal(OrganisationId(uuid(organisation)?), UserId(uuid(user)?))),
    }
}

/// The stream of that name, if it is a live record's, whoever may hear it.
pub fn find(conn: &Connection, name: &str) -> Result<Option<Stream>> {
    let id = match parse(name) {
        None => return Ok(None),
        Some(Name::Personal(organisation, user)) => {
            let member = members::find(conn, organisation, user)?;
            return Ok(member.map(|_| Stream::Personal(organisation, user)));
        }
        Some(Name::Record(id)) => id,
    };
    let exists = |sql: &str| conn.prepare_cached(sql)?.exists([ChannelId(id)]);
    const LIVE: &str = "select 1 from channels c join organisations o on o.id = c.organisation_id
        where c.deleted_at is null and o.deleted_at is null and c.id =";
    Ok(if exists(&format!("{LIVE} ?1"))? {
        Some(Stream::Channel(ChannelId(id)))
    } else if exists("select 1 from organisations where id = ?1 and deleted_at is null")? {
        Some(Stream::Organisation(OrganisationId(id)))
    } else if exists(&format!("{LIVE} (select channel_id from messages where id = ?1 and root is null)"))? {
        Some(Stream::Thread(MessageId(id)))
    } else {
        None
    })
}

/// The stream of that name, if the user may hear it now.
pub fn audible(conn: &Connection, user: UserId, name: &str) -> Result<Option<Stream>> {
    let id = match parse(name) {
        None => return Ok(None),
        Some(Name::Personal(organisation, owner)) => {
            let own = owner == user && members::find(conn, organisation, user)?.is_some();
            return Ok(own.then_some(Stream::Personal(organisation, user)));
        }
        Some(Name::Record(id)) => id,
    };
    if in_channel(conn, ChannelId(id), user)? {
        return Ok(Some(Stream::Channel(ChannelId(id))));
    }
    if members::find(conn, OrganisationId(id), user)?.is_some() {
        return Ok(Some(Stream::Organisation(OrganisationId(id))));
    }
    let channel: Option<ChannelId> = conn
        .prepare_cached("select channel_id from messages where id = ?1 and root is null")?
        .query_row([MessageId(id)], |row| row.get(0))
        .optional()?;
    match channel {
        Some(channel) if in_channel(conn, channel, user)? => Ok(Some(Stream::Thread(MessageId(id)))),
        _ => Ok(None),
    }
}

fn in_channel(conn: &Connection, channel: ChannelId, user: UserId) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "select 1 from channel_members cm
               join channels c on c.id = cm.channel_id
               join organisations o on o.id = c.organisation_id
               join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = cm.user_id
             where cm.channel_id = ?1 and cm.user_id = ?2
               and c.deleted_at is null and o.deleted_at is null and m.status <> 'deactivated'",
        )?
        .exists((channel, user))?)
}
