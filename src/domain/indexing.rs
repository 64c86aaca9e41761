//! The index of the search. It is filled in the background: a commit with index rows costs many times one without.

use rusqlite::Connection;

use crate::{db::Tx, error::Result};

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
