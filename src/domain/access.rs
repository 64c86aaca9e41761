//! Checks of rights: all of them are here. Each function is a verb of the rules, such as [`require_poster`]; it checks inside the
//! caller's transaction, and returns the rows it read or the operation's documented error. Unknown and hidden records get
//! the same error: [`UNKNOWN_CHANNEL`] or [`UNKNOWN_ORGANISATION`] where the specification lists 404, [`HIDDEN_CHANNEL`] or
//! [`OUTSIDER`] where it lists only 403.

#[macro_use]
mod bot_owners;

use rusqlite::{Connection, OptionalExtension, Row};

use serde::Serialize;
use uuid::Uuid;

use crate::{
    config::OrganisationsBy,
    db::{Columns, View, text_enum},
    domain::{
        rights::Rights,
        scopes::{Grant, Scope},
    },
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId, SessionId, Share, UserId},
};

pub(in crate::domain) use self::bot_owners::person_answering_for;
pub use self::bot_owners::{USABLE, answerable_person};

/// The error that hides a channel where the specification lists 403 and no 404.
pub const HIDDEN_CHANNEL: Error = Error::Forbidden(Code::ChannelHidden, "You do not have access to this channel");
/// The error that hides a channel where the specification lists 404.
pub const UNKNOWN_CHANNEL: Error = Error::NotFound(Code::ChannelNotFound);
/// The error that hides an organisation where the specification lists 403 and no 404.
pub const OUTSIDER: Error = Error::Forbidden(Code::NotAMember, "You are not a member of this organisation");
/// The error that hides an organisation where the specification lists 404.
pub const UNKNOWN_ORGANISATION: Error = Error::NotFound(Code::OrganisationNotFound);
/// The error for a caller who may see the record and lacks the right.
const LACKING: Error = Error::Forbidden(Code::PermissionDenied, "You do not have permission to do this");

// The whole server -------------------------------------------------------------------------------

text_enum! {
    /// The role of an account on the whole server.
    #[derive(PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PlatformRole {
        User = "user",
        Admin = "admin",
        Superadmin = "superadmin",
    }
}

/// The account and session that make a request, as read with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub session: SessionId,
    pub role: PlatformRole,
    /// The person who answers for what the user writes: a bot's owner, otherwise the user.
    pub person: UserId,
    /// What the session may be used for.
    pub grant: Grant,
}

impl Caller {
    /// The operator at the command line, who acts in the name of a user and has no session.
    pub fn operator_as(user: UserId) -> Caller {
        Caller { user, session: SessionId(Uuid::nil()), role: PlatformRole::User, person: user, grant: Grant::Session }
    }

    /// Whose bounds the caller's requests and sockets count towards.
    pub fn share(self) -> Share {
        if self.user == self.person { Share::Person(self.person) } else { Share::BotsOf(self.person) }
    }

    pub fn has_platform_role(self, role: PlatformRole) -> bool {
        self.role >= role
    }

    /// Checks the caller's role on the server: 403 if it is below `role`.
    pub fn require_platform_role(self, role: PlatformRole) -> Result<()> {
        if self.has_platform_role(role) { Ok(()) } else { Err(LACKING) }
    }
}

/// Checks that the caller may found organisations, as `--organisations-by` says: 403 if not. Superadmins always may.
pub fn require_founder(conn: &View, caller: Caller) -> Result<()> {
    let may = caller.has_platform_role(PlatformRole::Superadmin)
        || match conn.site().organisations_by {
            OrganisationsBy::Anyone => true,
            OrganisationsBy::Members => is_member_of_any(conn, caller.user)?,
            OrganisationsBy::Superadmins => false,
        };
    if may { Ok(()) } else { Err(Error::Forbidden(Code::FoundingRestricted, "You may not create organisations on this server")) }
}

// An organisation --------------------------------------------------------------------------------

/// A membership in a live organisation. Deactivated members have none.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    pub rights: Rights,
}

impl Membership {
    /// Checks that the member holds the right: 403 if not.
    pub fn require_right(self, right: Rights) -> Result<()> {
        if self.rights.contains(right) { Ok(()) } else { Err(LACKING) }
    }

    /// Checks that the member holds all these rights: 403 if not. Members neither give nor take rights that they lack.
    pub fn require_all(self, rights: Rights) -> Result<()> {
        if self.rights.contains(rights) {
            Ok(())
        } else {
            Err(Error::Forbidden(Code::RightsExceeded, "The role holds rights that you do not have"))
        }
    }
}

