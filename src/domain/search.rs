//! Full text of messages.

use rusqlite::Connection;

use crate::{
    domain::{
        Caller, channels, indexing, members,
        messages::{self, Message},
        page::Page,
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId},
};

/// What is searched for: texts that stand in a message, all of them.
#[derive(Debug, PartialEq)]
pub struct Query(Vec<String>);

const SHORTEST: usize = indexing::TRIGRAM;
const LONGEST: usize = 256;

impl Query {
    /// All words of three characters and more; where there are none, the text as it stands. 400 when it has less
    /// than three characters, or too many.
    pub fn parse(text: &str) -> Result<Query> {
        let words: Vec<&str> = indexing::words(text).collect();
        let whole = words.join(" ");
        match whole.chars().count() {
            ..SHORTEST => return Err(Error::bad_request(format!("q must have at least {SHORTEST} characters"))),
            SHORTEST..=LONGEST => {}
            _ => return Err(Error::bad_request(format!("q is longer than {LONGEST} characters"))),
        }
        let long: Vec<String> =
            words.iter().filter(|word| word.chars().count() >= SHORTEST).map(|word| word.to_string()).collect();
        Ok(Query(if long.is_empty() { vec![whole] } else { long }))
    }

    /// As an expression of the index.
    fn within(&self, organisation: OrganisationId) -> String {
        // In quotes nothing is an operator.
        let quoted = |text: &String| format!("\"{}\"", indexing::terms(organisation, text).replace('"', "\"\""));
        self.0.iter().map(quoted).collect::<Vec<_>>().join(" ")
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
        .query_map((query.within(organisation), caller.user, organisation, channel, page.size, page.offset), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut messages = messages::at(conn, &found)?;
    messages.reverse();
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_words_are_left_out_where_there_are_others() {
        let parsed = |text: &str| Query::parse(text).map(|query| query.0).ok();
        assert_eq!(parsed(" engine  in OR* \"near(\u{0}"), Some(vec!["engine".into(), "OR*".into(), "\"near(".into()]));
        assert_eq!(parsed("to be"), Some(vec!["to be".into()]));
        assert_eq!(parsed("ab "), None);
        assert_eq!(parsed("\u{0}\u{0}\u{0}"), None);
        assert!(parsed(&"x".repeat(256)).is_some() && parsed(&"x".repeat(257)).is_none());
    }
}
