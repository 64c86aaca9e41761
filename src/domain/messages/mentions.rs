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
    pub kind: MentionKind,
    /// The member's name in the channel; `channel` for the channel.
    pub username: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MentionKind {
    User,
    Channel,
}

/// Finds the mentions in a text: members of the channel by their name in it, and the channel itself, once each.
pub fn find(conn: &Connection, channel: ChannelId, content: &str) -> Result<Vec<Mention>> {
    let mut found: Vec<Mention> = Vec::new();
    let mut known = HashSet::new();
    for name in names(content).filter(|name| known.insert(name.to_ascii_lowercase())).take(MOST) {
        let mention = if EVERYBODY.iter().any(|everybody| name.eq_ignore_ascii_case(everybody)) {
            Some(Mention { id: channel.0, kind: MentionKind::Channel, username: "channel".into() })
        } else {
            member(conn, channel, name)?
        };
        found.extend(mention.filter(|mention| !found.iter().any(|other| other.id == mention.id)));
    }
    Ok(found)
}

/// Whether one of the mentions is the channel itself.
pub fn has_channel_mention(mentions: &[Mention]) -> bool {
    mentions.iter().any(|mention| mention.kind == MentionKind::Channel)
}

/// The members that are mentioned by name.
pub(in crate::domain) fn users(mentions: &[Mention]) -> impl Iterator<Item = UserId> {
    mentions.iter().filter(|mention| mention.kind == MentionKind::User).map(|mention| UserId(mention.id))
}

/// Where a message stands: its channel, its `n`, and that of the post that it replies to.
#[derive(Clone, Copy)]
pub(in crate::domain) struct MessageKey {
    pub channel: ChannelId,
    pub n: i64,
    pub root: Option<i64>,
}

/// Writes the rows behind the counts of unread mentions.
pub(in crate::domain) fn record(tx: &Tx, MessageKey { channel, n, root }: MessageKey, mentions: &[Mention]) -> Result<()> {
    if has_channel_mention(mentions) {
        tx.prepare_cached("insert into channel_mentions (channel_id, n) values (?1, ?2)")?.execute((channel, n))?;
        return Ok(()); // who is named besides is counted with all
    }
    let mut in_post = tx.prepare_cached("insert into mentions (channel_id, user_id, n) values (?1, ?2, ?3)")?;
    let mut in_reply = tx.prepare_cached("insert into reply_mentions (root, user_id, n) values (?1, ?2, ?3)")?;
    for user in users(mentions) {
        match root {
            None => in_post.execute((channel, user, n))?,
            Some(root) => in_reply.execute((root, user, n))?,
        };
    }
    Ok(())
}

/// Deletes the rows that [`record`] wrote. Returns whether there was one of all members, and those of single ones.
pub(super) fn forget(tx: &Tx, MessageKey { n, root, .. }: MessageKey) -> Result<(bool, HashSet<UserId>)> {
    let all = tx.prepare_cached("delete from channel_mentions where n = ?1")?.execute([n])? > 0;
    let sql = match root {
        None => "delete from mentions where n = ?1 returning user_id",
        Some(_) => "delete from reply_mentions where n = ?1 returning user_id",
    };
    Ok((all, tx.prepare_cached(sql)?.query_map([n], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?))
}

/// Finds the member of that name. `@ada.` at the end of a sentence means ada, unless somebody is called `ada.`.
fn member(conn: &Connection, channel: ChannelId, name: &str) -> Result<Option<Mention>> {
    let mut find =
        conn.prepare_cached("select user_id, username from channel_members where channel_id = ?1 and username = ?2")?;
    for name in [name, name.trim_end_matches(['.', '-', '_'])] {
        let mut rows = find.query((channel, name))?;
        if let Some(row) = rows.next()? {
            let user: UserId = row.get(0)?;
            return Ok(Some(Mention { id: user.0, kind: MentionKind::User, username: row.get(1)? }));
        }
    }
    Ok(None)
}

pub(in crate::domain) fn names(content: &str) -> impl Iterator<Item = &str> {
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
