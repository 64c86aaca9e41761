//! Deferred work: rows of the table `deferred_work` for the rest of a change that is too large for one write. The background jobs
//! do it slice by slice, and each slice holds the writer for a few milliseconds. The change itself ends rights at once; most
//! changes also do the first slice, which is often all. A slice commits the cursor of the next with its work, so a restart
//! loses and repeats nothing. `jobs/deferred_work.rs` maps the rows to functions; this file imports no area of the domain, so
//! that all areas may defer work.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, types::FromSqlError};

use crate::{
    db::{Tx, View},
    error::Result,
    event::{Effect, Queue},
    id::{OrganisationId, UserId},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferredWork {
    /// Takes a former member out of channels, and passes on those that they own.
    Departure { organisation: OrganisationId, user: UserId },
    /// Tells a user's organisations what the user now shows.
    Profile { user: UserId },
    /// Gives the holders of a deleted role the role `member`.
    Role { role: i64 },
    /// Removes a deleted message's text from the log.
    Message { n: i64 },
}

/// The end of the last slice; empty before the first. Each kind of work has its own form.
pub type Cursor = Vec<u8>;

impl DeferredWork {
    /// The values of the columns `kind`, `organisation_id`, `user_id` and `number`.
    fn columns(self) -> (&'static str, Option<OrganisationId>, Option<UserId>, Option<i64>) {
        match self {
            DeferredWork::Departure { organisation, user } => ("departure", Some(organisation), Some(user), None),
            DeferredWork::Profile { user } => ("profile", None, Some(user), None),
            DeferredWork::Role { role } => ("role", None, None, Some(role)),
            DeferredWork::Message { n } => ("message", None, None, Some(n)),
        }
    }

    fn from_row(row: &Row) -> rusqlite::Result<DeferredWork> {
        Ok(match row.get_ref("kind")?.as_str()? {
            "departure" => DeferredWork::Departure { organisation: row.get("organisation_id")?, user: row.get("user_id")? },
            "profile" => DeferredWork::Profile { user: row.get("user_id")? },
            "role" => DeferredWork::Role { role: row.get("number")? },
            "message" => DeferredWork::Message { n: row.get("number")? },
            _ => return Err(FromSqlError::InvalidType.into()),
        })
    }
}

/// Defers the rest of some work to the jobs, or nothing if `rest` is none. It replaces an unfinished run of the same work.
pub fn defer(tx: &mut Tx, work: DeferredWork, rest: Option<Cursor>) -> Result<()> {
    let (kind, organisation, user, number) = work.columns();
    tx.prepare_cached("delete from deferred_work where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4")?
        .execute((kind, organisation, user, number))?;
    if let Some(cursor) = rest {
        tx.prepare_cached(
            "insert into deferred_work (kind, organisation_id, user_id, number, cursor) values (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((kind, organisation, user, number, cursor))?;
        tx.then(Effect::Queued(Queue::DeferredWork));
    }
    Ok(())
}

/// Whether the work was deferred and is not done yet.
pub fn is_pending(conn: &Connection, work: DeferredWork) -> Result<bool> {
    let sql = "select 1 from deferred_work where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4";
    Ok(conn.prepare_cached(sql)?.exists(work.columns())?)
}

/// Postpones the oldest due work by `span` after its slice failed, so that the others go on. Returns its name for the log.
pub fn postpone_failed(tx: &mut Tx, span: Duration) -> Result<String> {
    let Some((work, _)) = first(tx)? else { return Ok(String::new()) };
    let (kind, organisation, user, number) = work.columns();
    tx.prepare_cached(
        "update deferred_work set retry_at = ?5 where kind = ?1 and organisation_id is ?2 and user_id is ?3 and number is ?4",
    )?
    .execute((kind, organisation, user, number, tx.now() + span))?;
    Ok(format!("{work:?}"))
}

/// The oldest due work, and the cursor of its next slice.
pub fn first(conn: &View) -> Result<Option<(DeferredWork, Cursor)>> {
    let sql = "select kind, organisation_id, user_id, number, cursor from deferred_work where retry_at <= ?1 order by id limit 1";
    let row = |row: &Row| Ok((DeferredWork::from_row(row)?, row.get("cursor")?));
    Ok(conn.prepare_cached(sql)?.query_row([conn.now()], row).optional()?)
}

/// Counts the deferred work that is not done yet.
pub fn count(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("select count(*) from deferred_work")?.query_row([], |row| row.get(0))?)
}
