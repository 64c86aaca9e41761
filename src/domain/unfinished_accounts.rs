//! Accounts that somebody registered and did not go on with: they end, and their addresses and usernames are free again.
//!
//! Registration writes a row of `unfinished_accounts` for each account. Once it is due, the account ends if its mailbox was never
//! proved, it is in no organisation and never was, and its sessions were not used for a while
//! ([`registration::unfinished_lifetime`]). One that was in an organisation stays, because what it wrote there shows its name.
//! Invitations to its address stay open.

use rusqlite::{OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{access::PlatformRole, account_erasure, accounts::registration},
    error::Result,
    id::UserId,
    time::Time,
};

/// What becomes of a due account.
enum Verdict {
    /// It is somebody's: it is not looked at again.
    Stays,
    /// It was used, or is disabled, which keeps its address out: it is looked at again at this time.
    Waits(Time),
    Ends,
}

/// Ends accounts that are due, and takes those that stay off the list. `noted` knows when users were last active, if that is not
/// written yet. Looks at `limit` accounts at most, and returns their number.
pub fn end_due(tx: &mut Tx, limit: u32, noted: impl Fn(UserId) -> Option<Time>) -> Result<usize> {
    let due: Vec<UserId> = tx
        .prepare_cached("select user_id from unfinished_accounts where due_at <= ?1 order by due_at limit ?2")?
        .query_map((tx.now(), limit), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for user in &due {
        match judge(tx, *user, noted(*user))? {
            Verdict::Stays => {
                tx.prepare_cached("delete from unfinished_accounts where user_id = ?1")?.execute([user])?;
            }
            Verdict::Waits(until) => {
                tx.prepare_cached("update unfinished_accounts set due_at = ?2 where user_id = ?1")?.execute((user, until))?;
            }
            Verdict::Ends => {
                account_erasure::revoke_access(tx, *user)?;
                account_erasure::finish(tx, *user)?;
            }
        }
    }
    Ok(due.len())
}

fn judge(tx: &Tx, user: UserId, noted: Option<Time>) -> Result<Verdict> {
    let lifetime = registration::unfinished_lifetime(tx.site());
    let sql = "select u.is_active, max(u.created_at, coalesce(u.last_seen_at, 0),
          coalesce((select max(max(s.created_at, coalesce(s.last_seen_at, 0))) from sessions s where s.user_id = u.id), 0),
          coalesce((select max(t.created_at) from one_time_tokens t where t.user_id = u.id), 0))
        from users u
        where u.id = ?1 and not u.mailbox_proved and not u.is_bot and u.role = ?2
          and not exists (select 1 from organisation_members m where m.user_id = u.id)
          and not exists (select 1 from former_members f where f.user_id = u.id)";
    let row = |row: &Row| Ok((row.get(0)?, row.get(1)?));
    let unfinished: Option<(bool, Time)> = tx.prepare_cached(sql)?.query_row((user, PlatformRole::User), row).optional()?;
    Ok(match unfinished {
        None => Verdict::Stays,
        Some((false, _)) => Verdict::Waits(tx.now() + lifetime),
        Some((true, written)) => {
            let due = noted.map_or(written, |noted| noted.max(written)) + lifetime;
            if due <= tx.now() { Verdict::Ends } else { Verdict::Waits(due) }
        }
    })
}
