//! Join links: whoever opens one joins the organisation as who they are. A link proves no mailbox. Callers need
//! `invite:members`; links that others made need `remove:members`, too, and are unknown to everybody else.

use std::time::Duration;

use rusqlite::{OptionalExtension, Row};

use crate::{
    db::{Columns, Tx, View},
    domain::{
        access::{self, Caller, Membership, UNKNOWN_ORGANISATION},
        accounts::{
            self, New, User,
            one_time_tokens::{self, Status},
            registration, sessions,
        },
        organisations::{
            invitations::{acceptance, sees_others, send},
            members,
            roles::{self, Role},
        },
        rights::{BuiltInRole, Rights},
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    id::{JoinLinkId, OrganisationId, UserId},
    secret,
    site::Site,
    time::Time,
};

/// At most 50 links of an organisation, ended ones included until they are deleted or forgotten.
pub const MOST: i64 = 50;
/// Days that a link works, by default and at most.
pub const DAYS: u32 = 7;
pub const MOST_DAYS: u32 = 30;
/// People who may join by a link, by default and at most.
pub const USES: u32 = 25;
pub const MOST_USES: u32 = 1000;
const DAY: Duration = Duration::from_secs(24 * 3600);

text::rules! {
    /// The domain of e-mail addresses, such as `example.org`.
    pub Domain: Rule::line(253);
}

pub struct JoinLink {
    pub id: JoinLinkId,
    pub organisation: OrganisationId,
    role_id: i64,
    pub role: String,
    pub created_by: UserId,
    /// The domain of the addresses that may join; empty for all.
    pub domain: String,
    pub uses: u32,
    /// The places that are taken, those that are kept for people who registered included.
    pub used: u32,
    pub created_at: Time,
    pub expires_at: Time,
    /// At the time of the reading.
    pub status: Status,
}

/// A link to be made.
pub struct NewLink {
    pub role: Option<String>,
    pub days: u32,
    pub uses: u32,
    pub domain: String,
}

/// Makes a link, and returns it with its token, of which only the hash is stored. Needs `invite:members` and every right of
/// the role. 404 for outsiders, 400 for an unknown role, 422 for a role with more rights than a member has, a domain that is
/// none, and beyond the most links of an organisation.
pub fn create(tx: &mut Tx, caller: Caller, organisation: OrganisationId, new: &NewLink) -> Result<(JoinLink, String)> {
    let membership = access::require_right(tx, caller, Rights::INVITE_MEMBERS, organisation, UNKNOWN_ORGANISATION)?;
    let role = new.role.as_deref().unwrap_or(BuiltInRole::Member.name());
    let role = roles::find_named(tx, organisation, role)?
        .ok_or_else(|| Error::BadRequest(Code::RoleNotFound.says("role: no such role").at("role")))?;
    membership.require_all(role.rights)?;
    if !is_harmless(tx, &role)? {
        return Err(Error::Invalid(Code::RightsExceeded.says("role: a link gives at most the rights of a member").at("role")));
    }
    let domain = check_domain(&new.domain)?;
    let held: i64 = tx
        .prepare_cached("select count(*) from join_links where organisation_id = ?1")?
        .query_row([organisation], |row| row.get(0))?;
    if held >= MOST {
        return Err(Error::Invalid(
            Code::LimitReached.says(format!("an organisation has at most {MOST} join links: delete one first")).with_limit(MOST),
        ));
    }
    let (id, token, now) = (JoinLinkId::new(), secret::random_token(), tx.now());
    tx.prepare_cached(
        "insert into join_links (id, organisation_id, token_hash, role_id, created_by, domain, uses, created_at, expires_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        id,
        organisation,
        secret::sha256(&token),
        role.id,
        caller.user,
        domain,
        new.uses,
        now,
        now + DAY * new.days,
    ))?;
    let made = find(tx, organisation, id)?.ok_or_else(|| Error::internal("the link was just made"))?;
    Ok((made, token))
}

/// The address that a link's token leads to.
pub fn address(site: &Site, organisation: OrganisationId, token: &str) -> String {
    format!("{}/join?org_id={organisation}&token={token}", site.web_url)
}

/// Whether the role has no right that a plain member lacks.
fn is_harmless(tx: &View, role: &Role) -> Result<bool> {
    Ok(roles::get(tx, BuiltInRole::Member)?.rights.contains(role.rights))
}

