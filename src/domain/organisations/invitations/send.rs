//! Sending invitations: new ones, and open ones again; each mail counts.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller, Membership, UNKNOWN_ORGANISATION},
        accounts,
        organisations::{
            invitations::{self, Invitation},
            roles,
        },
        outbox,
        rights::Rights,
        text,
    },
    error::{Error, Result},
    id::{InvitationId, OrganisationId, UserId},
    mail::{self, Kind},
    secret,
    time::Time,
};

/// Addresses in one call.
const MOST: usize = 50;
const DAY_SECONDS: i64 = 24 * 3600;

/// What is counted for the whole server, and for all accounts together that have not proved their mailbox.
const SERVER: &[u8] = b"";
const UNPROVED: &[u8] = b"unproved";
/// One in so many invitations of the server may come from the latter. Anybody makes such accounts without end: what they
/// use up must not be everybody's.
const UNPROVED_SHARE: u32 = 10;

/// Invites each address, with a mail; what could not be invited is said in words, address by address.
/// Needs `invite:members`, and no role is given that holds a right which the caller lacks.
pub fn create(
    tx: &mut Tx,
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
        let Some(address) = text::email_address(email) else {
            errors.push(format!("{email} is not a valid e-mail address"));
            continue;
        };
        if !done.insert(address.clone()) {
            errors.push(format!("An invitation has already been sent to {address}"));
            continue;
        }
        match insert(tx, caller.user, organisation, &address, role.id)? {
            Ok(invitation) => made.push(invitation),
            Err(reason) => errors.push(reason),
        }
    }
    send(tx, caller, organisation, &made)?;
    Ok((made, errors))
}

