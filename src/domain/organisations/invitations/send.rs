//! Sending and resending invitations; each mail counts towards the daily quotas.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller, Membership, UNKNOWN_ORGANISATION},
        accounts, mail_queue,
        organisations::{
            by_operator,
            invitations::{self, Invitation},
            roles::{self, Role},
        },
        rights::Rights,
        text::{self, Rule},
    },
    error::{Code, Error, Refusal, Result},
    id::{InvitationId, OrganisationId, UserId},
    mail::{self, Mail, MailKind},
    secret::{self, Hash},
    site::Site,
    time::Time,
};

/// Addresses per call, at most.
pub const MOST: usize = 50;
const DAY_SECONDS: i64 = 24 * 3600;

/// The key of the server's daily count; the next one is that of all accounts with an unproved mailbox together.
const SERVER: &[u8] = b"";
const UNPROVED: &[u8] = b"unproved";
/// Accounts with an unproved mailbox share a tenth of the server's quota. Anybody can make such accounts without end, and
/// they must not use up the whole quota.
const UNPROVED_SHARE: u32 = 10;

text::rules! {
    /// An address to invite. Each that is none is told of in the answer.
    pub Invited: Rule::any();
}

/// An address that could not be invited.
pub struct Declined {
    pub email: String,
    pub reason: Refusal,
}

/// Invites each address, and mails the links. Needs `invite:members` and every right of the role. Returns the invitations,
/// and a reason for each address that could not be invited. 404 for outsiders, 422 for too many addresses, 429 beyond a
/// quota.
pub fn create(
    tx: &mut Tx,
    caller: Caller,
    organisation: OrganisationId,
    emails: &[String],
    role: &str,
) -> Result<(Vec<Invitation>, Vec<Declined>)> {
    let membership = inviter(tx, caller, organisation)?;
    if emails.is_empty() {
        return Err(Error::BadRequest(Code::Empty.says("emails must not be empty").at("emails")));
    }
    let role = roles::find_named(tx, organisation, role)?
        .ok_or_else(|| Error::BadRequest(Code::RoleNotFound.says("role: no such role").at("role")))?;
    membership.require_all(role.rights)?;
    require_few(emails)?;
    let (mut made, mut declined) = (Vec::new(), Vec::new());
    for answer in invite(tx, caller.user, organisation, emails, role.id)? {
        match answer {
            Ok(invitation) => made.push(invitation),
            Err(reason) => declined.push(reason),
        }
    }
    send(tx, caller, organisation, &made)?;
    Ok((made, declined))
}

/// [`create`] for the command line, in the name of `caller`: an answer for each address, in their order. The quotas bound what
/// users make the server mail, so the operator's invitations count towards none.
pub fn create_for_operator(
    tx: &mut Tx,
    caller: Caller,
    organisation: OrganisationId,
    emails: &[String],
    role: &str,
) -> Result<Vec<Result<(), String>>> {
    let membership = inviter(tx, caller, organisation)?;
    let role = operators_role(tx, organisation, role)?;
    membership.require_all(role.rights)?;
    let answers = invite(tx, caller.user, organisation, emails, role.id)?;
    let name = accounts::own(tx, caller)?.shown_name();
    for mail in mails(tx, &name, organisation, answers.iter().flatten())? {
        mail_queue::add_unchecked(tx, &mail)?;
    }
    Ok(answers.into_iter().map(|answer| answer.map(drop).map_err(|declined| declined.reason.says)).collect())
}

/// Makes an invitation for each address, or says why there is none.
fn invite(
    tx: &mut Tx,
    by: UserId,
    organisation: OrganisationId,
    emails: &[String],
    role: i64,
) -> Result<Vec<Result<Invitation, Declined>>> {
    let mut done = HashSet::new();
    let mut answers = Vec::new();
    for email in emails {
        let answer = match text::normalised_address(email) {
            None => Err(Code::InvalidEmail.says(format!("{email} is not a valid e-mail address"))),
            Some(address) if !done.insert(address.clone()) => Err(already_invited(&address)),
            Some(address) => insert(tx, by, organisation, &address, role)?,
        };
        answers.push(answer.map_err(|reason| Declined { email: email.clone(), reason }));
    }
    Ok(answers)
}

fn already_invited(email: &str) -> Refusal {
    Code::AlreadyInvited.says(format!("An invitation has already been sent to {email}"))
}