/// A domain as addresses have it; empty for none.
fn check_domain(domain: &str) -> Result<String> {
    let domain = Domain::check(domain, "domain").map_err(Error::Invalid)?.trim_start_matches('@');
    if domain.is_empty() {
        return Ok(String::new());
    }
    let address = text::normalised_address(&format!("somebody@{domain}"));
    let domain = address.and_then(|address| address.split_once('@').map(|(_, domain)| domain.to_owned()));
    let words = "domain must be the domain of e-mail addresses, such as example.org";
    domain.ok_or_else(|| Error::Invalid(Code::InvalidDomain.says(words).at("domain")))
}

/// Lists the links that the caller may see, newest first. Needs `invite:members`; 404 for outsiders.
pub fn list(conn: &View, caller: Caller, organisation: OrganisationId) -> Result<Vec<JoinLink>> {
    let membership = access::require_right(conn, caller, Rights::INVITE_MEMBERS, organisation, UNKNOWN_ORGANISATION)?;
    let sql = format!("{SELECT} where l.organisation_id = ?1 order by l.created_at desc, l.id desc");
    let links: Vec<JoinLink> =
        conn.prepare_cached(&sql)?.query_map([organisation], from_row)?.collect::<rusqlite::Result<_>>()?;
    let seen = links.into_iter().filter(|link| sees(membership, caller, link));
    seen.map(|link| with_status(conn, link)).collect()
}

/// Deletes a link, which works no more. For who made it, and for holders of `remove:members`. 404 for a link that the caller may
/// not see, 403 without `invite:members`.
pub fn delete(tx: &mut Tx, caller: Caller, organisation: OrganisationId, id: JoinLinkId) -> Result<()> {
    let membership = access::require_right(tx, caller, Rights::INVITE_MEMBERS, organisation, UNKNOWN_ORGANISATION)?;
    let link = find(tx, organisation, id)?.filter(|link| sees(membership, caller, link));
    link.ok_or(Error::NotFound(Code::JoinLinkNotFound))?;
    tx.prepare_cached("delete from join_links where id = ?1")?.execute([id])?;
    Ok(())
}

fn sees(membership: Membership, caller: Caller, link: &JoinLink) -> bool {
    link.created_by == caller.user || sees_others(membership)
}

fn find(conn: &View, organisation: OrganisationId, id: JoinLinkId) -> Result<Option<JoinLink>> {
    let sql = format!("{SELECT} where l.id = ?1 and l.organisation_id = ?2");
    Ok(conn.prepare_cached(&sql)?.query_row((id, organisation), from_row).optional()?)
}

/// Looks a link up by its token. None if there is none; 400 for a text that is no token.
pub fn look_up(conn: &View, token: &str) -> Result<Option<JoinLink>> {
    one_time_tokens::Token::check(token, "token").map_err(Error::BadRequest)?;
    let sql = format!("{SELECT} where l.token_hash = ?1 and o.deleted_at is null");
    let found = conn.prepare_cached(&sql)?.query_row([secret::sha256(token)], from_row).optional()?;
    found.map(|link| with_status(conn, link)).transpose()
}

/// [`look_up`] for a caller who may have registered by the link: the place that it keeps for them is not one that others took.
pub fn look_up_for(conn: &View, token: &str, user: Option<UserId>) -> Result<Option<JoinLink>> {
    let Some(link) = look_up(conn, token)? else { return Ok(None) };
    match user {
        Some(user) if keeps_place(conn, &link, user)? => with_status(conn, JoinLink { used: link.used - 1, ..link }).map(Some),
        _ => Ok(Some(link)),
    }
}

fn keeps_place(conn: &View, link: &JoinLink, user: UserId) -> Result<bool> {
    Ok(conn.prepare_cached("select 1 from join_places where user_id = ?1 and link_id = ?2")?.exists((user, link.id))?)
}

/// Finds a link that works. 400 if there is none, 422 if it is used up or expired, or who made it may no longer invite.
pub fn find_usable(conn: &View, token: &str) -> Result<JoinLink> {
    find_usable_for(conn, token, None)
}

