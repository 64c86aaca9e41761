//! Organisations as the command line shows and changes them. What the operator changes is done in the name of the owner.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use uuid::Uuid;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller, UNKNOWN_ORGANISATION},
        accounts::{self, NO_ACCOUNT, New},
        organisations::{self, Edit},
    },
    error::{Code, Error, Result},
    id::{InvitationId, OrganisationId},
    time::Time,
};

/// An organisation, as administrators see it.
#[derive(Serialize)]
pub struct Listed {
    pub id: OrganisationId,
    pub slug: String,
    pub name: String,
    /// The owner's address.
    pub owner: String,
    pub members: i64,
    /// Live channels, without direct messages.
    pub channels: i64,
    pub created_at: Time,
}

const SELECT: &str = "select o.id, o.slug, o.name, u.email,
      (select count(*) from organisation_members m where m.organisation_id = o.id), o.channels_count, o.created_at
    from organisations o cross join users u on u.id = o.owner_id where o.deleted_at is null";

fn from_row(row: &Row) -> rusqlite::Result<Listed> {
    let mut columns = Columns::of_row(row);
    Ok(Listed {
        id: columns.take()?,
        slug: columns.take()?,
        name: columns.take()?,
        owner: columns.take()?,
        members: columns.take()?,
        channels: columns.take()?,
        created_at: columns.take()?,
    })
}

/// Lists the organisations, the oldest first.
pub fn list(conn: &Connection, limit: u32) -> Result<Vec<Listed>> {
    let mut select = conn.prepare_cached(&format!("{SELECT} order by o.id limit ?1"))?;
    Ok(select.query_map([limit], from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// An organisation with its size.
#[derive(Serialize)]
pub struct Details {
    #[serde(flatten)]
    pub listed: Listed,
    pub direct_messages: i64,
    pub messages: i64,
    pub open_invitations: i64,
}

pub fn show(conn: &Connection, id: OrganisationId) -> Result<Details> {
    let mut select = conn.prepare_cached(&format!("{SELECT} and o.id = ?1"))?;
    let listed = select.query_row([id], from_row).optional()?.ok_or(UNKNOWN_ORGANISATION)?;
    let (direct_messages, messages, open_invitations) = conn
        .prepare_cached(
            "select (select count(*) from channels where organisation_id = ?1 and is_dm = 1 and deleted_at is null),
               (select coalesce(sum(message_count), 0) from channels where organisation_id = ?1 and deleted_at is null),
               (select count(*) from invitations where organisation_id = ?1 and accepted_at is null)",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(Details { listed, direct_messages, messages, open_invitations })
}

/// Finds an organisation by its identifier or its slug.
pub fn find(conn: &Connection, name: &str) -> Result<OrganisationId> {
    let id = Uuid::try_parse(name).ok().map(OrganisationId);
    let found = conn
        .prepare_cached(
            "select id from organisations where id = ?1 and deleted_at is null
             union all select id from organisations where slug = ?2 and deleted_at is null limit 1",
        )?
        .query_row((id, name), |row| row.get(0))
        .optional()?;
    found.ok_or(UNKNOWN_ORGANISATION)
}

/// A caller in the name of an organisation's owner.
pub fn owner_as_caller(conn: &Connection, id: OrganisationId) -> Result<Caller> {
    let owner = conn
        .prepare_cached("select owner_id from organisations where id = ?1 and deleted_at is null")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(Caller::operator_as(owner.ok_or(UNKNOWN_ORGANISATION)?))
}

/// A caller in the name of the member with this address. 422 if the account is no member.
pub fn member_as_caller(conn: &Connection, id: OrganisationId, email: &str) -> Result<Caller> {
    let caller = Caller::operator_as(accounts::find_by_email(conn, email)?.ok_or(NO_ACCOUNT)?.id);
    access::require_member(
        conn,
        caller,
        id,
        Error::Invalid(Code::UserNotAMember.says(format!("{email} is no member of the organisation"))),
    )?;
    Ok(caller)
}

/// Makes the first administrator of the server and their organisation. 422 if there is an administrator already: all writes
/// share one transaction at a time, so two people at once make one.
pub fn create_first_administrator(tx: &mut Tx, new: &New, password_hash: &str, organisation: Edit) -> Result<()> {
    if accounts::by_operator::has_superadmin(tx)? {
        return Err(Error::Invalid(Code::SetupOver.says("This server has an administrator already")));
    }
    let user = accounts::by_operator::create(tx, new, password_hash)?;
    organisations::found(tx, Caller::operator_as(user), organisation).map(drop)
}

/// Makes an organisation with the account of this address as its owner, whoever may found organisations.
pub fn create(tx: &mut Tx, name: &str, owner: &str) -> Result<OrganisationId> {
    let owner = accounts::find_by_email(tx, owner)?.ok_or(NO_ACCOUNT)?;
    let new = Edit { name: Some(name.to_owned()), ..Edit::default() };
    Ok(organisations::found(tx, Caller::operator_as(owner.id), new)?.id)
}

/// Deletes an organisation, as its owner could.
pub fn delete(tx: &mut Tx, id: OrganisationId) -> Result<()> {
    let owner = owner_as_caller(tx, id)?;
    organisations::delete(tx, owner, id)
}

/// Makes the member with this address the owner.
pub fn transfer(tx: &mut Tx, id: OrganisationId, email: &str) -> Result<()> {
    let owner = owner_as_caller(tx, id)?;
    let heir = accounts::find_by_email(tx, email)?.ok_or(NO_ACCOUNT)?;
    organisations::pass_on(tx, owner, id, heir.id)
}

/// An invitation that is not accepted.
#[derive(Serialize)]
pub struct Invited {
    pub id: InvitationId,
    pub email: String,
    pub role: String,
    /// The inviter's address.
    pub invited_by: String,
    pub sent_at: Time,
    pub expires_at: Time,
    pub is_expired: bool,
}

/// Lists an organisation's invitations that are not accepted, newest first.
pub fn invitations(conn: &Connection, id: OrganisationId, limit: u32, now: Time) -> Result<Vec<Invited>> {
    let mut select = conn.prepare_cached(
        "select i.id, i.email, r.name, u.email, i.sent_at, i.expires_at from invitations i
           join roles r on r.id = i.role_id join users u on u.id = i.invited_by
         where i.organisation_id = ?1 and i.accepted_at is null order by i.created_at desc, i.id desc limit ?2",
    )?;
    let row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        let (id, email, role, invited_by, sent_at) =
            (columns.take()?, columns.take()?, columns.take()?, columns.take()?, columns.take()?);
        let expires_at: Time = columns.take()?;
        Ok(Invited { id, email, role, invited_by, sent_at, expires_at, is_expired: expires_at <= now })
    };
    Ok(select.query_map((id, limit), row)?.collect::<rusqlite::Result<_>>()?)
}
