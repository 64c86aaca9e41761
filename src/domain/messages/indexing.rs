//! The index of the search. It is filled in the background: a commit with index rows costs many times one without.
//!
//! Each term begins with a key of its organisation. So no posting list holds messages of two organisations, and the cost and
//! duration of a search depend on the caller's own alone.

use std::collections::HashSet;

use rusqlite::{Connection, Rows};

use crate::{
    db::Tx,
    domain::text,
    error::Result,
    event::{Effect, Queue},
    id::OrganisationId,
};

/// Text taken in by one step, and pages of the index merged by one: a few milliseconds each, so that others wait no longer.
const SLICE_BYTES: usize = 8 << 10;
const MERGED_PAGES: i64 = 16;
/// Different trigrams of one message that are taken in. Texts in an alphabet have fewer, however long; the 40,000 of one of
/// 40,000 ideographs would hold the writer for tens of milliseconds.
const MOST_TERMS: usize = 10_000;
/// Characters of a term.
pub(in crate::domain) const TRIGRAM: usize = 3;
const SEPARATOR: char = '\n';

/// One step: merges a little of what earlier steps wrote, or takes in edited texts, or up to `limit` messages more.
/// Returns 0 when nothing is left to do.
pub fn index(tx: &mut Tx, limit: u32) -> Result<usize> {
    if merge(tx)? {
        return Ok(1);
    }
    match take_edited(tx, limit)? {
        0 => take_new(tx, limit),
        taken => Ok(taken),
    }
}

/// Whether there was something to merge. Left to itself, SQLite does it with whichever write makes it due, and all at once.
fn merge(tx: &Tx) -> Result<bool> {
    let before = tx.total_changes();
    tx.prepare_cached("insert into message_search (message_search, rank) values ('merge', ?1)")?.execute([MERGED_PAGES])?;
    Ok(tx.total_changes() - before > 1) // the command itself counts as one
}

fn take_edited(tx: &Tx, limit: u32) -> Result<usize> {
    let mut select = tx.prepare_cached(
        "select u.n, m.content, c.organisation_id from unindexed_edits u
           left join messages m on m.n = u.n
           left join channels c on c.id = m.channel_id
         order by u.n limit ?1",
    )?;
    let Some((taken, last)) = take(tx, select.query([limit])?)? else { return Ok(0) };
    tx.prepare_cached("delete from unindexed_edits where n <= ?1")?.execute([last])?;
    Ok(taken)
}

fn take_new(tx: &Tx, limit: u32) -> Result<usize> {
    let mut select = tx.prepare_cached(
        "select m.n, m.content, c.organisation_id from messages m left join channels c on c.id = m.channel_id
         where m.n > ?1 order by m.n limit ?2",
    )?;
    let Some((taken, last)) = take(tx, select.query((cursor(tx)?, limit))?)? else { return Ok(0) };
    tx.prepare_cached("update meta set value = ?1 where key = 'search_cursor'")?.execute([last.to_string()])?;
    Ok(taken)
}

/// Takes in messages until they are enough for one step. Returns how many were looked at, and the last of them.
fn take(tx: &Tx, mut rows: Rows) -> Result<Option<(usize, i64)>> {
    let mut insert = tx.prepare_cached("insert into message_search (rowid, content) values (?1, ?2)")?;
    let (mut looked_at, mut last, mut bytes) = (0, None, 0);
    while bytes < SLICE_BYTES
        && let Some(row) = rows.next()?
    {
        let n: i64 = row.get("n")?;
        // Both are missing when the message is gone.
        let (content, organisation): (Option<String>, Option<OrganisationId>) =
            (row.get("content")?, row.get("organisation_id")?);
        if let (Some(content), Some(organisation)) = (content, organisation) {
            bytes += content.len();
            let terms = terms(organisation, &comparable(&content));
            if !terms.is_empty() {
                insert.execute((n, terms))?;
            }
        }
        (looked_at, last) = (looked_at + 1, Some(n));
    }
    Ok(last.map(|last| (looked_at, last)))
}

/// A text as it is compared: without regard to case, and with one space for what stands between words.
pub(in crate::domain) fn comparable(text: &str) -> String {
    text::folded(&words(text).collect::<Vec<_>>().join(" "))
}

/// What a comparable text is found under: its first trigrams, each once, behind the organisation's key and on a line.
pub(in crate::domain) fn terms(organisation: OrganisationId, text: &str) -> String {
    // The random end of the identifier: two organisations with one key would share the cost, never the results.
    let key: String = organisation.0.as_bytes()[11..].iter().map(|byte| format!("{byte:02x}")).collect();
    let text: Vec<char> = text.chars().collect();
    let (mut terms, mut known) = (String::new(), HashSet::new());
    for trigram in text.windows(TRIGRAM).filter(|trigram| known.insert(*trigram)).take(MOST_TERMS) {
        terms.push_str(&key);
        terms.extend(trigram);
        terms.push(SEPARATOR);
    }
    terms
}

/// What stands between white space and control characters.
pub(in crate::domain) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
}

/// How many messages are not in the index as they are now, about: some numbers were never given.
pub fn behind(conn: &Connection) -> Result<i64> {
    let last: i64 = conn.prepare_cached("select coalesce(max(n), 0) from messages")?.query_row([], |row| row.get(0))?;
    let edited: i64 = conn.prepare_cached("select count(*) from unindexed_edits")?.query_row([], |row| row.get(0))?;
    Ok((last - cursor(conn)?).max(0) + edited)
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

/// Takes the former text out; the background takes the new one in. What it has not reached yet, it will find as it is now.
pub fn replace(tx: &mut Tx, n: i64) -> Result<()> {
    if n <= cursor(tx)? {
        forget(tx, n)?;
        tx.prepare_cached("insert or ignore into unindexed_edits (n) values (?1)")?.execute([n])?;
        tx.then(Effect::Queued(Queue::Search));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_trigrams_behind_the_key() {
        let organisation = OrganisationId("0190aaaa-bbbb-7ccc-8ddd-ee0102030405".parse().unwrap());
        assert_eq!(terms(organisation, &comparable(" \tÜB\u{0}\n ß")), "0102030405üb \n0102030405b s\n0102030405 ss\n");
        assert_eq!(terms(organisation, "ababab"), "0102030405aba\n0102030405bab\n");
        for (different, kept) in [(MOST_TERMS, MOST_TERMS), (MOST_TERMS + 1, MOST_TERMS)] {
            let text: String = ('\u{20000}'..).take(different + TRIGRAM - 1).collect();
            assert_eq!(terms(organisation, &text).lines().count(), kept);
        }
        assert_eq!(terms(organisation, "ab"), "");
    }
}