fn find_usable_for(conn: &View, token: &str, user: Option<UserId>) -> Result<JoinLink> {
    let link = look_up_for(conn, token, user)?;
    let link = link.ok_or_else(|| Error::BadRequest(Code::LinkInvalid.says("The join link is invalid")))?;
    match link.status {
        Status::Open => Ok(link),
        Status::Used => {
            Err(Error::Invalid(Code::LinkUsed.says("As many people as may have joined by this link: ask for a new one")))
        }
        Status::Expired => Err(Error::Invalid(Code::LinkExpired.says("The join link has expired: ask for a new one"))),
        Status::Void => Err(Error::Invalid(Code::LinkInvalid.says("The join link is no longer valid: ask for a new one"))),
    }
}

/// Makes the caller a member and begins a session. 400 and 422 for a bad token, 403 if the link is for verified addresses of a
/// domain and the caller's is not one, 422 for a member, 429 beyond a daily bound of invitations.
pub fn join(tx: &mut Tx, caller: Caller, token: &str, device: &sessions::Device) -> Result<sessions::Started> {
    sessions::require_live(tx, caller)?;
    let user = accounts::own(tx, caller)?;
    let link = find_usable_for(tx, token, Some(user.id))?;
    require_domain(&link, &user.email)?;
    if !link.domain.is_empty() && !user.mailbox_proved {
        return Err(Error::Forbidden(
            Code::EmailUnverified,
            "This link is for verified addresses: verify yours while logged in, then open it again",
        ));
    }
    finish(tx, &link, user, device)
}

/// Makes an account, mails the link that verifies its address, and makes it a member. 403 if the policy lets nobody register
/// or the address must be verified first; 422 if the address or the username is taken; other errors as in [`join`].
pub fn join_as_new(
    tx: &mut Tx,
    token: &str,
    new: &New,
    password_hash: &str,
    device: &sessions::Device,
) -> Result<sessions::Started> {
    let link = find_usable(tx, token)?;
    require_domain(&link, &new.email)?;
    require_open_to_unverified(tx, &link)?;
    let id = registration::register_by_link(tx, new, password_hash)?;
    let user = accounts::get(tx, id)?;
    finish(tx, &link, user, device)
}

/// Makes an account as [`registration::register`] does, for the holder of a link, which counts as an invitation, and takes one of
/// the link's places. The account is a member at once; if its address must be verified first, the link keeps the place until it
/// joins. 400 and 422 for a bad token, 403 for an address of another domain and if nobody may register, 429 as in [`join`].
pub fn register(tx: &mut Tx, token: &str, new: &New, password_hash: &str) -> Result<()> {
    let link = find_open_to(tx, token, &new.email)?;
    let id = registration::register_by_link(tx, new, password_hash)?;
    if require_open_to_unverified(tx, &link).is_ok() {
        return add_member(tx, &link, &accounts::get(tx, id)?);
    }
    take_place(tx, &link, id)?;
    tx.prepare_cached("insert into join_places (user_id, link_id) values (?1, ?2)")?.execute((id, link.id))?;
    Ok(())
}

/// Finds a link that works and lets in this address, verified or not: 403 if it is for addresses of another domain; other errors
/// as in [`find_usable`].
pub fn find_open_to(conn: &View, token: &str, email: &str) -> Result<JoinLink> {
    let link = find_usable(conn, token)?;
    require_domain(&link, email).map(|()| link)
}

/// Checks that the link is for addresses of this one's domain: 403 if not.
fn require_domain(link: &JoinLink, email: &str) -> Result<()> {
    let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
    if link.domain.is_empty() || domain == link.domain {
        return Ok(());
    }
    Err(Error::Forbidden(Code::InvitationForAnother, "This link is for addresses of another domain"))
}

/// Checks that the account did not register by a link that still lets it in: 403 if it did, unless it is a member of some
/// organisation. Its first organisation is the link's.
pub fn require_no_kept_place(conn: &View, user: UserId) -> Result<()> {
    let sql = format!("{SELECT} join join_places p on p.link_id = l.id where p.user_id = ?1 and o.deleted_at is null");
    let Some(link) = conn.prepare_cached(&sql)?.query_row([user], from_row).optional()? else { return Ok(()) };
    let link = with_status(conn, JoinLink { used: link.used - 1, ..link })?;
    if link.status != Status::Open || access::is_member_of_any(conn, user)? {
        return Ok(());
    }
    Err(Error::Forbidden(Code::FoundingRestricted, "Join by the link that you registered with first"))
}

