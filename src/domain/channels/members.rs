//! Members of channels, and their names there: joining, leaving, adding, removing and renaming.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::json;

use crate::{
    db::{Columns, Tx, log_reader},
    domain::{
        access::{self, Caller, ENTITLED},
        accounts::{self, custom_status::CustomStatus},
        channels::{
            marks::END,
            record::{self, Channel, Visible},
            sidebar_trigger::{self, SidebarChange},
            succession, update_event,
        },
        log::revocations,
        page::Page,
    },
    error::{Code, Error, OrConflict, Result},
    event::Stream,
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

/// The user's name in the channel, or `None` if they are not in it.
pub fn name_in_channel(conn: &Connection, channel: ChannelId, user: UserId) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("select username from channel_members where channel_id = ?1 and user_id = ?2")?
        .query_row((channel, user), |row| row.get(0))
        .optional()?)
}

/// The user's name in the channel, or the account's for somebody who is not in it.
pub fn shown_name(conn: &Connection, channel: ChannelId, user: UserId) -> Result<String> {
    Ok(conn
        .prepare_cached(
            "select coalesce(cm.username, u.username)
               from users u left join channel_members cm on cm.channel_id = ?1 and cm.user_id = u.id where u.id = ?2",
        )?
        .query_row((channel, user), |row| row.get(0))?)
}

