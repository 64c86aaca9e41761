//! What the server keeps of one person, to be handed to them: the account, what they wrote and gave, and what they uploaded. What others
//! wrote is not theirs. [`crate::domain::account_erasure`] ends what they may ask to be gone.

use std::io::Write;

use rusqlite::{Connection, OptionalExtension, Row, ToSql};
use serde::Serialize;

use super::export;
use crate::{
    db::Columns,
    domain::accounts::NO_ACCOUNT,
    error::Result,
    id::{ChannelId, FileId, MessageId, OrganisationId, UserId},
    secret::{self, Hash},
    time::Time,
};

/// An account, with what stands beside it.
#[derive(Serialize)]
pub struct Account {
    pub id: UserId,
    email: String,
    username: String,
    first_name: String,
    last_name: String,
    phone: String,
    /// Of a picture elsewhere, or of the one that is exported beside the account.
    avatar_url: String,
    status_emoji: String,
    status_text: String,
    /// None for a status without an end.
    status_until: Option<Time>,
    role: String,
    is_active: bool,
    created_at: Time,
    updated_at: Time,
    last_seen_at: Option<Time>,
    identities: Vec<Identity>,
    sessions: Vec<Session>,
    organisations: Vec<Membership>,
    former_organisations: Vec<Organisation>,
    invitations: Vec<Invitation>,
    channels: Vec<ChannelMembership>,
    notifications: Vec<Notifications>,
    /// Threads that they don't follow any more.
    left_threads: Vec<MessageId>,
    reminders: Vec<Reminder>,
    testimonials: Vec<Testimonial>,
    mails: Vec<Mail>,
}

/// An account of an OpenID Connect issuer that logs in to this one.
#[derive(Serialize)]
struct Identity {
    issuer: String,
    subject: String,
}

/// A log-in, or the token of a program.
#[derive(Serialize)]
struct Session {
    /// Empty for a log-in.
    token_name: String,
    user_agent: String,
    address: String,
    created_at: Time,
    last_seen_at: Option<Time>,
    expires_at: Time,
    ended_at: Option<Time>,
}

#[derive(Serialize)]
struct Membership {
    id: OrganisationId,
    name: String,
    role: String,
    status: String,
    created_at: Time,
}

#[derive(Serialize)]
struct Organisation {
    id: OrganisationId,
    name: String,
}

/// An invitation to the account's address.
#[derive(Serialize)]
struct Invitation {
    organisation: String,
    created_at: Time,
    expires_at: Time,
    accepted_at: Option<Time>,
}

/// A mail to the account's address. Its words are not kept once it is sent.
#[derive(Serialize)]
struct Mail {
    kind: String,
    created_at: Time,
    sent_at: Option<Time>,
}

#[derive(Serialize)]
struct ChannelMembership {
    id: ChannelId,
    organisation: OrganisationId,
    name: String,
    username: String,
    is_starred: bool,
    is_muted: bool,
    created_at: Time,
}

/// What they have chosen to be notified of, in an organisation or in a channel.
#[derive(Serialize)]
struct Notifications {
    #[serde(skip_serializing_if = "Option::is_none")]
    organisation: Option<OrganisationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<ChannelId>,
    device: String,
    /// None in a channel where the organisation's choice counts.
    notify_about: Option<String>,
    /// Whether mentions of everybody in the channel notify.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_channel: Option<bool>,
}

#[derive(Serialize)]
struct Reminder {
    text: String,
    due_at: Time,
    created_at: Time,
}

#[derive(Serialize)]
struct Testimonial {
    company_name: String,
    content: String,
    created_at: Time,
}

