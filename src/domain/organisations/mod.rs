//! Organisations: making, changing, deleting and passing them on.
//!
//! Below: who makes them, members, the search for them, former members, memberships, how members leave, bots, who gets a
//! leaver's bots, the event about a member, roles, slugs, invitations, join links, and what links are for.

pub mod bot_callbacks;
mod bot_succession;
pub mod bots;
pub mod by_operator;
pub mod former_members;
pub mod founding;
pub mod invitations;
pub mod join_links;
pub mod leaving;
pub mod link_purpose;
pub mod member_events;
pub mod member_search;
pub mod members;
pub mod memberships;
pub mod payloads;
pub mod roles;
pub mod slugs;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller, ENTITLED, SEEN_BY_MEMBER, UNKNOWN_ORGANISATION},
        accounts, channels,
        faces::{self, Face},
        log::{events, revocations},
        organisations::payloads::OrganisationUpdate,
        page::Page,
        rights::{self, BuiltInRole, Rights},
        text::{self, Rule, Ruled},
    },
    error::{Code, Error, Result},
    event::Kind,
    id::{OrganisationId, UserId},
    time::Time,
};

text::rules! {
    pub Name: Rule::name(255);
    pub Description: Rule::text(2000);
    /// The kind of organisation, its location and its country.
    pub Detail: Rule::text(255);
}

