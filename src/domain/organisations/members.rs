//! Members of an organisation: listing, counting and adding them.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::{Columns, Tx, View, log_reader},
    domain::{
        access::{self, Caller, OUTSIDER, PlatformRole, UNKNOWN_ORGANISATION},
        accounts::{self, custom_status::CustomStatus, profiles},
        channels,
        deferred_work::{self, DeferredWork},
        organisations::{
            member_events,
            roles::{self, Role},
        },
        page::Page,
        rights::{BuiltInRole, MemberStatus},
    },
    error::{Code, Error, OrConflict, Result},
    id::{OrganisationId, UserId},
    time::Time,
};

/// Makes the user a member with a role, adds them to the default channel, and tells the organisation. 400 if they are a
/// member already, in whatever status, or are in too many organisations; 503 while the slices of their last departure go on.
pub fn join(tx: &mut Tx, organisation: OrganisationId, user: &accounts::User, role: &Role) -> Result<()> {
    if deferred_work::is_pending(tx, DeferredWork::Departure { organisation, user: user.id })? {
        return Err(Error::Unavailable(
            Code::StillInProgress,
            "What the user left behind is still being passed on: try again in a few seconds",
        ));
    }
    let now = tx.now();
    tx.prepare_cached(
        "insert into organisation_members (organisation_id, user_id, role_id, joined_seq, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?5)",
    )?
    .execute((organisation, user.id, role.id, log_reader::last_seq(tx)?, now))
    .or_conflict(|| Error::BadRequest(Code::AlreadyAMember.says("The user is already a member of the organisation")))?;
    // Who came in another way comes back by no place that a link of the organisation kept.
    tx.prepare_cached(
        "delete from join_places where user_id = ?1 and link_id in (select id from join_links where organisation_id = ?2)",
    )?
    .execute((user.id, organisation))?;
    require_quota(tx, user.id)?;
    accounts::searchable_names::write(tx, user)?;
    profiles::set_current_organisation(tx, user.id, organisation)?;
    member_events::announce_member(tx, organisation, user, "joined", role.number_and_name(), MemberStatus::Active)?;
    member_events::emit_membership_update(tx, organisation, user.id, "joined", &role.name)?;
    channels::members::join_default(tx, organisation, user)
}

/// Checks the quota of organisations per account: 400 beyond it. Memberships count whatever their status.
fn require_quota(conn: &View, user: UserId) -> Result<()> {
    let number: u32 = conn
        .prepare_cached(
            "select count(*) from organisation_members m join organisations o on o.id = m.organisation_id
             where m.user_id = ?1 and o.deleted_at is null",
        )?
        .query_row([user], |row| row.get(0))?;
    let most = conn.site().organisations_per_user;
    if number <= most {
        Ok(())
    } else {
        Err(Error::BadRequest(
            Code::OwnLimitReached
                .says(format!("an account is a member of at most {most} organisations: leave one first"))
                .with_limit(most),
        ))
    }
}

/// Adds an account to any organisation, with the role that the request names. For platform superadmins; 403 for everybody
/// else, whatever organisation they name. 404 for an unknown organisation or account, 400 for an unknown role.
pub fn add(tx: &mut Tx, caller: Caller, organisation: OrganisationId, user: UserId, role: Option<&str>) -> Result<()> {
    if !caller.has_platform_role(PlatformRole::Superadmin) {
        return Err(Error::Forbidden(Code::PermissionDenied, "Only a superadmin adds users; invite them instead"));
    }
    let exists = tx.prepare_cached("select 1 from organisations where id = ?1 and deleted_at is null")?.exists([organisation])?;
    if !exists {
        return Err(UNKNOWN_ORGANISATION);
    }
    let account = accounts::find(tx, user)?.filter(|account| !account.is_bot).ok_or(Error::NotFound(Code::UserNotFound))?;
    let role = role.unwrap_or(BuiltInRole::Member.name());
    let role = roles::find_named(tx, organisation, role)?
        .ok_or_else(|| Error::BadRequest(Code::RoleNotFound.says("role_Id: no such role").at("role_Id")))?;
    join(tx, organisation, &account, &role)
}

pub struct Metrics {
    pub active: i64,
    pub total: i64,
}

/// Counts the members, and those in status `active` who were here in the last `days`. `is_here` knows the users whose visit
/// is not written yet. For members; 403 for outsiders.
pub fn count_active(
    conn: &View,
    caller: Caller,
    organisation: OrganisationId,
    days: u32,
    is_here: impl Fn(UserId) -> bool,
) -> Result<Metrics> {
    access::require_member(conn, caller, organisation, OUTSIDER)?;
    let since = conn.now() - Duration::from_secs(u64::from(days) * 24 * 3600);
    let mut metrics = Metrics { active: 0, total: 0 };
    let mut members = conn.prepare_cached(
        "select m.user_id, m.status, u.last_seen_at > ?2
           from organisation_members m join users u on u.id = m.user_id where m.organisation_id = ?1",
    )?;
    let mut rows = members.query((organisation, since))?;
    while let Some(row) = rows.next()? {
        let was_here = row.get::<_, Option<bool>>(2)?.unwrap_or(false);
        let status: MemberStatus = row.get(1)?;
        metrics.total += 1;
        metrics.active += i64::from(status == MemberStatus::Active && (was_here || is_here(row.get(0)?)));
    }
    Ok(metrics)
}

