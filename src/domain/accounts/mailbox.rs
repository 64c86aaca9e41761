//! Links in mails: magic links, password resets, and verification of the address.
//!
//! An unknown address is answered like a known one, and at the same cost: one write that reaches the disk. So is a request
//! past a limit, which changes nothing: links that were mailed before go on working.

use crate::{
    db::{Tx, View},
    domain::{
        access::Caller,
        accounts::{
            self, User,
            one_time_tokens::{self, Purpose},
            passwords,
            proof::{Proof, prove, set_verified},
            sessions,
        },
        outbox,
    },
    error::{Error, Result},
    id::UserId,
    mail::{self, Kind},
};

/// Whether the request may cause one more mail: false once its network has used up its hourly quota
/// ([`crate::limits::Limits::link`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MayMail(pub bool);

/// Mails a link to the account of the address, [`crate::domain::text::email_address`]'s. 422 for one that verifies an address
/// which is verified.
pub fn request_link(tx: &mut Tx, email: &str, purpose: Purpose, may_mail: MayMail) -> Result<()> {
    // An account that may not be entered is answered like none.
    match accounts::find_by_email(tx, email)?.filter(|user| user.is_active) {
        None => ask_in_vain(tx),
        Some(user) if purpose == Purpose::EmailVerification && user.is_verified => {
            Err(Error::invalid("The e-mail address is already verified"))
        }
        Some(user) => mail_link(tx, user.id, email, purpose, may_mail),
    }
}

/// For the command line: a link that sets a new password, without a mail.
pub fn reset_link(tx: &mut Tx, email: &str) -> Result<String> {
    let user = accounts::find_by_email(tx, email)?.ok_or(accounts::NO_ACCOUNT)?;
    sessions::require_active(&user)?;
    // Beside those that were mailed: nothing is mailed in their place.
    let token = one_time_tokens::issue(tx, user.id, Purpose::PasswordReset, tx.site().reset_lifetime)?;
    Ok(mail::reset_link(tx.site(), &token))
}

/// Mails a link with a new token. Past a limit it changes nothing: no token is voided without a mail in its place.
pub fn mail_link(tx: &mut Tx, user: UserId, email: &str, purpose: Purpose, may_mail: MayMail) -> Result<()> {
    let (kind, lifetime) = match purpose {
        Purpose::MagicLink => (Kind::MagicLink, tx.site().magic_link_lifetime),
        Purpose::PasswordReset => (Kind::PasswordReset, tx.site().reset_lifetime),
        Purpose::EmailVerification => (Kind::Verification, tx.site().verification_lifetime),
    };
    if !may_mail.0 {
        return ask_in_vain(tx);
    }
    if !outbox::within_quota(tx, email, kind)? {
        outbox::log_dropped(kind);
        return ask_in_vain(tx);
    }
    one_time_tokens::void_oldest(tx, user, purpose)?;
    let token = one_time_tokens::issue(tx, user, purpose, lifetime)?;
    let mail = match purpose {
        Purpose::MagicLink => mail::magic_link(tx.site(), email, &token),
        Purpose::PasswordReset => mail::password_reset(tx.site(), email, &token),
        Purpose::EmailVerification => mail::verification(tx.site(), email, &token),
    };
    outbox::insert(tx, &mail)
}

/// Without this, the missing fsync would tell that there is no such account.
fn ask_in_vain(tx: &Tx) -> Result<()> {
    tx.prepare_cached("update meta set value = ?1 where key = 'last_vain_request'")?.execute([tx.now().to_string()])?;
    Ok(())
}

/// Logs in with a magic link. 400 and 422 as [`one_time_tokens::find`] says, 403 for a disabled account.
pub fn enter(tx: &mut Tx, token: &str, device: &sessions::Device) -> Result<sessions::Started> {
    let user = one_time_tokens::take(tx, Purpose::MagicLink, token)?;
    let user = accounts::get(tx, user)?;
    sessions::require_active(&user)?;
    let user = prove(tx, user, Proof::Mailbox)?;
    sessions::start(tx, user, device)
}

/// The account whose password a token may set; does not use it up. 422 for every bad token.
pub fn find_reset(conn: &View, token: &str) -> Result<User> {
    let user = one_time_tokens::find(conn, Purpose::PasswordReset, token).map_err(as_invalid)?;
    let user = accounts::get(conn, user)?;
    sessions::require_active(&user)?;
    Ok(user)
}

/// Sets a new password: all sessions end, all links die, the user is told by mail.
pub fn reset(tx: &mut Tx, token: &str, password_hash: &str) -> Result<()> {
    let user = find_reset(tx, token)?;
    one_time_tokens::take(tx, Purpose::PasswordReset, token)?;
    let user = prove(tx, user, Proof::Mailbox)?;
    passwords::set(tx, &user, password_hash, None)
}

fn as_invalid(err: Error) -> Error {
    match err {
        Error::BadRequest(reason) => Error::Invalid(reason),
        other => other,
    }
}

/// The account whose address a token verifies; does not use it up. 400 and 422 as [`one_time_tokens::find`] says.
pub fn find_verification(conn: &View, token: &str) -> Result<User> {
    let user = one_time_tokens::find(conn, Purpose::EmailVerification, token)?;
    accounts::get(conn, user)
}

/// With what the link of a verification mail was opened.
pub enum Companion {
    Nothing,
    Session(Caller),
    /// The password was just verified against this hash.
    Password(String),
}

pub const WRONG_PASSWORD: Error = Error::Unauthorized("The password is incorrect");

/// Verifies the address; together with a session or the password of the same account, this proves the mailbox.
///
/// 400 and 422 as [`one_time_tokens::find`] says, 401 when the password changed meanwhile. Nothing is used up then.
pub fn verify(tx: &mut Tx, token: &str, companion: Companion) -> Result<()> {
    let user = one_time_tokens::take(tx, Purpose::EmailVerification, token)?;
    let user = accounts::get(tx, user)?;
    let is_theirs = match companion {
        Companion::Nothing => false,
        Companion::Session(caller) => caller.user == user.id,
        Companion::Password(hash) if hash != user.password_hash => return Err(WRONG_PASSWORD),
        Companion::Password(_) => true,
    };
    if is_theirs {
        prove(tx, user, Proof::MailboxAndAccount)?;
    } else {
        set_verified(tx, &user)?;
    }
    Ok(())
}
