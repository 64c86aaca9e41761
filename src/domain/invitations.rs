//! Invitations by e-mail (decisions, section 5).

use std::{collections::HashSet, time::Duration};

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        self, Caller, accounts, mailbox, members, outbox,
        roles::{self, Rights},
        sessions,
    },
    error::{Error, Result},
    id::{InvitationId, OrganisationId, UserId},
    mail, secret,
    site::Site,
    time::Time,
};

/// Addresses in one call.
const MOST: usize = 50;
/// Invitations of one organisation within a day.
const PER_DAY: i64 = 200;

pub struct Invitation {
    pub id: InvitationId,
    pub email: String,
    pub organisation: OrganisationId,
    pub token: String,
    pub link: String,
    pub is_platform_user: bool,
    pub sent_at: Time,
    pub expires_at: Time,
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
    let membership = members::find(tx, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
    membership.require(Rights::INVITE_MEMBERS)?;
    if emails.is_empty() {
        return Err(Error::bad_request("emails must not be empty"));
    }
    let role = roles::find(tx, organisation, role)?.ok_or_else(|| Error::bad_request("role: no such role"))?;
    if !membership.rights.include(role.rights) {
        return Err(Error::Forbidden("The role holds rights that you do not have"));
    }
    if emails.len() > MOST {
        return Err(Error::invalid(format!("at most {MOST} addresses can be invited at once")));
    }
    require_quota(tx, site, organisation, emails.len())?;
    let inviter = accounts::find(tx, caller.user)?.ok_or(Error::Unauthorized("The account is gone"))?;
    let name: String =
        tx.prepare_cached("select name from organisations where id = ?1")?.query_row([organisation], |row| row.get(0))?;
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
        match invite(tx, site, caller.user, organisation, &address, role.id)? {
            Ok(invitation) => {
                outbox::queue(
                    tx,
                    site,
                    mail::invitation(site, &address, &name, &members::shown_name(&inviter), &invitation.link),
                )?;
                made.push(invitation);
            }
            Err(reason) => errors.push(reason),
        }
    }
    Ok((made, errors))
}

fn require_quota(conn: &Connection, site: &Site, organisation: OrganisationId, more: usize) -> Result<()> {
    if !site.rate_limit {
        return Ok(());
    }
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let sent: i64 = conn
        .prepare_cached("select count(*) from invitations where organisation_id = ?1 and created_at > ?2")?
        .query_row((organisation, Time::now() - DAY), |row| row.get(0))?;
    if sent + more as i64 > PER_DAY { Err(Error::TooMany(3600)) } else { Ok(()) }
}

fn invite(
    tx: &mut Tx,
    site: &Site,
    by: UserId,
    organisation: OrganisationId,
    email: &str,
    role: i64,
) -> Result<Result<Invitation, String>> {
    let account = accounts::find_by_email(tx, email)?;
    if let Some(account) = &account {
        let mut member = tx.prepare_cached("select 1 from organisation_members where organisation_id = ?1 and user_id = ?2")?;
        if member.exists((organisation, account.id))? {
            return Ok(Err(format!("{email} is already a member of the organisation")));
        }
    }
    let (id, now) = (InvitationId::new(), Time::now());
    let expires_at = now + site.invitation_lifetime;
    tx.prepare_cached(
        "delete from invitations where organisation_id = ?1 and email = ?2 and accepted_at is null and expires_at <= ?3",
    )?
    .execute((organisation, email, now))?;
    let token = site.keys.invitation_token(id, 1);
    let inserted = tx
        .prepare_cached(
            "insert into invitations (id, organisation_id, email, role_id, invited_by, token_hash, created_at, sent_at, expires_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8) on conflict (organisation_id, email) where accepted_at is null do nothing",
        )?
        .execute((id, organisation, email, role, by, secret::sha256(&token), now, expires_at))?;
    if inserted == 0 {
        return Ok(Err(format!("An invitation has already been sent to {email}")));
    }
    let link = format!("{}/accept_org_invitation?org_id={organisation}&invitation_token={token}", site.web_url);
    let is_platform_user = account.is_some();
    Ok(Ok(Invitation { id, email: email.into(), organisation, token, link, is_platform_user, sent_at: now, expires_at }))
}

