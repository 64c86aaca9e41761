//! Reads an organisation's records, in one read transaction of the caller's.

use std::{collections::HashMap, io::Write};

use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use url::Url;

use super::records::{
    Base64, Bot, Channel, ChannelMember, File, Member, Message, Organisation, Person, Reaction, Role, UnreadThread, Webhook,
};
use crate::{
    db::Columns,
    domain::{
        channels::direct_messages,
        files::Media,
        transfer::notifications::{self, IN_CHANNEL, IN_ORGANISATION},
        webhooks::{subscription::Subscription, trigger_words::TriggerWords},
    },
    error::{Error, Result},
    id::{FileId, OrganisationId, UserId},
    secret::{self, Hash},
};

/// Files that are exported, with the SHA-256 of their contents.
pub type Files = HashMap<FileId, Hash>;

/// Writes a part's records, each on a line. Returns their number.
pub fn write_part(conn: &Connection, part: &str, of: OrganisationId, files: &Files, to: &mut dyn Write) -> Result<u64> {
    match part {
        "people.jsonl" => lines(conn, PEOPLE, [of], person, to),
        "organisation.jsonl" => lines(conn, ORGANISATION, [of], organisation, to),
        "roles.jsonl" => lines(conn, ROLES, [of], role, to),
        "members.jsonl" => lines(conn, &members(), [of], member, to),
        "channels.jsonl" => channels(conn, of, to),
        "channel_members.jsonl" => channel_members(conn, of, to),
        "messages.jsonl" => messages(conn, of, files, to),
        "webhooks.jsonl" => lines(conn, WEBHOOKS, [of], webhook, to),
        _ => Err(Error::internal(format!("{part} is no part of an export"))),
    }
}

pub(super) fn lines<T: Serialize>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    from_row: fn(&Row) -> rusqlite::Result<T>,
    to: &mut dyn Write,
) -> Result<u64> {
    let (mut select, mut written) = (conn.prepare(sql)?, 0);
    for record in select.query_map(params, from_row)? {
        line(&record?, to)?;
        written += 1;
    }
    Ok(written)
}

pub(super) fn line(record: &impl Serialize, mut to: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut to, record).map_err(Error::internal)?;
    to.write_all(b"\n").map_err(|err| Error::failed(format!("can't write the export: {err}")))
}

const ORGANISATION: &str =
    "select o.id, name, description, email, industry, location, country, iif(f.id is null, logo_url, ''), f.small, f.large, owner_id,
      created_at, updated_at
    from organisations o left join faces f on f.owner = o.id where o.id = ?1";

