//! The files of a channel.

use rusqlite::{Connection, Row};
use schemars::JsonSchema;
use serde::Serialize;

use super::record::{COLUMNS, File, FileKind};
use crate::{
    db::Columns,
    domain::{
        access::{self, Caller},
        page::Page,
    },
    error::Result,
    id::{ChannelId, MessageId},
};

/// A file of a channel, with who has posted it.
#[derive(Serialize, JsonSchema)]
pub struct ChannelFile {
    #[serde(flatten)]
    pub file: File,
    /// The author's name in the channel.
    pub username: String,
    /// The author's picture.
    pub avatar_url: String,
    /// The thread of the message.
    pub thread_id: MessageId,
}

/// Lists the files of a channel's messages, of one kind or of all, the newest message's first. For members of the channel.
pub fn of_channel(
    conn: &Connection,
    caller: Caller,
    channel: ChannelId,
    kind: Option<FileKind>,
    page: Page,
) -> Result<Vec<ChannelFile>> {
    access::require_channel_member(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    let of_kind = if kind.is_some() { "f.kind = ?4" } else { "?4 is null" };
    let sql = format!(
        "select {COLUMNS}, m.username, coalesce(u.avatar_url, ''), coalesce(r.id, m.id)
         from files f join messages m on m.n = f.message_n left join messages r on r.n = m.root
           left join users u on u.id = m.user_id
         where f.channel_id = ?1 and f.deleted_at is null and {of_kind} order by f.message_n desc, f.id desc limit ?2 offset ?3"
    );
    let from_row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        let file = File::take(&mut columns)?;
        Ok(ChannelFile { file, username: columns.take()?, avatar_url: columns.take()?, thread_id: columns.take()? })
    };
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((channel, page.size, page.offset, kind), from_row)?.collect::<rusqlite::Result<_>>()?)
}
