//! Links in mails: magic links, password resets, and verification of the address.
//!
//! An unknown address gets the same answer as a known one, at the same cost: its mail is queued, too, and dropped later
//! ([`super::unwritten_mails`]). A request past the limit of a recipient also writes to disk, but changes nothing: links that
//! were mailed before stay valid. The limit of the requesting network is kept before that
//! ([`crate::limits::Limits::mailed_link`]).

use crate::{
    db::{Tx, View},
    domain::{
        access::Caller,
        accounts::{
            self, User, login_codes,
            mailbox_proof::{Proof, prove, set_verified},
            one_time_tokens::{self, Purpose},
            passwords, sessions,
        },
        mail_queue,
    },
    error::{Code, Error, Result},
    id::UserId,
    mail::{self, Blank, MailKind},
};

/// Mails a link to the account of an address in the form of [`crate::domain::text::existing_account_address`]. Anybody may ask.
/// 422 if the link would verify an address that is verified already.
pub fn request_link(tx: &mut Tx, email: &str, purpose: Purpose) -> Result<()> {
    if purpose == Purpose::EmailVerification
        && accounts::find_by_email(tx, email)?.is_some_and(|user| user.is_active && user.is_verified)
    {
        return Err(Error::Invalid(Code::EmailAlreadyVerified.says("The e-mail address is already verified")));
    }
    mail_link(tx, email, purpose)
}

/// Makes a link that sets a new password, for the command line. Mails nothing.
pub fn reset_link(tx: &mut Tx, email: &str) -> Result<String> {
    let user = accounts::find_by_email(tx, email)?.ok_or(accounts::NO_ACCOUNT)?;
    sessions::require_enabled_account(&user)?;
    // Mailed links stay valid, because no mail replaces them.
    let token = one_time_tokens::issue(tx, user.id, Purpose::PasswordReset, tx.site().reset_lifetime, None)?;
    Ok(mail::password_reset_url(tx.site(), &token))
}

/// Mails a magic link with a code to the account of such an address, and returns the secret that must come with the code.
/// Anybody may ask.
pub fn request_code(tx: &mut Tx, email: &str) -> Result<String> {
    let request = login_codes::make_request(tx)?;
    queue_blank(tx, MailKind::MagicLink, email, Blank::LinkAndCode { request: request.clone() })?;
    Ok(request)
}

/// Queues a mail with a link, which is written once it is due ([`super::unwritten_mails`]). Past a limit it changes nothing: it
/// voids no token without a mail that replaces it.
pub fn mail_link(tx: &mut Tx, email: &str, purpose: Purpose) -> Result<()> {
    let kind = match purpose {
        Purpose::MagicLink => MailKind::MagicLink,
        Purpose::PasswordReset => MailKind::PasswordReset,
        Purpose::EmailVerification => MailKind::Verification,
    };
    queue_blank(tx, kind, email, Blank::Link)
}

fn queue_blank(tx: &mut Tx, kind: MailKind, email: &str, blank: Blank) -> Result<()> {
    if !mail_queue::recipient_has_quota(tx, email, kind)? {
        mail_queue::log_dropped(kind);
        return ask_in_vain(tx);
    }
    mail_queue::add_unchecked(tx, &mail::written_when_due(kind, email, blank))
}

/// Tells the owner of an address's account, if there is one, that its password is being guessed at from about so many networks.
/// At most one such mail a day is sent.
pub fn mail_about_guesses(tx: &mut Tx, email: &str, networks: u32) -> Result<()> {
    mail_queue::add_unchecked(tx, &mail::written_when_due(MailKind::Notice, email, Blank::Guesses { networks }))
}

/// Makes a request that mails nothing write to disk all the same: a missing fsync would tell of the limit.
fn ask_in_vain(tx: &Tx) -> Result<()> {
    tx.prepare_cached("update meta set value = ?1 where key = 'last_vain_request'")?.execute([tx.now().to_string()])?;
    Ok(())
}

/// Logs in with a magic link, which proves the mailbox. 400 and 422 as in [`one_time_tokens::find_account`], 403 for a disabled
/// account.
pub fn enter(tx: &mut Tx, token: &str, device: &sessions::Device) -> Result<sessions::Started> {
    let user = one_time_tokens::take(tx, Purpose::MagicLink, token)?;
    let_in(tx, user, device)
}

/// Logs in with the code beside a magic link, as the link does. None for a wrong code, which must be committed as a try. Errors
/// as in [`login_codes::take`]; 403 for a disabled account.
pub fn enter_by_code(tx: &mut Tx, request: &str, code: &str, device: &sessions::Device) -> Result<Option<sessions::Started>> {
    login_codes::take(tx, request, code)?.map(|user| let_in(tx, user, device)).transpose()
}

/// Begins a session for whoever has just read a mail to the account, which proves the mailbox. 403 for a disabled account.
fn let_in(tx: &mut Tx, user: UserId, device: &sessions::Device) -> Result<sessions::Started> {
    let user = accounts::get(tx, user)?;
    sessions::require_enabled_account(&user)?;
    let user = prove(tx, user, Proof::Mailbox)?;
    sessions::start(tx, user, device)
}

/// The account whose password a token may set; the token stays valid. 422 for every bad token, 403 for a disabled account.
pub fn find_reset(conn: &View, token: &str) -> Result<User> {
    let user = one_time_tokens::find_account(conn, Purpose::PasswordReset, token).map_err(as_invalid)?;
    let user = accounts::get(conn, user)?;
    sessions::require_enabled_account(&user)?;
    Ok(user)
}

/// Sets a new password, which proves the mailbox. All sessions end, all links that log in become void, and a mail tells the
/// user. Errors as in `find_reset`.
pub fn set_new_password(tx: &mut Tx, token: &str, password_hash: &str) -> Result<()> {
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

/// The account whose address a token verifies; the token stays valid. 400 and 422 as in [`one_time_tokens::find_account`].
pub fn find_verification(conn: &View, token: &str) -> Result<User> {
    let user = one_time_tokens::find_account(conn, Purpose::EmailVerification, token)?;
    accounts::get(conn, user)
}

/// The credential that comes with the token of a verification mail.
pub enum Companion {
    Nothing,
    Session(Caller),
    /// The hash against which the password was just verified.
    Password(String),
}

pub const WRONG_PASSWORD: Error = Error::Unauthorized(Code::WrongPassword, "The password is incorrect");

/// Verifies the address; together with a session or the password of the same account, this proves the mailbox.
///
/// 400 and 422 as in [`one_time_tokens::find_account`], 401 if the password has changed meanwhile. After an error the token stays
/// valid.
pub fn verify(tx: &mut Tx, token: &str, companion: Companion) -> Result<()> {
    let user = one_time_tokens::take(tx, Purpose::EmailVerification, token)?;
    let user = accounts::get(tx, user)?;
    let is_theirs = match companion {
        Companion::Nothing => false,
        Companion::Session(caller) => {
            sessions::require_live(tx, caller)?;
            caller.user == user.id
        }
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
