//! Full-text search of messages.
//!
//! The index finds the messages that contain the query's trigrams, and their text shows whether they contain the query. So a
//! search takes no longer where a trigram is repeated many times in each message.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::{
    domain::{
        access::{self, Caller},
        messages::{indexing, lists, record::Message},
        page::Page,
        text::{self, Rule},
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

/// A search query: comparable texts, all of which a message must contain.
#[derive(Debug, PartialEq)]
pub struct Query(Vec<String>);

text::rules! {
    pub Text: Rule::query(256);
    pub Has: Rule::one_of(&["file"]);
}

/// Posting lists that one search intersects, at most. In 30,000 messages of two kinds, with 32 words each, a search took 270
/// ms with 254 lists and takes 5 ms with 16.
const MOST_TERMS: usize = 16;

impl Query {
    /// Parses a query into the words that the index can find; without any, the whole text is searched for. 400 for fewer than
    /// three characters, or two ideographs, and for more than 256.
    pub fn parse(text: &str) -> Result<Query> {
        Text::check(text, "q").map_err(Error::BadRequest)?;
        let words: Vec<&str> = indexing::words(text).collect();
        let whole = words.join(" ");
        let long: Vec<String> =
            words.iter().map(|word| indexing::comparable(word)).filter(|word| indexing::is_indexed(word)).collect();
        Ok(Query(if long.is_empty() { vec![indexing::comparable(&whole)] } else { long }))
    }

    /// Builds the expression for the index. It finds all messages with these texts, and possibly others, because it has only
    /// the trigrams, and a sample of them when there are many.
    fn within(&self, organisation: OrganisationId) -> String {
        let terms: String = self.0.iter().map(|text| indexing::terms(organisation, text)).collect();
        let terms: BTreeSet<&str> = terms.lines().collect();
        // Nothing in quotes is an operator.
        let quoted = |term: &&str| format!("\"{}\"", term.replace('"', "\"\""));
        terms.iter().step_by(terms.len().div_ceil(MOST_TERMS)).map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Whether a message's text contains all texts of the query.
    pub(in crate::domain) fn matches(&self, text: &str) -> bool {
        let all_in = |text: &str| self.0.iter().all(|searched| text.contains(searched));
        all_in(text) || all_in(&indexing::comparable(text)) // the second one takes many times as long
    }
}

/// Which messages are searched.
#[derive(Clone, Copy, Default)]
pub struct Among {
    pub channel: Option<ChannelId>,
    /// The author.
    pub user: Option<UserId>,
    /// Both exclusive.
    pub before: Option<Time>,
    pub after: Option<Time>,
    /// Only those that show files.
    pub with_files: bool,
}

/// Finds messages in the channels that the caller is in now, archived ones included, newest first. 404 for callers outside
/// the organisation and for a channel hidden from the caller; 403 for a channel that the caller sees and is not in.
pub fn find(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    Among { channel, user, before, after, with_files }: Among,
    query: &Query,
    page: Page,
) -> Result<Vec<Message>> {
    access::require_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    if let Some(channel) = channel {
        access::require_organisation_channel(conn, caller, organisation, channel, access::UNKNOWN_CHANNEL)?.require_member()?;
    }
    // Cross joins keep the tables in this order: the index gives the newest first, and a full page ends the search.
    let mut select = conn.prepare_cached(
        "select m.n, m.content, m.media from message_search s
               cross join messages m on m.n = s.rowid
               cross join channels c on c.id = m.channel_id
               cross join channel_members cm on cm.channel_id = c.id and cm.user_id = ?2
             where s.message_search match ?1 and m.deleted_at is null and c.deleted_at is null
               and c.organisation_id = ?3 and (?4 is null or c.id = ?4) and (?5 is null or m.user_id = ?5)
               and (?6 is null or m.created_at < ?6) and (?7 is null or m.created_at > ?7)
               and (not ?8 or m.media is not null)
             order by s.rowid desc",
    )?;
    let terms = query.within(organisation);
    let mut rows = select.query((terms, caller.user, organisation, channel, user, before, after, with_files))?;
    let (mut skipped, mut found) = (0, Vec::new());
    while found.len() < page.size as usize
        && let Some(row) = rows.next()?
    {
        let text = indexing::searched(row.get("content")?, row.get::<_, Option<String>>("media")?.as_deref());
        match query.matches(&text) {
            true if skipped < page.offset => skipped += 1,
            true => found.push(row.get("n")?),
            false => {}
        }
    }
    let mut messages = lists::find_by_numbers(conn, &found)?;
    messages.reverse();
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_many_trigrams_looks_into_sixteen_lists() {
        let lists = |q: &str| Query::parse(q).unwrap().within(OrganisationId::new()).split(' ').count();
        let letters = "abcdefghijklmnopqrstuvwxyz";
        assert_eq!([lists("abc"), lists(&letters[..18]), lists(&letters[..19])], [1, 16, 9]);
        assert_eq!((3..=256).map(|length| lists(&letters.repeat(10)[..length])).max(), Some(16));
        assert_eq!(lists(&"a".repeat(256)), 1, "each list once");
    }

    #[test]
    fn short_words_are_left_out_where_there_are_others() {
        let parsed = |text: &str| Query::parse(text).map(|query| query.0).ok();
        assert_eq!(parsed(" engine  in OR* \"near(\u{0}"), Some(vec!["engine".into(), "or*".into(), "\"near(".into()]));
        assert_eq!(parsed("to be"), Some(vec!["to be".into()]));
        assert_eq!(parsed("ab "), None);
        assert_eq!(parsed("日本 in 会"), Some(vec!["日本".into()]), "two ideographs are enough");
        assert_eq!((parsed(" 회의 "), parsed("日")), (Some(vec!["회의".into()]), None));
        for outside in ["\u{0}\u{0}\u{0}", "ab\u{9c}", "\u{7f}ab"] {
            assert_eq!(parsed(outside), None, "control characters are no part of a word");
        }
        assert!(parsed(&"x".repeat(256)).is_some() && parsed(&"x".repeat(257)).is_none());
    }
}