/// The account of a person with this address, without secrets. Fails if there is none.
pub fn account(conn: &Connection, email: &str) -> Result<Account> {
    let sql =
        "select id, email, username, first_name, last_name, phone, avatar_url, status_emoji, status_text, status_until, role,
        is_active, created_at, updated_at, last_seen_at from users where email = ?1 and not is_bot";
    let mut account = conn.prepare(sql)?.query_row([email], account_from_row).optional()?.ok_or(NO_ACCOUNT)?;
    let user = account.id;
    account.identities = rows(conn, "select issuer, subject from identities where user_id = ?1 order by 1, 2", user, |row| {
        Ok(Identity { issuer: row.get(0)?, subject: row.get(1)? })
    })?;
    account.sessions = rows(conn, SESSIONS, user, session)?;
    account.organisations = rows(conn, MEMBERSHIPS, user, membership)?;
    account.former_organisations = rows(conn, FORMER, user, |row| Ok(Organisation { id: row.get(0)?, name: row.get(1)? }))?;
    account.invitations = rows(conn, INVITATIONS, email, invitation)?;
    account.channels = rows(conn, CHANNELS, user, channel_membership)?;
    account.notifications = rows(conn, NOTIFICATIONS, user, notifications)?;
    account.left_threads = rows(conn, LEFT_THREADS, user, |row| row.get(0))?;
    account.mails =
        rows(conn, MAILS, email, |row| Ok(Mail { kind: row.get(0)?, created_at: row.get(1)?, sent_at: row.get(2)? }))?;
    account.reminders =
        rows(conn, "select text, due_at, created_at from reminders where user_id = ?1 order by due_at, id", user, |row| {
            Ok(Reminder { text: row.get(0)?, due_at: row.get(1)?, created_at: row.get(2)? })
        })?;
    account.testimonials = rows(
        conn,
        "select company_name, content, created_at from testimonials where user_id = ?1 order by created_at, id",
        user,
        |row| Ok(Testimonial { company_name: row.get(0)?, content: row.get(1)?, created_at: row.get(2)? }),
    )?;
    Ok(account)
}

fn rows<T>(conn: &Connection, sql: &str, of: impl ToSql, from_row: fn(&Row) -> rusqlite::Result<T>) -> Result<Vec<T>> {
    Ok(conn.prepare(sql)?.query_map([of], from_row)?.collect::<rusqlite::Result<_>>()?)
}

fn account_from_row(row: &Row) -> rusqlite::Result<Account> {
    let mut columns = Columns::of_row(row);
    Ok(Account {
        id: columns.take()?,
        email: columns.take()?,
        username: columns.take()?,
        first_name: columns.take()?,
        last_name: columns.take()?,
        phone: columns.take()?,
        avatar_url: columns.take()?,
        status_emoji: columns.take()?,
        status_text: columns.take()?,
        status_until: columns.take()?,
        role: columns.take()?,
        is_active: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
        last_seen_at: columns.take()?,
        identities: Vec::new(),
        sessions: Vec::new(),
        organisations: Vec::new(),
        former_organisations: Vec::new(),
        invitations: Vec::new(),
        channels: Vec::new(),
        notifications: Vec::new(),
        left_threads: Vec::new(),
        reminders: Vec::new(),
        testimonials: Vec::new(),
        mails: Vec::new(),
    })
}

const SESSIONS: &str = "select token_name, user_agent, address, created_at, last_seen_at, expires_at, ended_at from sessions
    where user_id = ?1 order by id";

fn session(row: &Row) -> rusqlite::Result<Session> {
    let mut columns = Columns::of_row(row);
    Ok(Session {
        token_name: columns.take()?,
        user_agent: columns.take()?,
        address: columns.take()?,
        created_at: columns.take()?,
        last_seen_at: columns.take()?,
        expires_at: columns.take()?,
        ended_at: columns.take()?,
    })
}

const MEMBERSHIPS: &str = "select o.id, o.name, iif(o.owner_id = m.user_id, 'owner', r.name), m.status, m.created_at
    from organisation_members m join organisations o on o.id = m.organisation_id join roles r on r.id = m.role_id
    where m.user_id = ?1 order by m.organisation_id";

