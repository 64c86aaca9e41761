//! Registration: people make accounts for themselves, as far as the server's policy lets them.

use std::time::Duration;

use rusqlite::Connection;

use crate::{
    config::{DAY, Registration},
    db::{Tx, View},
    domain::{
        access,
        accounts::{self, New, mailed_links, one_time_tokens::Purpose},
        rights::Rights,
    },
    error::{Code, Error, Result},
    id::{OrganisationId, UserId},
    site::Site,
};

/// Makes an account and mails a verification link. Open to everybody whom the server's policy lets register. 403 if the
/// policy does not let this address register, 422 if the address or the username is taken.
pub fn register(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    require_may_register(tx, &new.email)?;
    make(tx, new, password_hash)
}

/// [`register`] for somebody who holds a join link, which counts as an invitation: 403 only if nobody may register.
pub fn register_by_link(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    if tx.site().registration == Registration::Closed {
        return Err(CLOSED);
    }
    make(tx, new, password_hash)
}

fn make(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    let user = accounts::create(tx, new, password_hash)?;
    mailed_links::mail_link(tx, &new.email, Purpose::EmailVerification)?;
    note_unfinished(tx, user)?;
    Ok(user)
}

/// Notes that the account ends unless its owner goes on with it.
pub fn note_unfinished(tx: &mut Tx, user: UserId) -> Result<()> {
    let due = tx.now() + unfinished_lifetime(tx.site());
    tx.prepare_cached("insert into unfinished_accounts (user_id, due_at) values (?1, ?2)")?.execute((user, due))?;
    Ok(())
}

/// How long an account without a proved mailbox and without an organisation outlives its last use: a day, and as long as the link
/// that verifies its address works.
pub fn unfinished_lifetime(site: &Site) -> Duration {
    DAY.max(site.verification_lifetime)
}

const CLOSED: Error = Error::Forbidden(Code::RegistrationClosed, "Registration is by invitation only");

/// Checks the server's registration policy: 403 if it does not let this address register.
pub fn require_may_register(conn: &View, email: &str) -> Result<()> {
    let welcome = match conn.site().registration {
        Registration::Open => true,
        Registration::Invited => is_invited(conn, email)?,
        Registration::Closed => false,
    };
    if welcome { Ok(()) } else { Err(CLOSED) }
}

/// Whether an open invitation exists for the address.
fn is_invited(conn: &View, email: &str) -> Result<bool> {
    let mut select = conn.prepare_cached(
        "select i.organisation_id, i.invited_by, r.rights
         from invitations i join organisations o on o.id = i.organisation_id join roles r on r.id = i.role_id
         where i.email = ?1 and i.accepted_at is null and i.expires_at > ?2 and o.deleted_at is null",
    )?;
    let mut rows = select.query((email, conn.now()))?;
    while let Some(row) = rows.next()? {
        if may_still_invite(conn, row.get(0)?, row.get(1)?, row.get(2)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the sender of an invitation may still invite to a role with these rights. Once they are demoted, removed or disabled, what
/// they sent is void.
pub fn may_still_invite(conn: &Connection, organisation: OrganisationId, sender: UserId, rights: Rights) -> Result<bool> {
    let is_active = accounts::find(conn, sender)?.is_some_and(|account| account.is_active);
    let own = access::membership(conn, organisation, sender)?.map(|membership| membership.rights);
    Ok(is_active && own.is_some_and(|own| own.contains(Rights::INVITE_MEMBERS) && own.contains(rights)))
}