impl Caller {
    /// Whether the caller, who is this member, sees the addresses of bots and commands: a manager of webhooks, whose token, if
    /// it is one, has that scope.
    pub fn sees_program_urls(self, own: Membership) -> bool {
        own.rights.contains(Rights::MANAGE_WEBHOOKS) && self.grant.require_scope(Scope::Webhooks, true).is_ok()
    }
}

/// The SQL condition under which the row `m` of `organisation_members` counts as a membership.
pub const ENTITLED: &str = "m.status <> 'deactivated'";

/// A user's membership. None for outsiders and deactivated members, for bots whose owner has none or is disabled, and in an
/// unknown or deleted organisation.
pub fn membership(conn: &Connection, organisation: OrganisationId, user: UserId) -> Result<Option<Membership>> {
    const OWNER: &str = owner!();
    const ANSWERED_FOR: &str = is_answered_for!();
    let sql = format!(
        "select {RIGHTS} from {OWNER}
           cross join organisation_members m
           join organisations o on o.id = m.organisation_id
           join roles r on r.id = m.role_id
         where m.organisation_id = ?2 and m.user_id = ?1 and {ENTITLED} and o.deleted_at is null and {ANSWERED_FOR}"
    );
    let row = |row: &Row| Ok(Membership { rights: row.get(0)? });
    Ok(conn.prepare_cached(&sql)?.query_row((user, organisation), row).optional()?)
}

/// Whether the user has a live membership. It doesn't look at a bot's owner.
pub fn is_member_of_any(conn: &Connection, user: UserId) -> Result<bool> {
    let sql = format!(
        "select 1 from organisation_members m join organisations o on o.id = m.organisation_id
         where m.user_id = ?1 and {ENTITLED} and o.deleted_at is null limit 1"
    );
    Ok(conn.prepare_cached(&sql)?.exists([user])?)
}

/// Checks that the caller is a member of the organisation. `refusal` is [`OUTSIDER`] or [`UNKNOWN_ORGANISATION`].
pub fn require_member(conn: &Connection, caller: Caller, organisation: OrganisationId, refusal: Error) -> Result<Membership> {
    membership(conn, organisation, caller.user)?.ok_or(refusal)
}

/// Checks that the caller is a member and holds the right. 403 for members without it; outsiders get `refusal`, as in
/// [`require_member`].
pub fn require_right(
    conn: &Connection,
    caller: Caller,
    right: Rights,
    organisation: OrganisationId,
    refusal: Error,
) -> Result<Membership> {
    let membership = require_member(conn, caller, organisation, refusal)?;
    membership.require_right(right)?;
    Ok(membership)
}

// A bot -----------------------------------------------------------------------------------------

/// A bot that the caller manages, as a member of its organisation with the right `manage:webhooks`.
#[derive(Clone, Copy, Debug)]
pub struct BotAccess {
    pub organisation: OrganisationId,
    /// The caller's membership in the bot's organisation.
    pub membership: Membership,
    /// The rights that the bot's role holds.
    rights: Rights,
    is_owner: bool,
}

impl BotAccess {
    /// Checks that the caller owns the bot, and holds every right that the bot has: 403 if not. Whoever makes a token of the bot
    /// can do what the bot can, and read the private channels that it is in.
    pub fn require_owner(self) -> Result<()> {
        if !self.is_owner {
            return Err(Error::Forbidden(Code::OwnerOnly, "Only the bot's owner makes tokens of it"));
        }
        self.membership.require_all(self.rights)
    }
}

/// Finds a bot that the caller manages, and that has not been removed.
pub fn find_managed_bot(conn: &Connection, caller: Caller, bot: UserId) -> Result<Option<BotAccess>> {
    let sql = "select b.organisation_id, b.owner_id = ?2, r.rights from bots b
           join organisation_members m on m.organisation_id = b.organisation_id and m.user_id = b.user_id
           join roles r on r.id = m.role_id
         where b.user_id = ?1";
    let row = |row: &Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let Some((organisation, is_owner, rights)) = conn.prepare_cached(sql)?.query_row((bot, caller.user), row).optional()? else {
        return Ok(None);
    };
    let own = membership(conn, organisation, caller.user)?.filter(|own| own.rights.contains(Rights::MANAGE_WEBHOOKS));
    Ok(own.map(|membership| BotAccess { organisation, membership, rights, is_owner }))
}

// A channel --------------------------------------------------------------------------------------

/// The caller's rights in a channel that they see.
#[derive(Clone, Debug)]
pub struct ChannelAccess {
    pub organisation: OrganisationId,
    /// The caller's membership in the channel's organisation.
    pub membership: Membership,
    /// The caller's name in the channel; none if the caller is not in it.
    pub username: Option<String>,
    pub user: UserId,
    grant: Grant,
    owner: UserId,
    is_dm: bool,
    is_archived: bool,
}

