//! Invitations by e-mail (decisions, section 5): making, listing, cancelling, sending again.
//!
//! `invite:members` makes them, and shows, cancels and resends one's own; others' are for those who hold
//! `remove:members`, too, and unknown to everybody else.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{
        self, Caller, accounts,
        members::{self, Membership, Page},
        outbox,
        roles::{self, Rights, Role},
    },
    error::{Error, Result},
    id::{InvitationId, OrganisationId, UserId},
    mail, secret,
    site::Site,
    time::Time,
};

/// Addresses in one call.
const MOST: usize = 50;
/// Mails with invitations of one organisation on one day, in UTC.
const PER_DAY: i64 = 200;
const DAY_SECONDS: i64 = 24 * 3600;

#[derive(Clone, Debug)]
pub struct Invitation {
    pub id: InvitationId,
    pub organisation: OrganisationId,
    pub email: String,
    pub role_id: i64,
    pub invited_by: UserId,
    generation: i64,
    pub is_platform_user: bool,
    pub created_at: Time,
    pub sent_at: Time,
    pub expires_at: Time,
    pub accepted_at: Option<Time>,
}

impl Invitation {
    pub fn status(&self) -> &'static str {
        match self.accepted_at {
            Some(_) => "accepted",
            None if self.expires_at <= Time::now() => "expired",
            None => "invited",
        }
    }

    /// It can be made again, as only its hash is stored.
    pub fn token(&self, site: &Site) -> String {
        site.keys.invitation_token(self.id, self.generation)
    }

    pub fn link(&self, site: &Site) -> String {
        let (organisation, token) = (self.organisation, self.token(site));
        format!("{}/accept_org_invitation?org_id={organisation}&invitation_token={token}", site.web_url)
    }
}

/// Invites each address, with a mail; what could not be invited is said in words, address by address.
/// Needs `invite:members`, and no role is given that holds a right which the caller lacks.
pub fn create(
    tx: &mut Tx,
    site: &Site,
    caller: Caller,
    organisation: OrganisationId,
    emails: &[String],
    role: &str,
) -> Result<(Vec<Invitation>, Vec<String>)> {
    let membership = inviter(tx, caller, organisation)?;
    if emails.is_empty() {
        return Err(Error::bad_request("emails must not be empty"));
    }
    let role = roles::find(tx, organisation, role)?.ok_or_else(|| Error::bad_request("role: no such role"))?;
    membership.require_all(role.rights)?;
    require_few(emails)?;
    let (mut made, mut errors, mut done) = (Vec::new(), Vec::new(), HashSet::new());
    for email in emails {
        let Some(address) = domain::email_address(email) else {
            errors.push(format!("{email} is not a valid e-mail address"));
            continue;
        };
        if !done.insert(address.clone()) {
            errors.push(format!("An invitation has already been sent to {address}"));
            continue;
        }
        match insert(tx, site, caller.user, organisation, &address, role.id)? {
            Ok(invitation) => made.push(invitation),
            Err(reason) => errors.push(reason),
        }
    }
    send(tx, site, caller, organisation, &made)?;
    Ok((made, errors))
}

