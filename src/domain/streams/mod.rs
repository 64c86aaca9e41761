//! Streams: the push channels `<channel>`, `<thread>`, `<organisation>`, `<organisation>/<user>` and `<user>`, and who may hear
//! them. [`fan_out`] turns rows of the event log into live [`publication_cache`], [`recovery`] gives clients what they missed,
//! [`centrifugo_forwarding`] feeds an external Centrifugo, and [`program_publications`] logs what other programs publish.
//! Rights are checked at each subscription and whenever they change.

pub mod centrifugo_forwarding;
pub mod fan_out;
pub mod program_publications;
pub mod publication_cache;
pub mod recovery;

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{
    domain::{
        access::{self, Caller, ENTITLED},
        messages,
        text::{self, Rule},
    },
    error::{Error, Result},
    event::{Event, Kind, Stream},
    id::{ChannelId, MessageId, OrganisationId, UserId},
};

/// The parsed name of a stream: `<channel_id>`, `<thread_id>`, `<org_id>`, `<user_id>` or `<org_id>/<user_id>`.
pub enum Name {
    Record(Uuid),
    Personal(OrganisationId, UserId),
}

text::rules! {
    pub StreamName: Rule::stream();
    /// Streams that a connection's token names together.
    pub Group: Rule::one_of(&["own"]);
}

/// Parses the name of a stream; `None` if it has none of the forms of [`Name`]. No record needs to exist.
pub fn parse(name: &str) -> Option<Name> {
    // Only the canonical spelling: the hub would take two spellings of one stream for two streams.
    let uuid = |text: &str| text.parse::<Uuid>().ok().filter(|uuid| uuid.to_string() == text);
    match name.split_once('/') {
        None => uuid(name).map(Name::Record),
        Some((organisation, user)) => Some(Name::Personal(OrganisationId(uuid(organisation)?), UserId(uuid(user)?))),
    }
}

/// The stream of that name, if its record is live, without a check of rights.
pub fn find(conn: &Connection, name: &str) -> Result<Option<Stream>> {
    let id = match parse(name) {
        None => return Ok(None),
        Some(Name::Personal(organisation, user)) => {
            let member = access::membership(conn, organisation, user)?;
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
    } else if exists("select 1 from users where id = ?1 and is_active")? {
        Some(Stream::Account(UserId(id)))
    } else if exists(&format!("{LIVE} (select channel_id from messages where id = ?1 and root is null)"))? {
        Some(Stream::Thread(MessageId(id)))
    } else {
        None
    })
}

/// The stream of that name, if the user may hear it now.
pub fn find_audible(conn: &Connection, user: UserId, name: &str) -> Result<Option<Stream>> {
    let id = match parse(name) {
        None => return Ok(None),
        Some(Name::Personal(organisation, owner)) => {
            let own = owner == user && access::membership(conn, organisation, user)?.is_some();
            return Ok(own.then_some(Stream::Personal(organisation, user)));
        }
        Some(Name::Record(id)) => id,
    };
    if id == user.0 {
        return Ok(Some(Stream::Account(user)));
    }
    if in_channel(conn, ChannelId(id), user)? {
        return Ok(Some(Stream::Channel(ChannelId(id))));
    }
    if access::membership(conn, OrganisationId(id), user)?.is_some() {
        return Ok(Some(Stream::Organisation(OrganisationId(id))));
    }
    match channel_of(conn, MessageId(id))? {
        Some(channel) if in_channel(conn, channel, user)? => Ok(Some(Stream::Thread(MessageId(id)))),
        _ => Ok(None),
    }
}

/// The stream of that name, if the caller may hear it now. A token for some channels opens their streams and those of their
/// threads.
pub fn find_permitted(conn: &Connection, caller: Caller, name: &str) -> Result<Option<Stream>> {
    let Some(stream) = find_audible(conn, caller.user, name)? else { return Ok(None) };
    let channel = match stream {
        _ if !caller.grant.is_channel_limited() => return Ok(Some(stream)),
        Stream::Channel(channel) => Some(channel),
        Stream::Thread(thread) => channel_of(conn, thread)?,
        _ => None,
    };
    Ok(channel.map_or(Ok(false), |channel| access::token_admits_channel(conn, caller, channel))?.then_some(stream))
}

/// The organisations whose streams are among a user's [`streams_of_user`].
pub const OWN_ORGANISATIONS: u32 = 50;

/// The streams of the user's account, and of the organisations that they joined first: what a client hears wherever it is.
pub fn streams_of_user(conn: &Connection, user: UserId) -> Result<Vec<Stream>> {
    let sql = format!(
        "select m.organisation_id from organisation_members m join organisations o on o.id = m.organisation_id
         where m.user_id = ?1 and o.deleted_at is null and {ENTITLED} order by m.created_at, m.organisation_id limit ?2"
    );
    let mut streams = vec![Stream::Account(user)];
    for organisation in conn.prepare_cached(&sql)?.query_map((user, OWN_ORGANISATIONS), |row| row.get(0))? {
        let organisation = organisation?;
        streams.extend([Stream::Organisation(organisation), Stream::Personal(organisation, user)]);
    }
    Ok(streams)
}

/// The row of the log with its body, which the log doesn't store for a new message: it is made from the message as it is now.
/// None if that message is gone.
fn whole<'a>(conn: &Connection, mut event: Cow<'a, Event>) -> Result<Option<Cow<'a, Event>>> {
    if let (Kind::Message, true, Some(n)) = (event.kind, event.body.is_empty(), event.message) {
        let Some(message) = messages::lists::find_by_number(conn, n)? else { return Ok(None) };
        event.to_mut().body = serde_json::to_string(&message).map_err(Error::internal)?;
    }
    Ok(Some(event))
}

/// The channel of a thread. None for an id that is also a user's: whoever could have chosen it would hear that user's stream.
fn channel_of(conn: &Connection, thread: MessageId) -> Result<Option<ChannelId>> {
    let sql = "select channel_id from messages
        where id = ?1 and root is null and not exists (select 1 from users where users.id = ?1)";
    Ok(conn.prepare_cached(sql)?.query_row([thread], |row| row.get(0)).optional()?)
}

fn in_channel(conn: &Connection, channel: ChannelId, user: UserId) -> Result<bool> {
    let sql = format!(
        "select 1 from channel_members cm
           join channels c on c.id = cm.channel_id
           join organisations o on o.id = c.organisation_id
           join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = cm.user_id
         where cm.channel_id = ?1 and cm.user_id = ?2 and c.deleted_at is null and o.deleted_at is null and {ENTITLED}"
    );
    Ok(conn.prepare_cached(&sql)?.exists((channel, user))?)
}