/// The channel's members, in the order in which they joined.
pub fn ids(conn: &Connection, channel: ChannelId) -> Result<Vec<UserId>> {
    Ok(conn
        .prepare_cached("select user_id from channel_members where channel_id = ?1 order by created_at, user_id")?
        .query_map([channel], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

pub struct Member {
    pub user: UserId,
    /// The name in the channel.
    pub username: String,
    pub full_name: String,
    pub avatar_url: String,
    pub custom_status: Option<CustomStatus>,
    pub is_bot: bool,
    /// The role in the organisation; none for a side of a direct message who has left the organisation.
    pub role_id: Option<i64>,
    pub joined_at: Time,
}

/// Columns of a member. [`from_row`] takes them in this order.
const COLUMNS: &str = "cm.user_id, cm.username, u.first_name, u.last_name, u.avatar_url, u.status_emoji,
    u.status_text, u.status_until, u.is_bot, om.role_id, cm.created_at";
/// Joins the membership in the organisation of channel `?1`. The organisation is looked up once, and not for each member.
const IN_ORGANISATION: &str = "left join organisation_members om
    on om.organisation_id = (select organisation_id from channels where id = ?1) and om.user_id = cm.user_id";

/// The number of the channel's members. 404 for a caller who can't see the channel.
pub fn number(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<i64> {
    Ok(record::find(conn, caller, channel)?.ok_or(access::UNKNOWN_CHANNEL)?.channel.user_count)
}

/// Whether the user is in the channel. 404 for a caller who can't see the channel.
pub fn contains_user(conn: &Connection, caller: Caller, channel: ChannelId, user: UserId) -> Result<bool> {
    access::require_channel(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    Ok(name_in_channel(conn, channel, user)?.is_some())
}

/// A page of the channel's members, in the order in which they joined. 404 for a caller who can't see the channel.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, page: Page) -> Result<Vec<Member>> {
    access::require_channel(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    first(conn, channel, page)
}

/// A page of the channel's members, in the order in which they joined, for a caller who sees the channel.
pub(in crate::domain) fn first(conn: &Connection, channel: ChannelId, page: Page) -> Result<Vec<Member>> {
    // The page is found in an index alone, so that rows that are skipped cost little. With `in` for the join, SQLite would look
    // through all members of the channel.
    let sql = format!(
        "select {COLUMNS}
           from (select user_id from channel_members where channel_id = ?1 order by created_at, user_id limit ?2 offset ?3) page
           cross join channel_members cm on cm.channel_id = ?1 and cm.user_id = page.user_id
           cross join users u on u.id = cm.user_id {IN_ORGANISATION} order by cm.created_at, cm.user_id"
    );
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((channel, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// All members of each of these direct messages, in the order in which they joined, for a caller who is in them.
pub(in crate::domain) fn of_direct_messages(conn: &Connection, ids: &[ChannelId]) -> Result<HashMap<ChannelId, Vec<Member>>> {
    let sql = format!(
        "select {COLUMNS}, cm.channel_id from json_each(?1) listed
           cross join channels c on c.id = unhex(listed.value, '-')
           cross join channel_members cm on cm.channel_id = c.id
           cross join users u on u.id = cm.user_id
           left join organisation_members om on om.organisation_id = c.organisation_id and om.user_id = cm.user_id"
    );
    let ids = json!(ids.iter().map(ChannelId::to_string).collect::<Vec<_>>()).to_string();
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query([ids])?;
    let mut members: HashMap<ChannelId, Vec<Member>> = HashMap::new();
    while let Some(row) = rows.next()? {
        members.entry(row.get("channel_id")?).or_default().push(from_row(row)?);
    }
    members.values_mut().for_each(|of| of.sort_unstable_by_key(|member| (member.joined_at, member.user)));
    Ok(members)
}

fn find(conn: &Connection, channel: ChannelId, user: UserId) -> Result<Option<Member>> {
    let sql = format!(
        "select {COLUMNS} from channel_members cm cross join users u on u.id = cm.user_id {IN_ORGANISATION}
         where cm.channel_id = ?1 and cm.user_id = ?2"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((channel, user), from_row).optional()?)
}

fn from_row(row: &Row) -> rusqlite::Result<Member> {
    let mut columns = Columns::of_row(row);
    let mut member = Member {
        user: columns.take()?,
        username: columns.take()?,
        full_name: accounts::join_names(&columns.take::<String>()?, &columns.take::<String>()?),
        avatar_url: columns.take()?,
        custom_status: CustomStatus::take(&mut columns)?,
        is_bot: columns.take()?,
        role_id: columns.take()?,
        joined_at: columns.take()?,
    };
    // Who has left says nothing more here.
    member.custom_status = member.custom_status.filter(|_| member.role_id.is_some());
    Ok(member)
}

/// Adds the caller to a channel, and returns it with the time of joining. Any caller who can see the channel may join.
/// Pushes `channel_update`. 403 for a channel that they can't see, a direct message or an archived channel; 422 when they
/// are already in it, or the username is invalid or taken there.
pub fn join(tx: &mut Tx, caller: Caller, id: ChannelId, username: Option<&str>) -> Result<(Channel, Time)> {
    let Visible { channel, access, .. } = record::find(tx, caller, id)?.ok_or(access::HIDDEN_CHANNEL)?;
    access.require_no_dm()?;
    access.require_live()?;
    if access.username.is_some() {
        return Err(Error::Invalid(Code::AlreadyAMember.says("You are already a member of this channel")));
    }
    let user = accounts::own(tx, caller)?;
    let joined_at = insert(tx, id, &user, username)?;
    announce(tx, channel.organisation, id, "joined", caller.user)?;
    Ok((channel, joined_at))
}

/// Removes the caller from a channel, and returns it with the time when they had joined. An owner may leave, too; the
/// channel then passes on. Pushes `channel_update`. 403 for a channel that they can't see, and for a direct message; 422
/// when they are not in it.
pub fn leave(tx: &mut Tx, caller: Caller, id: ChannelId) -> Result<(Channel, Time)> {
    let Visible { channel, access, .. } = record::find(tx, caller, id)?.ok_or(access::HIDDEN_CHANNEL)?;
    access.require_no_dm()?;
    if access.username.is_none() {
        return Err(Error::Invalid(Code::NotInChannel.says("You are not a member of this channel")));
    }
    let joined_at = take_out(tx, channel.organisation, id, caller.user)?;
    Ok((channel, joined_at))
}

/// Ends a membership, logs it and revokes the user's rights; returns the time of joining. A channel that the user owned
/// passes on to an heir, and a private channel without members is archived.
fn take_out(tx: &mut Tx, organisation: OrganisationId, channel: ChannelId, user: UserId) -> Result<Time> {
    let joined_at = tx
        .prepare_cached("delete from channel_members where channel_id = ?1 and user_id = ?2 returning created_at")?
        .query_row((channel, user), |row| row.get(0))?;
    count(tx, channel, -1)?;
    let is_passed_on = succession::pass_on(tx, channel, user)?;
    record::archive_deserted(tx, channel)?;
    announce(tx, organisation, channel, "left", user)?;
    revocations::rights(tx, vec![user])?;
    if is_passed_on {
        update_event::announce(tx, channel, "updated", user)?;
    }
    Ok(joined_at)
}

/// At most 100 users in a list of a request: all other writes wait while the writer works through it.
pub const LISTED_MAX: usize = 100;

/// The users that a request lists, each once and without the caller. 422 for more than 100, with the list's name, `field`.
pub(in crate::domain) fn others(caller: Caller, field: &str, listed: Vec<UserId>) -> Result<BTreeSet<UserId>> {
    if listed.len() > LISTED_MAX {
        return Err(Error::Invalid(
            Code::TooManyItems
                .says(format!("{field} names {} users, at most {LISTED_MAX} are allowed", listed.len()))
                .at(field)
                .with_limit(LISTED_MAX),
        ));
    }
    Ok(listed.into_iter().filter(|user| *user != caller.user).collect())
}

/// The refusal of `user_ids` that names nobody, or more than `most` users.
pub(super) fn wrong_number(named: usize, most: usize, says: String) -> Error {
    let refusal = if named == 0 { Code::Empty.says(says) } else { Code::TooManyItems.says(says).with_limit(most as u64) };
    Error::Invalid(refusal.at("user_ids"))
}

/// Adds users to a channel, and returns all the named members, in the order of the request. Needs membership of the channel
/// and `post:messages`. Users who are already in the channel stay as they are; pushes `channel_update` for each of the
/// others. 404 for a channel that the caller can't see; 403 without the right, for a direct message or an archived channel;
/// 422 unless the request names 1 to 100 users, all of them members of the organisation, and nobody is added then.
pub fn add(tx: &mut Tx, caller: Caller, id: ChannelId, users: Vec<UserId>) -> Result<Vec<Member>> {
    let access = access::require_channel(tx, caller, id, access::UNKNOWN_CHANNEL)?;
    access.require_no_dm()?;
    access.require_poster()?;
    access.require_live()?;
    if users.is_empty() || users.len() > LISTED_MAX {
        let says = format!("user_ids names {} users, 1 to {LISTED_MAX} are allowed", users.len());
        return Err(wrong_number(users.len(), LISTED_MAX, says));
    }
    let mut named: Vec<UserId> = Vec::new();
    for user in users {
        if !named.contains(&user) {
            named.push(user);
        }
    }
    require_members(tx, access.organisation, &named)?;
    let mut new = BTreeSet::new();
    for user in &named {
        if name_in_channel(tx, id, *user)?.is_none() {
            new.insert(*user);
        }
    }
    insert_all(tx, id, &new)?;
    for user in named.iter().filter(|user| new.contains(user)) {
        announce(tx, access.organisation, id, "joined", *user)?;
    }
    named.into_iter().filter_map(|user| find(tx, id, user).transpose()).collect()
}

/// The account of a member of the organisation. 422 with the user's id if they are not a member.
pub fn require_organisation_member(conn: &Connection, organisation: OrganisationId, user: UserId) -> Result<accounts::User> {
    if access::membership(conn, organisation, user)?.is_none() {
        return Err(no_member(user));
    }
    accounts::get(conn, user)
}

fn no_member(user: UserId) -> Error {
    Error::Invalid(Code::UserNotAMember.says(format!("user {user} is not a member of the organisation")))
}

/// Removes a user from a channel. Needs ownership of the channel or `manage:channels`. Pushes `channel_update`. 404 for a
/// channel that the caller can't see, and for a user who is not in it; 403 without the right, and for a direct message.
pub fn remove(tx: &mut Tx, caller: Caller, id: ChannelId, user: UserId) -> Result<()> {
    let access = access::require_channel_manager(tx, caller, id, access::UNKNOWN_CHANNEL)?;
    name_in_channel(tx, id, user)?.ok_or(Error::NotFound(Code::MemberNotFound))?;
    take_out(tx, access.organisation, id, user)?;
    Ok(())
}

/// Sets the caller's name in a channel that they are in. Pushes `channel_update`, unless the name is the same as before. 403
/// if they are not in the channel; 422 for a name that is invalid or taken there.
pub fn set_own_name(tx: &mut Tx, caller: Caller, id: ChannelId, username: &str) -> Result<()> {
    let access = access::require_channel_member(tx, caller, id, access::HIDDEN_CHANNEL)?;
    let username = accounts::check_username(username).map_err(Error::Invalid)?;
    if access.username.as_deref() == Some(&username) {
        return Ok(());
    }
    tx.prepare_cached("update channel_members set username = ?3 where channel_id = ?1 and user_id = ?2")?
        .execute((id, caller.user, username))
        .or_conflict(taken)?;
    announce(tx, access.organisation, id, "renamed", caller.user)
}

/// The body of a `channel_update` about one user. It carries the user's name in the channel while they are a member.
pub(super) fn body_about(conn: &Connection, channel: ChannelId, action: &str, user: UserId) -> Result<update_event::Body> {
    let mut body = update_event::update_body(conn, channel, action, user)?;
    if let Some(member) = find(conn, channel, user)? {
        body.data.username = Some(member.username);
        body.data.joined_at = Some(member.joined_at);
    }
    Ok(body)
}

/// Adds a new member of an organisation to its default channel, if it has one.
pub fn join_default(tx: &mut Tx, organisation: OrganisationId, user: &accounts::User) -> Result<()> {
    let default: Option<ChannelId> = tx
        .prepare_cached("select id from channels where organisation_id = ?1 and is_default = 1 and deleted_at is null")?
        .query_row([organisation], |row| row.get(0))
        .optional()?;
    let Some(id) = default else { return Ok(()) };
    insert(tx, id, user, None)?;
    announce(tx, organisation, id, "joined", user.id)
}

/// Adds a member, and returns the time of joining. Existing messages count as read. If no `username` is chosen and the
/// account's is taken in the channel, a number is appended to it. 422 for a chosen name that is invalid or taken.
pub fn insert(tx: &mut Tx, channel: ChannelId, user: &accounts::User, username: Option<&str>) -> Result<Time> {
    let name = match username {
        Some(chosen) => accounts::check_username(chosen).map_err(Error::Invalid)?,
        None => free_name(tx, channel, &user.username)?,
    };
    let now = tx.now();
    tx.prepare_cached(&format!(
        "insert into channel_members (channel_id, user_id, username, joined_seq, read_n, read_thread_count, read_mention_count, read_id,
           created_at)
         select c.id, ?2, ?3, ?4, {END}, ?5 from channels c where c.id = ?1"
    ))?
    .execute((channel, user.id, name, log_reader::last_seq(tx)?, now))
    .or_conflict(taken)?;
    count(tx, channel, 1)?;
    Ok(now)
}

/// Checks that all users are members of the organisation. 422 with the id of one who is not.
pub(in crate::domain) fn require_members<'a>(
    conn: &Connection,
    organisation: OrganisationId,
    users: impl IntoIterator<Item = &'a UserId>,
) -> Result<()> {
    let sql = format!(
        "select unhex(listed.value) from json_each(?1) listed where not exists (select 1 from organisation_members m
           where m.organisation_id = ?2 and m.user_id = unhex(listed.value) and {ENTITLED}) limit 1"
    );
    let outsider: Option<UserId> =
        conn.prepare_cached(&sql)?.query_row((listed(users), organisation), |row| row.get(0)).optional()?;
    outsider.map_or(Ok(()), |user| Err(no_member(user)))
}

/// The users as a JSON array of ids in hexadecimal digits, for `json_each`.
fn listed<'a>(users: impl IntoIterator<Item = &'a UserId>) -> String {
    let list: Vec<String> = users.into_iter().map(|user| user.0.simple().to_string()).collect();
    json!(list).to_string()
}

/// [`insert`] for users who are not in the channel yet: one statement for all whose usernames are free there.
pub(in crate::domain) fn insert_all(tx: &mut Tx, channel: ChannelId, users: &BTreeSet<UserId>) -> Result<()> {
    let inserted = tx
        .prepare_cached(&format!(
            "insert into channel_members (channel_id, user_id, username, joined_seq, read_n, read_thread_count, read_mention_count, read_id,
               created_at)
             select c.id, u.id, u.username, ?3, {END}, ?4
               from json_each(?2) listed cross join users u on u.id = unhex(listed.value) cross join channels c
             where c.id = ?1 on conflict (channel_id, username) do nothing"
        ))?
        .execute((channel, listed(users), log_reader::last_seq(tx)?, tx.now()))?;
    count(tx, channel, inserted as i64)?;
    if inserted < users.len() {
        // Usernames of accounts are unique: only a name that a member chose in this channel can collide.
        for user in users {
            if name_in_channel(tx, channel, *user)?.is_none() {
                insert(tx, channel, &accounts::get(tx, *user)?, None)?;
            }
        }
    }
    Ok(())
}

/// Adds `more`, which may be negative, to the channel's counter of members.
fn count(tx: &Tx, channel: ChannelId, more: i64) -> Result<()> {
    tx.prepare_cached("update channels set user_count = user_count + ?2 where id = ?1")?.execute((channel, more))?;
    Ok(())
}

fn taken() -> Error {
    Error::Invalid(Code::UsernameTaken.says("This username is taken in the channel").at("username"))
}

fn free_name(conn: &Connection, channel: ChannelId, base: &str) -> Result<String> {
    let mut taken = conn.prepare_cached("select 1 from channel_members where channel_id = ?1 and username = ?2")?;
    accounts::first_free(base, |name| Ok(taken.exists((channel, name))?))
}

/// Logs a `channel_update` about one user on the channel's stream and on the user's personal stream, and beside it that the
/// user's list of channels has changed.
fn announce(tx: &mut Tx, organisation: OrganisationId, channel: ChannelId, action: &str, user: UserId) -> Result<()> {
    let body = body_about(tx, channel, action, user)?;
    for stream in [Stream::Channel(channel), Stream::Personal(organisation, user)] {
        update_event::emit(tx, channel, stream, user, &body)?;
    }
    match action {
        "joined" => sidebar_trigger::emit_to_user(tx, organisation, user, SidebarChange::Joined),
        "left" => sidebar_trigger::emit_to_user(tx, organisation, user, SidebarChange::Leave),
        _ => Ok(()),
    }
}
