//! Who may do what: the one home of rights. Each function is a verb of the rules, such as [`may_post`], checks it inside
//! the caller's transaction, and answers with what it read or with the refusal that the operation documents.
//!
//! An operation hides what the caller may not know of in one of two ways: rows of the specification that list 404 answer
//! [`UNKNOWN_CHANNEL`] or [`UNKNOWN_ORGANISATION`], rows that list 403 alone answer [`HIDDEN_CHANNEL`] or [`OUTSIDER`],
//! to unknown and to hidden records alike. All areas use this module, and it uses none of them.

use rusqlite::{
    Connection, OptionalExtension, Row,
    types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef},
};

use crate::{
    domain::rights::Rights,
    error::{Error, Result},
    id::{ChannelId, OrganisationId, SessionId, UserId},
    time::Time,
};

/// Hides a channel in rows that list 403 and no 404.
pub const HIDDEN_CHANNEL: Error = Error::Forbidden("You do not have access to this channel");
/// Hides a channel in rows that list 404.
pub const UNKNOWN_CHANNEL: Error = Error::NotFound("Channel");
/// Hides an organisation in rows that list 403 and no 404.
pub const OUTSIDER: Error = Error::Forbidden("You are not a member of this organisation");
/// Hides an organisation in rows that list 404.
pub const UNKNOWN_ORGANISATION: Error = Error::NotFound("Organisation");
/// The answer to a caller who knows the record and lacks the right.
const LACKING: Error = Error::Forbidden("You do not have permission to do this");

// The whole server -------------------------------------------------------------------------------

/// What an account may do on the whole server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlatformRole {
    User,
    Admin,
    Superadmin,
}

impl PlatformRole {
    pub fn as_str(self) -> &'static str {
        match self {
            PlatformRole::User => "user",
            PlatformRole::Admin => "admin",
            PlatformRole::Superadmin => "superadmin",
        }
    }
}

impl FromSql for PlatformRole {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value.as_str()? {
            "superadmin" => PlatformRole::Superadmin,
            "admin" => PlatformRole::Admin,
            "user" => PlatformRole::User,
            _ => return Err(FromSqlError::InvalidType),
        })
    }
}

impl ToSql for PlatformRole {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

/// Who is calling, as read with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub session: SessionId,
    pub role: PlatformRole,
}

impl Caller {
    pub fn holds(self, role: PlatformRole) -> bool {
        self.role >= role
    }

    /// 403 below the role.
    pub fn require(self, role: PlatformRole) -> Result<()> {
        if self.holds(role) { Ok(()) } else { Err(LACKING) }
    }
}

// An organisation --------------------------------------------------------------------------------

/// A membership in a live organisation; a deactivated one counts as none.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    pub rights: Rights,
}

impl Membership {
    /// 403 for a member who lacks the right.
    pub fn require(self, right: Rights) -> Result<()> {
        if self.rights.include(right) { Ok(()) } else { Err(LACKING) }
    }

    /// 403 for a right that this member lacks: what they do not hold they neither give nor take.
    pub fn require_all(self, rights: Rights) -> Result<()> {
        if self.rights.include(rights) { Ok(()) } else { Err(Error::Forbidden("The role holds rights that you do not have")) }
    }
}

/// The condition in SQL under which the row `m` of `organisation_members` counts as a membership.
pub const ENTITLED: &str = "m.status <> 'deactivated'";

/// Anybody's membership. None for an outsider, for a deactivated member, and in an unknown or deleted organisation.
pub fn membership(conn: &Connection, organisation: OrganisationId, user: UserId) -> Result<Option<Membership>> {
    let sql = format!(
        "select r.rights from organisation_members m
           join organisations o on o.id = m.organisation_id
           join roles r on r.id = m.role_id
         where m.organisation_id = ?1 and m.user_id = ?2 and {ENTITLED} and o.deleted_at is null"
    );
    let row = |row: &Row| Ok(Membership { rights: row.get(0)? });
    Ok(conn.prepare_cached(&sql)?.query_row((organisation, user), row).optional()?)
}

/// The caller is a member of the organisation. `refusal` is [`OUTSIDER`] or [`UNKNOWN_ORGANISATION`].
pub fn is_member(conn: &Connection, caller: Caller, organisation: OrganisationId, refusal: Error) -> Result<Membership> {
    membership(conn, organisation, caller.user)?.ok_or(refusal)
}

/// The caller is a member and holds the right; 403 for a member without it. `refusal` is for outsiders, as in
/// [`is_member`].
pub fn may(conn: &Connection, caller: Caller, right: Rights, organisation: OrganisationId, refusal: Error) -> Result<Membership> {
    let membership = is_member(conn, caller, organisation, refusal)?;
    membership.require(right)?;
    Ok(membership)
}

// A channel --------------------------------------------------------------------------------------

/// What the caller may do in a channel that they see.
#[derive(Clone, Debug)]
pub struct ChannelAccess {
    pub organisation: OrganisationId,
    /// The caller's.
    pub membership: Membership,
    /// The caller's name in the channel; none when the caller is not in it.
    pub username: Option<String>,
    pub user: UserId,
    owner: UserId,
    is_dm: bool,
    is_archived: bool,
}

impl ChannelAccess {
    /// 403 when the caller is not in the channel.
    pub fn require_member(&self) -> Result<()> {
        if self.username.is_some() { Ok(()) } else { Err(Error::Forbidden("You are not a member of this channel")) }
    }

