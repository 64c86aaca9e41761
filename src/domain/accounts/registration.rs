//! Registration: who may make an account for themselves.

use crate::{
    config::Registration,
    db::{Tx, View},
    domain::accounts::{
        self, New,
        mailbox::{self, MayMail},
        one_time_tokens::Purpose,
    },
    error::{Error, Result},
    id::UserId,
};

/// Makes an account for whoever asks, as far as the server's policy lets them, and mails a
/// verification link. 403 when registration is not open to them, 422 when the address or the
/// username is taken.
pub fn register(tx: &mut Tx, new: &New, password_hash: &str, may_mail: MayMail) -> Result<UserId> {
    require_welcome(tx, &new.email)?;
    let user = accounts::create(tx, new, password_hash)?;
    mailbox::mail_link(tx, user, &new.email, Purpose::EmailVerification, may_mail)?;
    Ok(user)
}

/// 403 when the server's policy does not let this address register.
pub fn require_welcome(conn: &View, email: &str) -> Result<()> {
    let welcome = match conn.site().registration {
        Registration::Open => true,
        Registration::Invited => is_invited(conn, email)?,
        Registration::Closed => false,
    };
    if welcome { Ok(()) } else { Err(Error::Forbidden("Registration is by invitation only")) }
}

/// Whether an open invitation waits for the address.
fn is_invited(conn: &View, email: &str) -> Result<bool> {
    Ok(conn
        .prepare_cached("select 1 from invitations where email = ?1 and accepted_at is null and expires_at > ?2")?
        .exists((email, conn.now()))?)
}