fn membership(row: &Row) -> rusqlite::Result<Membership> {
    let mut columns = Columns::of_row(row);
    Ok(Membership {
        id: columns.take()?,
        name: columns.take()?,
        role: columns.take()?,
        status: columns.take()?,
        created_at: columns.take()?,
    })
}

const FORMER: &str = "select o.id, o.name from former_members m join organisations o on o.id = m.organisation_id
    where m.user_id = ?1 order by m.organisation_id";

const INVITATIONS: &str = "select o.name, i.created_at, i.expires_at, i.accepted_at
    from invitations i join organisations o on o.id = i.organisation_id where i.email = ?1 order by i.organisation_id";

fn invitation(row: &Row) -> rusqlite::Result<Invitation> {
    Ok(Invitation { organisation: row.get(0)?, created_at: row.get(1)?, expires_at: row.get(2)?, accepted_at: row.get(3)? })
}

const LEFT_THREADS: &str = "select r.id from thread_members t join messages r on r.n = t.root
    where t.user_id = ?1 and not t.is_followed order by t.channel_id, t.root";

const MAILS: &str = "select kind, created_at, sent_at from mails where recipient = ?1";

const CHANNELS: &str = "select c.id, c.organisation_id, c.name, m.username, m.is_starred, m.is_muted, m.created_at
    from channel_members m join channels c on c.id = m.channel_id
    where m.user_id = ?1 order by m.channel_id";

const NOTIFICATIONS: &str =
    "select organisation_id, null, device, notify_about, null from organisation_notifications where user_id = ?1
    union all select null, channel_id, device, notify_about, at_channel from channel_notifications where user_id = ?1";

fn notifications(row: &Row) -> rusqlite::Result<Notifications> {
    let mut columns = Columns::of_row(row);
    Ok(Notifications {
        organisation: columns.take()?,
        channel: columns.take()?,
        device: columns.take()?,
        notify_about: columns.take()?,
        at_channel: columns.take()?,
    })
}

fn channel_membership(row: &Row) -> rusqlite::Result<ChannelMembership> {
    let mut columns = Columns::of_row(row);
    Ok(ChannelMembership {
        id: columns.take()?,
        organisation: columns.take()?,
        name: columns.take()?,
        username: columns.take()?,
        is_starred: columns.take()?,
        is_muted: columns.take()?,
        created_at: columns.take()?,
    })
}

/// The picture of a person that the server keeps, in its larger size.
pub fn face(conn: &Connection, of: UserId) -> Result<Option<Vec<u8>>> {
    Ok(conn.prepare("select large from faces where owner = ?1")?.query_row([of], |row| row.get(0)).optional()?)
}

/// A post or a reply that was not deleted. The words of one that was are gone.
#[derive(Serialize)]
struct Message {
    id: MessageId,
    channel: ChannelId,
    /// Empty once the channel is gone.
    channel_name: String,
    /// The post that it replies to.
    thread: Option<MessageId>,
    content: String,
    created_at: Time,
    edited_at: Option<Time>,
}

/// Writes all that a person wrote, each message on a line, in the order in which they wrote it. Returns the number.
pub fn write_messages(conn: &Connection, of: UserId, to: &mut dyn Write) -> Result<u64> {
    let sql = "select m.id, m.channel_id, coalesce(c.name, ''), (select r.id from messages r where r.n = m.root), m.content,
          m.created_at, m.edited_at
        from messages m left join channels c on c.id = m.channel_id where m.user_id = ?1 and m.deleted_at is null order by m.n";
    export::lines(conn, sql, [of], message, to)
}

fn message(row: &Row) -> rusqlite::Result<Message> {
    let mut columns = Columns::of_row(row);
    Ok(Message {
        id: columns.take()?,
        channel: columns.take()?,
        channel_name: columns.take()?,
        thread: columns.take()?,
        content: columns.take()?,
        created_at: columns.take()?,
        edited_at: columns.take()?,
    })
}