/// Whether an open invitation waits for the address.
pub fn is_invited(conn: &Connection, email: &str) -> Result<bool> {
    Ok(conn
        .prepare_cached("select 1 from invitations where email = ?1 and accepted_at is null and expires_at > ?2")?
        .exists((email, Time::now()))?)
}

/// An open invitation, found by its token.
pub struct Open {
    id: InvitationId,
    organisation: OrganisationId,
    pub email: String,
    role_id: i64,
}

/// 400 when there is no such invitation, 422 when it is expired or used.
pub fn open(conn: &Connection, token: &str) -> Result<Open> {
    let found = conn
        .prepare_cached(
            "select i.id, i.organisation_id, i.email, i.role_id, i.accepted_at is not null, i.expires_at
               from invitations i join organisations o on o.id = i.organisation_id
             where i.token_hash = ?1 and o.deleted_at is null",
        )?
        .query_row([secret::sha256(token)], |row| {
            let open = Open { id: row.get(0)?, organisation: row.get(1)?, email: row.get(2)?, role_id: row.get(3)? };
            Ok((open, row.get::<_, bool>(4)?, row.get::<_, Time>(5)?))
        })
        .optional()?;
    match found {
        None => Err(Error::bad_request("The invitation token is invalid")),
        Some((_, true, _)) => Err(Error::invalid("The invitation has already been used")),
        Some((_, false, expires_at)) if expires_at <= Time::now() => Err(Error::invalid("The invitation has expired")),
        Some((open, ..)) => Ok(open),
    }
}

/// The invited account joins. 403 when the caller's address is not the invited one.
pub fn accept(tx: &mut Tx, site: &Site, caller: Caller, token: &str, device: &sessions::Device) -> Result<sessions::Started> {
    let open = open(tx, token)?;
    let user = accounts::find(tx, caller.user)?.ok_or(Error::Unauthorized("The account is gone"))?;
    if user.email != open.email {
        return Err(Error::Forbidden("The invitation is for another e-mail address"));
    }
    finish(tx, site, open, user, device)
}

/// Makes the invited account, with a password that was generated for it, and joins. 401 when there is
/// an account already: its owner must log in.
pub fn accept_as_new(
    tx: &mut Tx,
    site: &Site,
    token: &str,
    password_hash: &str,
    device: &sessions::Device,
) -> Result<sessions::Started> {
    let open = open(tx, token)?;
    require_no_account(tx, &open)?;
    let new = accounts::New::check(&open.email, None, "", "").map_err(Error::internal)?;
    let id = accounts::create(tx, &new, password_hash)?;
    mailbox::mail_verification(tx, site, id, &open.email)?;
    let user = accounts::find(tx, id)?.ok_or_else(|| Error::internal("the account was just made"))?;
    finish(tx, site, open, user, device)
}

/// 401 when the invited address has an account.
pub fn require_no_account(conn: &Connection, open: &Open) -> Result<()> {
    match accounts::find_by_email(conn, &open.email)? {
        Some(_) => Err(Error::Unauthorized("Log in as the invited user to accept")),
        None => Ok(()),
    }
}

fn finish(tx: &mut Tx, site: &Site, open: Open, user: accounts::User, device: &sessions::Device) -> Result<sessions::Started> {
    tx.prepare_cached("update invitations set accepted_at = ?2 where id = ?1")?.execute((open.id, Time::now()))?;
    let role = roles::find(tx, open.organisation, &open.role_id.to_string())?;
    let role = role.ok_or_else(|| Error::internal("an invitation's role is gone"))?;
    match members::join(tx, open.organisation, &user, &role) {
        Err(Error::BadRequest(reason)) => return Err(Error::Invalid(reason)),
        other => other?,
    }
    let user = accounts::find(tx, user.id)?.ok_or_else(|| Error::internal("the account was just read"))?;
    sessions::start(tx, site, user, device)
}
