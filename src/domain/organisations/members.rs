//! Members of an organisation: who they are, and what they may do in it.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use crate::{
    db::{Tx, log},
    domain::{
        Caller, PlatformRole, accounts, channels,
        chores::{self, Chore},
        log::events,
        organisations::roles::{self, Rights},
        page::Page,
    },
    error::{Error, OrConflict, Result},
    event::Kind,
    id::{OrganisationId, UserId},
    site::Site,
    time::Time,
};

/// A caller's membership in a live organisation; a deactivated one counts as none.
#[derive(Clone, Debug)]
pub struct Membership {
    pub rights: Rights,
}

impl Membership {
    pub fn require(&self, right: Rights) -> Result<()> {
        if self.rights.include(right) { Ok(()) } else { Err(LACKING) }
    }

    /// 403 for a right that this member lacks: what they do not hold they neither give nor take.
    pub fn require_all(&self, rights: Rights) -> Result<()> {
        if self.rights.include(rights) { Ok(()) } else { Err(Error::Forbidden("The role holds rights that you do not have")) }
    }
}

/// The answer to a member who lacks a right.
pub const LACKING: Error = Error::Forbidden("You do not have permission to do this");

/// The answer of rows that list 403 and no 404, to unknown and foreign organisations alike.
pub const OUTSIDER: Error = Error::Forbidden("You are not a member of this organisation");

/// None for who is no member, or a deactivated one, and for unknown and deleted organisations.
pub fn find(conn: &Connection, organisation: OrganisationId, user: UserId) -> Result<Option<Membership>> {
    Ok(conn
        .prepare_cached(
            "select r.rights from organisation_members m
               join organisations o on o.id = m.organisation_id
               join roles r on r.id = m.role_id
             where m.organisation_id = ?1 and m.user_id = ?2 and m.status <> 'deactivated' and o.deleted_at is null",
        )?
        .query_row((organisation, user), |row| Ok(Membership { rights: Rights(row.get(0)?) }))
        .optional()?)
}

/// Makes the user a member with a role, adds them to the default channel, and tells the organisation.
/// 400 when they are one already, in whatever status, and when they are in too many organisations; 503 while what they
/// left behind is still being passed on.
pub fn join(tx: &mut Tx, site: &Site, organisation: OrganisationId, user: &accounts::User, role: &roles::Role) -> Result<()> {
    if chores::is_left(tx, Chore::Departure { organisation, user: user.id })? {
        return Err(Error::Unavailable("What the user left behind is still being passed on: try again in a few seconds"));
    }
    let now = Time::now();
    tx.prepare_cached(
        "insert into organisation_members (organisation_id, user_id, role_id, joined_seq, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?5)",
    )?
    .execute((organisation, user.id, role.id, log::last_seq(tx)?, now))
    .or_conflict(|| Error::bad_request("The user is already a member of the organisation"))?;
    require_quota(tx, site, user.id)?;
    accounts::set_current_organisation(tx, user.id, organisation)?;
    announce(tx, organisation, user, "joined", &role.name, "active")?;
    channels::members::join_default(tx, organisation, user)
}

/// 400 when the user is in more organisations than an account may be in, whatever their status there.
fn require_quota(conn: &Connection, site: &Site, user: UserId) -> Result<()> {
    let number: u32 = conn
        .prepare_cached(
            "select count(*) from organisation_members m join organisations o on o.id = m.organisation_id
             where m.user_id = ?1 and o.deleted_at is null",
        )?
        .query_row([user], |row| row.get(0))?;
    let most = site.organisations_per_user;
    if number <= most {
        Ok(())
    } else {
        Err(Error::bad_request(format!("an account is a member of at most {most} organisations: leave one first")))
    }
}

/// Tells the organisation that a member has `joined`, was `updated` or `removed`.
pub fn announce(
    tx: &mut Tx,
    organisation: OrganisationId,
    user: &accounts::User,
    action: &str,
    role: &str,
    status: &str,
) -> Result<()> {
    let data = json!({
        "action": action, "organisation_id": organisation, "user_id": user.id, "username": user.username,
        "name": shown_name(user), "full_name": user.full_name(), "email": user.email, "phone_number": user.phone,
        "avatar_url": user.avatar_url, "is_verified": user.is_verified, "role": role, "status": status,
    });
    events::tell_organisation(tx, organisation, Kind::Member, user.id, data)
}

