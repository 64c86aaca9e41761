//! Full text of messages.

use rusqlite::Connection;

use crate::{
    domain::{
        Caller, channels, members,
        messages::{self, Message},
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId},
};

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
    limit: u32,
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
             order by s.rowid desc limit ?5",
        )?
        .query_map((&query.0, caller.user, organisation, channel, limit), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut messages = messages::at(conn, &found)?;
    messages.reverse();
    Ok(messages)
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
