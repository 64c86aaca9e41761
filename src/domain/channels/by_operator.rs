//! Channels as the command line shows and changes them. What the operator changes is done in the name of the channel's owner.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{Caller, UNKNOWN_CHANNEL},
        channels::{self, record, update_event::announce},
    },
    error::{Code, Error, OrConflict, Result},
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

/// A channel, as administrators see it. Direct messages are not listed.
#[derive(Serialize)]
pub struct Listed {
    pub id: ChannelId,
    pub name: String,
    pub is_private: bool,
    pub members: i64,
    pub messages: i64,
    /// The owner's address.
    pub owner: String,
    pub created_at: Time,
    pub archived_at: Option<Time>,
    pub deleted_at: Option<Time>,
}

/// Lists an organisation's channels by name, with archived and deleted ones that are not erased yet.
pub fn list(conn: &Connection, organisation: OrganisationId, limit: u32) -> Result<Vec<Listed>> {
    let mut select = conn.prepare_cached(
        "select c.id, c.name, c.is_private, c.user_count, c.message_count, u.email, c.created_at, c.archived_at, c.deleted_at
           from channels c cross join users u on u.id = c.owner_id
         where c.organisation_id = ?1 and c.is_dm = 0 order by c.name collate nocase, c.id limit ?2",
    )?;
    let row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok(Listed {
            id: columns.take()?,
            name: columns.take()?,
            is_private: columns.take()?,
            members: columns.take()?,
            messages: columns.take()?,
            owner: columns.take()?,
            created_at: columns.take()?,
            archived_at: columns.take()?,
            deleted_at: columns.take()?,
        })
    };
    Ok(select.query_map((organisation, limit), row)?.collect::<rusqlite::Result<_>>()?)
}

/// Deletes a channel, as its owner could.
pub fn delete(tx: &mut Tx, id: ChannelId) -> Result<()> {
    let owner: Option<UserId> = tx
        .prepare_cached("select owner_id from channels where id = ?1 and deleted_at is null and is_dm = 0")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let owner = Caller::operator_as(owner.ok_or(UNKNOWN_CHANNEL)?);
    channels::delete(tx, owner, id)
}

/// Restores a deleted channel that is not erased yet, with its members and messages. Pushes `channel_update`. 404 if there is
/// no such channel, 422 if another one has taken its name.
pub fn undelete(tx: &mut Tx, id: ChannelId) -> Result<()> {
    let restored: Option<(OrganisationId, UserId, bool)> = tx
        .prepare_cached(
            "update channels set deleted_at = null, updated_at = ?2 where id = ?1 and deleted_at is not null and is_dm = 0
             returning organisation_id, owner_id, archived_at is null",
        )?
        .query_row((id, tx.now()), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
        .or_conflict(|| Error::Invalid(Code::NameTaken.says("Another channel has this name: rename it first").at("name")))?;
    let (organisation, owner, is_live) = restored.ok_or(UNKNOWN_CHANNEL)?;
    if is_live {
        record::count(tx, organisation, 1)?;
    }
    announce(tx, id, "created", owner)
}