    /// 403 when the caller is not in the channel, or lacks `post:messages`. Archived channels are
    /// [`ChannelAccess::require_live`]'s.
    pub fn require_poster(&self) -> Result<()> {
        self.require_member()?;
        self.membership.require(Rights::POST_MESSAGES)
    }

    /// 403 unless the caller owns the channel or holds `manage:channels`, and for direct messages.
    pub fn require_manager(&self) -> Result<()> {
        self.require_no_dm()?;
        if self.manages(Rights::MANAGE_CHANNELS) { Ok(()) } else { Err(LACKING) }
    }

    /// Whether the caller owns the channel or holds `manage:webhooks`.
    pub fn manages_webhooks(&self) -> bool {
        self.manages(Rights::MANAGE_WEBHOOKS)
    }

    /// Whether the caller holds the right, or owns the channel. Ownership gives nothing to an owner without
    /// `post:messages`: it outlives a demotion, and a guest manages nothing.
    fn manages(&self, right: Rights) -> bool {
        let Membership { rights } = self.membership;
        rights.include(right) || (self.owner == self.user && rights.include(Rights::POST_MESSAGES))
    }

    /// 403 for a direct message.
    pub fn require_no_dm(&self) -> Result<()> {
        if self.is_dm { Err(Error::Forbidden("This can't be done with a direct message")) } else { Ok(()) }
    }

    /// 403 for an archived channel.
    pub fn require_live(&self) -> Result<()> {
        if self.is_archived { Err(Error::Forbidden("The channel is archived")) } else { Ok(()) }
    }

    /// From a row with these columns of `channels`, and those of [`SEEN`].
    pub fn from_row(caller: Caller, row: &Row) -> rusqlite::Result<ChannelAccess> {
        Ok(ChannelAccess {
            organisation: row.get("organisation_id")?,
            membership: Membership { rights: row.get("rights")? },
            username: row.get("own_name")?,
            user: caller.user,
            owner: row.get("owner_id")?,
            is_dm: row.get("is_dm")?,
            is_archived: row.get::<_, Option<Time>>("archived_at")?.is_some(),
        })
    }
}

/// The end of a select of `channels c` that user ?1 sees, with what they may do there; goes on with `and …`. Members see
/// public channels, and those that they are in; guests (role 5) see only the latter.
pub const SEEN: &str = "r.rights, cm.username as own_name
    from channels c
      join organisations o on o.id = c.organisation_id and o.deleted_at is null
      join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = ?1 and m.status <> 'deactivated'
      join roles r on r.id = m.role_id
      left join channel_members cm on cm.channel_id = c.id and cm.user_id = ?1
    where c.deleted_at is null
      and (cm.user_id is not null or (c.is_private = 0 and c.is_dm = 0 and m.role_id <> 5))
   ";

/// None for a channel that does not exist and for one that the caller does not see.
fn find_channel(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<Option<ChannelAccess>> {
    let sql = format!("select c.organisation_id, c.owner_id, c.is_dm, c.archived_at, {SEEN} and c.id = ?2");
    let row = |row: &Row| ChannelAccess::from_row(caller, row);
    Ok(conn.prepare_cached(&sql)?.query_row((caller.user, channel), row).optional()?)
}

/// The caller sees the channel. `refusal` is [`HIDDEN_CHANNEL`] or [`UNKNOWN_CHANNEL`].
pub fn sees_channel(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    find_channel(conn, caller, channel)?.ok_or(refusal)
}

/// [`sees_channel`], for a channel that must be the organisation's.
pub fn sees_channel_of(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    channel: ChannelId,
    refusal: Error,
) -> Result<ChannelAccess> {
    find_channel(conn, caller, channel)?.filter(|access| access.organisation == organisation).ok_or(refusal)
}

/// The caller is in the channel; 403 for one that they see and are not in. `refusal` as in [`sees_channel`].
pub fn is_in_channel(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = sees_channel(conn, caller, channel, refusal)?;
    access.require_member()?;
    Ok(access)
}

/// The caller is in the channel and holds `post:messages`; 403 otherwise. `refusal` as in [`sees_channel`]. Whether the
/// channel is archived is another check, [`ChannelAccess::require_live`]: some operations answer others before it.
pub fn may_post(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = sees_channel(conn, caller, channel, refusal)?;
    access.require_poster()?;
    Ok(access)
}

/// The caller owns the channel or holds `manage:channels`; 403 otherwise, and for direct messages. `refusal` as in
/// [`sees_channel`].
pub fn manages_channel(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = sees_channel(conn, caller, channel, refusal)?;
    access.require_manager()?;
    Ok(access)
}

/// The caller owns the channel or holds `manage:webhooks`; 403 otherwise, and for direct messages, which have no webhooks.
/// `refusal` as in [`sees_channel`].
pub fn manages_webhooks(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = sees_channel(conn, caller, channel, refusal)?;
    access.require_no_dm()?;
    if access.manages_webhooks() { Ok(access) } else { Err(Error::Forbidden("You may not manage this channel's webhooks")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rights::{BuiltInRole, MemberStatus};

    #[test]
    fn the_conditions_in_sql_mean_the_guest_and_the_deactivated_member() {
        assert!(SEEN.contains(&format!("m.role_id <> {})", BuiltInRole::Guest as i64)));
        assert!(SEEN.contains(&format!(" {ENTITLED}\n")) && ENTITLED.contains(MemberStatus::Deactivated.as_str()));
    }
}