/// A member who may invite. 404 for outsiders.
fn inviter(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<Membership> {
    let membership = members::find(conn, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
    membership.require(Rights::INVITE_MEMBERS)?;
    Ok(membership)
}

fn require_few(emails: &[String]) -> Result<()> {
    if emails.len() <= MOST { Ok(()) } else { Err(Error::invalid(format!("at most {MOST} addresses can be invited at once"))) }
}

/// Mails each its link, in the caller's name. 429 when the organisation has sent its share of the day.
fn send(tx: &mut Tx, site: &Site, caller: Caller, organisation: OrganisationId, invitations: &[Invitation]) -> Result<()> {
    let now = Time::now().unix_seconds();
    let (name, sent): (String, i64) = tx
        .prepare_cached(
            "update organisations set invited_count = ?3 + iif(invited_on = ?2, invited_count, 0), invited_on = ?2
             where id = ?1 returning name, invited_count",
        )?
        .query_row((organisation, now / DAY_SECONDS, invitations.len() as i64), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if site.rate_limit && sent > PER_DAY {
        return Err(Error::TooMany((DAY_SECONDS - now % DAY_SECONDS) as u64));
    }
    let inviter = accounts::find(tx, caller.user)?.ok_or(Error::Unauthorized("The account is gone"))?;
    let inviter = members::shown_name(&inviter);
    for invitation in invitations {
        outbox::queue(tx, site, mail::invitation(site, &invitation.email, &name, &inviter, &invitation.link(site)))?;
    }
    Ok(())
}

fn insert(
    tx: &mut Tx,
    site: &Site,
    by: UserId,
    organisation: OrganisationId,
    email: &str,
    role: i64,
) -> Result<Result<Invitation, String>> {
    if let Some(account) = accounts::find_by_email(tx, email)? {
        let mut member = tx.prepare_cached("select 1 from organisation_members where organisation_id = ?1 and user_id = ?2")?;
        if member.exists((organisation, account.id))? {
            return Ok(Err(format!("{email} is already a member of the organisation")));
        }
    }
    let (id, now) = (InvitationId::new(), Time::now());
    tx.prepare_cached(
        "delete from invitations where organisation_id = ?1 and email = ?2 and accepted_at is null and expires_at <= ?3",
    )?
    .execute((organisation, email, now))?;
    let hash = secret::sha256(&site.keys.invitation_token(id, 1));
    let inserted = tx
        .prepare_cached(
            "insert into invitations (id, organisation_id, email, role_id, invited_by, token_hash, created_at, sent_at, expires_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8) on conflict (organisation_id, email) where accepted_at is null do nothing",
        )?
        .execute((id, organisation, email, role, by, hash, now, now + site.invitation_lifetime))?;
    if inserted == 0 {
        return Ok(Err(format!("An invitation has already been sent to {email}")));
    }
    Ok(Ok(tx.prepare_cached(&format!("{SELECT} where i.id = ?1"))?.query_row([id], from_row)?))
}

/// A row of the list of invitations.
pub struct Listed {
    pub invitation: Invitation,
    pub role: String,
    /// None unless it is pending, and its role holds no right that the caller lacks.
    pub token: Option<String>,
}

/// The invitations that the caller may know of, newest first, and how many there are. 403 for outsiders, and
/// without `invite:members`.
pub fn list(
    conn: &Connection,
    site: &Site,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
) -> Result<(Vec<Listed>, u32)> {
    let membership = members::find(conn, organisation, caller.user)?.ok_or(members::OUTSIDER)?;
    membership.require(Rights::INVITE_MEMBERS)?;
    // Whose: everybody's, or the caller's.
    let by = (!sees_others(&membership)).then_some(caller.user);
    let sql = format!(
        "{SELECT} where i.organisation_id = ?1 and (?2 is null or i.invited_by = ?2)
         order by i.created_at desc, i.id desc limit ?3 offset ?4"
    );
    let found: Vec<Invitation> = conn
        .prepare_cached(&sql)?
        .query_map((organisation, by, page.size, page.offset()), from_row)?
        .collect::<rusqlite::Result<_>>()?;
    let listed = found.into_iter().map(|invitation| {
        let role = roles::get(conn, invitation.role_id)?;
        let is_shown = invitation.status() == "invited" && membership.rights.include(role.rights);
        Ok(Listed { token: is_shown.then(|| invitation.token(site)), role: role.name, invitation })
    });
    let total = conn
        .prepare_cached("select count(*) from invitations where organisation_id = ?1 and (?2 is null or invited_by = ?2)")?
        .query_row((organisation, by), |row| row.get(0))?;
    Ok((listed.collect::<Result<_>>()?, total))
}

fn sees_others(membership: &Membership) -> bool {
    membership.rights.include(Rights::REMOVE_MEMBERS)
}

/// Deletes an open invitation; its link is dead. One's own, or with `remove:members` another's to a role
/// without a right that the caller lacks. 404 when there is none that the caller may know of, 400 when it was
/// accepted.
pub fn cancel(tx: &mut Tx, caller: Caller, id: InvitationId) -> Result<()> {
    const UNKNOWN: Error = Error::NotFound("Invitation");
    let sql = format!("{SELECT} where i.id = ?1");
    let invitation = tx.prepare_cached(&sql)?.query_row([id], from_row).optional()?.ok_or(UNKNOWN)?;
    let membership = members::find(tx, invitation.organisation, caller.user)?.ok_or(UNKNOWN)?;
    if !membership.rights.include(Rights::INVITE_MEMBERS) {
        return Err(UNKNOWN);
    }
    if invitation.invited_by != caller.user {
        if !sees_others(&membership) {
            return Err(UNKNOWN);
        }
        membership.require_all(roles::get(tx, invitation.role_id)?.rights)?;
    }
    if invitation.accepted_at.is_some() {
        return Err(Error::bad_request("The invitation has already been accepted"));
    }
    tx.prepare_cached("delete from invitations where id = ?1")?.execute([id])?;
    Ok(())
}

/// Mails each address a new link for its open invitation, expired ones too; the former link is dead, and the
/// caller now answers for it. Nothing is sent when an address has none that the caller may know of (422), or
/// one to a role with a right that the caller lacks (403).
pub fn resend(tx: &mut Tx, site: &Site, caller: Caller, organisation: OrganisationId, emails: &[String]) -> Result<()> {
    let membership = inviter(tx, caller, organisation)?;
    if emails.is_empty() {
        return Err(Error::bad_request("emails must not be empty"));
    }
    require_few(emails)?;
    let (mut again, mut done) = (Vec::new(), HashSet::new());
    for email in emails {
        let address = domain::email_address(email);
        let address = address.ok_or_else(|| Error::bad_request(format!("{email} is not a valid e-mail address")))?;
        if !done.insert(address.clone()) {
            continue;
        }
        let known = find_open(tx, organisation, &address)?
            .filter(|invitation| invitation.invited_by == caller.user || sees_others(&membership));
        let invitation = known.ok_or_else(|| Error::invalid(format!("{address} has no pending invitation")))?;
        membership.require_all(roles::get(tx, invitation.role_id)?.rights)?;
        again.push(renew(tx, site, caller.user, invitation)?);
    }
    send(tx, site, caller, organisation, &again)
}

fn find_open(conn: &Connection, organisation: OrganisationId, email: &str) -> Result<Option<Invitation>> {
    let sql = format!("{SELECT} where i.organisation_id = ?1 and i.email = ?2 and i.accepted_at is null");
    Ok(conn.prepare_cached(&sql)?.query_row((organisation, email), from_row).optional()?)
}

/// A new token and lifetime, in the name of whoever sends it now.
fn renew(tx: &mut Tx, site: &Site, by: UserId, old: Invitation) -> Result<Invitation> {
    let now = Time::now();
    let new = Invitation {
        generation: old.generation + 1,
        invited_by: by,
        sent_at: now,
        expires_at: now + site.invitation_lifetime,
        ..old
    };
    tx.prepare_cached(
        "update invitations set generation = ?2, token_hash = ?3, invited_by = ?4, sent_at = ?5, expires_at = ?6 where id = ?1",
    )?
    .execute((new.id, new.generation, secret::sha256(&new.token(site)), by, now, new.expires_at))?;
    Ok(new)
}

/// For the command line: the link of the address's open invitation, or of a new one, in the name of the
/// organisation's owner and without a mail. 422 when the open one is to another role.
pub fn link(tx: &mut Tx, site: &Site, organisation: OrganisationId, email: &str, role: &str) -> Result<String> {
    let email = domain::email_address(email).ok_or_else(|| Error::bad_request("email is not a valid e-mail address"))?;
    let owner: Option<UserId> = tx
        .prepare_cached("select owner_id from organisations where id = ?1 and deleted_at is null")?
        .query_row([organisation], |row| row.get(0))
        .optional()?;
    let owner = owner.ok_or(Error::NotFound("Organisation"))?;
    let role: Role = roles::find(tx, organisation, role)?.ok_or_else(|| Error::bad_request("role: no such role"))?;
    let open = find_open(tx, organisation, &email)?.filter(|invitation| invitation.status() == "invited");
    let invitation = match open {
        Some(open) if open.role_id != role.id => {
            let other = roles::get(tx, open.role_id)?.name;
            return Err(Error::invalid(format!("{email} is already invited as {other}: cancel that invitation first")));
        }
        Some(open) => {
            // Whoever sent it may have left since; from now on the owner answers for it.
            tx.execute("update invitations set invited_by = ?2 where id = ?1", (open.id, owner))?;
            open
        }
        None => insert(tx, site, owner, organisation, &email, role.id)?.map_err(Error::Invalid)?,
    };
    Ok(invitation.link(site))
}

/// Whether an open invitation waits for the address.
pub fn is_invited(conn: &Connection, email: &str) -> Result<bool> {
    Ok(conn
        .prepare_cached("select 1 from invitations where email = ?1 and accepted_at is null and expires_at > ?2")?
        .exists((email, Time::now()))?)
}

const SELECT: &str = "select i.id, i.organisation_id, i.email, i.role_id, i.invited_by, i.generation,
      exists (select 1 from users u where u.email = i.email) as is_platform_user,
      i.created_at, i.sent_at, i.expires_at, i.accepted_at
    from invitations i";

fn from_row(row: &Row) -> rusqlite::Result<Invitation> {
    Ok(Invitation {
        id: row.get("id")?,
        organisation: row.get("organisation_id")?,
        email: row.get("email")?,
        role_id: row.get("role_id")?,
        invited_by: row.get("invited_by")?,
        generation: row.get("generation")?,
        is_platform_user: row.get("is_platform_user")?,
        created_at: row.get("created_at")?,
        sent_at: row.get("sent_at")?,
        expires_at: row.get("expires_at")?,
        accepted_at: row.get("accepted_at")?,
    })
}