impl ChannelAccess {
    /// Checks that the caller is in the channel: 403 if not.
    pub fn require_member(&self) -> Result<()> {
        if self.username.is_some() {
            Ok(())
        } else {
            Err(Error::Forbidden(Code::NotInChannel, "You are not a member of this channel"))
        }
    }

    /// Checks that the caller is in the channel and holds `post:messages`: 403 if not. [`ChannelAccess::require_live`]
    /// checks that the channel is not archived.
    pub fn require_poster(&self) -> Result<()> {
        self.require_member()?;
        self.membership.require_right(Rights::POST_MESSAGES)
    }

    /// Checks that the caller owns the channel or holds `manage:channels`: 403 if not, and for direct messages.
    pub fn require_manager(&self) -> Result<()> {
        self.require_no_dm()?;
        if self.manages(Rights::MANAGE_CHANNELS) { Ok(()) } else { Err(LACKING) }
    }

    /// Whether the caller owns the channel or holds `manage:webhooks`, and their token, if it is one, has the scope of webhooks:
    /// managers see feed addresses, which anybody can post to.
    pub fn manages_webhooks(&self) -> bool {
        self.manages(Rights::MANAGE_WEBHOOKS) && self.grant.require_scope(Scope::Webhooks, true).is_ok()
    }

    /// Whether the caller holds the right or owns the channel. Ownership outlives a demotion, so an owner also needs
    /// `post:messages`: guests manage nothing.
    fn manages(&self, right: Rights) -> bool {
        let Membership { rights } = self.membership;
        rights.contains(right) || (self.owner == self.user && rights.contains(Rights::POST_MESSAGES))
    }

    /// Checks that the channel is no direct message: 403 if it is.
    pub fn require_no_dm(&self) -> Result<()> {
        if self.is_dm { Err(Error::Forbidden(Code::ChannelIsDirect, "This can't be done with a direct message")) } else { Ok(()) }
    }

    /// Checks that the channel is not archived: 403 if it is.
    pub fn require_live(&self) -> Result<()> {
        if self.is_archived { Err(Error::Forbidden(Code::ChannelArchived, "The channel is archived")) } else { Ok(()) }
    }

    /// Takes [`ACCESS`].
    pub fn take(caller: Caller, columns: &mut Columns) -> rusqlite::Result<ChannelAccess> {
        Ok(ChannelAccess {
            organisation: columns.take()?,
            owner: columns.take()?,
            is_dm: columns.take()?,
            is_archived: columns.take()?,
            membership: Membership { rights: columns.take()? },
            username: columns.take()?,
            user: caller.user,
            grant: caller.grant,
        })
    }
}

/// SQL of the rights of user ?1, for use with [`SEEN`] or [`OWN`].
pub const RIGHTS: &str = rights!();

/// SQL columns of a [`ChannelAccess`], for use with [`SEEN`] or [`OWN`].
pub const ACCESS: &str =
    concat!("c.organisation_id, c.owner_id, c.is_dm, c.archived_at is not null, ", rights!(), ", cm.username");