/// An emoji that the person gave to a message.
#[derive(Serialize)]
struct Reaction {
    message: MessageId,
    emoji: String,
    created_at: Time,
}

/// Writes all reactions of a person, each on a line. Returns their number.
pub fn write_reactions(conn: &Connection, of: UserId, to: &mut dyn Write) -> Result<u64> {
    let sql = "select m.id, r.emoji, r.created_at from reactions r join messages m on m.n = r.n
        where r.user_id = ?1 order by r.n, r.emoji";
    let reaction = |row: &Row| Ok(Reaction { message: row.get(0)?, emoji: row.get(1)?, created_at: row.get(2)? });
    export::lines(conn, sql, [of], reaction, to)
}

/// A file that the person uploaded and nobody has deleted.
#[derive(Serialize)]
pub struct File {
    pub id: FileId,
    pub organisation: OrganisationId,
    /// The message that shows it, if one does.
    message: Option<MessageId>,
    /// A name without a path.
    pub name: String,
    mime_type: String,
    /// Bytes.
    pub size: i64,
    /// In hexadecimal digits.
    pub sha256: String,
    /// What it shows, for those who can't see it.
    description: String,
    created_at: Time,
}

/// The files of a person, the oldest first.
pub fn files(conn: &Connection, of: UserId) -> Result<Vec<File>> {
    let sql = "select f.id, f.organisation_id, m.id, f.name, f.mime_type, f.size, f.sha256, f.description, f.created_at
        from files f left join messages m on m.n = f.message_n
        where f.user_id = ?1 and f.deleted_at is null order by f.created_at, f.id";
    rows(conn, sql, of, file)
}

/// Writes what the rows say of files, each on a line. Returns their number.
pub fn write_files(files: &[File], to: &mut dyn Write) -> Result<u64> {
    files.iter().try_for_each(|file| export::line(file, to))?;
    Ok(files.len() as u64)
}

fn file(row: &Row) -> rusqlite::Result<File> {
    let mut columns = Columns::of_row(row);
    Ok(File {
        id: columns.take()?,
        organisation: columns.take()?,
        message: columns.take()?,
        name: columns.take()?,
        mime_type: columns.take()?,
        size: columns.take()?,
        sha256: secret::hex(&columns.take::<Hash>()?),
        description: columns.take()?,
        created_at: columns.take()?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Tables whose rows of a person are exported, as they are or in the account.
    const EXPORTED: [&str; 14] = [
        "channel_members",
        "files",
        "former_members",
        "identities",
        "invitations",
        "mails",
        "messages",
        "organisation_members",
        "reactions",
        "reminders",
        "sessions",
        "testimonials",
        "thread_members",
        "users",
    ];
    /// What belongs to an organisation or to the server's public pages, what follows from the messages, what lives for minutes, and
    /// what somebody has sent under an address that nobody has proved.
    const LEFT_OUT: [&str; 17] = [
        "blogs",
        "bots",
        "calls",
        "channels",
        "code_requests",
        "commands",
        "contacts",
        "events",
        "join_links",
        "join_places",
        "mentions",
        "one_time_tokens",
        "organisations",
        "reply_mentions",
        "unfinished_accounts",
        "uploads",
        "webhooks",
    ];

    #[test]
    fn each_table_that_names_people_is_exported_or_left_out_on_purpose() {
        let names_people =
            |table: &&str| [" references users", "\n    email ", "\n    recipient "].iter().any(|part| table.contains(part));
        let tables = include_str!("../../../schema.sql").split("create table ").skip(1);
        let of_people = tables.filter(names_people).map(|table| table.split(' ').next().unwrap());
        assert_eq!(of_people.collect::<BTreeSet<_>>(), EXPORTED.into_iter().chain(LEFT_OUT).collect());
    }
}