/// Describes an open link of the organisation to the holder of its token. None for every other text.
pub fn preview(
    conn: &View,
    organisation: OrganisationId,
    token: &str,
    user: Option<UserId>,
) -> Result<Option<acceptance::Preview>> {
    let link = look_up_for(conn, token, user)?;
    let Some(link) = link.filter(|link| link.organisation == organisation && link.status == Status::Open) else {
        return Ok(None);
    };
    let maker = accounts::get(conn, link.created_by)?.shown_name();
    let preview = acceptance::Preview {
        organisation: acceptance::organisation_name(conn, organisation)?,
        email: String::new(),
        is_new_user: true,
        inviter: maker,
        role: link.role,
        domain: link.domain,
        expires_at: link.expires_at,
    };
    Ok(Some(preview))
}

/// Checks that the link lets in a person whose address is not verified: 403 if not.
pub fn require_open_to_unverified(conn: &View, link: &JoinLink) -> Result<()> {
    if link.domain.is_empty() && !conn.site().require_verified_email {
        return Ok(());
    }
    Err(Error::Forbidden(
        Code::EmailUnverified,
        "Your address must be verified first: register, verify it and log in, then open the link again",
    ))
}

/// Makes the user a member by the link, and begins a session.
fn finish(tx: &mut Tx, link: &JoinLink, user: User, device: &sessions::Device) -> Result<sessions::Started> {
    add_member(tx, link, &user)?;
    let user = accounts::get(tx, user.id)?;
    sessions::start(tx, user, device)
}

/// Makes the user a member, in a place of the link.
fn add_member(tx: &mut Tx, link: &JoinLink, user: &User) -> Result<()> {
    take_place(tx, link, user.id)?;
    match members::join(tx, link.organisation, user, &roles::get(tx, link.role_id)?) {
        Err(Error::BadRequest(reason)) => Err(Error::Invalid(reason)),
        other => other,
    }
}

/// Takes one of the link's places for the user, unless it keeps one for them. 429 beyond a daily bound of invitations.
fn take_place(tx: &mut Tx, link: &JoinLink, user: UserId) -> Result<()> {
    let kept = tx.prepare_cached("delete from join_places where user_id = ?1 and link_id = ?2")?.execute((user, link.id))?;
    if kept > 0 {
        return Ok(());
    }
    let taken = tx
        .prepare_cached("update join_links set used = used + 1 where id = ?1 and used < uses and expires_at > ?2")?
        .execute((link.id, tx.now()))?;
    if taken == 0 {
        return Err(Error::internal("the link was open a moment ago"));
    }
    send::charge_join(tx, link.created_by, link.organisation)
}

/// Deletes at most `limit` links that expired before the given time.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let sql = "delete from join_links where id in (select id from join_links where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((before, limit))?)
}

/// Selects links. [`from_row`] takes the columns in this order.
const SELECT: &str = "select l.id, l.organisation_id, l.role_id, r.name, l.created_by, l.domain, l.uses, l.used, l.created_at,
      l.expires_at
    from join_links l join organisations o on o.id = l.organisation_id join roles r on r.id = l.role_id";

fn from_row(row: &Row) -> rusqlite::Result<JoinLink> {
    let mut columns = Columns::of_row(row);
    Ok(JoinLink {
        id: columns.take()?,
        organisation: columns.take()?,
        role_id: columns.take()?,
        role: columns.take()?,
        created_by: columns.take()?,
        domain: columns.take()?,
        uses: columns.take()?,
        used: columns.take()?,
        created_at: columns.take()?,
        expires_at: columns.take()?,
        status: Status::Open,
    })
}

/// The link with its status now.
fn with_status(conn: &View, link: JoinLink) -> Result<JoinLink> {
    let status = if link.used >= link.uses {
        Status::Used
    } else if link.expires_at <= conn.now() {
        Status::Expired
    } else {
        let role = roles::get(conn, link.role_id)?;
        let may = registration::may_still_invite(conn, link.organisation, link.created_by, role.rights)?;
        if may && is_harmless(conn, &role)? { Status::Open } else { Status::Void }
    };
    Ok(JoinLink { status, ..link })
}