/// The end of an SQL query for the channels `c` that user ?1 sees; callers may append `and …`. Members see public channels
/// and those that they are in; guests and bots of guests see only the latter.
pub const SEEN: &str = concat!(
    "from ",
    owner!(),
    "
      cross join channels c
      join organisations o on o.id = c.organisation_id and o.deleted_at is null
      join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = ?1 and m.status <> 'deactivated'
      join roles r on r.id = m.role_id
      left join channel_members cm on cm.channel_id = c.id and cm.user_id = ?1
    where c.deleted_at is null and ",
    is_answered_for!(),
    "
      and (cm.user_id is not null or (c.is_private = 0 and c.is_dm = 0 and ",
    sees_public_channels!(),
    "))
   "
);

/// [`SEEN`] for the channels of the organisation ?2 that user ?1 is in. It looks at the user's memberships alone, because an
/// organisation has many more channels than a member is in, above all direct messages.
pub const OWN: &str = concat!(
    "from ",
    owner!(),
    "
      cross join organisations o
      cross join organisation_members m on m.organisation_id = o.id and m.user_id = ?1 and m.status <> 'deactivated'
      cross join roles r on r.id = m.role_id
      cross join channel_members cm on cm.user_id = ?1
      cross join channels c on c.id = cm.channel_id and c.organisation_id = o.id
    where o.id = ?2 and o.deleted_at is null and c.deleted_at is null and ",
    is_answered_for!(),
    "
   "
);

/// [`SEEN`] for the channels of an organisation `o` that its member `m`, who is user ?1, sees, without direct messages, in a
/// subquery that counts. It looks at each channel of the organisation, which has a quota of them.
pub const SEEN_BY_MEMBER: &str = concat!(
    "from ",
    owner!(),
    "
      cross join channels c
    where c.organisation_id = o.id and c.is_dm = 0 and c.deleted_at is null
      and ((c.is_private = 0 and ",
    sees_public_channels!(),
    ")
        or exists (select 1 from channel_members cm where cm.channel_id = c.id and cm.user_id = m.user_id))
   "
);

/// Finds a channel that the caller sees. None if there is no such channel, or the caller does not see it.
fn find_channel(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<Option<ChannelAccess>> {
    if !token_admits_channel(conn, caller, channel)? {
        return Ok(None);
    }
    let sql = format!("select {ACCESS} {SEEN} and c.id = ?2");
    let row = |row: &Row| ChannelAccess::take(caller, &mut Columns::of_row(row));
    Ok(conn.prepare_cached(&sql)?.query_row((caller.user, channel), row).optional()?)
}

/// Whether the channel is among those of the caller's token, if that is for some channels only. To lists of several channels, such
/// a token is not admitted ([`Grant::require`]).
pub fn token_admits_channel(conn: &Connection, caller: Caller, channel: ChannelId) -> Result<bool> {
    if !caller.grant.is_channel_limited() {
        return Ok(true);
    }
    let sql = "select 1 from token_channels where session_id = ?1 and channel_id = ?2";
    Ok(conn.prepare_cached(sql)?.exists((caller.session, channel))?)
}

/// Checks that the caller sees the channel. `refusal` is [`HIDDEN_CHANNEL`] or [`UNKNOWN_CHANNEL`].
pub fn require_channel(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    find_channel(conn, caller, channel)?.ok_or(refusal)
}

/// Checks that the caller sees the channel, as [`require_channel`] does, and that it belongs to the organisation.
pub fn require_organisation_channel(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    channel: ChannelId,
    refusal: Error,
) -> Result<ChannelAccess> {
    find_channel(conn, caller, channel)?.filter(|access| access.organisation == organisation).ok_or(refusal)
}

/// Checks that the caller is in the channel. 403 if they see it and are not in it; `refusal` as in [`require_channel`].
pub fn require_channel_member(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = require_channel(conn, caller, channel, refusal)?;
    access.require_member()?;
    Ok(access)
}

/// Checks that the caller is in the channel and holds `post:messages`; 403 if not. `refusal` as in [`require_channel`].
/// [`ChannelAccess::require_live`] checks archived channels apart, because some operations have other errors that come
/// first.
pub fn require_poster(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = require_channel(conn, caller, channel, refusal)?;
    access.require_poster()?;
    Ok(access)
}

/// Checks that the caller owns the channel or holds `manage:channels`; 403 if not, and for direct messages. `refusal` as in
/// [`require_channel`].
pub fn require_channel_manager(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = require_channel(conn, caller, channel, refusal)?;
    access.require_manager()?;
    Ok(access)
}

/// Checks that the caller owns the channel or holds `manage:webhooks`; 403 if not, and for direct messages, which have no
/// webhooks. `refusal` as in [`require_channel`].
pub fn require_webhook_manager(conn: &Connection, caller: Caller, channel: ChannelId, refusal: Error) -> Result<ChannelAccess> {
    let access = require_channel(conn, caller, channel, refusal)?;
    access.require_no_dm()?;
    if access.manages_webhooks() {
        Ok(access)
    } else {
        Err(Error::Forbidden(Code::PermissionDenied, "You may not manage this channel's webhooks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rights::{BuiltInRole, MemberStatus, Right};

    #[test]
    fn the_conditions_in_sql_mean_the_guest_and_the_deactivated_member() {
        let guest = BuiltInRole::Guest as i64;
        let no_guest = format!("m.role_id <> {guest} and owner.limits >> 32 <> {guest})");
        assert!([SEEN, SEEN_BY_MEMBER].iter().all(|rule| rule.contains(&no_guest)));
        assert!(Right::ALL.iter().all(|right| (1..1 << 32).contains(&right.bit.0)), "the owner's role is above the rights");
        assert!(
            [SEEN, OWN].iter().all(|end| end.contains(&format!(" {ENTITLED}\n")))
                && ENTITLED.contains(MemberStatus::Deactivated.as_str())
        );
    }
}
