//! Mentions in a text: `@username` for a member, and `@channel` or one of its synonyms for all.

use std::collections::HashSet;

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    db::Tx,
    domain::accounts::EVERYBODY,
    error::Result,
    id::{ChannelId, UserId},
};

/// Distinct names in a text that can be mentions; further ones are plain text, because each mentioned user costs a row of
/// the event log.
pub const MOST: usize = 20;

/// A member whom a message mentions, or the channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mention {
    /// The id of the mentioned user, or of the channel.
    #[schemars(with = "UserId")]
    pub id: Uuid,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The member's name in the channel; `channel` for the channel.
    pub username: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Kind {
    User,
    Channel,
}

/// Finds the mentions in a text: members of the channel by their name in it, and the channel itself, once each.
pub fn find(conn: &Connection, channel: ChannelId, content: &str) -> Result<Vec<Mention>> {
    let mut found: Vec<Mention> = Vec::new();
    let mut known = HashSet::new();
    for name in names(content).filter(|name| known.insert(name.to_ascii_lowercase())).take(MOST) {
        let mention = if EVERYBODY.iter().any(|everybody| name.eq_ignore_ascii_case(everybody)) {
            Some(Mention { id: channel.0, kind: Kind::Channel, username: "channel".into() })
        } else {
            member(conn, channel, name)?
        };
        found.extend(mention.filter(|mention| !found.iter().any(|other| other.id == mention.id)));
    }
    Ok(found)
}

/// Whether one of the mentions is the channel itself.
pub fn name_everybody(mentions: &[Mention]) -> bool {
    mentions.iter().any(|mention| mention.kind == Kind::Channel)
}

/// Writes the rows behind the counts of unread mentions.
pub(in crate::domain) fn record(tx: &Tx, channel: ChannelId, n: i64, mentions: &[Mention]) -> Result<()> {
    if name_everybody(mentions) {
        tx.prepare_cached("insert into channel_mentions (channel_id, n) values (?1, ?2)")?.execute((channel, n))?;
        return Ok(()); // who is named besides is counted with all
    }
    let mut insert = tx.prepare_cached("insert into mentions (channel_id, user_id, n) values (?1, ?2, ?3)")?;
    for mention in mentions {
        insert.execute((channel, UserId(mention.id), n))?;
    }
    Ok(())
}

/// Members whose unread mentions an edit has changed.
pub(in crate::domain) enum Recount {
    Everybody,
    These(Vec<UserId>),
}

/// Replaces the rows that [`record`] wrote, after an edit. A member who has read the message has read its new mentions, too.
pub(in crate::domain) fn record_anew(tx: &Tx, channel: ChannelId, n: i64, mentions: &[Mention]) -> Result<Recount> {
    let were_all = tx.prepare_cached("delete from channel_mentions where n = ?1")?.execute([n])? > 0;
    let were: HashSet<UserId> = tx
        .prepare_cached("delete from mentions where n = ?1 returning user_id")?
        .query_map([n], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    record(tx, channel, n, mentions)?;
    let are_all = name_everybody(mentions);
    if were_all != are_all {
        let more = i64::from(are_all) - i64::from(were_all);
        tx.prepare_cached("update channels set mention_count = mention_count + ?2 where id = ?1")?.execute((channel, more))?;
        tx.prepare_cached(
            "update channel_members set read_mention_count = read_mention_count + ?3 where channel_id = ?1 and read_n >= ?2",
        )?
        .execute((channel, n, more))?;
        return Ok(Recount::Everybody);
    }
    let are: HashSet<UserId> = mentions.iter().filter(|_| !are_all).map(|mention| UserId(mention.id)).collect();
    let mut unread = tx.prepare_cached("select 1 from channel_members where channel_id = ?1 and user_id = ?2 and read_n < ?3")?;
    let mut these = Vec::new();
    for user in were.symmetric_difference(&are) {
        if unread.exists((channel, user, n))? {
            these.push(*user);
        }
    }
    Ok(Recount::These(these))
}

/// Finds the member of that name. `@ada.` at the end of a sentence means ada, unless somebody is called `ada.`.
fn member(conn: &Connection, channel: ChannelId, name: &str) -> Result<Option<Mention>> {
    let mut find =
        conn.prepare_cached("select user_id, username from channel_members where channel_id = ?1 and username = ?2")?;
    for name in [name, name.trim_end_matches(['.', '-', '_'])] {
        let mut rows = find.query((channel, name))?;
        if let Some(row) = rows.next()? {
            let user: UserId = row.get(0)?;
            return Ok(Some(Mention { id: user.0, kind: Kind::User, username: row.get(1)? }));
        }
    }
    Ok(None)
}

fn names(content: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    content.match_indices('@').filter_map(move |(at, _)| {
        // The @ of an e-mail address mentions nobody.
        if content[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric()) {
            return None;
        }
        let rest = &content[at + 1..];
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        (!name.is_empty() && name.len() <= 64).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_found_and_addresses_are_not() {
        let found: Vec<_> = names("@ada, (@grace-h) mail x@y.example @ @é @last.").collect();
        assert_eq!(found, ["ada", "grace-h", "last."]);
    }
}
