//! Chores: rows for the rest of a change that is too large for one write. The background jobs do it slice by slice, and each
//! slice holds the writer for a few milliseconds. The change itself ends rights at once; most changes also do the first
//! slice, which is often all. A slice commits the cursor of the next with its work, so a restart loses and repeats nothing.
//! `jobs/chores.rs` maps chores to functions; this file imports no area of the domain, so that all areas may leave chores.

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
    /// Takes a former member out of channels, and passes on those that they own.
    Departure { organisation: OrganisationId, user: UserId },
    /// Tells a user's organisations what the user now shows.
    Profile { user: UserId },
    /// Gives the holders of a deleted role the role `member`.
    Role { role: i64 },
    /// Removes a deleted message's text from the log.
    Message { n: i64 },
}

/// The end of the last slice; empty before the first. Each kind of chore has its own form.
pub type Cursor = Vec<u8>;

impl Chore {
    /// The values of the columns `kind`, `organisation_id`, `user_id` and `number`.
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

/// Leaves the rest of a chore to the jobs, or nothing if `rest` is none. It replaces an unfinished run of the same chore.
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

/// Whether the chore was left and is not done yet.
pub fn is_left(conn: &Connection, chore: Chore) -> Result<bool> {
    let sql = "select 1 from chores where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4";
    Ok(conn.prepare_cached(sql)?.exists(chore.columns())?)
}

/// Postpones the oldest due chore by `span` after its slice failed, so that the others go on. Returns its name for the log.
pub fn postpone(tx: &mut Tx, span: Duration) -> Result<String> {
    let Some((chore, _)) = first(tx)? else { return Ok(String::new()) };
    let (kind, organisation, user, number) = chore.columns();
    tx.prepare_cached(
        "update chores set retry_at = ?5 where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4",
    )?
    .execute((kind, organisation, user, number, tx.now() + span))?;
    Ok(format!("{chore:?}"))
}

/// The oldest due chore, and the cursor of its next slice.
pub fn first(conn: &View) -> Result<Option<(Chore, Cursor)>> {
    let sql = "select kind, organisation_id, user_id, number, cursor from chores where retry_at <= ?1 order by id limit 1";
    let row = |row: &Row| Ok((Chore::from_row(row)?, row.get("cursor")?));
    Ok(conn.prepare_cached(sql)?.query_row([conn.now()], row).optional()?)
}

/// Counts the chores that are not done yet.
pub fn count(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("select count(*) from chores")?.query_row([], |row| row.get(0))?)
}