fn organisation(row: &Row) -> rusqlite::Result<Organisation> {
    let mut columns = Columns::of_row(row);
    Ok(Organisation {
        id: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        email: columns.take()?,
        industry: columns.take()?,
        location: columns.take()?,
        country: columns.take()?,
        logo_url: columns.take()?,
        logo: face(&mut columns)?,
        owner: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}

/// The picture of a person or an organisation that the server keeps.
fn face(columns: &mut Columns) -> rusqlite::Result<Option<[Base64; 2]>> {
    let (small, large): (Option<Vec<u8>>, _) = (columns.take()?, columns.take()?);
    Ok(small.zip(large).map(|(small, large)| [small, large].map(Base64)))
}

/// All whom the other records name.
const PEOPLE: &str =
    "with live as materialized (select id, owner_id, created_by from channels where organisation_id = ?1 and deleted_at is null)
    select u.id, email, username, first_name, last_name, iif(f.id is null, avatar_url, ''), f.small, f.large, is_active, created_at,
      b.owner_id, b.description
    from users u left join bots b on b.user_id = u.id left join faces f on f.owner = u.id where u.id in (
      select user_id from organisation_members where organisation_id = ?1
      union select owner_id from live union select created_by from live
      union select user_id from channel_members where channel_id in (select id from live)
      union select user_id from messages where channel_id in (select id from live) and user_id is not null
      union select unhex(replace(x.value ->> 'id', '-', '')) from messages m, json_each(m.mentions) x
        where m.channel_id in (select id from live) and m.mentions <> '[]' and x.value ->> 'type' = 'user'
      union select r.user_id from reactions r join messages m on m.n = r.n where m.channel_id in (select id from live)
      union select owner_id from webhooks where channel_id in (select id from live) and deleted_at is null
      union select owner_id from bots where organisation_id = ?1)
    order by u.id";

fn person(row: &Row) -> rusqlite::Result<Person> {
    let mut columns = Columns::of_row(row);
    Ok(Person {
        id: columns.take()?,
        email: columns.take()?,
        username: columns.take()?,
        first_name: columns.take()?,
        last_name: columns.take()?,
        avatar_url: columns.take()?,
        face: face(&mut columns)?,
        is_active: columns.take()?,
        created_at: columns.take()?,
        bot: bot(columns.take()?, columns.take()?),
    })
}

fn bot(owner: Option<UserId>, description: Option<String>) -> Option<Bot> {
    Some(Bot { owner: owner?, description: description? })
}

const ROLES: &str = "select uuid, name, description, rights, created_at, updated_at from roles
    where organisation_id = ?1 and deleted_at is null order by id";

fn role(row: &Row) -> rusqlite::Result<Role> {
    let mut columns = Columns::of_row(row);
    Ok(Role {
        id: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        rights: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}

/// A deleted role that still has holders counts as `member`, which they are about to get.
fn members() -> String {
    format!(
        "select m.user_id, iif(r.deleted_at is null, r.uuid, (select uuid from roles where id = 4)), m.status,
           {IN_ORGANISATION}, m.created_at, m.updated_at
         from organisation_members m join roles r on r.id = m.role_id where m.organisation_id = ?1 order by m.created_at, m.user_id"
    )
}

fn member(row: &Row) -> rusqlite::Result<Member> {
    let mut columns = Columns::of_row(row);
    Ok(Member {
        person: columns.take()?,
        role: columns.take()?,
        status: columns.take()?,
        notifications: notifications::take(&mut columns)?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}

const CHANNELS: &str = "select id, name, description, topic, is_private, is_default, is_dm, owner_id, created_by, created_at, updated_at, archived_at,
      dm_key
    from channels where organisation_id = ?1 and deleted_at is null order by created_at, id";

fn channels(conn: &Connection, of: OrganisationId, to: &mut dyn Write) -> Result<u64> {
    let mut members = conn.prepare("select user_id from channel_members where channel_id = ?1 order by user_id")?;
    let (mut select, mut written) = (conn.prepare(CHANNELS)?, 0);
    let mut rows = select.query([of])?;
    while let Some(row) = rows.next()? {
        let (mut channel, key) = channel(row)?;
        if let Some(key) = key {
            let now: Vec<UserId> = members.query_map([channel.id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            channel.participants = if direct_messages::key(&now) == key { now } else { Vec::new() };
        }
        line(&channel, to)?;
        written += 1;
    }
    Ok(written)
}

/// The channel, and the key of a direct message.
fn channel(row: &Row) -> rusqlite::Result<(Channel, Option<[u8; 32]>)> {
    let mut columns = Columns::of_row(row);
    let channel = Channel {
        id: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        topic: columns.take()?,
        is_private: columns.take()?,
        is_default: columns.take()?,
        is_dm: columns.take()?,
        owner: columns.take()?,
        created_by: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
        archived_at: columns.take()?,
        participants: Vec::new(),
    };
    Ok((channel, columns.take()?))
}

fn channel_members_sql() -> String {
    format!(
        "select cm.channel_id, cm.user_id, cm.username, cm.is_starred, cm.is_muted, {IN_CHANNEL},
      (select m.id from messages m where m.channel_id = cm.channel_id and m.root is null and m.n <= cm.read_n
        order by m.n desc limit 1), cm.created_at
    from channel_members cm join channels c on c.id = cm.channel_id
    where c.organisation_id = ?1 and c.deleted_at is null order by cm.channel_id, cm.created_at, cm.user_id"
    )
}

/// An import knows who replied, and takes everything for read.
const UNREAD_THREADS: &str = "select r.id,
      (select b.id from messages b where b.root = t.root and b.n <= t.read_n order by b.n desc limit 1)
    from thread_members t cross join messages r on r.n = t.root
    where t.user_id = ?1 and t.channel_id = ?2 and t.is_followed
      and (r.reply_count > t.read_reply_count or t.first_n is null) order by t.root";
/// An import takes whoever replied for somebody who follows.
const LEFT_THREADS: &str = "select r.id from thread_members t cross join messages r on r.n = t.root
    where t.user_id = ?1 and t.channel_id = ?2 and not t.is_followed order by t.root";

fn channel_members(conn: &Connection, of: OrganisationId, to: &mut dyn Write) -> Result<u64> {
    let (mut unread, mut left) = (conn.prepare(UNREAD_THREADS)?, conn.prepare(LEFT_THREADS)?);
    let (mut select, mut written) = (conn.prepare(&channel_members_sql())?, 0);
    for member in select.query_map([of], channel_member)? {
        let mut member = member?;
        let threads = unread
            .query_map((member.person, member.channel), |row| Ok(UnreadThread { thread: row.get(0)?, read: row.get(1)? }))?;
        member.unread_threads = threads.collect::<rusqlite::Result<_>>()?;
        member.left_threads =
            left.query_map((member.person, member.channel), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        line(&member, to)?;
        written += 1;
    }
    Ok(written)
}

fn channel_member(row: &Row) -> rusqlite::Result<ChannelMember> {
    let mut columns = Columns::of_row(row);
    Ok(ChannelMember {
        channel: columns.take()?,
        person: columns.take()?,
        username: columns.take()?,
        is_starred: columns.take()?,
        is_muted: columns.take()?,
        notifications: notifications::take(&mut columns)?,
        read: columns.take()?,
        unread_threads: Vec::new(),
        left_threads: Vec::new(),
        created_at: columns.take()?,
    })
}

const MESSAGES: &str = "select m.n, m.media, m.id, m.channel_id, (select r.id from messages r where r.n = m.root), m.user_id, m.username, m.avatar_url,
      m.content, m.mentions, m.type, m.event_name, m.action_type, m.status, m.current_status, m.pinned_at, m.pinned_by,
      m.created_at, m.updated_at, m.edited_at, m.deleted_at
    from messages m cross join channels c on c.id = m.channel_id where c.organisation_id = ?1 and c.deleted_at is null order by m.n";

fn messages(conn: &Connection, of: OrganisationId, files: &Files, to: &mut dyn Write) -> Result<u64> {
    let mut given =
        conn.prepare("select emoji, user_id, created_at from reactions where n = ?1 order by created_at, user_id, emoji")?;
    let (mut select, mut written) = (conn.prepare(MESSAGES)?, 0);
    let mut rows = select.query([of])?;
    while let Some(row) = rows.next()? {
        let (n, mut message, media) = message(row)?;
        message.show(media, files);
        if message.deleted_at.is_none() {
            message.reactions = given.query_map([n], reaction)?.collect::<rusqlite::Result<_>>()?;
        }
        line(&message, to)?;
        written += 1;
    }
    Ok(written)
}

impl Message {
    /// Shows the media that are exported. The names of the others stand for a message that would show nothing.
    fn show(&mut self, media: Vec<Media>, files: &Files) {
        let names = media.iter().map(|media| media.name.as_str()).collect::<Vec<_>>().join("\n");
        self.files = media.into_iter().filter_map(|media| files.get(&media.id).map(|sha256| File::new(media, *sha256))).collect();
        if self.files.is_empty() && self.content.trim().is_empty() {
            self.content = names;
        }
    }
}

impl File {
    fn new(media: Media, sha256: Hash) -> File {
        let Media { id, name, mime_type, size, picture, description, created_at, .. } = media;
        File { id, name, mime_type, size, sha256: secret::hex(&sha256), picture, description, created_at }
    }
}

/// The message, its number, and what it shows.
fn message(row: &Row) -> Result<(i64, Message, Vec<Media>)> {
    let mut columns = Columns::of_row(row);
    let (n, media): (_, Option<String>) = (columns.take()?, columns.take()?);
    let message = Message {
        id: columns.take()?,
        channel: columns.take()?,
        thread: columns.take()?,
        author: columns.take()?,
        username: columns.take()?,
        avatar_url: columns.take()?,
        content: columns.take()?,
        mentions: serde_json::from_str(&columns.take::<String>()?).map_err(Error::internal)?,
        r#type: columns.take()?,
        event_name: columns.take()?,
        action_type: columns.take()?,
        status: columns.take()?,
        current_status: columns.take()?,
        pinned_at: columns.take()?,
        pinned_by: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
        edited_at: columns.take()?,
        deleted_at: columns.take()?,
        reactions: Vec::new(),
        files: Vec::new(),
    };
    Ok((n, message, Media::of_column(media.as_deref(), "")))
}

fn reaction(row: &Row) -> rusqlite::Result<Reaction> {
    Ok(Reaction { emoji: row.get(0)?, person: row.get(1)?, created_at: row.get(2)? })
}

const WEBHOOKS: &str = "select w.id, w.channel_id, w.owner_id, w.name, w.event_name, w.url, w.events, w.trigger_words,
      w.organisation_id is not null, w.is_ordered, w.created_at, w.updated_at
    from webhooks w join channels c on c.id = w.channel_id
    where c.organisation_id = ?1 and c.deleted_at is null and w.deleted_at is null order by w.created_at, w.id";

/// An address without the parts that hold the secrets of its receiver: the user and password, the query, and the fragment.
fn without_secrets(address: String) -> String {
    let Ok(mut url) = Url::parse(&address) else { return address };
    let is_plain = [url.username(), url.password().unwrap_or_default()].iter().all(|part| part.is_empty())
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain {
        return address;
    }
    // An address of http takes all of these.
    _ = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn webhook(row: &Row) -> rusqlite::Result<Webhook> {
    let mut columns = Columns::of_row(row);
    Ok(Webhook {
        id: columns.take()?,
        channel: columns.take()?,
        owner: columns.take()?,
        name: columns.take()?,
        event_name: columns.take()?,
        url: without_secrets(columns.take()?),
        events: Some(columns.take::<Subscription>()?.kind_names().into_iter().map(str::to_owned).collect()),
        trigger_words: columns.take::<TriggerWords>()?.words().to_vec(),
        all_channels: columns.take()?,
        ordered: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}
