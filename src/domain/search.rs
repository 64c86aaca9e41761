//! Full text of messages. The index is filled in the background: a commit with index rows costs many times one without.

use rusqlite::Connection;

use crate::{
    db::Tx,
    domain::{
        Caller, channels, members,
        messages::{self, Message},
        page::Page,
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId},
};

/// Text taken into the index in one write, so that it does not hold up others.
const SLICE_BYTES: usize = 64 << 10;

/// Takes up to `limit` messages more into the index. Returns how many were looked at: 0 at the end.
pub fn index(tx: &mut Tx, limit: u32) -> Result<usize> {
    let from = cursor(tx)?;
    let mut select = tx.prepare_cached("select n, content from messages where n > ?1 order by n limit ?2")?;
    let mut insert = tx.prepare_cached("insert into message_search (rowid, content) values (?1, ?2)")?;
    let (mut rows, mut last, mut looked_at, mut bytes) = (select.query((from, limit))?, from, 0, 0);
    while bytes < SLICE_BYTES
        && let Some(row) = rows.next()?
    {
        let content: String = row.get("content")?;
        last = row.get("n")?;
        looked_at += 1;
        bytes += content.len();
        if !content.is_empty() {
            insert.execute((last, content))?;
        }
    }
    if looked_at > 0 {
        tx.prepare_cached("update meta set value = ?1 where key = 'search_cursor'")?.execute([last.to_string()])?;
    }
    Ok(looked_at)
}

/// What is searched for, as an expression of the index.
#[derive(Debug, PartialEq)]
pub struct Query(String);

/// The index is made of runs of three characters.
const SHORTEST: usize = 3;
const LONGEST: usize = 256;

impl Query {
    /// All words of three characters and more; where there are none, the text as it stands. 400 when it has less
    /// than three characters, or too many.
    pub fn parse(text: &str) -> Result<Query> {
        let words: Vec<&str> =
            text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
        let whole = words.join(" ");
        match whole.chars().count() {
            ..SHORTEST => return Err(Error::bad_request(format!("q must have at least {SHORTEST} characters"))),
            SHORTEST..=LONGEST => {}
            _ => return Err(Error::bad_request(format!("q is longer than {LONGEST} characters"))),
        }
        // In quotes nothing is an operator.
        let quoted = |phrase: &str| format!("\"{}\"", phrase.replace('"', "\"\""));
        let long: Vec<String> = words.iter().filter(|word| word.chars().count() >= SHORTEST).map(|word| quoted(word)).collect();
        Ok(Query(if long.is_empty() { quoted(&whole) } else { long.join(" ") }))
    }
}

/// Messages of the channels that the caller is in now, archived ones included, newest first. 404 for outsiders,
/// and for a channel that the caller may not know of; 403 for one that they are not in.
pub fn find(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    channel: Option<ChannelId>,
    query: &Query,
    page: Page,
) -> Result<Vec<Message>> {
    members::find(conn, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
    if let Some(channel) = channel {
        let access = channels::find(conn, caller, channel)?.filter(|access| access.channel.organisation == organisation);
        access.ok_or(channels::UNKNOWN)?.require_member()?;
    }
    // In this order: the index gives the newest first, and the limit ends the search.
    let found: Vec<i64> = conn
        .prepare_cached(
            "select m.n from message_search s
               cross join messages m on m.n = s.rowid
               cross join channels c on c.id = m.channel_id
               cross join channel_members cm on cm.channel_id = c.id and cm.user_id = ?2
             where s.message_search match ?1 and m.deleted_at is null and c.deleted_at is null
               and c.organisation_id = ?3 and (?4 is null or c.id = ?4)
             order by s.rowid desc limit ?5 offset ?6",
        )?
        .query_map((&query.0, caller.user, organisation, channel, page.size, page.offset), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut messages = messages::at(conn, &found)?;
    messages.reverse();
    Ok(messages)
}

/// How many messages are not in the index yet, about: some numbers were never given.
pub fn behind(conn: &Connection) -> Result<i64> {
    let last: i64 = conn.prepare_cached("select coalesce(max(n), 0) from messages")?.query_row([], |row| row.get(0))?;
    Ok((last - cursor(conn)?).max(0))
}

/// The `n` of the last message in the index.
fn cursor(conn: &Connection) -> Result<i64> {
    let sql = "select cast(value as integer) from meta where key = 'search_cursor'";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Takes a deleted message out.
pub fn forget(tx: &Tx, n: i64) -> Result<()> {
    if n <= cursor(tx)? {
        tx.prepare_cached("delete from message_search where rowid = ?1")?.execute([n])?;
    }
    Ok(())
}

/// Follows an edit. What the background has not reached yet, it will find as it is now.
pub fn replace(tx: &Tx, n: i64, content: &str) -> Result<()> {
    if n <= cursor(tx)? {
        tx.prepare_cached("insert or replace into message_search (rowid, content) values (?1, ?2)")?.execute((n, content))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_short_ones_left_out() {
        let parsed = |text: &str| Query::parse(text).map(|query| query.0).ok();
        assert_eq!(parsed(" engine  in OR* \"near(\u{0}").as_deref(), Some(r#""engine" "OR*" """near(""#));
        assert_eq!(parsed("to be").as_deref(), Some(r#""to be""#));
        assert_eq!(parsed("ab "), None);
        assert_eq!(parsed("\u{0}\u{0}\u{0}"), None);
        assert!(parsed(&"x".repeat(256)).is_some() && parsed(&"x".repeat(257)).is_none());
    }
}
