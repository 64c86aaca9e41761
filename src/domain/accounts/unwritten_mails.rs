//! Mails with links are queued blank, alike for addresses with and without an account, so that no request takes longer because
//! there is an account. Once such a mail is due, it is written, or dropped if there is nobody to write to.

use std::time::Duration;

use crate::{
    db::Tx,
    domain::{
        accounts::{
            self, User, login_codes,
            one_time_tokens::{self, Purpose},
        },
        mail_queue::{self, Claimed},
    },
    error::Result,
    mail::{self, Blank, Mail, MailKind},
};

/// The time between two mails to the owner of an account that somebody guesses at.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// The prefix of the keys in `meta` that say when the owner of an account was mailed about guesses; the account's id follows.
const TOLD: &str = "guessed ";

/// Leases the mail that has been due longest, as [`mail_queue::claim`] does, and writes it if it is blank. None if there is
/// none, or nobody to send it to.
pub fn claim_and_write(tx: &mut Tx) -> Result<Option<Claimed>> {
    let Some(claimed) = mail_queue::claim(tx)? else { return Ok(None) };
    let Some(blank) = claimed.mail.blank.clone() else { return Ok(Some(claimed)) };
    // A disabled account is treated like an unknown address.
    let user = accounts::find_by_email(tx, &claimed.mail.to)?.filter(|user| user.is_active);
    let Some(mail) = user.map_or(Ok(None), |user| write(tx, &user, claimed.mail.kind, blank))? else {
        mail_queue::sent(tx, claimed.id)?;
        return Ok(None);
    };
    mail_queue::fill_in_text(tx, claimed.id, &mail)?;
    Ok(Some(Claimed { mail, ..claimed }))
}

fn write(tx: &mut Tx, user: &User, kind: MailKind, blank: Blank) -> Result<Option<Mail>> {
    let to = &user.email;
    Ok(match (blank, kind) {
        (Blank::Guesses { networks }, _) => {
            if !is_first_today(tx, user)? {
                return Ok(None);
            }
            let token = link(tx, user, Purpose::MagicLink, tx.site().magic_link_lifetime)?;
            Some(mail::guesses(tx.site(), to, networks, &token))
        }
        (Blank::LinkAndCode { request }, _) => {
            let (code, hash) = login_codes::make(tx, &request, user.id)?.unzip();
            one_time_tokens::void_oldest(tx, user.id, Purpose::MagicLink)?;
            let token = one_time_tokens::issue(tx, user.id, Purpose::MagicLink, tx.site().magic_link_lifetime, hash)?;
            Some(match code {
                Some(code) => mail::magic_link_with_code(tx.site(), to, &token, &code),
                None => mail::magic_link_without_code(tx.site(), to, &token),
            })
        }
        (Blank::Link, MailKind::PasswordReset) => {
            let token = link(tx, user, Purpose::PasswordReset, tx.site().reset_lifetime)?;
            Some(mail::password_reset(tx.site(), to, &token))
        }
        (Blank::Link, MailKind::Verification) => {
            let token = link(tx, user, Purpose::EmailVerification, tx.site().verification_lifetime)?;
            Some(mail::verification(tx.site(), to, &token))
        }
        (Blank::Link, _) => {
            let token = link(tx, user, Purpose::MagicLink, tx.site().magic_link_lifetime)?;
            Some(mail::magic_link(tx.site(), to, &token))
        }
    })
}

/// Makes the token of a link, and voids the oldest of those that were mailed.
fn link(tx: &mut Tx, user: &User, purpose: Purpose, lifetime: Duration) -> Result<String> {
    one_time_tokens::void_oldest(tx, user.id, purpose)?;
    one_time_tokens::issue(tx, user.id, purpose, lifetime, None)
}

/// Notes that the owner of an account is told of guesses. False if they were told within a day.
fn is_first_today(tx: &Tx, user: &User) -> Result<bool> {
    let now = tx.now();
    tx.prepare_cached("delete from meta where key > ?1 and key < ?1 || 'g' and value <= ?2")?
        .execute((TOLD, (now - DAY).to_string()))?;
    let noted = tx
        .prepare_cached("insert or ignore into meta (key, value) values (?1, ?2)")?
        .execute((format!("{TOLD}{}", user.id), now.to_string()))?;
    Ok(noted > 0)
}
