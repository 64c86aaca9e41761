//! Six-digit codes in the mails of magic links, for the browser that asked: whoever asks gets a secret, the request, and a code
//! counts only together with it. A request whose address has no account gets the same answers, and its mail is dropped.

use std::time::Duration;

use rusqlite::OptionalExtension;

use crate::{
    db::{Tx, View},
    domain::{
        accounts::one_time_tokens::{self, Token},
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    id::UserId,
    secret::{self, Hash},
    time::Time,
};

/// Wrong codes of a request after which it is void.
pub const TRIES: u32 = 5;
/// Wrong codes of an account in [`DAY`] after which its mails have no code: whoever asks for mail after mail guesses at a million
/// codes with five tries each.
pub const TRIES_OF_ACCOUNT: u32 = 20;
/// How long a wrong code counts against its account.
const DAY: Duration = Duration::from_secs(24 * 3600);

text::rules! {
    pub MailedCode: Rule::six_digit_code();
}

/// Makes a request, and returns its secret. Only the secret's hash is stored.
pub fn make_request(tx: &mut Tx) -> Result<String> {
    let (request, ends) = (secret::random_token(), tx.now() + tx.site().magic_link_lifetime);
    tx.prepare_cached("insert into code_requests (hash, expires_at) values (?1, ?2)")?
        .execute((secret::sha256(&request), ends))?;
    Ok(request)
}

/// A new code for a request that is mailed to an account, and the hash to store. None while there are too many wrong codes of the
/// account: its mail has a link alone, and the answers stay as they are.
pub(super) fn make(tx: &mut Tx, request: &str, user: UserId) -> Result<Option<(String, Hash)>> {
    tx.prepare_cached("update code_requests set user_id = ?2 where hash = ?1")?.execute((secret::sha256(request), user))?;
    let wrong: u32 = tx
        .prepare_cached("select coalesce(sum(tries), 0) from code_requests where user_id = ?1 and expires_at > ?2")?
        .query_row((user, tx.now() - DAY), |row| row.get(0))?;
    if wrong >= TRIES_OF_ACCOUNT && tx.site().rate_limit {
        return Ok(None);
    }
    let code = format!("{:06}", u64::from_le_bytes(secret::random()) % 1_000_000);
    let hash = hash(request, &code);
    Ok(Some((code, hash)))
}

/// The hash of a code together with its request's secret: a million codes alone are tried in a moment.
fn hash(request: &str, code: &str) -> Hash {
    secret::sha256(format!("{request} {code}"))
}

/// Checks that a request still takes codes. 400 if there is none, 422 after five wrong codes.
pub fn require_open(conn: &View, request: &str) -> Result<()> {
    Token::check(request, "request").map_err(Error::BadRequest)?;
    let tries: Option<u32> = conn
        .prepare_cached("select tries from code_requests where hash = ?1 and expires_at > ?2")?
        .query_row((secret::sha256(request), conn.now()), |row| row.get(0))
        .optional()?;
    match tries {
        None => Err(Error::BadRequest(Code::LinkInvalid.says("The request is invalid or has ended").at("request"))),
        Some(tries) if tries >= TRIES => {
            Err(Error::Invalid(Code::TooManyCodes.says("Too many wrong codes: ask for another mail")))
        }
        Some(_) => Ok(()),
    }
}

/// Uses up a code with its link, and returns the account. None for a wrong code, which must be committed as a try. Errors as in
/// [`require_open`], and 400 for a text that is no code.
pub fn take(tx: &mut Tx, request: &str, code: &str) -> Result<Option<UserId>> {
    MailedCode::check(code, "code").map_err(Error::BadRequest)?;
    require_open(tx, request)?;
    tx.prepare_cached("update code_requests set tries = tries + 1 where hash = ?1")?.execute([secret::sha256(request)])?;
    let taken = one_time_tokens::take_by_code(tx, &hash(request, code))?;
    if taken.is_some() {
        tx.prepare_cached("update code_requests set tries = tries - 1 where hash = ?1")?.execute([secret::sha256(request)])?;
    }
    Ok(taken)
}

/// Deletes at most `limit` requests whose codes expired before `now`, and whose wrong codes don't count against an account any
/// more.
pub fn prune(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql = "delete from code_requests where hash in (select hash from code_requests
                 where expires_at < ?1 and (user_id is null or tries = 0 or expires_at < ?2) limit ?3)";
    Ok(tx.prepare_cached(sql)?.execute((now, now - DAY, limit))?)
}