/// Counts the members in the role `guest`, whatever their status. For members; 403 for outsiders.
pub fn count_guests(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<i64> {
    access::require_member(conn, caller, organisation, OUTSIDER)?;
    Ok(conn
        .prepare_cached("select count(*) from organisation_members where organisation_id = ?1 and role_id = ?2")?
        .query_row((organisation, BuiltInRole::Guest), |row| row.get(0))?)
}

/// A row of the list of members.
pub struct Listed {
    pub id: UserId,
    pub email: String,
    pub phone: String,
    pub name: String,
    pub username: String,
    pub full_name: String,
    /// The key of the role.
    pub role: String,
    /// None of a former member.
    pub role_id: Option<i64>,
    pub is_owner: bool,
    /// None of a former member.
    pub status: Option<MemberStatus>,
    pub avatar_url: String,
    pub custom_status: Option<CustomStatus>,
    pub is_bot: bool,
    pub is_verified: bool,
    /// None of a former member.
    pub joined_at: Option<Time>,
}

/// Lists all members whatever their status, newest first. For members; 403 for outsiders.
pub fn list(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Listed>> {
    access::require_member(conn, caller, organisation, OUTSIDER)?;
    let sql = format!("{SELECT} where m.organisation_id = ?1 order by m.created_at desc, m.user_id limit ?2 offset ?3");
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((organisation, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Counts the rows of [`list`]. For members; 403 for outsiders.
pub fn count(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<u32> {
    access::require_member(conn, caller, organisation, OUTSIDER)?;
    Ok(conn
        .prepare_cached("select count(*) from organisation_members where organisation_id = ?1")?
        .query_row([organisation], |row| row.get(0))?)
}

/// Reads the rows of these members, in the same order.
pub fn read_rows(conn: &Connection, organisation: OrganisationId, members: &[UserId]) -> Result<Vec<Listed>> {
    let mut select = conn.prepare_cached(&format!("{SELECT} where m.organisation_id = ?1 and m.user_id = ?2"))?;
    let rows = members.iter().map(|member| select.query_row((organisation, member), from_row));
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Reads these users, in the same order, as far as they are members or have been. For members; 403 for outsiders.
pub fn find_by_ids(conn: &Connection, caller: Caller, organisation: OrganisationId, users: &[UserId]) -> Result<Vec<Listed>> {
    access::require_member(conn, caller, organisation, OUTSIDER)?;
    let mut members = conn.prepare_cached(&format!("{SELECT} where m.organisation_id = ?1 and m.user_id = ?2"))?;
    let mut former = conn.prepare_cached(FORMER)?;
    let mut named = Vec::new();
    for user in users {
        let found = members.query_row((organisation, user), from_row).optional()?;
        named.extend(match found {
            None => former.query_row((organisation, user), from_row).optional()?,
            found => found,
        });
    }
    Ok(named)
}

/// Selects a former member as [`SELECT`] does members, without what they don't show others any more.
const FORMER: &str =
    "select u.email, u.username, u.first_name, u.last_name, u.id, '', '', null, 0, null, u.avatar_url, '', '', null, u.is_bot,
      u.is_verified, null
    from former_members f join users u on u.id = f.user_id where f.organisation_id = ?1 and f.user_id = ?2";

/// Selects members. [`from_row`] takes the columns in this order.
const SELECT: &str =
    "select u.email, u.username, u.first_name, u.last_name, u.id, u.phone, r.name, r.id, o.owner_id = m.user_id, m.status,
      u.avatar_url, u.status_emoji, u.status_text, u.status_until, u.is_bot, u.is_verified, m.created_at
    from organisation_members m join organisations o on o.id = m.organisation_id join users u on u.id = m.user_id
      join roles r on r.id = m.role_id";

fn from_row(row: &Row) -> rusqlite::Result<Listed> {
    let mut columns = Columns::of_row(row);
    let (email, username): (String, String) = (columns.take()?, columns.take()?);
    let full_name = accounts::join_names(&columns.take::<String>()?, &columns.take::<String>()?);
    Ok(Listed {
        name: accounts::shown_name(&full_name, &username, &email).to_owned(),
        email,
        username,
        full_name,
        id: columns.take()?,
        phone: columns.take()?,
        role: columns.take()?,
        role_id: columns.take()?,
        is_owner: columns.take()?,
        status: columns.take()?,
        avatar_url: columns.take()?,
        custom_status: CustomStatus::take(&mut columns)?,
        is_bot: columns.take()?,
        is_verified: columns.take()?,
        joined_at: columns.take()?,
    })
}
