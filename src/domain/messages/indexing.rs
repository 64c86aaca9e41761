//! The search index. It is filled in the background, because a commit with index rows costs many times one without.
//!
//! Each term begins with a key of its organisation. So the posting lists of organisations are separate, and the cost and
//! duration of a search depend on the caller's own alone, unless two keys are equal.

use rusqlite::{Connection, Rows};

use crate::{
    db::Tx,
    domain::{files::Media, text},
    error::Result,
    event::{Effect, Queue},
    id::OrganisationId,
    secret,
};

/// Bytes of text that one step indexes, unless its first text has more: a few milliseconds, so that other writes wait no
/// longer. Smaller steps cost more, because each writes a part of the index that is merged with others later.
const SLICE_BYTES: usize = 16 << 10;
/// Messages that one step looks at, at most: deleted and short ones add little to the bytes.
const SLICE: u32 = 200;
/// Index pages that one step merges: also a few milliseconds.
const MERGED_PAGES: i64 = 16;
/// Distinct terms indexed per message, at most. Texts in an alphabet have fewer, however long. A text of 40,000 different
/// ideographs has about 40,000 of them, which would hold the writer for tens of milliseconds.
const MOST_TERMS: usize = 10_000;
/// Length of a trigram in characters.
pub(in crate::domain) const TRIGRAM: usize = 3;
const SEPARATOR: char = '\n';

/// Does one step: merges a part of what earlier steps wrote, or indexes edited texts, or indexes new messages up to the one
/// whose `n` is `up_to`. Returns 0 when nothing is left to do.
pub fn run_step(tx: &mut Tx, up_to: i64) -> Result<usize> {
    if merge(tx)? {
        return Ok(1);
    }
    match take_edited(tx)? {
        0 => take_new(tx, up_to),
        taken => Ok(taken),
    }
}

/// Merges some pages of the index. Returns whether there was anything to merge. Without this, SQLite would merge all pages
/// at once, in whichever write makes it due.
fn merge(tx: &Tx) -> Result<bool> {
    let before = tx.total_changes();
    tx.prepare_cached("insert into message_search (message_search, rank) values ('merge', ?1)")?.execute([MERGED_PAGES])?;
    Ok(tx.total_changes() - before > 1) // the command itself counts as one
}

fn take_edited(tx: &Tx) -> Result<usize> {
    let mut select = tx.prepare_cached(
        "select u.n, m.content, m.media, c.organisation_id from unindexed_edits u
           left join messages m on m.n = u.n
           left join channels c on c.id = m.channel_id
         order by u.n limit ?1",
    )?;
    let Some((taken, last)) = take(tx, select.query([SLICE])?)? else { return Ok(0) };
    tx.prepare_cached("delete from unindexed_edits where n <= ?1")?.execute([last])?;
    Ok(taken)
}

fn take_new(tx: &Tx, up_to: i64) -> Result<usize> {
    let mut select = tx.prepare_cached(
        "select m.n, m.content, m.media, c.organisation_id from messages m left join channels c on c.id = m.channel_id
         where m.n > ?1 and m.n <= ?2 order by m.n limit ?3",
    )?;
    let Some((taken, last)) = take(tx, select.query((cursor(tx)?, up_to, SLICE))?)? else { return Ok(0) };
    tx.prepare_cached("update meta set value = ?1 where key = 'search_cursor'")?.execute([last.to_string()])?;
    Ok(taken)
}

/// Indexes messages as far as their text fits into one step. Returns how many rows it looked at and the `n` of the last; none
/// without rows.
fn take(tx: &Tx, mut rows: Rows) -> Result<Option<(usize, i64)>> {
    let mut insert = tx.prepare_cached("insert or replace into message_search (rowid, content) values (?1, ?2)")?;
    let (mut looked_at, mut last, mut bytes) = (0, None, 0);
    while let Some(row) = rows.next()? {
        // The text and the organisation are missing when the message is gone.
        let (n, content, media, organisation): (i64, Option<String>, Option<String>, Option<OrganisationId>) = row.try_into()?;
        if let (Some(content), Some(organisation)) = (content, organisation) {
            let content = searched(content, media.as_deref());
            bytes += content.len();
            if bytes > SLICE_BYTES && looked_at > 0 {
                break;
            }
            let terms = terms(organisation, &comparable(&content));
            if !terms.is_empty() {
                insert.execute((n, terms))?;
            }
        }
        (looked_at, last) = (looked_at + 1, Some(n));
    }
    Ok(last.map(|last| (looked_at, last)))
}