/// The caller's membership. Needs `invite:members`; 404 for outsiders.
fn inviter(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<Membership> {
    access::require_right(conn, caller, Rights::INVITE_MEMBERS, organisation, UNKNOWN_ORGANISATION)
}

fn require_few(emails: &[String]) -> Result<()> {
    match emails.len() {
        ..=MOST => Ok(()),
        named => Err(Error::Invalid(
            Code::TooManyItems
                .says(format!("emails names {named} addresses, at most {MOST} are allowed"))
                .at("emails")
                .with_limit(MOST),
        )),
    }
}

/// Mails each invitation's link in the caller's name. A mail beyond its recipient's hourly quota is dropped. 429 beyond the
/// daily quota of the caller with their bots, the accounts with an unproved mailbox, the organisation or the server.
fn send(tx: &mut Tx, caller: Caller, organisation: OrganisationId, invitations: &[Invitation]) -> Result<()> {
    let inviter = accounts::own(tx, caller)?;
    let (bounds, more) = (tx.site().invitations, invitations.len());
    let account = caller.person.0.as_bytes();
    if accounts::get(tx, caller.person)?.mailbox_proved {
        count(tx, account, more, bounds.per_account, Error::TooMany)?;
    } else {
        count(tx, account, more, bounds.per_account_unverified, Error::Unproved)?;
        count(tx, UNPROVED, more, bounds.per_server.div_ceil(UNPROVED_SHARE), Error::Unproved)?;
    }
    count(tx, organisation.0.as_bytes(), more, bounds.per_organisation, Error::TooMany)?;
    count(tx, SERVER, more, bounds.per_server, Error::TooMany)?;
    for mail in mails(tx, &inviter.shown_name(), organisation, invitations)? {
        mail_queue::add(tx, mail)?;
    }
    Ok(())
}

/// The mail of each invitation, in the name of its sender.
fn mails<'a>(
    conn: &View,
    inviter: &str,
    organisation: OrganisationId,
    invitations: impl IntoIterator<Item = &'a Invitation>,
) -> Result<Vec<Mail>> {
    let name: String =
        conn.prepare_cached("select name from organisations where id = ?1")?.query_row([organisation], |row| row.get(0))?;
    let mail = |invitation: &Invitation| {
        mail::invitation(conn.site(), &invitation.email, &name, inviter, &invitation.mailed_link(conn.site()))
    };
    Ok(invitations.into_iter().map(mail).collect())
}

/// Adds `more` to a count of today (UTC). If that makes more than `most`, it fails with `refusal`, which gets the seconds
/// until the day ends.
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

/// Counts somebody who joined by a link as an invitation of its maker and of the organisation. 429 beyond the daily quota of
/// either.
pub fn charge_join(tx: &mut Tx, maker: UserId, organisation: OrganisationId) -> Result<()> {
    let bounds = tx.site().invitations;
    let maker = access::answerable_person(tx, maker)?;
    let most = match accounts::get(tx, maker)?.mailbox_proved {
        true => bounds.per_account,
        false => bounds.per_account_unverified,
    };
    count(tx, maker.0.as_bytes(), 1, most, Error::TooMany)?;
    count(tx, organisation.0.as_bytes(), 1, bounds.per_organisation, Error::TooMany)
}

/// Deletes at most `limit` counts of days before the day of `now`.
pub fn prune_daily_counts(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql = "delete from invitation_counts where counted in (select counted from invitation_counts where day < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((now.unix_seconds() / DAY_SECONDS, limit))?)
}

fn insert(tx: &mut Tx, by: UserId, organisation: OrganisationId, email: &str, role: i64) -> Result<Result<Invitation, Refusal>> {
    if let Some(account) = accounts::find_by_email(tx, email)? {
        let mut member = tx.prepare_cached("select 1 from organisation_members where organisation_id = ?1 and user_id = ?2")?;
        if member.exists((organisation, account.id))? {
            return Ok(Err(Code::AlreadyAMember.says(format!("{email} is already a member of the organisation"))));
        }
    }
    let (id, now) = (InvitationId::new(), tx.now());
    tx.prepare_cached(
        "delete from invitations where organisation_id = ?1 and email = ?2 and accepted_at is null and expires_at <= ?3",
    )?
    .execute((organisation, email, now))?;
    let (token_hash, mailed_hash) = hashes(tx.site(), id, 1);
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
            token_hash,
            mailed_hash,
            now,
            now + tx.site().invitation_lifetime,
        ))?;
    if inserted == 0 {
        return Ok(Err(already_invited(email)));
    }
    let made = invitations::find_unaccepted(tx, organisation, email)?;
    Ok(Ok(made.ok_or_else(|| Error::internal("the invitation was just made"))?))
}

