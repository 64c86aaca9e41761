//! Work that a change leaves behind when there is much of it: a row, which the background jobs work off slice by slice.
//!
//! The change itself ends rights at once and does the first slice, so that mostly nothing is left. A slice holds the
//! writer for a few milliseconds; it says where the next one begins, and is committed with that, so that a restart
//! loses and repeats nothing. `jobs/chores.rs` knows who does what: this file imports no area, so that all may leave work.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, types::FromSqlError};

use crate::{
    db::{Tx, View},
    error::Result,
    event::{Effect, Queue},
    id::{OrganisationId, UserId},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// A former member's channels go to others.
    Departure { organisation: OrganisationId, user: UserId },
    /// A user's organisations are told of what they show by now.
    Profile { user: UserId },
    /// The holders of a deleted role become members.
    Role { role: i64 },
    /// A deleted message's text goes from the log.
    Message { n: i64 },
}

/// Where a slice has ended; empty before the first. Its form is the chore's own affair.
pub type Cursor = Vec<u8>;

impl Chore {
    /// The columns `kind`, `organisation_id`, `user_id` and `number`.
    fn columns(self) -> (&'static str, Option<OrganisationId>, Option<UserId>, Option<i64>) {
        match self {
            Chore::Departure { organisation, user } => ("departure", Some(organisation), Some(user), None),
            Chore::Profile { user } => ("profile", None, Some(user), None),
            Chore::Role { role } => ("role", None, None, Some(role)),
            Chore::Message { n } => ("message", None, None, Some(n)),
        }
    }

    fn from_row(row: &Row) -> rusqlite::Result<Chore> {
        Ok(match row.get_ref("kind")?.as_str()? {
            "departure" => Chore::Departure { organisation: row.get("organisation_id")?, user: row.get("user_id")? },
            "profile" => Chore::Profile { user: row.get("user_id")? },
            "role" => Chore::Role { role: row.get("number")? },
            "message" => Chore::Message { n: row.get("number")? },
            _ => return Err(FromSqlError::InvalidType.into()),
        })
    }
}

/// Leaves to the jobs what follows the first slice, where something does. The same chore begun before is forgotten.
pub fn leave(tx: &mut Tx, chore: Chore, rest: Option<Cursor>) -> Result<()> {
    let (kind, organisation, user, number) = chore.columns();
    tx.prepare_cached("delete from chores where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4")?
        .execute((kind, organisation, user, number))?;
    if let Some(cursor) = rest {
        tx.prepare_cached("insert into chores (kind, organisation_id, user_id, number, cursor) values (?1, ?2, ?3, ?4, ?5)")?
            .execute((kind, organisation, user, number, cursor))?;
        tx.then(Effect::Queued(Queue::Chores));
    }
    Ok(())
}

/// Whether a chore was left and is not done yet.
pub fn is_left(conn: &Connection, chore: Chore) -> Result<bool> {
    let sql = "select 1 from chores where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4";
    Ok(conn.prepare_cached(sql)?.exists(chore.columns())?)
}

/// Leaves the chore that has waited longest alone for the given time, after its slice failed: the others go on without
/// it. Returns which one that is, for the log.
pub fn postpone(tx: &mut Tx, span: Duration) -> Result<String> {
    let Some((chore, _)) = first(tx)? else { return Ok(String::new()) };
    let (kind, organisation, user, number) = chore.columns();
    tx.prepare_cached(
        "update chores set retry_at = ?5 where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4",
    )?
    .execute((kind, organisation, user, number, tx.now() + span))?;
    Ok(format!("{chore:?}"))
}

/// The chore that has waited longest, and where its next slice begins.
pub fn first(conn: &View) -> Result<Option<(Chore, Cursor)>> {
    let sql = "select kind, organisation_id, user_id, number, cursor from chores where retry_at <= ?1 order by id limit 1";
    let row = |row: &Row| Ok((Chore::from_row(row)?, row.get("cursor")?));
    Ok(conn.prepare_cached(sql)?.query_row([conn.now()], row).optional()?)
}

/// How many are not done yet.
pub fn count(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("select count(*) from chores")?.query_row([], |row| row.get(0))?)
}