#[derive(Clone, Debug)]
pub struct Organisation {
    pub id: OrganisationId,
    pub name: String,
    pub slug: String,
    pub description: String,
    pub email: String,
    pub industry: String,
    pub location: String,
    pub country: String,
    pub logo_url: String,
    pub owner_id: UserId,
    /// The live channels that the caller sees, without direct messages.
    pub channels_count: i64,
    /// The messages in all that the caller sees: channels, archived ones too, and direct messages.
    pub total_messages_count: i64,
    /// The caller's role: its number in `roles.id` and its key.
    pub role_id: i64,
    pub role: String,
    pub is_owner: bool,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Organisation {
    /// The name of the caller's role.
    pub fn caller_role_title(&self) -> &str {
        rights::member_title(&self.role, self.is_owner)
    }
}

/// A request's changes to an organisation. An absent field stays as it is; an empty one is cleared, but the name can't be
/// empty.
#[derive(Default, PartialEq, Eq)]
pub struct Edit {
    pub name: Option<String>,
    pub description: Option<String>,
    pub email: Option<String>,
    pub industry: Option<String>,
    pub location: Option<String>,
    pub country: Option<String>,
    pub logo_url: Option<String>,
}

impl Edit {
    /// Checks and trims the fields. 400 for every fault: the specification lists no 422 for these operations.
    fn check(self) -> Result<Edit> {
        let checked = |value: Option<String>, field, rule: Rule| -> Result<Option<String>> {
            value.map(|value| rule.check(&value, field).map(str::to_owned)).transpose().map_err(Error::BadRequest)
        };
        let email = match self.email {
            Some(email) if !email.is_empty() => Some(text::email(&email, "email").map_err(Error::BadRequest)?),
            other => other,
        };
        let logo_url = self.logo_url.as_deref().map(|url| text::web_address_if_any(url, "logo_url")).transpose();
        Ok(Edit {
            name: checked(self.name, "name", Name::RULE)?,
            email,
            description: checked(self.description, "description", Description::RULE)?,
            industry: checked(self.industry, "type", Detail::RULE)?,
            location: checked(self.location, "location", Detail::RULE)?,
            country: checked(self.country, "country", Detail::RULE)?,
            logo_url: logo_url.map_err(Error::BadRequest)?.map(str::to_owned),
        })
    }
}

/// Makes an organisation, with the caller as owner and first member in the role `admin`, and with the default channel
/// `general`. [`founding`] says who may; 400 beyond the quota of organisations per account.
pub fn found(tx: &mut Tx, caller: Caller, new: Edit) -> Result<Organisation> {
    let new = new.check()?;
    let name = new.name.ok_or_else(|| Error::BadRequest(Code::Required.says("name is required").at("name")))?;
    let owner = accounts::own(tx, caller)?;
    let (id, now) = (OrganisationId::new(), tx.now());
    let or_empty = Option::unwrap_or_default;
    tx.prepare_cached(
        "insert into organisations
           (id, name, slug, description, email, industry, location, country, logo_url, owner_id, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)",
    )?
    .execute(rusqlite::params![
        id,
        name,
        slugs::make(tx, &name)?,
        or_empty(new.description),
        or_empty(new.email),
        or_empty(new.industry),
        or_empty(new.location),
        or_empty(new.country),
        or_empty(new.logo_url),
        caller.user,
        now
    ])?;
    let admin = roles::get(tx, BuiltInRole::Admin)?;
    channels::create_default(tx, id, &name, &owner)?;
    members::join(tx, id, &owner, &admin)?;
    get(tx, caller, id)
}

/// The organisation, as the caller sees it. For members; 404 for outsiders.
pub fn get(conn: &Connection, caller: Caller, id: OrganisationId) -> Result<Organisation> {
    // Direct messages are many more than channels, so the caller's memberships lead to theirs.
    let sql = format!(
        "select r.id, r.name, o.owner_id = m.user_id, o.id, o.name, o.slug, o.description, o.email, o.industry, o.location,
           o.country, o.logo_url, o.owner_id, o.created_at, o.updated_at,
           (select count(*) {SEEN_BY_MEMBER} and c.archived_at is null),
           (select coalesce(sum(c.message_count), 0) {SEEN_BY_MEMBER})
           + (select coalesce(sum(c.message_count), 0) from channel_members cm cross join channels c on c.id = cm.channel_id
              where cm.user_id = m.user_id and c.organisation_id = o.id and c.is_dm = 1 and c.deleted_at is null)
         {FROM}
         where o.id = ?2 and m.user_id = ?1 and {ENTITLED} and o.deleted_at is null"
    );
    conn.prepare_cached(&sql)?.query_row((caller.user, id), from_row).optional()?.ok_or(UNKNOWN_ORGANISATION)
}

/// Changes an organisation and tells its members. Needs `manage:organization`; 404 for outsiders.
pub fn update(tx: &mut Tx, caller: Caller, id: OrganisationId, edit: Edit) -> Result<()> {
    require_manager(tx, caller, id)?;
    let edit = edit.check()?;
    if edit == Edit::default() {
        return Ok(());
    }
    tx.prepare_cached(
        "update organisations set name = coalesce(?2, name), description = coalesce(?3, description), email = coalesce(?4, email),
           industry = coalesce(?5, industry), location = coalesce(?6, location), country = coalesce(?7, country),
           logo_url = coalesce(?8, logo_url), updated_at = ?9
         where id = ?1",
    )?
    .execute((
        id,
        edit.name,
        edit.description,
        edit.email,
        edit.industry,
        edit.location,
        edit.country,
        &edit.logo_url,
        tx.now(),
    ))?;
    if let Some(logo_url) = &edit.logo_url {
        faces::remove_unless_shown(tx, id.0, logo_url)?;
    }
    announce(tx, caller, "updated", id)
}

/// Gives an organisation a logo, or none, and tells its members. Needs `manage:organization`; 404 for outsiders.
pub fn set_logo(tx: &mut Tx, caller: Caller, id: OrganisationId, logo: Option<&Face>) -> Result<()> {
    require_manager(tx, caller, id)?;
    let logo_url = Some(faces::keep(tx, id.0, logo)?);
    update(tx, caller, id, Edit { logo_url, ..Edit::default() })
}

/// Checks that the caller may change the organisation. 404 for outsiders.
pub fn require_manager(conn: &Connection, caller: Caller, id: OrganisationId) -> Result<()> {
    access::require_right(conn, caller, Rights::MANAGE_ORGANIZATION, id, UNKNOWN_ORGANISATION).map(drop)
}

/// Deletes an organisation: it disappears for all members, and subscriptions to its streams end. For the owner; 403 for
/// other members, 404 for outsiders.
pub fn delete(tx: &mut Tx, caller: Caller, id: OrganisationId) -> Result<()> {
    access::require_member(tx, caller, id, UNKNOWN_ORGANISATION)?;
    let owned = tx
        .prepare_cached("update organisations set deleted_at = ?3, channels_count = 0 where id = ?1 and owner_id = ?2")?
        .execute((id, caller.user, tx.now()))?;
    if owned == 0 {
        return Err(Error::Forbidden(Code::OwnerOnly, "Only the owner deletes an organisation"));
    }
    faces::remove(tx, id.0)?;
    // They are erased later, as channels are that are deleted one by one.
    tx.prepare_cached("update channels set deleted_at = ?2 where organisation_id = ?1 and deleted_at is null")?
        .execute((id, tx.now()))?;
    announce(tx, caller, "deleted", id)?;
    let members = tx
        .prepare_cached("select user_id from organisation_members where organisation_id = ?1")?
        .query_map([id], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    revocations::rights(tx, members)
}

/// Makes another member the owner, in the role `admin`, and tells the members. For the owner; 403 for other members. 404 for
/// outsiders and if there is no such member, 422 if that member or their account is deactivated, or is a bot.
pub fn pass_on(tx: &mut Tx, caller: Caller, id: OrganisationId, user: UserId) -> Result<()> {
    access::require_member(tx, caller, id, UNKNOWN_ORGANISATION)?;
    let (_, heir) = memberships::find_with_callers(tx, caller, id, user)?;
    let owner: UserId =
        tx.prepare_cached("select owner_id from organisations where id = ?1")?.query_row([id], |row| row.get(0))?;
    if owner != caller.user {
        return Err(Error::Forbidden(Code::OwnerOnly, "Only the owner passes an organisation on"));
    }
    let account = accounts::get(tx, user)?;
    if access::membership(tx, id, user)?.is_none() || !account.is_active {
        return Err(Error::Invalid(Code::MemberDeactivated.says("A deactivated member can't be the owner")));
    }
    if account.is_bot {
        return Err(Error::Invalid(Code::MemberIsBot.says("A bot can't be the owner")));
    }
    if user == caller.user {
        return Ok(());
    }
    let admin = roles::get(tx, BuiltInRole::Admin)?;
    let now = tx.now();
    tx.prepare_cached("update organisations set owner_id = ?2, updated_at = ?3 where id = ?1")?.execute((id, user, now))?;
    tx.prepare_cached(
        "update organisation_members set role_id = ?3, updated_at = ?4 where organisation_id = ?1 and user_id = ?2",
    )?
    .execute((id, user, admin.id, now))?;
    let former = memberships::get(tx, id, caller.user)?;
    member_events::announce_member(tx, id, &accounts::own(tx, caller)?, "updated", former.role.number_and_name(), former.status)?;
    member_events::announce_member(tx, id, &account, "updated", admin.number_and_name(), heir.status)?;
    announce(tx, caller, "updated", id)
}

/// Tells the members of a change.
fn announce(tx: &mut Tx, caller: Caller, action: &str, id: OrganisationId) -> Result<()> {
    let row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        let (name, organisation_slug, description, email) = (columns.take()?, columns.take()?, columns.take()?, columns.take()?);
        let industry: String = columns.take()?;
        Ok(OrganisationUpdate {
            action,
            organisation_id: id,
            name,
            organisation_slug,
            description,
            email,
            r#type: industry.clone(),
            industry,
            location: columns.take()?,
            country: columns.take()?,
            logo_url: columns.take()?,
            owner_id: columns.take()?,
            created_at: columns.take()?,
            updated_at: columns.take()?,
        })
    };
    let data = tx
        .prepare_cached(
            "select name, slug, description, email, industry, location, country, logo_url, owner_id, created_at, updated_at
             from organisations where id = ?1",
        )?
        .query_row([id], row)?;
    events::emit_to_organisation(tx, id, Kind::Organisation, caller.user, data)
}

/// A row of the list of the caller's organisations.
pub struct Own {
    pub id: OrganisationId,
    pub name: String,
    pub slug: String,
    pub logo_url: String,
    /// The key of the caller's role.
    pub role: String,
    pub is_owner: bool,
    /// As in [`Organisation`].
    pub channels_count: i64,
    pub is_pinned: bool,
}

impl Own {
    /// The name of the caller's role.
    pub fn role_title(&self) -> &str {
        rights::member_title(&self.role, self.is_owner)
    }
}

/// The organisation of the caller's that an id or a slug names. Without either, their current one, or else the first by name. For
/// members; 404 for outsiders, and for callers without an organisation.
pub fn find_named_or_current(conn: &Connection, caller: Caller, named: Option<&str>) -> Result<OrganisationId> {
    if let Some(named) = named {
        let Ok(id) = named.parse().map(OrganisationId) else { return Ok(slugs::find(conn, caller, named)?.id) };
        return access::require_member(conn, caller, id, UNKNOWN_ORGANISATION).map(|_| id);
    }
    if let Some(current) = accounts::own(conn, caller)?.current_org
        && access::membership(conn, current, caller.user)?.is_some()
    {
        return Ok(current);
    }
    let first = list_own(conn, caller, Page { offset: 0, size: 1 })?.pop();
    first.map(|own| own.id).ok_or(UNKNOWN_ORGANISATION)
}

/// Lists the organisations that the caller is a member of, by name.
pub fn list_own(conn: &Connection, caller: Caller, page: Page) -> Result<Vec<Own>> {
    let sql = format!(
        "select o.id, o.name, o.slug, o.logo_url, r.name, o.owner_id = m.user_id,
             (select count(*) {SEEN_BY_MEMBER} and c.archived_at is null), m.is_pinned {FROM}
         where m.user_id = ?1 and {ENTITLED} and o.deleted_at is null order by o.name collate nocase, o.id limit ?2 offset ?3"
    );
    let row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok(Own {
            id: columns.take()?,
            name: columns.take()?,
            slug: columns.take()?,
            logo_url: columns.take()?,
            role: columns.take()?,
            is_owner: columns.take()?,
            channels_count: columns.take()?,
            is_pinned: columns.take()?,
        })
    };
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((caller.user, page.size, page.offset), row)?.collect::<rusqlite::Result<_>>()?)
}

const FROM: &str =
    "from organisation_members m join organisations o on o.id = m.organisation_id join roles r on r.id = m.role_id";

/// Takes the columns of [`get`].
fn from_row(row: &Row) -> rusqlite::Result<Organisation> {
    let mut columns = Columns::of_row(row);
    Ok(Organisation {
        role_id: columns.take()?,
        role: columns.take()?,
        is_owner: columns.take()?,
        id: columns.take()?,
        name: columns.take()?,
        slug: columns.take()?,
        description: columns.take()?,
        email: columns.take()?,
        industry: columns.take()?,
        location: columns.take()?,
        country: columns.take()?,
        logo_url: columns.take()?,
        owner_id: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
        channels_count: columns.take()?,
        total_messages_count: columns.take()?,
    })
}