/// A platform superadmin adds an account to any organisation; the role is named as in a request.
/// 404 for an unknown organisation or account.
pub fn add(
    tx: &mut Tx,
    site: &Site,
    caller: Caller,
    organisation: OrganisationId,
    user: UserId,
    role: Option<&str>,
) -> Result<()> {
    if caller.role < PlatformRole::Superadmin {
        // An outsider is told nothing; a member is told that this takes more.
        find(tx, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
        return Err(Error::Forbidden("Only a superadmin adds users; invite them instead"));
    }
    let exists = tx.prepare_cached("select 1 from organisations where id = ?1 and deleted_at is null")?.exists([organisation])?;
    if !exists {
        return Err(Error::NotFound("Organisation"));
    }
    let account = accounts::find(tx, user)?.ok_or(Error::NotFound("User"))?;
    let role =
        roles::find(tx, organisation, role.unwrap_or("member"))?.ok_or_else(|| Error::bad_request("role_Id: no such role"))?;
    join(tx, site, organisation, &account, &role)
}

pub struct Metrics {
    pub active: i64,
    pub total: i64,
}

/// How many members there are, and how many of them are in status `active` and were here in the last `days`;
/// `is_here` knows what is not written yet. For members; 403 for outsiders.
pub fn metrics(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    days: u32,
    is_here: impl Fn(UserId) -> bool,
) -> Result<Metrics> {
    if !(1..=365).contains(&days) {
        return Err(Error::bad_request("days must be 1 to 365"));
    }
    find(conn, organisation, caller.user)?.ok_or(OUTSIDER)?;
    let since = Time::now() - Duration::from_secs(u64::from(days) * 24 * 3600);
    let mut metrics = Metrics { active: 0, total: 0 };
    let mut members = conn.prepare_cached(
        "select m.user_id, m.status = 'active' as is_active, u.last_seen_at > ?2 as was_here
           from organisation_members m join users u on u.id = m.user_id where m.organisation_id = ?1",
    )?;
    let mut rows = members.query((organisation, since))?;
    while let Some(row) = rows.next()? {
        let was_here = row.get::<_, Option<bool>>("was_here")?.unwrap_or(false);
        metrics.total += 1;
        metrics.active += i64::from(row.get("is_active")? && (was_here || is_here(row.get("user_id")?)));
    }
    Ok(metrics)
}

/// Members in the role `guest`, whatever their status. 403 for outsiders.
pub fn count_guests(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<i64> {
    find(conn, organisation, caller.user)?.ok_or(OUTSIDER)?;
    Ok(conn
        .prepare_cached("select count(*) from organisation_members where organisation_id = ?1 and role_id = ?2")?
        .query_row((organisation, roles::GUEST), |row| row.get(0))?)
}

/// A row of the list of members.
pub struct Listed {
    pub id: UserId,
    pub email: String,
    pub phone: String,
    pub name: String,
    pub role: String,
    pub status: String,
    pub is_verified: bool,
}

/// All members whatever their status, newest first. 403 for outsiders.
pub fn list(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Listed>> {
    find(conn, organisation, caller.user)?.ok_or(OUTSIDER)?;
    Ok(conn
        .prepare_cached(
            "select u.id, u.email, u.phone, u.username, u.first_name, u.last_name, u.is_verified, r.name as role, m.status
               from organisation_members m join users u on u.id = m.user_id join roles r on r.id = m.role_id
             where m.organisation_id = ?1 order by m.created_at desc, m.user_id limit ?2 offset ?3",
        )?
        .query_map((organisation, page.size, page.offset), |row| {
            let (email, username): (String, String) = (row.get("email")?, row.get("username")?);
            let full_name = accounts::full_name(&row.get::<_, String>("first_name")?, &row.get::<_, String>("last_name")?);
            Ok(Listed {
                id: row.get("id")?,
                name: first_of([&full_name, &username, accounts::local_part(&email)]).to_owned(),
                email,
                phone: row.get("phone")?,
                role: row.get("role")?,
                status: row.get("status")?,
                is_verified: row.get("is_verified")?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?)
}

/// How many [`list`] has in all. 403 for outsiders.
pub fn count(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<u32> {
    find(conn, organisation, caller.user)?.ok_or(OUTSIDER)?;
    Ok(conn
        .prepare_cached("select count(*) from organisation_members where organisation_id = ?1")?
        .query_row([organisation], |row| row.get(0))?)
}

/// Full name, else username, else the address's local part.
pub fn shown_name(user: &accounts::User) -> String {
    first_of([&user.full_name(), &user.username, accounts::local_part(&user.email)]).to_owned()
}

fn first_of<const N: usize>(names: [&str; N]) -> &str {
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}