/// Mails each address a new link for its invitation, even an expired one. The former link becomes void, and the caller
/// becomes the sender. If a mail is beyond its recipient's quota, that invitation and its link stay as they are. Needs
/// `invite:members`. Sends nothing if an address has no invitation that the caller may see (422), or one to a role with a
/// right that the caller lacks (403).
pub fn resend(tx: &mut Tx, caller: Caller, organisation: OrganisationId, emails: &[String]) -> Result<()> {
    let membership = inviter(tx, caller, organisation)?;
    if emails.is_empty() {
        return Err(Error::BadRequest(Code::Empty.says("emails must not be empty").at("emails")));
    }
    require_few(emails)?;
    let (mut again, mut done) = (Vec::new(), HashSet::new());
    for email in emails {
        let address = text::email(email, "emails").map_err(Error::BadRequest)?;
        if !done.insert(address.clone()) {
            continue;
        }
        let known = invitations::find_unaccepted(tx, organisation, &address)?
            .filter(|invitation| invitation.invited_by == caller.user || invitations::sees_others(membership));
        let invitation = known
            .ok_or_else(|| Error::Invalid(Code::NotInvited.says(format!("{address} has no pending invitation")).at("emails")))?;
        membership.require_all(roles::get(tx, invitation.role_id)?.rights)?;
        if mail_queue::recipient_has_quota(tx, &address, MailKind::Invitation)? {
            again.push(renew(tx, caller.user, invitation)?);
        } else {
            mail_queue::log_dropped(MailKind::Invitation);
        }
    }
    send(tx, caller, organisation, &again)
}

/// Gives an invitation new tokens and a new lifetime, with `by` as its sender.
fn renew(tx: &mut Tx, by: UserId, old: Invitation) -> Result<Invitation> {
    let (now, generation) = (tx.now(), old.generation + 1);
    let (token_hash, mailed_hash) = hashes(tx.site(), old.id, generation);
    let new = Invitation {
        generation,
        token_hash,
        mailed_hash,
        invited_by: by,
        sent_at: now,
        expires_at: now + tx.site().invitation_lifetime,
        ..old
    };
    tx.prepare_cached(
        "update invitations
         set generation = ?2, token_hash = ?3, mailed_hash = ?4, invited_by = ?5, sent_at = ?6, expires_at = ?7 where id = ?1",
    )?
    .execute((new.id, new.generation, new.token_hash, new.mailed_hash, by, now, new.expires_at))?;
    Ok(new)
}

/// The hashes of new tokens: of the inviter's, and of the mailed one.
fn hashes(site: &Site, id: InvitationId, generation: i64) -> (Hash, Hash) {
    let keys = site.keys();
    let (token, mailed) = (keys.invitation_token(id, generation, None), keys.mailed_invitation_token(id, generation, None));
    (secret::sha256(&token), secret::sha256(&mailed))
}

/// Makes the mail's link of an address's open or new invitation, for the command line; mails nothing. The organisation's
/// owner becomes the sender. The operator, who passes the link on, vouches for the address. 422 if the address is a member's
/// or its open invitation is to another role.
pub fn link_without_mail(tx: &mut Tx, organisation: OrganisationId, email: &str, role: &str) -> Result<String> {
    let email = text::email(email, "email").map_err(Error::BadRequest)?;
    let owner = by_operator::owner_as_caller(tx, organisation)?.user;
    let role = operators_role(tx, organisation, role)?;
    let open =
        invitations::find_unaccepted(tx, organisation, &email)?.filter(|invitation| invitation.status(tx.now()) == "invited");
    let invitation = match open {
        Some(open) if open.role_id != role.id => {
            let other = roles::get(tx, open.role_id)?.name;
            return Err(Error::failed(format!("{email} is already invited as {other}: cancel that invitation first")));
        }
        Some(open) => {
            // The former sender may have left, so the owner becomes the sender.
            tx.execute("update invitations set invited_by = ?2 where id = ?1", (open.id, owner))?;
            open
        }
        None => insert(tx, owner, organisation, &email, role.id)?.map_err(Error::Invalid)?,
    };
    Ok(invitation.mailed_link(tx.site()))
}

/// The role that a command names. 400 if there is none.
fn operators_role(conn: &Connection, organisation: OrganisationId, named: &str) -> Result<Role> {
    match roles::find_named(conn, organisation, named)? {
        Some(role) => Ok(role),
        None => {
            let known = roles::joined_names(conn, organisation)?;
            Err(Error::failed(format!("--role {named}: no such role, the organisation has {known}")))
        }
    }
}