/// A member who may invite. 404 for outsiders.
fn inviter(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<Membership> {
    access::may(conn, caller, Rights::INVITE_MEMBERS, organisation, UNKNOWN_ORGANISATION)
}

fn require_few(emails: &[String]) -> Result<()> {
    if emails.len() <= MOST { Ok(()) } else { Err(Error::invalid(format!("at most {MOST} addresses can be invited at once"))) }
}

/// Mails each its link, in the caller's name; one whose recipient had enough within the hour is dropped. 429 when the
/// caller, the accounts with an unproved mailbox, the organisation or the server have sent their share of the day.
fn send(tx: &mut Tx, caller: Caller, organisation: OrganisationId, invitations: &[Invitation]) -> Result<()> {
    let inviter = accounts::own(tx, caller)?;
    let (bounds, more) = (tx.site().invitations, invitations.len());
    let account = caller.user.0.as_bytes();
    if inviter.mailbox_proved {
        count(tx, account, more, bounds.per_account, Error::TooMany)?;
    } else {
        count(tx, account, more, bounds.per_account_unverified, Error::Unproved)?;
        count(tx, UNPROVED, more, bounds.per_server.div_ceil(UNPROVED_SHARE), Error::Unproved)?;
    }
    count(tx, organisation.0.as_bytes(), more, bounds.per_organisation, Error::TooMany)?;
    count(tx, SERVER, more, bounds.per_server, Error::TooMany)?;
    let name: String =
        tx.prepare_cached("select name from organisations where id = ?1")?.query_row([organisation], |row| row.get(0))?;
    let inviter = inviter.shown_name();
    for invitation in invitations {
        outbox::queue(tx, mail::invitation(tx.site(), &invitation.email, &name, &inviter, &invitation.mailed_link(tx.site())))?;
    }
    Ok(())
}

/// Counts so many more invitations of today, in UTC. `refusal`, with the seconds left of the day, when that makes more
/// than `most`.
fn count(tx: &mut Tx, counted: &[u8], more: usize, most: u32, refusal: fn(u64) -> Error) -> Result<()> {
    let now = tx.now().unix_seconds();
    let mailed: i64 = tx
        .prepare_cached(
            "insert into invitation_counts (counted, day, mailed) values (?1, ?2, ?3)
             on conflict (counted) do update set mailed = excluded.mailed + iif(day = excluded.day, mailed, 0), day = excluded.day
             returning mailed",
        )?
        .query_row((counted, now / DAY_SECONDS, more as i64), |row| row.get(0))?;
    if tx.site().rate_limit && mailed > i64::from(most) {
        return Err(refusal((DAY_SECONDS - now % DAY_SECONDS) as u64));
    }
    Ok(())
}

/// Deletes counts of days that are past by then, up to `limit`.
pub fn prune(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql = "delete from invitation_counts where counted in (select counted from invitation_counts where day < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((now.unix_seconds() / DAY_SECONDS, limit))?)
}

fn insert(tx: &mut Tx, by: UserId, organisation: OrganisationId, email: &str, role: i64) -> Result<Result<Invitation, String>> {
    if let Some(account) = accounts::find_by_email(tx, email)? {
        let mut member = tx.prepare_cached("select 1 from organisation_members where organisation_id = ?1 and user_id = ?2")?;
        if member.exists((organisation, account.id))? {
            return Ok(Err(format!("{email} is already a member of the organisation")));
        }
    }
    let (id, now) = (InvitationId::new(), tx.now());
    tx.prepare_cached(
        "delete from invitations where organisation_id = ?1 and email = ?2 and accepted_at is null and expires_at <= ?3",
    )?
    .execute((organisation, email, now))?;
    let (token, mailed) = (tx.site().keys.invitation_token(id, 1), tx.site().keys.mailed_invitation_token(id, 1));
    let inserted = tx
        .prepare_cached(
            "insert into invitations
               (id, organisation_id, email, role_id, invited_by, token_hash, mailed_hash, created_at, sent_at, expires_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9) on conflict (organisation_id, email) where accepted_at is null do nothing",
        )?
        .execute((
            id,
            organisation,
            email,
            role,
            by,
            secret::sha256(&token),
            secret::sha256(&mailed),
            now,
            now + tx.site().invitation_lifetime,
        ))?;
    if inserted == 0 {
        return Ok(Err(format!("An invitation has already been sent to {email}")));
    }
    let made = invitations::find_open(tx, organisation, email)?;
    Ok(Ok(made.ok_or_else(|| Error::internal("the invitation was just made"))?))
}

/// Mails each address a new link for its open invitation, expired ones too; the former link is dead, and the
/// caller now answers for it. An invitation whose mail would be dropped stays as it is, with its link. Nothing is sent when
/// an address has none that the caller may know of (422), or one to a role with a right that the caller lacks (403).
pub fn resend(tx: &mut Tx, caller: Caller, organisation: OrganisationId, emails: &[String]) -> Result<()> {
    let membership = inviter(tx, caller, organisation)?;
    if emails.is_empty() {
        return Err(Error::bad_request("emails must not be empty"));
    }
    require_few(emails)?;
    let (mut again, mut done) = (Vec::new(), HashSet::new());
    for email in emails {
        let address = text::email_address(email);
        let address = address.ok_or_else(|| Error::bad_request(format!("{email} is not a valid e-mail address")))?;
        if !done.insert(address.clone()) {
            continue;
        }
        let known = invitations::find_open(tx, organisation, &address)?
            .filter(|invitation| invitation.invited_by == caller.user || invitations::sees_others(membership));
        let invitation = known.ok_or_else(|| Error::invalid(format!("{address} has no pending invitation")))?;
        membership.require_all(roles::get(tx, invitation.role_id)?.rights)?;
        if outbox::within_quota(tx, &address, Kind::Invitation)? {
            again.push(renew(tx, caller.user, invitation)?);
        } else {
            outbox::log_dropped(Kind::Invitation);
        }
    }
    send(tx, caller, organisation, &again)
}

/// A new token and lifetime, in the name of whoever sends it now.
fn renew(tx: &mut Tx, by: UserId, old: Invitation) -> Result<Invitation> {
    let now = tx.now();
    let new = Invitation {
        generation: old.generation + 1,
        invited_by: by,
        sent_at: now,
        expires_at: now + tx.site().invitation_lifetime,
        ..old
    };
    tx.prepare_cached(
        "update invitations
         set generation = ?2, token_hash = ?3, mailed_hash = ?4, invited_by = ?5, sent_at = ?6, expires_at = ?7 where id = ?1",
    )?
    .execute((
        new.id,
        new.generation,
        secret::sha256(&new.token(tx.site())),
        secret::sha256(&new.mailed_token(tx.site())),
        by,
        now,
        new.expires_at,
    ))?;
    Ok(new)
}

/// For the command line: the link of the address's open invitation, or of a new one, in the name of the
/// organisation's owner and without a mail. It is the link of the mail: the operator, who is trusted to pass it to the
/// invited person, vouches for the address. 422 when the open one is to another role.
pub fn link(tx: &mut Tx, organisation: OrganisationId, email: &str, role: &str) -> Result<String> {
    let email = text::email_address(email).ok_or_else(|| Error::bad_request("email is not a valid e-mail address"))?;
    let owner: Option<UserId> = tx
        .prepare_cached("select owner_id from organisations where id = ?1 and deleted_at is null")?
        .query_row([organisation], |row| row.get(0))
        .optional()?;
    let owner = owner.ok_or(UNKNOWN_ORGANISATION)?;
    let role = roles::find(tx, organisation, role)?.ok_or_else(|| Error::bad_request("role: no such role"))?;
    let open = invitations::find_open(tx, organisation, &email)?.filter(|invitation| invitation.status(tx.now()) == "invited");
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
        None => insert(tx, owner, organisation, &email, role.id)?.map_err(Error::Invalid)?,
    };
    Ok(invitation.mailed_link(tx.site()))
}