/// What of a message is searched: its text, and the names and descriptions of its files.
pub(super) fn searched(content: String, media: Option<&str>) -> String {
    let files = Media::of_column(media, "");
    files.into_iter().fold(content, |text, Media { name, description, .. }| format!("{text}\n{name} {description}"))
}

/// Normalises a text for comparison: folds its case, and separates its words by one space.
pub(in crate::domain) fn comparable(text: &str) -> String {
    text::folded(&words(text).collect::<Vec<_>>().join(" "))
}

/// The index terms of a comparable text: its first [`grams`], each once, on a line of its own after the organisation's key.
pub(in crate::domain) fn terms(organisation: OrganisationId, text: &str) -> String {
    // The key is the random end of the identifier. Two organisations with equal keys would share the cost, never the
    // results.
    let key = secret::hex(&organisation.0.as_bytes()[11..]);
    let text: Vec<char> = text.chars().collect();
    // Sorting finds repeats faster than hashing.
    let mut grams: Vec<(&[char], usize)> = grams(&text).zip(0..).collect();
    grams.sort_unstable();
    grams.dedup_by_key(|(gram, _)| *gram);
    grams.sort_unstable_by_key(|(_, place)| *place);
    let mut terms = String::with_capacity(grams.len().min(MOST_TERMS) * (key.len() + TRIGRAM + 1));
    for (gram, _) in grams.iter().take(MOST_TERMS) {
        terms.push_str(&key);
        terms.extend(*gram);
        terms.push(SEPARATOR);
    }
    terms
}

/// At each place of a text two ideographs, or else three characters. What stands at a place depends on the characters from there
/// on alone, so that the grams of a part of the text are among those of the whole.
fn grams(text: &[char]) -> impl Iterator<Item = &[char]> {
    (0..text.len()).filter_map(|place| {
        let pair = text.get(place..place + 2)?;
        if pair.iter().all(|c| text::is_ideograph(*c)) { Some(pair) } else { text.get(place..place + TRIGRAM) }
    })
}

/// Whether the index can find the text.
pub(super) fn is_indexed(text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    grams(&text).next().is_some()
}

/// Splits a text into words at white space and control characters.
pub(in crate::domain) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
}

/// Approximate number of messages whose current text is not indexed yet; too high where `n` has gaps.
pub fn behind(conn: &Connection) -> Result<i64> {
    let last = newest_message_number(conn)?;
    let edited: i64 = conn.prepare_cached("select count(*) from unindexed_edits")?.query_row([], |row| row.get(0))?;
    Ok((last - cursor(conn)?).max(0) + edited)
}

/// The `n` of the newest message; 0 without any.
pub fn newest_message_number(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("select coalesce(max(n), 0) from messages")?.query_row([], |row| row.get(0))?)
}

/// The `n` of the last message in the index.
fn cursor(conn: &Connection) -> Result<i64> {
    let sql = "select cast(value as integer) from meta where key = 'search_cursor'";
    Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Removes a deleted message from the index.
pub fn forget(tx: &Tx, n: i64) -> Result<()> {
    if n <= cursor(tx)? {
        tx.prepare_cached("delete from message_search where rowid = ?1")?.execute([n])?;
    }
    Ok(())
}

/// Removes a message's former text from the index, and queues its new text for the background. A message that the background
/// has not reached yet is left alone: it will be indexed with its current text.
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
        assert_eq!(terms(organisation, "x日本語y"), "0102030405x日本\n0102030405日本\n0102030405本語\n");
        assert_eq!(terms(organisation, "日本"), "0102030405日本\n");
        assert!(!is_indexed("日a") && !is_indexed("日") && is_indexed("日aa") && is_indexed("회의"));
    }
}
